# SPDX-License-Identifier: BSD-2-Clause
"""Each routing engine of OpenSM on a topology that it is made for, loops of credits, service levels by a QoS policy, and
PerfMgr: what the agents of `verbena fabric` answer to all of them."""
import os
import re
import shutil
import signal
import time

from cases import case
from case_subnet import Fabric, lid_of, need
from hosts import Failure, Skip

# The torus has its seed at the first switch, with links in all four directions as it has four switches a row.
TORUS = """torus 4 4 1
xp_link 0x7662000000010000 0x7662000000010100
xm_link 0x7662000000010000 0x7662000000010300
yp_link 0x7662000000010000 0x7662000000010400
ym_link 0x7662000000010000 0x7662000000010c00
"""
# Engine, topology, whether it needs lanes.
ENGINES = (("minhop", "fat-tree:k=4", False), ("updn", "fat-tree:k=4", False), ("dnup", "fat-tree:k=4", False),
           ("ftree", "fat-tree:k=4", False), ("dor", "mesh:size=4x4,hosts=1", False),
           ("lash", "torus:size=4x4,hosts=1", True), ("sssp", "torus:size=4x4,hosts=1", False),
           ("dfsssp", "torus:size=4x4,hosts=1", True), ("nue", "torus:size=4x4,hosts=1", True),
           ("torus-2QoS", "torus:size=4x4,hosts=1", True))


def route(f, engine, *options):
    """OpenSM by this engine alone, until the subnet is up; then tables of each switch lead to the last host."""
    f.manage("H-0000", "-R", f"{engine},no_fallback", *options)
    log = f.await_log("SUBNET UP")
    need(f"{engine} tables configured on all switches" in log, log[-2000:])
    text = f.run("H-0000", "ibtracert", str(lid_of(f, "H-0000")), str(lid_of(f, "H-0015")))
    need(re.search(r'To ca .*"H-0015"', text), text)


@case("subnet.engines", seconds=300)
def engines(context):
    """Ten engines, each without another one to fall back on."""
    config = os.path.join(context.machine.folder, "torus-2QoS.conf")
    with open(config, "w", encoding="ascii") as file:
        file.write(TORUS)
    for engine, topology, lanes in ENGINES:
        f = Fabric(context, "engine", topology)
        try:
            route(f, engine, *(["-Q"] if lanes else []), *(["--torus_config", config] if "torus" in engine else []))
        finally:
            f.end()


@case("subnet.loops", seconds=120)
def loops_of_credits(context):
    """ibdmchk finds the loops that min-hop and SSSP make of a ring, and none where an engine avoids them: up and down in a ring,
    dimension order in a mesh, a fat tree."""
    if not shutil.which("ibdmchk"):
        raise Skip("ibdmchk is not installed")
    folder = context.machine.folder
    ring, mesh = "ring:switches=6,hosts=1", "mesh:size=3x3,hosts=1"
    root = os.path.join(folder, "root.guids")
    with open(root, "w", encoding="ascii") as file:
        file.write("0x7662000000010000\n")  # the first switch
    for engine, topology, found in (("minhop", ring, True), ("sssp", ring, True), ("updn", ring, False), ("dnup", "fat-tree:k=4", False),
                                    ("dor", mesh, False), ("ftree", "fat-tree:k=4", False)):
        f = Fabric(context, "loops", topology)
        try:
            f.manage("H-0000", "-R", f"{engine},no_fallback", "-D", "0x43", *(["-a", root] if topology == ring else []))
            f.await_log("SUBNET UP")
            f.finish_managers()
            text = f.host.run(["sh", "-c", f"cd {folder} && ibdmchk -s opensm-subnet.lst -f opensm.fdbs -m opensm.mcfdbs "
                                           "2>&1; true"])
            need(("credit loops in routing" in text) == found and ("no credit loops found" in text) != found, f"{engine}: {text[-1500:]}")
        finally:
            f.end()


@case("subnet.policy", seconds=120)
def service_levels(context):
    """A QoS policy gives a service its level, and its map and weights are in the ports; PerfMgr reads all counters."""
    folder = context.machine.folder
    policy, config = (os.path.join(folder, name) for name in ("qos.conf", "osm.conf"))
    with open(policy, "w", encoding="ascii") as file:
        file.write("qos-ulps\n  default : 0\n  any, service-id 0x1000-0x10ff : 3\nend-qos-ulps\n")
    with open(config, "w", encoding="ascii") as file:
        file.write("qos_max_vls 8\nqos_vlarb_low 0:64,3:192\nqos_vlarb_high 1:4\nqos_sl2vl 0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,7\n")
    f = Fabric(context, "policy", "fat-tree:k=4")
    try:
        f.manage("H-0000", "-F", config, "-Q", "-Y", policy, "--perfmgr", "--perfmgr_sweep_time_s", "1", "-D", "0x7")
        f.await_log("SUBNET UP")
        lid = str(lid_of(f, "H-0009"))
        for service, level in (("0x1010", "0x3"), ("0x2000", "0x0")):
            text = f.run("H-0000", "saquery", "PR", "--slid", str(lid_of(f, "H-0000")), "--dlid", lid, "--service_id", service)
            need(re.search(rf"^\s*qos_class\S*{level}|^\s*sl\.*{level}|^\s*SL\.*{level}", text, re.M), f"{service}: {text}")
        text = f.run("H-0000", "smpquery", "sl2vl", lid, "1")
        need("| 0| 1| 2| 3| 0| 1| 2| 3| 0| 1| 2| 3| 0| 1| 2| 7|" in text, text)
        text = f.run("H-0000", "smpquery", "vlarb", lid, "1")
        need(re.search(r"WEIGHT: \|0x40\|0xC0\|", text), text)
        log = f.await_log("(H-0015)", seconds=30)
        need(len(re.findall("Getting stats for node", log)) >= 96 and "ERR 54" not in log, log[-2000:])
    finally:
        f.end()


@case("subnet.route_stopped", seconds=60)
def stopped(context):
    """Ctrl-C, which a terminal sends to each process of `verbena fabric route`, ends all of them."""
    host, folder = context.machine.a, os.path.join(context.machine.folder, "stopped")
    p = host.start([context.verbena, "fabric", "route", "clos:leaves=32,spines=16,hosts=16", "-R", "dfsssp", "-o", folder])
    time.sleep(1)
    os.killpg(p.pid, signal.SIGINT)
    if p.wait(20) == 0 or "stopped" not in p.output() or os.path.exists(folder):
        raise Failure(p.story())
