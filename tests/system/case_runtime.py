# SPDX-License-Identifier: BSD-2-Clause
"""Language runtimes that live by SIGSEGV, where they are installed: the guard of registered memory
leaves theirs to them."""
import os
import shutil
import tempfile

from cases import case
from hosts import Failure, Skip

HERE = os.path.dirname(os.path.abspath(__file__))


def needs(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise Skip(f"{tool} is not installed")


def ends_well(context, *argv):
    out = context.machine.a.run([context.verbena, "run", "--", *argv], 60)
    if out.split()[-1:] != ["ok"]:
        raise Failure(out)


@case("robust.runtime_go", seconds=180)
def _(context):
    """Go: a nil pointer is a panic that recover() gets, before and after memory is registered."""
    needs("go", "gcc")
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "nil")
        context.machine.a.run(["env", f"GOCACHE={folder}/cache", "GO111MODULE=off", "CGO_ENABLED=1", "go", "build",
                               "-o", program, os.path.join(HERE, "runtime_go.go")], 150)
        ends_well(context, program)


@case("robust.runtime_java", seconds=90)
def _(context):
    """Java: a null pointer is an exception in compiled code, which does not look for it."""
    needs("java", "javac")
    with tempfile.TemporaryDirectory() as folder:
        context.machine.a.run(["javac", "-d", folder, os.path.join(HERE, "RuntimeNull.java")], 60)
        ends_well(context, "java", "-cp", folder, "RuntimeNull",
                  os.path.join(context.build, "tests", "system", "libruntime_jni.so"))
