# SPDX-License-Identifier: BSD-2-Clause
"""Copies of libibverbs that programs bring along, whose calls do not come to libverbena.so: its provider plug-ins serve them."""
import glob
import os
import shutil
import tempfile

from cases import case
from hosts import Failure, Skip

SAYS = ["200 messages of 4096 bytes", "an async event", "closed"]


def need(cond, story):
    if not cond:
        raise Failure(story)


def copies(folder, *names):
    """Copies of the machine's libibverbs under other names."""
    found = glob.glob("/usr/lib/*/libibverbs.so.1")
    if not found:
        raise Skip("no libibverbs here")
    paths = [os.path.join(folder, name) for name in names]
    for path in paths:
        shutil.copy(os.path.realpath(found[0]), path)
    return paths


def run(context, library_names, driver=None, adapter=True):
    """The program with so many copies, on a host of its own. RDMAV_DRIVERS as @driver says."""
    host = context.machine.host("copies")
    try:
        with tempfile.TemporaryDirectory() as folder:
            p = host.start([*(["env", f"RDMAV_DRIVERS={driver}"] if driver else []), *([context.verbena, "run", "--"] if adapter else []),
                            os.path.join(context.build, "tests", "system", "verbs_copy"), *copies(folder, *library_names)])
            return p.wait(30), p.output().splitlines(), p.story()
    finally:
        host.end_programs()
        context.machine.drop(host)


def driver_of(context):
    return os.path.join(context.build, "libverbena.d", "libverbena")


@case("copy.events")
def _(context):
    """A copy finds the devices, connects two QPs, and waits for events of both kinds."""
    status, lines, story = run(context, ["libown.so"])
    need(status == 0 and lines[0].startswith("verbena") and lines[1:] == SAYS, story)


@case("copy.several")
def _(context):
    """Two copies in one process, one after the other, each with devices of its own; the second comes when the plug-in has long been there."""
    status, lines, story = run(context, ["libown.so", "libother.so"])
    need(status == 0 and [x for x in lines if not x.startswith("verbena")] == SAYS * 2, story)


@case("copy.by_name")
def _(context):
    """A copy that is told of a provider by its environment, as rdma-core documents it, has each device once."""
    status, lines, story = run(context, ["libown.so"], driver=driver_of(context))
    need(status == 0 and lines[1:] == SAYS, story)


@case("copy.alone")
def _(context):
    """Without the adapter the plug-in does nothing."""
    status, _, story = run(context, ["libown.so"], driver=driver_of(context), adapter=False)
    need(status == 1 and ("no device among 0" in story or "Function not implemented" in story), story)
