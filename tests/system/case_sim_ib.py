# SPDX-License-Identifier: BSD-2-Clause
"""InfiniBand in `verbena sim`: what it prints of lanes and deadlocks, its files, and captures as tshark reads them."""
import csv
import json
import os
import re
import shutil
import subprocess
import tempfile
import zlib

import ib_capture
from cases import case
from case_subnet_routing import TORUS
from hosts import Failure, Skip
from icrc import packets

SCENARIOS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scenarios", "ib")
PAIRS = """link: infiniband
infiniband: {lanes: 4}
topology: {shape: ring, switches: 3, hosts: 1}
transport: {mtu: 2048}
workload:
  - {shape: single, from: 0, to: 1, bytes: 20kB, sl: 2}
  - {shape: single, from: 2, to: 0, bytes: 20kB, sl: 1, mix: {read: 1}}
"""


def need(ok, text):
    if not ok:
        raise Failure(text)


def simulate(context, scenario, *options, status=0):
    p = subprocess.run([context.verbena, "sim", scenario, *options], capture_output=True, text=True, timeout=100)
    need(status is None or p.returncode == status, f"exit status {p.returncode}\n{p.stdout}{p.stderr}")
    return p.stdout


@case("sim-ib.deadlock", seconds=60)
def deadlock_is_named(context):
    """A ring by shortest ways: exit status 4, the cycle by its nodes, all files; in layers nothing of that."""
    with tempfile.TemporaryDirectory() as folder:
        out = simulate(context, os.path.join(SCENARIOS, "ring-deadlock.yaml"), "--out", folder, "--report",
                       os.path.join(folder, "page.html"), status=4)
        found = re.search(r"^deadlock +at [\d.]+ us: ((?:\d+ lane 0 -> )+)(\d+)$", out, re.M)
        need(found, out)
        nodes = [int(n) for n in re.findall(r"(\d+) lane", found[1])]
        need(sorted(nodes) == list(range(12, 18)) and int(found[2]) == nodes[0], out)
        need(all(abs(a - b) in (1, 5) for a, b in zip(nodes, nodes[1:])), out)
        with open(os.path.join(folder, "page.html"), encoding="utf-8") as f:
            page = f.read()
        need("Buffers of lanes at switches" in page and "Waited for credits" in page and "12 lane 0" in page, "page")
        need({"summary.json", "flows.csv", "ports.csv", "lanes.csv", "page.html"} <= set(os.listdir(folder)), "files")
        with open(os.path.join(folder, "summary.json"), encoding="utf-8") as f:
            ib = json.load(f)["infiniband"]
        need([lane["node"] for lane in ib["deadlock"]["cycle"]] == nodes and ib["deadlock"]["lanes"] == 6, str(ib))
        need(ib["credit_wait_ns"] > 0 and ib["overruns"] == 0 and ib["buffer_blocks"] == 128 and len(ib["lanes"]) == 1, str(ib))
    out = simulate(context, os.path.join(SCENARIOS, "ring-layers.yaml"))
    need("deadlock" not in out and re.search(r"done 132, failed 0", out) and "0 overruns, 0 discarded" in out, out)


@case("sim-ib.groups", seconds=60)
def groups_are_reported(context):
    """Groups in partitions: the table, the files and the page say who heard what; all lanes are shown."""
    with tempfile.TemporaryDirectory() as folder:
        page, scenario = os.path.join(folder, "page.html"), os.path.join(SCENARIOS, "groups-partitions.yaml")
        out = simulate(context, scenario, "--out", folder, "--report", page)
        found = re.search(r"^groups +(\d+) messages, received (\d+) of (\d+) times", out, re.M)
        need(found, out)
        sent, received, due = (int(n) for n in found.groups())
        need((sent, due, due - received) == (2 * 977 + 3 * 489, (2 * 977 + 3 * 489) * 5, 4 * 489), out)
        need(f"switches bar 0 packets that come in, {2 * 489} that go out" in out, out)
        with open(os.path.join(folder, "summary.json"), encoding="utf-8") as f:
            summary = json.load(f)
        need((summary["group_messages"], summary["group_due"], summary["group_received"]) == (sent, due, received), str(summary))
        need(summary["infiniband"]["barred_out"] == 2 * 489 and summary["infiniband"]["deadlock"] is None, str(summary))
        with open(os.path.join(folder, "flows.csv"), encoding="ascii") as f:
            flows = list(csv.DictReader(f))
        need([r["dst"] for r in flows] == ["group 0"] * 2 + ["group 1"] * 3 + ["3"], str(flows))
        need([bool(r["delivered_ns"]) for r in flows] == [True, True, True, False, False, False], str(flows))
        with open(page, encoding="utf-8") as f:
            text = f.read()
        need(all(t in text for t in ("Lane 0", "Lane 1", "Barred by P_Key", "To groups")), "page")


