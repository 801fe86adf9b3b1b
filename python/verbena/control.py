# SPDX-License-Identifier: BSD-2-Clause
"""Congestion control written in Python, for trying an idea out before it is written in C.

An algorithm is a class with a method for each event of a flow that it wants to know of; each flow has an
object of its own. include/verbena/cc.h describes events and answers. A call of Python for each packet
is slow: some ten thousand packets a second.
"""
import ctypes
import sys
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_uint32, c_uint64, c_void_p
from typing import Any, Dict, List, Type

_VERSION = 1
_NONE = 2**64 - 1


def _structure(name: str, wide: str, narrow: str = "", *others: Any) -> Type[ctypes.Structure]:
    """A structure of uint64_t members, uint32_t members, and others, in this order."""
    fields = [(field, c_uint64) for field in wide.split()] + [(field, c_uint32) for field in narrow.split()]
    return type(name, (ctypes.Structure,), {"_fields_": [*fields, *others]})


Facts = _structure("Facts", "now line_rate", "packet_bytes reserved")
Control = _structure("Control", "rate window timer ack_bytes")
Hop = _structure("Hop", "at tx_bytes queue_bytes rate")
Sent = _structure("Sent", "now sent", "bytes resent")


class Ack(ctypes.Structure):
    """An acknowledgement; `hops` are the records of switches on the way."""

    _fields_ = [(name, c_uint64) for name in ("now", "rtt", "acked", "sent", "bytes", "marked")
    ] + [("hop", POINTER(Hop)), ("hop_cnt", c_uint32), ("reserved", c_uint32)]

    @property
    def hops(self) -> List[Any]:
        return [self.hop[i] for i in range(self.hop_cnt)]


_Init = CFUNCTYPE(None, c_void_p, POINTER(Facts), c_void_p, POINTER(Control))
_OnSent = CFUNCTYPE(None, c_void_p, POINTER(Sent), POINTER(Control))
_OnAck = CFUNCTYPE(None, c_void_p, POINTER(Ack), POINTER(Control))
_OnTime = CFUNCTYPE(None, c_void_p, c_uint64, POINTER(Control))


class Table(ctypes.Structure):
    """struct verbena_cc_algorithm."""

    _fields_ = [("version", c_uint32), ("state_bytes", c_uint32), ("name", c_char_p), ("needs", c_uint32),
                ("parameter_cnt", c_uint32), ("parameter", c_void_p), ("init", _Init), ("on_sent", _OnSent),
                ("on_ack", _OnAck), ("on_cnp", _OnTime), ("on_nak", _OnTime), ("on_timeout", _OnTime),
                ("on_timer", _OnTime)]


class CongestionControl:
    """The base of an algorithm.

    __init__() gets the facts of a flow (`now`, `line_rate`, `packet_bytes`), and self.control, which it and
    each method may change: `rate` in bit/s, `window` in bytes, `timer` in ns, `ack_bytes`. There may be
    on_ack(ack), which has to be, on_sent(sent), on_cnp(now), on_nak(now), on_timeout(now) and
    on_timer(now). `needs` names what the algorithm needs of the network: "ecn", "cnp", "int".
    """

    needs: "tuple[str, ...]" = ()
    control: Any

    def __init__(self, facts: Any) -> None:
        pass

    def on_ack(self, ack: Any) -> None:
        raise NotImplementedError


class Callbacks:
    """The functions of a class as the library calls them. The first exception is kept and ends the run."""

    def __init__(self, kind: Type[CongestionControl]) -> None:
        self.error: "BaseException | None" = None
        self._flows: Dict[int, CongestionControl] = {}
        self._kind = kind
        self.table = Table(_VERSION, 16, b"python", sum(
            {"ecn": 1, "cnp": 2, "int": 4}[need] for need in kind.needs), 0, None, _Init(self._init),
            self._call(_OnSent, "on_sent"), self._call(_OnAck, "on_ack"),
            *(self._call(_OnTime, name) for name in ("on_cnp", "on_nak", "on_timeout", "on_timer")))

    def _init(self, state: int, facts: Any, _: object, control: Any) -> None:
        # Exceptions must not pass through the library.
        try:
            flow = self._kind.__new__(self._kind)
            flow.control = control.contents
            flow.__init__(facts.contents)  # type: ignore[misc]
            self._flows[state] = flow
        except Exception:
            self._keep_error()

    def _call(self, kind: Any, name: str) -> Any:
        if not hasattr(self._kind, name):
            return kind()

        def call(state: int, event: Any, control: Any) -> None:
            try:
                flow = self._flows[state]
                flow.control = control.contents
                getattr(flow, name)(event if isinstance(event, int) else event.contents)
            except Exception:
                self._keep_error()

        return kind(call)

    def _keep_error(self) -> None:
        self.error = self.error or sys.exc_info()[1]
