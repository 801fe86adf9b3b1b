# SPDX-License-Identifier: BSD-2-Clause
"""libibverbs' own examples: the pingpongs, with the received bytes checked (-c), and what they list."""
import re

from cases import add, case
from hosts import Failure, Skip
import pair

WHERE = ("lo4", "lo6", "net4", "net6")


def pingpong(where, program, options):
    def run(context):
        if where not in context.places:
            raise Skip(context.machine.why)
        for out in pair.run(context.places[where], program, options):
            if re.search("invalid data|Failed|mismatch", out):
                raise Failure(out)
    return run


def add_pingpongs():
    for where in WHERE:
        for kind in ("rc", "uc", "ud", "srq"):
            program = f"ibv_{kind}_pingpong"
            add(f"pingpong.{kind}.{where}", pingpong(where, program, ["-n", "200", "-c"]))
            add(f"pingpong.{kind}.events.{where}", pingpong(where, program, ["-n", "100", "-e", "-c"]))
        # Its -c is the number of clients.
        add(f"pingpong.xsrq.{where}", pingpong(where, "ibv_xsrq_pingpong", ["-n", "200"]))
        add(f"pingpong.xsrq.events.{where}", pingpong(where, "ibv_xsrq_pingpong", ["-n", "100", "-e"]))
    for where in ("lo4", "net6"):
        for kind in ("rc", "uc", "srq"):
            program = f"ibv_{kind}_pingpong"
            for size in (1, 1000, 4097, 65536, 1 << 20):
                add(f"pingpong.{kind}.size{size}.{where}",
                    pingpong(where, program, ["-n", "60", "-c", "-s", str(size)]))
        for mtu in (256, 512, 1024, 2048, 4096):
            add(f"pingpong.rc.mtu{mtu}.{where}",
                pingpong(where, "ibv_rc_pingpong",
                         ["-n", "100", "-c", "-s", "10000", "-m", str(mtu)]))
        for size in (1, 1000, 2000):
            add(f"pingpong.ud.size{size}.{where}",
                pingpong(where, "ibv_ud_pingpong", ["-n", "100", "-c", "-s", str(size)]))
    add("pingpong.rc.new_post_send.lo4",
        pingpong("lo4", "ibv_rc_pingpong", ["-n", "100", "-c", "-N"]))
    add("pingpong.srq.many.net4",
        pingpong("net4", "ibv_srq_pingpong", ["-n", "400", "-c", "-q", "16", "-r", "64"]))


@case("pingpong.rc.fork_safe.lo4")
def _(context):
    pair.run(context.places["lo4"], "ibv_rc_pingpong", ["-n", "100", "-c"],
             env={"RDMAV_FORK_SAFE": "1"})


@case("list.ibv_devices")
def _(context):
    out = context.machine.a.run([context.verbena, "run", "--", "ibv_devices"])
    if not re.search(r"^\s+verbena\d+\s+[0-9a-f]{16}$", out, re.M):
        raise Failure(out)


@case("list.ibv_devinfo")
def _(context):
    a = context.machine.a
    out = a.run([context.verbena, "run", "--", "ibv_devinfo", "-v"])
    for want in (r"hca_id:\s+verbena\d", r"state:\s+PORT_ACTIVE", r"link_layer:\s+Ethernet",
                 r"atomic_cap:\s+ATOMIC_", r"GID\[\s*0\]:", "RoCE v2", r"max_mtu:\s+4096",
                 r"vendor_id:\s+0x", r"fw_ver:\s+\S", r"node_guid:\s+[0-9a-f]{4}:"):
        if not re.search(want, out):
            raise Failure(f"no '{want}' in\n{out}")
    if a.holder:
        a.run([context.verbena, "run", "--", "ibv_devinfo", "-d", a.device(context.verbena, "veth0"),
               "-l"])


@case("list.ibv_asyncwatch")
def _(context):
    with pair.spare(context) as place:
        c, d = place.client.host, place.server.host
        device = c.device(context.verbena, "veth9")
        watch = c.start([context.verbena, "run", "--", "stdbuf", "-oL", "ibv_asyncwatch", "-d", device])
        watch.wait_output("async event FD")
        d.run(["ip", "link", "set", "veth9", "down"])
        watch.wait_output(r"event_type.*\(10\)", 15)
        d.run(["ip", "link", "set", "veth9", "up"])
        watch.wait_output(r"event_type.*\(9\)", 15)


add_pingpongs()