@case("sim-ib.capture", seconds=60)
def captures_begin_with_the_lrh(context):
    """Captures of links: tshark reads LRH and BTH of each packet; lanes.csv counts the same packets."""
    if not shutil.which("tshark"):
        raise Skip("tshark is not installed")
    with tempfile.TemporaryDirectory() as folder:
        scenario = os.path.join(folder, "pairs.yaml")
        with open(scenario, "w", encoding="ascii") as f:
            f.write(PAIRS)
        simulate(context, scenario, "--out", folder, "--pcap", "0.0")
        path = os.path.join(folder, "0.0.pcapng")
        fields = ("infiniband.lrh.vl", "infiniband.lrh.sl", "infiniband.lrh.slid", "infiniband.lrh.dlid",
                  "infiniband.bth.opcode", "frame.len", "_ws.malformed")
        p = subprocess.run(["tshark", "-n", "-r", path, "-T", "fields", *(x for f in fields for x in ("-e", f))],
                           capture_output=True, text=True, timeout=60)
        packets = [line.split("\t") for line in p.stdout.splitlines()]
        need(len(packets) > 20, p.stdout + p.stderr)
        seen = set()
        for lane, sl, slid, dlid, opcode, _, malformed in packets:
            need(opcode and not malformed, f"{lane} {sl} {slid} {dlid} {opcode} {malformed}")
            need(int(lane, 0) == int(sl, 0), f"lane {lane} of service level {sl}")
            seen.add((int(slid, 0), int(dlid, 0), int(sl, 0)))
        need(seen == {(1, 2, 2), (2, 1, 2), (3, 1, 1), (1, 3, 1)}, str(seen))
        with open(os.path.join(folder, "lanes.csv"), encoding="ascii") as f:
            rows = [r for r in csv.DictReader(f) if "0" in (r["from"], r["to"]) and r["cable"] == "0"]
        need(sum(int(r["packets"]) for r in rows) == len(packets), f"{rows} {len(packets)}")
        need(sum(int(r["bytes"]) for r in rows) == sum(int(line[5]) for line in packets), f"{rows}")


TRANSPORT = """link: infiniband
seed: 3
data: true
infiniband: {lanes: 2}
topology: {shape: star, hosts: 3}
transport: {type: TYPE, mtu: 1024}
workload:
  - {shape: single, from: 0, to: 1, bytes: 1}
  - {shape: single, from: 0, to: 1, bytes: 20kB, sl: 1, mix: {send: 1}}
  - {shape: single, from: 2, to: 0, bytes: 20kB}
"""


