# SPDX-License-Identifier: BSD-2-Clause
"""Automatic path migration on an InfiniBand fabric: a cable of the primary path is pulled while programs transfer. IBA 17.2.8"""
import os
import re
import subprocess

from cases import case
from case_subnet import lid_of, need
from case_subnet_verbs import CLIENT, SERVER, begin, counters, growth, tell, uplinks
from hosts import Skip

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "verbs_apm.py")

TWO_PORTS = """Switch 4 "S-1"
Ca 1 "H-0000"
[1] "S-1"[1]
Ca 2 "H-0001"
[1] "S-1"[2]
[2] "S-1"[3]
Ca 1 "H-0002"
[1] "S-1"[4]
"""


class Pair:
    """Receiver and sender, armed and transferring. Each: its node and its paths, see verbs_apm.py."""

    def __init__(self, f, receiver, sender, timeout):
        if subprocess.run(["/usr/bin/python3", "-c", "import pyverbs.device"], capture_output=True).returncode:
            raise Skip("no pyverbs: install python3-pyverbs")
        self.ends = [f.host.start(f.at(node, "/usr/bin/python3", SCRIPT, role, str(timeout), *map(str, paths)), name=role,
                                  stdin=subprocess.PIPE)
                     for role, (node, paths) in (("receive", receiver), ("send", sender))]
        for p in self.ends:
            p.wait_output(r"lids \d+ \d+ qp \d+")
        known = [re.search(r"lids (\d+) (\d+) qp (\d+)", p.output()).groups() for p in self.ends]
        for p, peer in zip(self.ends, reversed(known)):
            tell(p, " ".join(peer) + "\n")
            p.wait_output("ready")
        tell(self.ends[1], "\n")
        for p in self.ends:
            p.wait_output("armed")

    def story(self):
        return "".join(p.story() for p in self.ends)

    def end(self, *migrated):
        """The transfer has gone on by the path that each end is to have now, and nothing was lost."""
        for p, path in zip(self.ends, migrated):
            p.wait_output("migrated", seconds=60)
            need(f"migrated {path}\n" in p.output(), p.story())
        self.ends[1].wait_output(r"goes on at \d+", seconds=60)
        tell(self.ends[1], "\n")
        for p in self.ends:
            need(p.wait(60) == 0, self.story())
            need("event PATH_MIG" in p.output(), self.story())
        totals = [int(re.search(r"total (\d+)", p.output())[1]) for p in self.ends]
        need(totals[0] == totals[1] > 0, str(totals))


def alternates(pair):
    """The LIDs of the alternate path: the receiver's, the sender's."""
    return [int(re.search(r"lids \d+ (\d+)", p.output())[1]) for p in pair.ends]


def uplink_from(f, leaf, other, lid):
    """The port of @leaf by which packets to @lid come that begin at @other, a leaf as well."""
    shown = f.host.run([f.context.verbena, "fabric", "--name", f.name, "show"])

    def cables(switch):
        block = re.search(rf"^Switch {switch} .*\n((?: .*\n)+)", shown, re.M)[1]
        return {int(port): peer for port, peer in re.findall(r"^ +(\d+) .*-> (S-\d+)", block, re.M)}

    table = f.run("H-0000", "ibroute", str(uplinks(f, other)[0]))
    out = int(re.search(rf"^0x{lid:04x} (\d+)", table, re.M)[1])
    spine = cables(other)[out]
    return next(port for port, peer in cables(leaf).items() if peer == spine)


@case("subnet.apm.cable", seconds=180)
def pulled_cable_between_switches(context):
    """LMC 1: the cable of the primary path between two switches is pulled, and nobody routes anew. The retries of the sender end,
    both ends migrate, and not a message is lost. IBT-37, IBT-63"""
    f = begin(context, "apm", "clos:leaves=2,spines=2,hosts=2", "-l", "1")
    try:
        f.finish_managers()
        leaf, ports = uplinks(f, "S-0001")
        to, back = lid_of(f, SERVER), lid_of(f, CLIENT)
        table = f.run("H-0000", "ibroute", str(leaf))
        used = int(re.search(rf"^0x{to:04x} (\d+)", table, re.M)[1])
        need(used in ports, table)
        # Answers go by the path bits of the sender's LID: those that do not need the cable, either.
        bits = next(b for b in (0, 1) if uplink_from(f, "S-0001", "S-0000", back + b) != used)
        before = counters(f, leaf, used)
        pair = Pair(f, (SERVER, (0, 1, 1, 1)), (CLIENT, (0, 1, bits, 1)), 14)
        while growth(f, leaf, used, before)["PortXmitPkts"] < 1000:
            pass
        f.host.run([context.verbena, "fabric", "--name", "apm", "unlink", "S-0001", str(used)])
        receiver, sender = alternates(pair)
        need((receiver, sender) == (to + 1, back + bits), pair.story())
        pair.end(f"port 1 dlid {sender} bits 1 timeout 12", f"port 1 dlid {receiver} bits {bits} timeout 12")
    finally:
        f.end()


@case("subnet.apm.port", seconds=180)
def port_that_goes_down(context):
    """A node with two ports: the primary one goes down, and the QP migrates at once: its timer would run for hours. IBT-37"""
    topology = os.path.join(context.machine.folder, "apm2.net")
    with open(topology, "w", encoding="ascii") as file:
        file.write(TWO_PORTS)
    f = begin(context, "apm2", topology)
    try:
        f.finish_managers()
        pair = Pair(f, (CLIENT, (0, 1, 0, 1)), (SERVER, (0, 1, 0, 2)), 31)
        receiver, sender = alternates(pair)
        f.host.run([context.verbena, "fabric", "--name", "apm2", "unlink", SERVER, "1"])
        pair.end(f"port 1 dlid {sender} bits 0 timeout 12", f"port 2 dlid {receiver} bits 0 timeout 12")
    finally:
        f.end()
