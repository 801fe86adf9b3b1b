# SPDX-License-Identifier: BSD-2-Clause
"""The other programs of infiniband-diags and ibutils on a fabric, every query of saquery, many processes at once, and two
fabrics side by side."""
import os
import re
import shutil
import signal

from cases import case
from case_subnet import Fabric, lid_of, need

# Query, records at 36 nodes with 96 ports and 48 cables, and what is between its parts.
QUERIES = (("CPI", 0), ("NR", 36), ("PIR", 116), ("SL2VL", 20 * 5 * 5 + 16), ("VLAR", 4 * (20 * 5 + 16)), ("LFTR", 20), ("GIR", 36),
           ("SWIR", 2 * 20), ("LR", 96), ("PR", 36 * 36), ("MCMR", 1), ("SR", 0), ("IIR", 0), ("SMIR", 1), ("MFTR", 0))
# Records of a fabric whose manager goes on looking for ports, and of which OpenSM tells those of itself twice.
AT_LEAST = ("PIR", "SMIR")


def port_info(f, lid, port):
    return f.run("H-0000", "ibportstate", str(lid), str(port), "query")


def field(text, name):
    found = re.search(rf"^{name}:\.*(.*)$", text, re.M)
    need(found, f"no {name} in {text}")
    return found[1]


def lid_of_switch(f, name):
    shown = f.host.run([f.context.verbena, "fabric", "show", f.name])
    return int(re.search(rf"^Switch {name} .* lid (\d+)", shown, re.M)[1])


def gid_of(f, node):
    """As ibaddr prints it, with the zeros left out."""
    return re.search(r"GID (\S+)", f.run(node, "ibaddr", "-g"))[1].rstrip(",")


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
            return file.read().split("\0")[0]
    except OSError:
        return ""


@case("subnet.ports", seconds=120)
def port_states(context):
    """ibportstate disables, enables and resets a port, and sets its speeds and width; ibaddr, sminfo, ibsysstat."""
    f = Fabric(context, "ports", "fat-tree:k=4")
    try:
        f.manage()
        f.await_log("SUBNET UP")
        lid, host = lid_of_switch(f, "S-0010"), lid_of(f, "H-0009")
        # A manager that hears of the port sets it as it wants it: in the midst of this, if it runs.
        f.managers[0].stop()
        f.run("H-0000", "ibportstate", str(lid), "1", "disable")
        text = port_info(f, lid, 1)
        need(field(text, "LinkState") == "Down" and field(text, "PhysLinkState") == "Disabled", text)
        f.run("H-0000", "ibportstate", str(lid), "1", "enable")
        f.run("H-0000", "ibportstate", str(lid), "1", "speed", "1")
        f.run("H-0000", "ibportstate", str(lid), "1", "espeed", "30")
        f.run("H-0000", "ibportstate", str(lid), "1", "width", "1")
        f.run("H-0000", "ibportstate", str(lid), "1", "reset")
        text = port_info(f, lid, 1)
        need(field(text, "PhysLinkState") == "LinkUp" and field(text, "LinkWidthActive") == "1X"
             and field(text, "LinkSpeedActive") == "2.5 Gbps", text)
        f.managers[0].kill(signal.SIGCONT)
        text = f.run("H-0000", "ibaddr", str(host))
        need(f"LID start 0x{host:x} end 0x{host:x}" in text, text)
        need("SMINFO_MASTER" in f.run("H-0009", "sminfo"), "sminfo")
        server = f.host.start(f.at("H-0009", "ibsysstat", "-S"))
        try:
            text = f.run("H-0000", "sh", "-c", f"until ibsysstat {host} 2>/dev/null; do :; done")
            need("sysstat ping succeeded" in text, text)
        finally:
            server.end()
        text = f.run("H-0000", "vendstat", "-N", str(host), status=255)
        need("classportinfo query" in text, text)
    finally:
        f.end()


