# SPDX-License-Identifier: BSD-2-Clause
"""Programs of our own over rdma-core's libraries with the adapter preloaded."""
import glob
import os
import re
import subprocess

from cases import add, case
from hosts import Failure

HERE = os.path.dirname(os.path.abspath(__file__))


def says_ok(argv):
    def run(context):
        words = [w.format(build=context.build) for w in argv]
        out = context.machine.a.run([context.verbena, "run", "--", *words], 30)
        if out.split()[-1:] != ["ok"]:
            raise Failure(out)
    return run


add("verbs.preload", says_ok(["{build}/tests/system/verbs_preload"]))
add("verbs.preload_O0", says_ok(["{build}/tests/system/verbs_preload_O0"]))
add("verbs.pyverbs", says_ok(["/usr/bin/python3", os.path.join(HERE, "verbs_pyverbs.py")]))


def churn(*numbers):
    def run(context):
        out = context.machine.a.run([*context.sanitizer, context.verbena, "run", "--", os.path.join(
            context.build, "tests", "system", "verbs_churn"), *numbers], 100)
        if out.split()[-1:] != ["ok"]:
            raise Failure(out)
    return run


# Cycles and threads.
add("verbs.churn", churn("8000", "4"), seconds=120)
add("verbs.churn_64_threads", churn("3000", "64"), seconds=120)


@case("verbs.errors")
def verbs_errors(context):
    """The matrix of docs/error-semantics.md, over loopback."""
    context.machine.a.run([context.verbena, "run", "--", os.path.join(
        context.build, "tests", "conformance", "conformance_errors")], 60)


@case("verbs.dlopen")
def verbs_dlopen(context):
    """Every entry point that libverbena.so has is found under its version in rdma-core's library."""
    def symbols(path):
        out = subprocess.run(["nm", "-D", "--with-symbol-versions", path], capture_output=True,
                             text=True, check=True).stdout
        return re.findall(r" T (\w+)(?:@@(\S+))?$", out, re.M)
    versions = dict(symbols(glob.glob("/usr/lib/*-linux-gnu/libibverbs.so.1")[0]))
    names = [name for name, _ in symbols(os.path.join(context.build, "libverbena.so"))]
    if len(names) < 40:
        raise Failure(f"libverbena.so has only {names}")
    says_ok(["{build}/tests/system/verbs_dlopen",
             *(f"{name}@{versions[name]}" for name in names)])(context)


@case("verbs.ctypes")
def verbs_ctypes(context):
    """Python opens the library by name and looks for functions in it."""
    program = """
import ctypes
lib = ctypes.CDLL("libibverbs.so.1")
lib.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
lib.ibv_get_device_name.restype = lib.ibv_wc_status_str.restype = ctypes.c_char_p
lib.ibv_get_device_name.argtypes = [ctypes.c_void_p]
assert lib.ibv_get_device_name(lib.ibv_get_device_list(None)[0]).startswith(b"verbena")
assert lib.ibv_wc_status_str(0) == b"success"
print("ok")
"""
    says_ok(["/usr/bin/python3", "-c", program])(context)
