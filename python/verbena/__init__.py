# SPDX-License-Identifier: BSD-2-Clause
"""Verbena's simulator in Python: scenarios as dicts, run step by step, results as DataFrames.

    import verbena

    with verbena.Simulation("scenarios/incast.yaml", series=["rate", "queue"]) as sim:
        sim.advance("1ms")
        sim.fail(sim.cable(0, 17))
        sim.run()
        print(sim.flows())
        verbena.plot_cdf({"FCT, ns": sim.flows().fct_ns})

It runs in the process, by libverbena-sim.so (include/verbena/sim.h), and makes the same of a scenario
as the command `verbena sim` does. docs/python.md is the guide, docs/simulator.md describes scenarios.
"""
from .control import CongestionControl
from .figures import (
    nearest_rank,
    plot_bands,
    plot_cdf,
    plot_heat,
    plot_slowdown,
    save,
    slowdown_by_size,
)
from .library import LibraryError, ScenarioError, SimulationError, library_version
from .simulation import Simulation
from .sweep import sweep
from .units import nanoseconds, bits_per_second, size_in_bytes

__all__ = [
    "CongestionControl",
    "LibraryError",
    "ScenarioError",
    "Simulation",
    "SimulationError",
    "bits_per_second",
    "library_version",
    "nanoseconds",
    "nearest_rank",
    "plot_bands",
    "plot_cdf",
    "plot_heat",
    "plot_slowdown",
    "save",
    "size_in_bytes",
    "slowdown_by_size",
    "sweep",
]
