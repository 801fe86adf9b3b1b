# SPDX-License-Identifier: BSD-2-Clause
"""Copies of libibverbs that a program brings: the provider plug-in, docs/verbs.md "Copies of libibverbs"."""
import ctypes
import os
import pathlib
import re
import shutil
import tempfile

from cases import add, case
from hosts import Failure, Skip
import pair

PROGRAMS = {
    "rc": ("ibv_rc_pingpong", ["-n", "200", "-c"]),
    "rc.events": ("ibv_rc_pingpong", ["-n", "100", "-c", "-e"]),
    "rc.new_post_send": ("ibv_rc_pingpong", ["-n", "100", "-c", "-N"]),
    "ud": ("ibv_ud_pingpong", ["-n", "200", "-c"]),
    "ud.events": ("ibv_ud_pingpong", ["-n", "100", "-c", "-e"]),
    "srq.events": ("ibv_srq_pingpong", ["-n", "100", "-c", "-e"]),
    "write_bw": ("ib_write_bw", ["-n", "500"]),
    "send_lat.events": ("ib_send_lat", ["-n", "200", "-e"]),
}


def system_library():
    ctypes.CDLL("libibverbs.so.1")
    for line in pathlib.Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        if re.search(r"/libibverbs\.so\.1[.0-9]*$", line):
            return line.split()[-1]
    raise Skip("there is no libibverbs.so.1")


def copies(folder, cnt):
    """Copies under names of their own, as an application or a wheel brings them."""
    made = [os.path.join(folder, f"libprivate{i}.so") for i in range(cnt)]
    for path in made:
        shutil.copy(system_library(), path)
    return made


def renamed(program, folder):
    """The program with other names for the functions of libibverbs, which tests/system/copy_shim.c has."""
    found = shutil.which(program)
    if not found:
        raise Skip(f"no {program}")
    path = os.path.join(folder, program)
    data = pathlib.Path(found).read_bytes()
    pathlib.Path(path).write_bytes(data.replace(b"\0ibv_", b"\0jbv_"))
    os.chmod(path, 0o755)
    return path


def on_copy(context, program, folder):
    """The words that run the program on a copy; the next one is its name, and its options follow."""
    shim = os.path.join(context.build, "tests", "system", "libcopy_shim.so")
    if not os.path.exists(shim):
        raise Skip("the shim is not built for this processor")
    copy, = copies(folder, 1)
    return ["sh", "-c",
            f'COPY={copy} LD_PRELOAD="{shim}:$LD_PRELOAD" exec {renamed(program, folder)} "$@"']


def run_program(name, options):
    def run(context):
        if "lo4" not in context.places:
            raise Skip(context.machine.why)
        with tempfile.TemporaryDirectory() as folder:
            place = pair.Place(f"copy.{name}", context, context.places["lo4"].server,
                               context.places["lo4"].client)
            place.run = place.run + on_copy(context, name, folder)
            for out in pair.run(place, name, options):
                if re.search("invalid data|Failed|mismatch", out):
                    raise Failure(out)
    return run


for key, (program, words) in PROGRAMS.items():
    add(f"copy.{key}", run_program(program, words))


@case("copy.devinfo")
def _(context):
    with tempfile.TemporaryDirectory() as folder:
        argv = on_copy(context, "ibv_devinfo", folder) + ["ibv_devinfo", "-v"]
        out = context.machine.a.run([context.verbena, "run", "--"] + argv)
        plain = context.machine.a.run([context.verbena, "run", "--", "ibv_devinfo", "-v"])
    if "GID[  0]" not in out or out != plain:
        raise Failure(f"{out}\n{plain}")


@case("copy.several")
def _(context):
    """Two copies in one process: the second comes after the plug-in was loaded by the first."""
    program = os.path.join(context.build, "tests", "system", "verbs_copy")
    with tempfile.TemporaryDirectory() as folder:
        out = context.machine.a.run([context.verbena, "run", "--", program] + copies(folder, 2))
    if out != "ok\n":
        raise Failure(out)


@case("copy.configured")
def _(context):
    """The copy loads the plug-in by itself, as one of its drivers: it is offered once."""
    program = os.path.join(context.build, "tests", "system", "verbs_copy")
    driver = os.path.join(context.build, "libverbena.d", "libverbena")
    with tempfile.TemporaryDirectory() as folder:
        out = context.machine.a.run([context.verbena, "run", "--", program] + copies(folder, 1),
                                    env={"RDMAV_DRIVERS": driver})
        alone = context.machine.a.run(["sh", "-c", '"$@" || :', "sh", program] + copies(folder, 1),
                                      env={"RDMAV_DRIVERS": driver})
    if out != "ok\n" or "cnt > 0" not in alone:
        raise Failure(out + alone)