@case("sim-ib.capture.transports", seconds=120)
def captures_of_transports(context):
    """Captures of each transport, of groups and of routers: nothing is malformed to tshark but for its own mistakes, lengths and CRCs are
    right, and lanes.csv counts the same packets. LNK-01, LNK-07, LNK-09"""
    if not shutil.which("tshark"):
        raise Skip("tshark is not installed")
    known = [name for name, is_guess, _ in ib_capture.MISTAKES if is_guess]
    with tempfile.TemporaryDirectory() as folder:
        def captured(path, port, mistakes):
            simulate(context, path, "--out", folder, "--pcap", port, status=None)
            found, made = ib_capture.read(os.path.join(folder, f"{port}.pcapng"), 2000)
            need(made <= {*known, *mistakes}, f"{path}: {made}")
            return [p for p, _ in found]

        for kind, base, mistakes in (("rc", 0, ()), ("uc", 1, ()), ("ud", 3, ()), ("xrc", 5, ()), ("dc", 2, ["packet of DC"])):
            scenario = os.path.join(folder, f"{kind}.yaml")
            with open(scenario, "w", encoding="ascii") as f:
                f.write(TRANSPORT.replace("TYPE", kind))
            seen = captured(scenario, "0.0", mistakes)
            need(len(seen) > 40 and {p.opcode >> 5 for p in seen} == {base}, f"{kind}: {len(seen)} packets")
            with open(os.path.join(folder, "lanes.csv"), encoding="ascii") as f:
                rows = [r for r in csv.DictReader(f) if "0" in (r["from"], r["to"]) and r["cable"] == "0"]
            need(sum(int(r["packets"]) for r in rows) == len(seen) and
                 sum(int(r["bytes"]) for r in rows) == sum(len(p.bytes) for p in seen), f"{kind}: {rows} {len(seen)}")
        seen = captured(os.path.join(SCENARIOS, "groups-partitions.yaml"), "0.0", ())
        need(any(p.dlid >= 0xc000 and p.has_grh and p.dqpn == 0xffffff for p in seen), "no packet to a group")
        seen = captured(os.path.join(SCENARIOS, "two-subnets.yaml"), ROUTER_TO_B, ())
        need(any(p.has_grh and p.hop_limit == 63 for p in seen), "no packet through the router")


ERF, LRH, GRH = 16, 8, 40
A_TO_ROUTER, ROUTER_TO_B = "10.0", "10.1"  # the ports of the router: what comes and goes there


def icrc_is_good(packet):
    """By the standard alone: of a packet with a GRH all of the LRH, and traffic class, flow label, hop limit and byte 4 of
    the BTH are ones."""
    masked = bytearray(packet[:-6])
    masked[:LRH] = b"\xff" * LRH
    masked[LRH] |= 0x0f
    masked[LRH + 1:LRH + 4] = b"\xff" * 3
    masked[LRH + 7] = masked[LRH + GRH + 4] = 0xff
    return zlib.crc32(bytes(masked)).to_bytes(4, "little") == packet[-6:-2]


def routed_packets(context, folder, port):
    """The packets with a GRH at a port, by what routers leave alone: GIDs and all that is behind the GRH up to the ICRC."""
    simulate(context, os.path.join(SCENARIOS, "two-subnets.yaml"), "--out", folder, "--pcap", port)
    found = {}
    for _, record, _ in packets(os.path.join(folder, f"{port}.pcapng")):
        p = record[ERF:]
        if p[1] & 3 == 3:
            need(icrc_is_good(p), p.hex())
            found[p[LRH + 8:-2]] = p
    return found


