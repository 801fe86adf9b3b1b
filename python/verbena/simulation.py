# SPDX-License-Identifier: BSD-2-Clause
"""A simulation that runs in the process: to any time, looked at and changed there."""
import ctypes
import io
import json
import os
from ctypes import byref, c_uint64
from types import TracebackType
from typing import Any, Dict, Iterable, Mapping, Optional, Tuple, Type, Union

import numpy as np
import pandas as pd

from . import library
from .control import Callbacks, CongestionControl
from .library import NEVER, NONE
from .units import Quantity, bits_per_second, nanoseconds, size_in_bytes

Scenario = Union[Mapping[str, Any], str, "os.PathLike[str]"]
Link = Union[int, Tuple[int, int]]

OPERATIONS = ("send", "write", "read", "atomic")
QP_STATES = ("RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR")


def _value_text(value: object) -> str:
    """A value as a scenario has it; a list in the flow style."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value_text, value)) + "]"
    return str(value)


class Simulation:
    """A scenario that runs.

    `scenario` is a dict with the keys of a scenario file, or the path of such a file; a text is given
    by Simulation.from_text(). `values` replaces single values by the path of their keys, such as
    {"transport.timeout": 14}. `series` names the values that are kept over time, and `every` the
    length of their intervals, in place of the scenario's `record`. `congestion` is a class of
    CongestionControl, which then controls the flows in place of the scenario's.

    Times are numbers of ns or texts such as "10us"; so are rates ("40Gbps") and sizes ("64KiB").
    """

    def __init__(self, scenario: Scenario, *, values: Optional[Mapping[str, object]] = None,
                 series: Union[str, Iterable[str], None] = None, every: Optional[str] = None,
                 congestion: Optional[Type[CongestionControl]] = None) -> None:
        self._callbacks = Callbacks(congestion) if congestion else None
        if isinstance(scenario, Mapping):
            text, name = json.dumps(scenario, indent=1).encode(), "dict"
        else:
            name = os.fspath(scenario)
            with open(name, "rb") as file:
                text = file.read()
        self._begin(text, name, values, series, every)

    @classmethod
    def from_text(cls, text: str, *, name: str = "text", values: Optional[Mapping[str, object]] = None,
                  series: Union[str, Iterable[str], None] = None, every: Optional[str] = None) -> "Simulation":
        """A scenario that is YAML or JSON; `name` is what mistakes are told with."""
        simulation = cls.__new__(cls)
        simulation._callbacks = None
        simulation._begin(text.encode(), name, values, series, every)
        return simulation

    def _begin(self, text: bytes, name: str, values: Optional[Mapping[str, object]],
               series: Union[str, Iterable[str], None], every: Optional[str]) -> None:
        changed = dict(values or {})
        if series is not None:
            changed["record.series"] = series if isinstance(series, str) else list(series)
        if every is not None:
            changed["record.every"] = every
        self._handle = library.Handle(text, name, [f"{key}={_value_text(v)}" for key, v in changed.items()],
                                      self._callbacks.table if self._callbacks else None)
        state = self._handle.state()
        self._cables = {}  # type: Dict[Tuple[int, int], int]
        for index in range(0, state.ports, 2):
            port = library.Port()
            self._handle.call("port", index, byref(port), ctypes.sizeof(port))
            self._cables.setdefault((port.from_node, port.to_node), port.cable)
            self._cables.setdefault((port.to_node, port.from_node), port.cable)

    def close(self) -> None:
        """Gives its memory back; further calls raise SimulationError."""
        self._handle.close()

    def __enter__(self) -> "Simulation":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_handle"):
            self._handle.close()

    def __repr__(self) -> str:
        try:
            state = self._handle.state()
        except library.SimulationError:
            return "<Simulation, closed>"
        return (f"<Simulation of {state.hosts} hosts at {state.now} ns"
                f"{', finished' if state.is_finished else ''}>")

    # Time

    def advance(self, to: Quantity) -> "Simulation":
        """Runs up to the time `to`, and all that happens at it, but not past the scenario's end."""
        return self._advance(nanoseconds(to))

    def run(self) -> "Simulation":
        """Runs to the end: until nothing is left to happen, or to the scenario's `until`."""
        return self._advance(NEVER)

    def _advance(self, to: int) -> "Simulation":
        self._handle.call("advance", to)
        if self._callbacks and self._callbacks.error:
            raise library.SimulationError("the congestion control failed") from self._callbacks.error
        return self

    @property
    def now(self) -> int:
        """The time, in ns."""
        return int(self._handle.state().now)

    @property
    def next(self) -> Optional[int]:
        """When something happens next, in ns; None: nothing will."""
        at = self._handle.state().next
        return None if at == NEVER else int(at)

    @property
    def finished(self) -> bool:
        """Nothing happens any more, or only past the end of the scenario."""
        return bool(self._handle.state().is_finished)

    @property
    def digest(self) -> str:
        """A number over all events, as `verbena sim` shows it: equal digests, equal runs."""
        return f"{self._handle.state().digest:016x}"

    @property
    def hosts(self) -> int:
        """How many hosts there are; switches have the numbers behind theirs."""
        return int(self._handle.state().hosts)

    @property
    def seed(self) -> int:
        """The seed of the scenario."""
        return int(self._handle.state().seed)

    @property
    def deadlock_at(self) -> Optional[int]:
        """When a deadlock of InfiniBand's credits was found, in ns; None: there was none."""
        at = self._handle.state().deadlock_at
        return None if at == NEVER else int(at)

    # Results

    def table(self, name: str) -> pd.DataFrame:
        """A CSV table of docs/simulator.md by its name: "flows", "ports", "slowdown", "cdf", "lanes", ..."""
        return pd.read_csv(io.BytesIO(self._handle.table(name + ".csv")))

    def flows(self) -> pd.DataFrame:
        """A row for each flow that has been made so far, as in flows.csv, with its `slowdown`.

        A value that is not there yet, such as `done_ns` of a flow that runs, is NaN."""
        flows = self.table("flows").set_index("flow").sort_index()
        flows["slowdown"] = flows.fct_ns / flows.ideal_ns
        return flows

    def ports(self) -> pd.DataFrame:
        """A row for each port: its counts so far, the bytes that wait now (`queue_bytes`), the most that
        have waited, and their mean over time."""
        state = self._handle.state()
        ports = self._rows("port", library.Port, state.ports)
        ports = ports.rename(columns={"from_node": "from", "to_node": "to", "queue_max": "queue_max_bytes"})
        ports["queue_mean_bytes"] = ports.pop("queue_byte_ns") / max(state.now, 1)
        ports.index.name = "port"
        return ports.drop(columns="reserved")

    def qps(self) -> pd.DataFrame:
        """A row for each QP: its rate and window, DCQCN's rates and alpha, and the flow that runs."""
        qps = self._rows("qp", library.Qp, self._handle.state().qps)
        qps["alpha"] = qps.pop("alpha_ppm") / 1e6
        qps["state"] = qps.state.map(dict(enumerate(QP_STATES)))
        for column in ("peer", "flow"):
            qps[column] = qps[column].where(qps[column] != NONE)
        qps.index.name = "qp"
        return qps

    def counters(self) -> pd.DataFrame:
        """The counters of the hosts' adapters: a row for each host, a column for each counter."""
        names = []
        while (name := library.library().verbena_sim_counter_name(len(names))) is not None:
            names.append(name.decode())
        values = np.zeros((self.hosts, len(names)), np.uint64)
        row = (c_uint64 * len(names))()
        for host in range(self.hosts):
            self._handle.call("counters", host, row, len(names))
            values[host] = row
        return pd.DataFrame(values, columns=names).rename_axis("host")

    def series(self, kind: str = "flow") -> pd.DataFrame:
        """The values over time of each "flow", "port", "lane" or "group", if the scenario keeps any."""
        return self.table(kind + "_series")

    def summary(self) -> Dict[str, Any]:
        """The sums and percentiles of summary.json."""
        return dict(json.loads(self._handle.table("summary.json")))

    def _rows(self, function: str, structure: Type[ctypes.Structure], count: int) -> pd.DataFrame:
        """A row for each object that is there."""
        rows, size = (structure * count)(), ctypes.sizeof(structure)
        there = []
        for index in range(count):
            try:
                self._handle.call(function, index, byref(rows, index * size), size)
                there.append(index)
            except LookupError as error:
                if isinstance(error, IndexError):
                    raise
        frame = pd.DataFrame(np.frombuffer(rows, np.dtype(structure), count) if count
                             else np.zeros(0, np.dtype(structure)))
        return frame.loc[there]

    # Changes

    def cable(self, a: int, b: int) -> int:
        """The number of the cable between two nodes, of several the first one."""
        if (a, b) not in self._cables:
            raise LookupError(f"there is no cable between nodes {a} and {b}")
        return self._cables[a, b]

    def fail(self, link: Link) -> None:
        """Takes a cable apart now: its number, or the two nodes that it joins."""
        self._handle.call("set_cable", self._link(link), 0)

    def restore(self, link: Link) -> None:
        """Joins a cable again."""
        self._handle.call("set_cable", self._link(link), 1)

    def faults(self, link: Link, do: str) -> None:
        """Puts faults on a cable, in place of those that are there: "loss=1e-3"; "": none."""
        self._handle.call("set_fault", self._link(link), do.encode())

    def ecn(self, kmin: Quantity, kmax: Quantity, pmax: float) -> None:
        """New thresholds of RED at all switches; `pmax` is the chance of a mark at kmax, 0 to 1."""
        self._handle.call("set_ecn", size_in_bytes(kmin), size_in_bytes(kmax), round(pmax * 1e6))

    def limit(self, qp: int, rate: Optional[Quantity]) -> None:
        """Limits a QP, by its number in qps(), to a rate beside what congestion control allows; None:
        to none."""
        self._handle.call("set_rate", qp, 0 if rate is None else bits_per_second(rate))

    def add_flow(self, src: int, dst: int, size: Quantity, *, op: str = "write",
                 start: Optional[Quantity] = None) -> int:
        """Adds a flow from a host to another one, which begins at `start` or now; returns its number."""
        if op not in OPERATIONS:
            raise ValueError(f"op is one of {', '.join(OPERATIONS)}, not {op!r}")
        flow = library.Flow()
        record = self._handle.call("add_flow", src, dst, OPERATIONS.index(op), size_in_bytes(size),
                                   self.now if start is None else nanoseconds(start))
        self._handle.call("flow", record, byref(flow), ctypes.sizeof(flow))
        return int(flow.number)

    def _link(self, link: Link) -> int:
        return self.cable(*link) if isinstance(link, tuple) else int(link)
