# SPDX-License-Identifier: BSD-2-Clause
"""The table of cases: a name, what it runs, and how long it may take.

A long case waits for a time that programs cannot change, or runs a program at one place more. It runs where it is asked for,
by its name or by --long. A case that is alone measures times, or looks at all processes: no other one runs beside it."""


class Case:
    def __init__(self, name, run, seconds, is_long, is_alone):
        self.name, self.run, self.seconds, self.is_long, self.is_alone = name, run, seconds, is_long, is_alone


CASES = []


def add(name, run, seconds=30, is_long=False, is_alone=False):
    """Adds a case; run(context) raises Failure or Skip."""
    assert all(c.name != name for c in CASES), f"two cases are called {name}"
    CASES.append(Case(name, run, seconds, is_long, is_alone))


def case(name, seconds=30, is_long=False, is_alone=False):
    """The decorator that adds a function as a case."""
    def register(run):
        add(name, run, seconds, is_long, is_alone)
        return run
    return register
