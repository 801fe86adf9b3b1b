# SPDX-License-Identifier: BSD-2-Clause
"""README.md: the commands that a reader is told to run do what it says.

A block of ```sh that follows a line <!-- tested --> runs here, in one shell, at the top of the source.
"""
import os
import re

from cases import case
from hosts import Failure


@case("readme.commands", seconds=60)
def _(context):
    with open(os.path.join(context.source, "README.md"), encoding="utf-8") as f:
        blocks = re.findall(r"<!-- tested -->\n+```sh\n(.*?)```", f.read(), re.S)
    if not blocks:
        raise Failure("README.md has no tested block")
    for block in blocks:
        script = block.replace("cmake --preset user && cmake --build --preset user\n", "")
        script = script.replace("build/user/", os.path.relpath(context.build, context.source) + "/")
        context.machine.a.run(["bash", "-euo", "pipefail", "-c", script], seconds=50, cwd=context.source)