@case("subnet.smpquery", seconds=120)
def queries_of_agents(context):
    """smpquery in all its forms, by LID, GUID, directed and combined route; and ibportstate of an adapter's port. FAB-11, FAB-12, FAB-13"""
    f = Fabric(context, "queries", "fat-tree:k=4")
    try:
        f.manage()
        f.await_log("SUBNET UP")
        host, switch = str(lid_of(f, "H-0009")), str(lid_of_switch(f, "S-0010"))
        guid = "0x" + f.run("H-0009", "cat", "/sys/class/infiniband/verbena0/ports/1/gids/0").strip().split(":", 4)[4].replace(":", "")
        leaf = re.search(r"Node Description:\.*(\S+)", f.run("H-0000", "smpquery", "-D", "nodedesc", "0,1"))[1]
        for options, word in (
                (["nodeinfo", host], r"NodeType:\.+Channel Adapter"), (["nodedesc", host], "H-0009"),
                (["portinfo", host, "1"], r"LinkState:\.+Active"), (["-x", "portinfo", host, "1"], r"LinkSpeedExtActive:\.+25.78125"),
                (["switchinfo", switch], r"LinearFdbCap:\.+49152"), (["pkeytable", host, "1"], "0: 0xffff"),
                (["sl2vl", host, "1"], r"SL: \|"), (["vlarb", host, "1"], "VLArbitration"), (["guidinfo", host], f"0: {guid}"),
                (["-G", "nodeinfo", guid], r"NodeType:\.+Channel Adapter"), (["-D", "portinfo", "0,1", "0"], r"Lid:\.+"),
                (["-c", "nodedesc", str(lid_of_switch(f, leaf)), "0,1"], r"Node Description:\.+\S+")):
            text = f.run("H-0000", "smpquery", *options)
            need(re.search(word, text), f"{options}: {text}")
        for word in ("PIE", "MEPI"):  # of later releases, and of one vendor
            text = f.run("H-0000", "sh", "-c", f"smpquery {word} {host} 1 2>&1; true")
            need("failed" in text, text)
        text = f.run("H-0000", "ibportstate", host, "1", "query")
        need(field(text, "LinkState") == "Active" and "CA/RT PortInfo" in text, text)
    finally:
        f.end()


@case("subnet.counters", seconds=120)
def counters(context):
    """perfquery in its forms, and ibqueryerrors, which finds nothing."""
    f = Fabric(context, "counters", "fat-tree:k=4")
    try:
        f.manage()
        f.await_log("SUBNET UP")
        lid, host = str(lid_of_switch(f, "S-0010")), str(lid_of(f, "H-0009"))
        text = f.run("H-0000", "perfquery", "-x", host, "1")
        before = int(field(text, "PortRcvPkts"))
        need(before > 10 and field(text, "PortMulticastRcvPkts") == "0", text)
        need("port 255" in f.run("H-0000", "perfquery", "-a", lid), "perfquery -a")
        need(f.run("H-0000", "perfquery", "-l", lid, "1-4").count("# Port counters") == 4, "perfquery -l")
        f.run("H-0000", "perfquery", "-x", "-R", host, "1")
        text = f.run("H-0000", "perfquery", "-x", host, "1")
        need(int(field(text, "PortRcvPkts")) < before, text)
        for option in ("-T", "-X", "-D", "-E", "--rcvcc", "--vloppackets"):  # of which nothing is known
            text = f.run("H-0000", "perfquery", option, host, "1", status=255)
            need("failed: cannot query" in text, text)
        text = f.run("H-0000", "ibqueryerrors")
        need("36 nodes checked, 0 bad nodes found" in text and "96 ports checked, 0 ports have errors" in text, text)
    finally:
        f.end()


@case("subnet.errors", seconds=60)
def reported_errors(context):
    """`fabric error` adds to the counters that perfquery and ibqueryerrors read; `fabric up --sm` has a manager."""
    v, a = context.verbena, context.machine.a
    f = Fabric(context, "errors", "star:hosts=2", "--sm")
    try:
        f.await_log("SUBNET UP", log=f.managed)
        pids = [pid for pid in a.pids() if "opensm" in command_of(pid)]
        need(len(pids) == 1, f"opensm: {pids}")
        lid = str(lid_of(f, "H-0001"))
        a.run([v, "fabric", "-n", "errors", "error", "H-0001", "1", "SymbolErrorCounter=7"])
        a.run([v, "fabric", "-n", "errors", "error", "H-0001", "1", "symbolerrorcounter=2"])
        need(field(f.run("H-0000", "perfquery", lid, "1"), "SymbolErrorCounter") == "9", "perfquery")
        text = f.run("H-0000", "sh", "-c", "ibqueryerrors --threshold-file /dev/null; true")
        need("[SymbolErrorCounter == 9]" in text, text)
        # Those at whose threshold a node sends a trap.
        for name, trap in (("LocalLinkIntegrityErrors", 129), ("ExcessiveBufferOverrunErrors", 130)):
            a.run([v, "fabric", "-n", "errors", "error", "H-0001", "1", f"{name}=1"])
            f.await_log(f"num:{trap}", log=f.managed)
        for words, said in ((("H-0001", "1", "Nothing=1"), "no counter of errors"), (("H-0001", "1", "VL15Dropped"), "COUNTER=N"),
                            (("H-0001", "2", "VL15Dropped=1"), "ports 1 to 1"), (("H-0001", "1", "VL15Dropped=x"), "COUNTER=N"),
                            (("H-0001", "1", "VL15Dropped=1x"), "no number")):
            text = a.run([v, "fabric", "-n", "errors", "error", *words], status=1)
            need(said in text, text)
    finally:
        f.end()
    need(not os.path.exists(os.path.dirname(f.managed)), "its files are there")
    need("opensm" not in command_of(pids[0]), "it runs on")