@case("sim-ib.routers", seconds=60)
def routers_are_reported(context):
    """Two subnets: the table, the files and the page tell of the router; captures on both sides of it show new LIDs, a hop
    less, a VCRC of its own and the ICRC of before. A ring of subnets deadlocks by name. FAB-06, LNK-08"""
    with tempfile.TemporaryDirectory() as folder:
        page, scenario = os.path.join(folder, "page.html"), os.path.join(SCENARIOS, "two-subnets.yaml")
        out = simulate(context, scenario, "--out", folder, "--report", page)
        found = re.search(r"^routers +send (\d+) packets on; 0 at the end of their hop limit, 0 not routed, 0 to another LID$", out, re.M)
        need(found and "done 7, failed 0" in out and "0 overruns, 0 discarded" in out, out)
        with open(os.path.join(folder, "routers.csv"), encoding="ascii") as f:
            rows = list(csv.DictReader(f))
        need([(r["router"], r["cable"], r["prefix"], r["lid"]) for r in rows] ==
             [("10", "0", "0xfec0000000000001", "5"), ("10", "1", "0xfec0000000000002", "5")], str(rows))
        need(sum(int(r["sent_on"]) for r in rows) == int(found[1]), str(rows))
        with open(os.path.join(folder, "summary.json"), encoding="utf-8") as f:
            ib = json.load(f)["infiniband"]
        need((ib["routed"], ib["hops_ended"], ib["not_routed"], ib["misrouted"]) == (int(found[1]), 0, 0, 0), str(ib))
        with open(page, encoding="utf-8") as f:
            need(f"{found[1]} packets sent on" in f.read(), "page")
        near, far = (routed_packets(context, folder, port) for port in (A_TO_ROUTER, ROUTER_TO_B))
        # On their way from A, and in B.
        crossed = [(near[k], far[k]) for k in far if far[k][LRH + 15] == 1]
        need(len(crossed) == int(rows[1]["sent_on"]) == len([p for p in near.values() if p[LRH + 15] == 1]), f"{len(crossed)}")
        for a, b in crossed:
            need(a[2:4] == b"\0\5" and b[6:8] == b"\0\5" and a[:2] == b[:2], f"{a.hex()} {b.hex()}")
            need((a[LRH + 7], b[LRH + 7]) == (64, 63) and a[-2:] != b[-2:], f"{a.hex()} {b.hex()}")
        out = simulate(context, os.path.join(SCENARIOS, "subnets-ring.yaml"), status=4)
        found = re.search(r"^deadlock +at [\d.]+ us: (.*)$", out, re.M)
        need(found and len(re.findall(r"R-\d lane 0 ->", found[1])) == len(re.findall(r"S-\d lane 0 ->", found[1])) == 5, out)


OPENSM_RING = """link: infiniband
until: 100ms
infiniband: {{lanes: 8, buffer: 8KiB, routes: {0}}}
topology: {{file: {0}/topology.net}}
transport: {{mtu: 2048}}
workload: {{shape: all-to-all, bytes: 1MiB}}
"""


def loops_by_ibdmchk(context, folder, lanes):
    """Whether ibdmchk finds loops of credits in the tables."""
    more = ["-c", "opensm.psl", "-d", "opensm-sl2vl.dump"] if lanes else []
    p = subprocess.run(["ibdmchk", "-s", "opensm-subnet.lst", "-f", "opensm.fdbs", "-m", "opensm.mcfdbs", *more], cwd=folder,
                       capture_output=True, text=True, timeout=60)
    found = "credit loops in routing" in p.stdout
    need(found != ("no credit loops found" in p.stdout), p.stdout + p.stderr)
    return found


@case("sim-ib.opensm", seconds=180)
def routes_of_opensm(context):
    """OpenSM's own routes of a ring: by min-hop the simulator deadlocks and ibdmchk finds the loop, by dfsssp, lash and nue, with
    their service levels and lanes, neither, nor of a torus by torus-2QoS; an engine that cannot do it is said to fail."""
    for program in ("opensm", "saquery"):
        if not shutil.which(program):
            raise Skip(f"{program} is not installed")
    host = context.machine.a
    config = os.path.join(context.machine.folder, "torus-2QoS.conf")
    with open(config, "w", encoding="ascii") as f:
        f.write(TORUS)
    ring, torus = ("ring:switches=6,hosts=2", 6, 12), ("torus:size=4x4,hosts=1", 16, 16)
    for engine, (topology, switches, hosts), deadlocks in (("minhop", ring, True), ("dfsssp", ring, False), ("lash", ring, False),
                                                           ("nue", ring, False), ("torus-2QoS", torus, False)):
        folder = os.path.join(context.machine.folder, f"routes.{engine}")
        more = ["--", "--torus_config", config, "-Q"] if topology == torus[0] else []
        said = host.run([context.verbena, "fabric", "route", topology, "-R", engine, "-o", folder, *more], seconds=60)
        need(f"{engine}: {switches} switches, {hosts} hosts, service levels of paths: " in said, said)
        need(os.path.exists(os.path.join(folder, "opensm.psl")) != deadlocks, str(os.listdir(folder)))
        scenario = os.path.join(context.machine.folder, f"{engine}.yaml")
        with open(scenario, "w", encoding="ascii") as f:
            f.write(OPENSM_RING.format(folder))
        out = simulate(context, scenario, status=4 if deadlocks else 0)
        need(("S-0000 lane 0 -> S-0001 lane 0" in out) == deadlocks, out)
        need(deadlocks or f"done {hosts * (hosts - 1)}, failed 0" in out, out)
        if shutil.which("ibdmchk"):
            need(loops_by_ibdmchk(context, folder, not deadlocks) == deadlocks, f"ibdmchk of {engine}")
    folder = os.path.join(context.machine.folder, "routes.none")
    said = host.run([context.verbena, "fabric", "route", "ring:switches=6,hosts=2", "-R", "ftree", "-o", folder], seconds=60, status=1)
    need("OpenSM made no routes by 'ftree'" in said and "more than one root" in said and not os.path.exists(folder), said)


