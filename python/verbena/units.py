# SPDX-License-Identifier: BSD-2-Clause
"""Times, rates and sizes as scenarios have them: numbers, or texts with a unit."""
import re
from decimal import Decimal
from typing import Mapping, Union

Quantity = Union[int, float, str]

TIMES = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
RATES = {"kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12}
SIZES = {"": 1, "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def _number(value: Quantity, units: Mapping[str, int], what: str) -> int:
    if isinstance(value, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", value)
        if not found or found[2] not in units:
            names = ", ".join(unit for unit in units if unit)
            raise ValueError(f"{value!r} is no {what}: give a number and one of {names}")
        return int(Decimal(found[1]) * units[found[2]])
    if value != value or value < 0 or value >= 2**64:
        raise ValueError(f"{value!r} is no {what}")
    return int(value)


def nanoseconds(time: Quantity) -> int:
    """Nanoseconds of "1.5us"; a number is nanoseconds already."""
    return _number(time, TIMES, "time")


def bits_per_second(rate: Quantity) -> int:
    """Bits per second of "40Gbps"; a number is bits per second already."""
    return _number(rate, RATES, "rate")


def size_in_bytes(size: Quantity) -> int:
    """Bytes of "64KiB"; a number is bytes already."""
    return _number(size, SIZES, "size")
