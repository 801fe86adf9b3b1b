# SPDX-License-Identifier: BSD-2-Clause
"""Whom a manager lets in: two partitions that do not reach each other, and nodes whose M_Key it keeps; and a fabric of 1,072 nodes,
whose tables osmtest and saquery read whole."""
import os
import re

from cases import case
from case_subnet import Fabric, lid_of, need
from case_subnet_diags import field, lid_of_switch
from case_subnet_verbs import begin


@case("subnet.access.partitions", seconds=180)
def two_partitions(context):
    """Members of two partitions of partitions.conf: each reaches its own kind and nobody else; the port that refuses counts it, and
    trap 259 says so. IBT-81, LNK-37, FAB-36"""
    conf = os.path.join(context.machine.folder, "two.conf")
    with open(conf, "w", encoding="ascii") as file:
        file.write("Default=0x7fff:ALL=limited,SELF=full;\n")
    f = Fabric(context, "two-parts", "star:hosts=5")
    try:
        guid = {n: f.run(n, "cat", "/sys/class/infiniband/verbena0/ports/1/gids/0").strip().split(":", 4)[4].replace(":", "")
                for n in ("H-0001", "H-0002", "H-0003", "H-0004")}
        with open(conf, "a", encoding="ascii") as file:
            file.write(f"A=0x0001:0x{guid['H-0001']}=full,0x{guid['H-0002']}=full;\n"
                       f"B=0x0002:0x{guid['H-0003']}=full,0x{guid['H-0004']}=full;\n")
        f.manage("H-0000", "-P", conf)
        f.await_log("SUBNET UP")

        def index(node, pkey):
            for i in range(32):
                if f.run(node, "cat", f"/sys/class/infiniband/verbena0/ports/1/pkeys/{i}").strip() == pkey:
                    return str(i)
            raise AssertionError(f"{node} is no member of {pkey}")

        def ping(server, client, pkeys):
            port = str(f.host.pick_port())
            a, b = (["ib_send_lat", "-n", "5", "-u", "10", "-p", port, "--pkey_index", index(n, k)]
                    for n, k in zip((server, client), pkeys))
            s = f.host.start(f.at(server, "stdbuf", "-oL", *a))
            s.wait_listen(int(port))
            c = f.host.start(f.at(client, "stdbuf", "-oL", *b, "127.0.0.1"))
            status = c.wait(60)
            story = c.story() + s.story()
            s.end()
            return status == 0, story

        for pair, pkeys in ((("H-0001", "H-0002"), ("0x8001",) * 2), (("H-0003", "H-0004"), ("0x8002",) * 2)):
            ok, story = ping(*pair, pkeys)
            need(ok, story)
        ok, story = ping("H-0001", "H-0003", ("0x8001", "0x8002"))
        need(not ok and "Failed status 12" in story, story)
        f.await_log("num:259", seconds=10)  # nobody has asked for counters, and both programs have ended
        switch = lid_of_switch(f, "S-0000")
        out = "".join(f.run("H-0000", "perfquery", str(switch), str(port)) for port in range(1, 6))
        need(sum(int(n) for n in re.findall(r"PortXmitConstraintErrors:\.*(\d+)", out)) >= 1, out)
    finally:
        f.end()


@case("subnet.access.mkey", seconds=120)
def nodes_have_an_m_key(context):
    """OpenSM with m_key: who does not have it is not answered, is counted, and trap 256 tells of it; who has it is. When the manager is
    gone for the lease, nodes answer anybody again. FAB-02, FAB-35"""
    options = os.path.join(context.machine.folder, "mkey.conf")
    with open(options, "w", encoding="ascii") as file:
        file.write("m_key 0x1234\nm_key_protection_level 2\nm_key_lease_period 3\n")
    f = Fabric(context, "mkey", "star:hosts=3")
    try:
        manager = f.manage("H-0000", "-F", options)
        f.await_log("SUBNET UP")
        lid = str(lid_of(f, "H-0002"))

        def violations():
            return int(field(f.run("H-0001", "smpquery", "-y", "0x1234", "portinfo", lid), "MkeyViolations"))

        before = violations()
        text = f.run("H-0001", "sh", "-c", f"smpquery -t 100 portinfo {lid} 2>&1; true")
        need("failed" in text, text)
        need(violations() > before, f"{before} violations as before")
        f.await_log("num:256")
        manager.kill()
        manager.wait(10)
        context.wait(lambda: "MkeyViolations" in f.run("H-0001", "sh", "-c", f"smpquery -t 100 portinfo {lid} 2>&1; true"), 20,
                     "the lease does not end")
    finally:
        f.end()


@case("subnet.large", seconds=300)
def many_nodes(context):
    """1,024 hosts and 48 switches: osmtest takes its inventory, and saquery reads each table whole, the PathRecords of all pairs too,
    73 MB in one message. MAD-19, FAB-55"""
    f = Fabric(context, "large", "clos:leaves=32,spines=16,hosts=32")
    try:
        f.manage("H-0000", "-s", "0")
        f.await_log("SUBNET UP")
        ports = 32 * 49 + 16 * 33 + 1024  # with ports 0
        for query, cnt in (("NR", 1072), ("PIR", ports), ("SL2VL", 32 * 49 * 49 + 16 * 33 * 33 + 1024), ("VLAR", 4 * ports),
                           ("GIR", 1072), ("SWIR", 2 * 48), ("LR", 2 * 1536), ("PR", 1072 * 1072)):
            text = f.run("H-0000", "sh", "-c", f"saquery --timeout 60000 {query} 2>/dev/null | grep -c ' dump:'", seconds=120)
            need(int(text) == cnt or query == "PIR" and int(text) > cnt, f"{query}: {text} records, not {cnt}")
        # As many blocks of 64 LIDs at each switch as the highest LID needs, which an earlier manager may have given.
        text = f.run("H-0000", "sh", "-c", "saquery --timeout 60000 LFTR | grep -c ' dump:'", seconds=60)
        need(int(text) >= 48 * 17 and int(text) % 48 == 0, f"LFTR: {text} records")
        folder = context.machine.folder
        text = f.run("H-0000", "sh", "-c", f"cd {folder} && osmtest -t 1000 -m 0x500 -f c -l {folder}/osmtest.log 2>&1", seconds=120)
        need("PASS" in text and "FAIL" not in text, text[-1500:])
    finally:
        f.end()
