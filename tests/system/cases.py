# SPDX-License-Identifier: BSD-2-Clause
"""The table of cases: a name, what it runs, and how long it may take."""


class Case:
    def __init__(self, name, run, seconds):
        self.name, self.run, self.seconds = name, run, seconds


CASES = []


def add(name, run, seconds=30):
    """Adds a case; run(context) raises Failure or Skip."""
    CASES.append(Case(name, run, seconds))


def case(name, seconds=30):
    """The decorator that adds a function as a case."""
    def register(run):
        add(name, run, seconds)
        return run
    return register
