# SPDX-License-Identifier: BSD-2-Clause
"""Memory of one program that another one imports and a third one writes and reads by RDMA."""
import os
import subprocess
import tempfile

from cases import case
from hosts import Failure


class Trio:
    """An exporter and a peer that listen, and importers."""

    def __init__(self, context, directory, kind):
        self.context, self.host = context, context.machine.a
        self.at, self.peer_at = (os.path.join(directory, name) for name in ("export", "peer"))
        self.exporter = self.start("export", self.at, kind)
        self.peer = self.start("peer", self.peer_at)
        for program in (self.exporter, self.peer):
            program.wait_output("^listening$")
        self.importer = self.start("import", self.at, self.peer_at)

    def begin(self):
        """The import has worked, and the peer writes to it."""
        self.importer.wait_output("^imported$")
        self.ask(self.peer, "write 7", "wrote 7")

    def start(self, *role):
        c = self.context
        return self.host.start(
            [*c.sanitizer, c.verbena, "run", "--", os.path.join(c.build, "tests", "system", "verbs_import"),
             self.host.device(c.verbena, "lo"), *role], name=f"import {role[0]}", stdin=subprocess.PIPE)

    @staticmethod
    def ask(program, line, answer):
        program.process.stdin.write(line.encode() + b"\n")
        program.process.stdin.flush()
        program.wait_output(f"^{answer}$")

    def finish(self, *programs):
        for program in programs:
            program.process.stdin.close()
            if program.wait(10) != 0:
                raise Failure(program.story())


@case("verbs.import", seconds=60)
def _(context):
    """While the exporter has the region, and after it is deregistered."""
    with tempfile.TemporaryDirectory() as directory:
        t = Trio(context, directory, "memfd")
        t.begin()
        t.ask(t.exporter, "byte", "byte 7")
        t.ask(t.importer, "again", "again yes")
        t.ask(t.exporter, "dereg", "gone")
        t.ask(t.peer, "write 9", "error 10")  # IBV_WC_REM_ACCESS_ERR
        t.ask(t.exporter, "byte", "byte 7")
        t.finish(t.exporter, t.importer, t.peer)


@case("verbs.import_kill9_exporter", seconds=60)
def _(context):
    """Imported objects go on working, and nothing new can be imported."""
    with tempfile.TemporaryDirectory() as directory:
        t = Trio(context, directory, "memfd")
        t.begin()
        t.exporter.kill()
        t.ask(t.peer, "write 8", "wrote 8")
        t.ask(t.importer, "again", "again yes")  # what it has
        t.finish(t.importer, t.peer)


@case("verbs.import_private_memory")
def _(context):
    """No process can reach what is another one's alone."""
    with tempfile.TemporaryDirectory() as directory:
        t = Trio(context, directory, "private")
        t.importer.wait_output("^refused EOPNOTSUPP$")
        t.finish(t.exporter, t.importer)
