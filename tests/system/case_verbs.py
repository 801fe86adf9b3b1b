# SPDX-License-Identifier: BSD-2-Clause
"""Programs of our own over rdma-core's libraries with the adapter preloaded."""
import os

from cases import add
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
