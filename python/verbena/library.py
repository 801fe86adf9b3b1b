# SPDX-License-Identifier: BSD-2-Clause
"""libverbena-sim.so as ctypes sees it: the structures and functions of include/verbena/sim.h.

ctypes is part of Python and needs no compiler, so one package serves every version of Python. It lets
other threads run while a simulation does.
"""
import ctypes
import errno
import os
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Optional

NEVER = 2**64 - 1
NONE = 2**32 - 1
_NAME = "libverbena-sim.so.0"
_ENVIRONMENT = "VERBENA_SIM_LIBRARY"


class LibraryError(ImportError):
    """libverbena-sim.so cannot be loaded."""


class ScenarioError(ValueError):
    """A scenario that is wrong: the text says where, and what is allowed there."""


class SimulationError(RuntimeError):
    """A simulation that cannot go on, or cannot do what was asked for."""


class Source(ctypes.Structure):
    _fields_ = [
        ("text", c_char_p),
        ("text_len", c_size_t),
        ("name", c_char_p),
        ("set", POINTER(c_char_p)),
        ("set_cnt", c_size_t),
        ("algorithm", c_void_p),
        ("parameters", c_char_p),
    ]


class State(ctypes.Structure):
    _fields_ = [(name, c_uint64) for name in (
        "now", "next", "until", "seed", "events", "hops", "digest", "deadlock_at", "past_flows")
    ] + [(name, c_uint32) for name in ("hosts", "nodes", "ports", "flows", "qps", "is_finished")]


class Flow(ctypes.Structure):
    _fields_ = [(name, c_uint64) for name in ("bytes", "completed", "start", "done", "ideal_ns", "rate")
    ] + [(name, c_uint32) for name in ("number", "src", "dst", "op", "state", "status", "qp", "reserved")]


class Port(ctypes.Structure):
    _fields_ = [(name, c_uint64) for name in (
        "rate_bps", "packets", "bytes", "dropped", "faults", "marked", "pauses", "paused_ns", "credit_ns",
        "queue_bytes", "queue_max", "queue_byte_ns")
    ] + [(name, c_uint32) for name in ("cable", "from_node", "to_node", "reserved")]


class Qp(ctypes.Structure):
    _fields_ = [(name, c_uint64) for name in ("rate", "cc_rate", "cc_target", "peer_window")
    ] + [(name, c_uint32) for name in (
        "alpha_ppm", "window_pkts", "unacked_pkts", "host", "qpn", "peer", "state", "flow")]


# The arguments of each function, and its result where it is not 0 or a negative errno.
_FUNCTIONS = {
    "version": ([], c_char_p),
    "open": ([POINTER(c_void_p), POINTER(Source), c_size_t, c_char_p, c_size_t], c_int),
    "close": ([c_void_p], None),
    "error": ([c_void_p], c_char_p),
    "advance": ([c_void_p, c_uint64], c_int),
    "state": ([c_void_p, POINTER(State), c_size_t], None),
    "flow": ([c_void_p, c_uint32, c_void_p, c_size_t], c_int),
    "port": ([c_void_p, c_uint32, c_void_p, c_size_t], c_int),
    "qp": ([c_void_p, c_uint32, c_void_p, c_size_t], c_int),
    "counter_name": ([c_uint32], c_char_p),
    "counters": ([c_void_p, c_uint32, POINTER(c_uint64), c_uint32], c_int),
    "table": ([c_void_p, c_char_p, POINTER(c_void_p), POINTER(c_size_t)], c_int),
    "set_cable": ([c_void_p, c_uint32, c_int], c_int),
    "set_fault": ([c_void_p, c_uint32, c_char_p], c_int),
    "set_ecn": ([c_void_p, c_uint32, c_uint32, c_uint32], c_int),
    "set_rate": ([c_void_p, c_uint32, c_uint64], c_int),
    "add_flow": ([c_void_p, c_uint32, c_uint32, c_uint32, c_uint64, c_uint64], c_int64),
}
_loaded: Optional[ctypes.CDLL] = None


def library() -> ctypes.CDLL:
    """The library, which is loaded when it is first needed."""
    global _loaded
    if _loaded is None:
        path = os.environ.get(_ENVIRONMENT, _NAME)
        try:
            loaded = ctypes.CDLL(path)
        except OSError as error:
            raise LibraryError(f"{path} cannot be loaded ({error}): install libverbena-sim0, or name the "
                               f"library with {_ENVIRONMENT}") from None
        for name, (arguments, result) in _FUNCTIONS.items():
            function = getattr(loaded, "verbena_sim_" + name)
            function.argtypes, function.restype = arguments, result
        _loaded = loaded
    return _loaded


def library_version() -> str:
    """The version of libverbena-sim.so."""
    return str(library().verbena_sim_version().decode())


class Handle:
    """An open simulation of the library; a failure becomes an exception with the library's reason."""

    def __init__(self, text: bytes, name: str, values: "list[str]",
                 algorithm: "Optional[ctypes.Structure]" = None) -> None:
        self._library = library()
        self._open: Optional[c_void_p] = None
        pointer, why = c_void_p(), ctypes.create_string_buffer(1024)
        changed = (c_char_p * len(values))(*(value.encode() for value in values))
        source = Source(text, len(text), name.encode(), changed, len(values),
                        ctypes.addressof(algorithm) if algorithm else None, None)
        if self._library.verbena_sim_open(byref(pointer), byref(source), ctypes.sizeof(source), why, len(why)):
            raise ScenarioError(why.value.decode(errors="replace"))
        self._open = pointer

    def close(self) -> None:
        if self._open is not None:
            self._library.verbena_sim_close(self._open)
        self._open = None

    def call(self, name: str, *arguments: object) -> int:
        """A function whose failure is a negative errno."""
        result = getattr(self._library, "verbena_sim_" + name)(self._pointer(), *arguments)
        if result is None or result >= 0:
            return result or 0
        why = self._library.verbena_sim_error(self._pointer()).decode(errors="replace")
        if result == -errno.ERANGE:
            raise IndexError(why)
        if result == -errno.EINVAL:
            raise ValueError(why)
        if result == -errno.ENOENT:
            raise LookupError(why)
        raise SimulationError(why)

    def state(self) -> State:
        state = State()
        self.call("state", byref(state), ctypes.sizeof(state))
        return state

    def table(self, name: str) -> bytes:
        text, length = c_void_p(), c_size_t()
        self.call("table", name.encode(), byref(text), byref(length))
        return ctypes.string_at(text.value or 0, length.value)

    def _pointer(self) -> c_void_p:
        if self._open is None:
            raise SimulationError("the simulation is closed")
        return self._open