@case("subnet.tables", seconds=120)
def tables(context):
    """Every query of saquery, the forwarding tables, GUIDs and LIDs that are unique, and ibdiagnet. saquery reads into
    256 bytes first, and after ENOSPC a second time into as many as that says: MAD-15; the tables are OpenSM's. FAB-55"""
    f = Fabric(context, "tables", "fat-tree:k=4")
    try:
        f.manage()
        f.await_log("SUBNET UP")
        for query, cnt in QUERIES:
            text = f.run("H-0000", "saquery", query)
            got = len(re.findall(r" dump:", text))
            need(got == cnt or query in AT_LEAST and got > cnt, f"{query}: {got} records: {text[-500:]}")
        text = f.run("H-0000", "saquery", "--smkey", "1", "PKTR", str(lid_of(f, "H-0009")))
        need("0xFFFF" in text.replace("ffff", "FFFF"), text)
        lid, first, last = lid_of(f, "H-0009"), gid_of(f, "H-0000"), gid_of(f, "H-0009")
        guid = "0x" + "".join(f"{int(part or '0', 16):04x}" for part in last.split(":")[-4:])
        mgid = "ff12:401b:ffff::ffff:ffff"
        for options, word in (
                (["-D"], "H-0015"), (["-s"], "IsSM ports"), (["-c"], "ClassPortInfo"), (["-x"], "LinkRecord dump:"), (["-g"], mgid),
                (["-m"], mgid), (["-L", "H-0009"], f"{lid}"), (["-l", "H-0009"], f"{lid}"), (["-G", "H-0009"], guid),
                (["-O", str(lid)], "H-0009"), (["-U", guid], "H-0009"), (["-S"], ""), (["-I"], ""),
                (["--src-to-dst", f"{lid_of(f, 'H-0000')}:{lid}"], last), (["--src-to-dst", "H-0000:H-0009"], last),
                (["--sgid-to-dgid", f"{first}-{last}"], last)):
            text = f.run("H-0000", "saquery", *options)
            need(word in text, f"{options}: {word} is not in {text}")
        text = f.run("H-0000", "dump_lfts")
        need(len(re.findall(r"^36 (?:valid )?lids dumped", text, re.M)) == 20, text[-500:])
        text = f.run("H-0000", "dump_mfts")
        need(text.count("Multicast mlids") == 20, text[-500:])
        f.run("H-0000", "ibidsverify")
        if shutil.which("ibdiagnet"):
            folder = os.path.join(context.machine.folder, "ibdiagnet")
            text = f.run("H-0000", "ibdiagnet", "-o", folder)
            stages = re.findall(r"^    (\w.*?)  +(\d+) +\d+ *$", text, re.M)
            need(len(stages) >= 6 and all(errors == "0" for _, errors in stages), text[-1500:])
    finally:
        f.end()


@case("subnet.fixed_point", seconds=120)
def output_fed_back(context):
    """The output of ibnetdiscover is a topology, of which it prints the same again."""
    first = Fabric(context, "first", "fat-tree:k=4")
    path = os.path.join(context.machine.folder, "again.net")

    def discovered(f):
        text = f.run("H-0000", "ibnetdiscover")
        # The first lines are the date and where it began.
        return "".join(line + "\n" for line in text.splitlines() if not line.startswith("#"))

    try:
        printed = discovered(first)
        with open(path, "w", encoding="ascii") as file:
            file.write(printed)
        second = Fabric(context, "second", path)  # beside the first one
        try:
            need(discovered(second) == printed, discovered(second))
            # Each has a manager, and ports of its own.
            second.manage(log=second.log)
            second.await_log("SUBNET UP")
            need("State: Active" in second.run("H-0003", "ibstat"), "the second one")
            need("State: Initializing" in first.run("H-0003", "ibstat"), "the first one")
        finally:
            second.end()
        need(discovered(first) == printed, "the first one")
    finally:
        first.end()


@case("subnet.many", seconds=240)
def many_processes(context):
    """A hundred processes at nodes of a fabric at once, ten at each, all with an open file."""
    f = Fabric(context, "many", "fat-tree:k=4")
    servers = []
    try:
        f.manage()
        f.await_log("SUBNET UP")
        program = ("import os, select\nf = [os.open('/dev/infiniband/umad0', os.O_RDWR) for _ in range(2)]\n"
                   "print('open', flush=True)\nselect.select([f[0]], [], [])\n")
        for i in range(100):
            servers.append(f.host.start(f.at(f"H-{i % 10:04}", "python3", "-c", program)))
        for p in servers:
            p.wait_output("open", seconds=60)
        need(f.run("H-0003", "saquery", "-N").count("NodeRecord dump") == 36, "saquery")
    finally:
        for p in servers:
            p.end()
        f.end()