GROUP_OF_OPENSM = """link: infiniband
until: 100ms
infiniband: {{lanes: 1, routes: {0}}}
topology: {{file: {0}/topology.net}}
groups:
  - {{members: [0, 3, 9, 15], mlid: {1}}}
  - {{members: [0, 1], mlid: {2}}}
workload: [{{shape: multicast, count: 4, bytes: 100kB}}, {{shape: multicast, group: 1, bytes: 100kB}}, {{shape: permutation, bytes: 100kB}}]
"""


@case("sim-ib.opensm.groups", seconds=180)
def groups_of_opensm(context):
    """OpenSM's multicast tables of hosts that joined: the simulator takes them, ibdmchk finds them good; a member that is in
    none of them is named. FAB-02"""
    for program in ("opensm", "mckey"):
        if not shutil.which(program):
            raise Skip(f"{program} is not installed")
    host, folder = context.machine.a, os.path.join(context.machine.folder, "routes.groups")
    route = [context.verbena, "fabric", "route", "fat-tree:k=4", "-R", "ftree", "-o", folder]
    said = host.run([*route, "-g", "H-0000,H-0003,H-0009,H-0015", "-g", "H-0000,H-0001"], seconds=90)
    mlids = re.findall(r"^group \d: MLID (0xc[0-9a-f]{3}), (\d) hosts$", said, re.M)
    need([n for _, n in mlids] == ["4", "2"] and mlids[0][0] != mlids[1][0], said)
    scenario = os.path.join(context.machine.folder, "groups.yaml")
    with open(scenario, "w", encoding="ascii") as f:
        f.write(GROUP_OF_OPENSM.format(folder, *(m for m, _ in mlids)))
    out = simulate(context, scenario)
    messages = 98 * 4, 98  # of 1024 bytes
    due = messages[0] * 4 + messages[1] * 2
    need(f"groups         {sum(messages)} messages, received {due} of {due} times" in out, out)
    need("done 21, failed 0" in out and "0 overruns, 0 discarded" in out, out)
    if shutil.which("ibdmchk"):
        p = subprocess.run(["ibdmchk", "-s", "opensm-subnet.lst", "-f", "opensm.fdbs", "-m", "opensm.mcfdbs"], cwd=folder,
                           capture_output=True, text=True, timeout=60)
        need(f"Multicast Group:{mlids[0][0].upper().replace('X', 'x')}" in p.stdout and "no credit loops found" in p.stdout, p.stdout)
    with open(scenario, "w", encoding="ascii") as f:
        f.write(GROUP_OF_OPENSM.format(folder, mlids[0][0], mlids[0][0]))
    p = subprocess.run([context.verbena, "sim", scenario], capture_output=True, text=True, timeout=60)
    need(p.returncode != 0 and "does not lead to host 1, 'H-0001' port 1" in p.stderr, p.stdout + p.stderr)
    said = host.run([*route[:-1], folder + ".none", "-g", "H-0000,H-0099"], seconds=90, status=1)
    need("there is no host 'H-0099'" in said and not os.path.exists(folder + ".none"), said)
