# SPDX-License-Identifier: BSD-2-Clause
"""Programs that talk with the subnet administrator of an InfiniBand fabric: services, and reports of traps."""
import os
import re
import shutil
import subprocess

from case_subnet import Fabric, lid_of, need
from cases import case
from hosts import Skip

MGID = "ff120000000000000000000000a5a5a5"


@case("subnet.services", seconds=120)
def services(context):
    """osmtest registers services, asks for them, and takes them back. FAB-53"""
    f = Fabric(context, "services", "star:hosts=2")
    try:
        f.manage()
        f.await_log("SUBNET UP")
        text = f.run("H-0001", "sh", "-c", f"osmtest -t 200 -f s -l {context.machine.folder}/services.log 2>&1")
        need('"Services Registration" PASS' in text, text)
    finally:
        f.end()


class Listener:
    """A program at a node that has subscribed to reports."""

    def __init__(self, fabric, node):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sa_events.py")
        self.program = fabric.host.start(fabric.at(node, "/usr/bin/python3", script), stdin=subprocess.PIPE)
        self.program.wait_output("sm lid")
        self.lines = 1

    def does(self, command, expected, seconds=70):
        """Gives it a command, and waits for its one line. Returns what @expected, an expression, found in it."""
        self.program.process.stdin.write(f"{command}\n".encode())
        self.program.process.stdin.flush()
        self.program.wait_output(rf"\A(?:.*\n){{{self.lines + 1}}}", seconds)
        said = self.program.output().splitlines()[self.lines]
        self.lines += 1
        found = re.fullmatch(expected, said)
        need(found, f"{command}: {said}")
        return found


@case("subnet.reports", seconds=180)
def reports(context):
    """Traps 64 to 67 are reported to programs that asked for them, again until they answer. FAB-31, FAB-54"""
    f = Fabric(context, "reports", "star:hosts=4")
    cable = [context.verbena, "fabric", "--name", "reports"]
    try:
        f.manage()
        f.await_log("SUBNET UP")
        listener, other = Listener(f, "H-0001"), Listener(f, "H-0002")
        gid = f.run("H-0003", "cat", "/sys/class/infiniband/verbena0/ports/1/gids/0").strip().replace(":", "")
        for trap in (64, 65, 66, 67):
            listener.does(f"subscribe {trap}", "subscribed, status 0x0")
        other.does("subscribe 65", "subscribed, status 0x0")
        f.host.run([*cable, "unlink", "H-0003", "1"])
        first = listener.does("ignore", rf"trap 65 issuer \d+ gid {gid} transaction (.*)")
        again = listener.does("await", rf"trap 65 issuer \d+ gid {gid} transaction (.*)")
        need(first[1] == again[1], f"another report, {again[1]} behind {first[1]}")
        other.does("await", rf"trap 65 issuer \d+ gid {gid} .*")
        f.host.run([*cable, "link", "H-0003", "1"])
        listener.does("await", rf"trap 64 issuer \d+ gid {gid} .*")
        listener.does(f"join {MGID}", "join, status 0x0")
        listener.does("await", rf"trap 66 issuer \d+ gid {MGID} .*")
        listener.does(f"leave {MGID}", "leave, status 0x0")
        listener.does("await", rf"trap 67 issuer \d+ gid {MGID} .*")
        listener.does("unsubscribe 65", "unsubscribed, status 0x0")
        other.does("unsubscribe 65", "unsubscribed, status 0x0")
        f.host.run([*cable, "unlink", "H-0003", "1"])
        listener.does("quiet 3", "quiet")
        other.does("quiet 0", "quiet")
    finally:
        f.end()


@case("subnet.devices", seconds=120)
def devices(context):
    """No node has units of input and output: SRP's tools end well, and a program that asks is told. FAB-49"""
    if not shutil.which("ibsrpdm"):
        raise Skip("srptools are not installed")
    f = Fabric(context, "devices", "star:hosts=3")
    try:
        f.manage()
        f.await_log("SUBNET UP")
        asker, lid = Listener(f, "H-0001"), lid_of(f, "H-0002")
        for mgmt_class, attribute in ((0x06, 0x10), (0x06, 0x11), (0x06, 0x12), (0x05, 0x10), (0x06, 0x01), (0x30, 0x10)):
            asker.does(f"get {mgmt_class} {attribute} {lid}", "status 0xc")
        need(not f.run("H-0001", "ibsrpdm", "-c", "-d", "/dev/infiniband/umad0").strip(), "ibsrpdm finds targets")
        text = f.run("H-0001", "sh", "-c", "srp_daemon -o -c -a -n -V -i verbena0 -p 1 2>&1")
        need("capability query" in text and "id_ext" not in text, text)
    finally:
        f.end()
