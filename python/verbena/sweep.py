# SPDX-License-Identifier: BSD-2-Clause
"""A scenario with every combination of some values, by several processes at once."""
import itertools
import multiprocessing
import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import pandas as pd

from .simulation import Scenario, Simulation

Point = Tuple[Dict[str, object], int]
Measure = Callable[[Simulation], Mapping[str, Any]]

# The processes of a sweep are forks of this one, and have these from it: so `measure` may be any
# function, one of a notebook too.
_work: Tuple[Scenario, Measure]


def sums(simulation: Simulation) -> Dict[str, Any]:
    """The numbers of a run's summary: flows, goodput, percentiles of FCT and slow-down, the digest."""
    summary = simulation.summary()
    result = {key: value for key, value in summary.items() if isinstance(value, (int, str))}
    for name in ("fct_ns", "slowdown_milli"):
        for part in ("mean", "p50", "p99", "max"):
            result[name.replace("_", f"_{part}_", 1)] = summary[name][part]
    return result


def _run_point(point: Point) -> Dict[str, Any]:
    scenario, measure = _work
    values, seed = point
    with Simulation(scenario, values={**values, "seed": seed}) as simulation:
        simulation.run()
        return {**values, "seed": seed, **measure(simulation)}


def _seeds_from(scenario: Scenario, count: int) -> Sequence[int]:
    with Simulation(scenario) as simulation:
        return range(simulation.seed, simulation.seed + count)


def sweep(scenario: Scenario, grid: Mapping[str, Sequence[object]], *, seeds: Union[int, Sequence[int]] = 1,
          measure: Measure = sums, processes: Optional[int] = None) -> pd.DataFrame:
    """Runs a scenario to its end with each combination of values, and each seed.

    `grid` has the values of a key by its path, such as {"transport.timeout": [10, 14, 18]}; `seeds` is
    how many seeds, from 1, or a list of them. `measure` takes a simulation that has run, and returns
    what is wanted of it. The result has a row for each point, in the order of the grid, with a column
    for each path, the seed, and each member of what `measure` returns. It does not depend on the number
    of processes, which is that of processors unless said."""
    global _work
    numbers = _seeds_from(scenario, seeds) if isinstance(seeds, int) else seeds
    points: List[Point] = [(dict(zip(grid, values)), seed)
                           for values in itertools.product(*grid.values()) for seed in numbers]
    count = min(processes or len(os.sched_getaffinity(0)), len(points))
    _work = scenario, measure
    if count <= 1:
        return pd.DataFrame([_run_point(point) for point in points])
    with multiprocessing.get_context("fork").Pool(count) as pool:
        return pd.DataFrame(pool.map(_run_point, points, chunksize=1))
