# SPDX-License-Identifier: BSD-2-Clause
"""The shared-memory link: the same programs, without a packet on the wire; and who else takes part."""
import os
import re
import signal

from cases import add, case
from hosts import Failure, Skip
import icrc
import pair

SHM, UDP = {"VERBENA_LINK": "shm"}, {"VERBENA_LINK": "udp"}


def datagrams(host):
    """How many UDP datagrams the host has sent, ever."""
    lines = host.run(["cat", "/proc/net/snmp", "/proc/net/snmp6"])
    names, values = [line.split() for line in lines.splitlines() if line.startswith("Udp:")]
    return int(values[names.index("OutDatagrams")]) + int(re.search(r"Udp6OutDatagrams\s+(\d+)", lines)[1])


def stays_inside(where, program, options):
    """Data is right, and the packets of two hundred messages and more are none on the wire."""
    def run(context):
        place = context.places[where]
        host = place.client.host
        if not host.holder:
            raise Skip(context.machine.why)
        before = datagrams(host)
        for out in pair.run(place, program, options, env=SHM):
            if re.search("invalid data|Failed|mismatch", out):
                raise Failure(out)
        sent = datagrams(host) - before
        # Sockets that are connected ask once which identification they are at.
        if sent > 20:
            raise Failure(f"{sent} datagrams")
    return run


for kind in ("rc", "uc", "ud", "srq"):
    for name, options in ((kind, []), (f"{kind}.events", ["-e"])):
        add(f"shm.pingpong.{name}", stays_inside("lo4", f"ibv_{kind}_pingpong", ["-n", "200", "-c"] + options))
add("shm.pingpong.rc.long", stays_inside("lo6", "ibv_rc_pingpong", ["-n", "200", "-c", "-s", "100001"]))
for operation in ("send", "write", "read", "atomic"):
    size = [] if operation == "atomic" else ["-s", "65536", "-m", "4096"]
    add(f"shm.perftest.{operation}_bw",
        stays_inside("lo4", f"ib_{operation}_bw", ["-F", "-n", "500", "-q", "4"] + size))
    add(f"shm.perftest.{operation}_lat", stays_inside("lo6", f"ib_{operation}_lat", ["-F", "-n", "300"]))
add("shm.perftest.send_events", stays_inside("lo4", "ib_send_bw", ["-F", "-n", "500", "-e"]))


@case("shm.two_hosts")
def _(context):
    """Packets for other hosts go by UDP, as ever."""
    if "net4" not in context.places:
        raise Skip(context.machine.why)
    pair.run(context.places["net4"], "ibv_rc_pingpong", ["-n", "200", "-c"], env=SHM)


for name, env, server_env in (("server", UDP, SHM), ("client", SHM, UDP)):
    def mixed(context, env=env, server_env=server_env):
        """One of the two has it: they talk by UDP."""
        pair.run(context.places["lo4"], "ibv_rc_pingpong", ["-n", "200", "-c"], env=env, server_env=server_env)
        pair.run(context.places["lo4"], "ib_write_bw", ["-F", "-n", "200"], env=env, server_env=server_env)
    add(f"shm.only_the_{name}", mixed, 60)


def under_way(context, program, options, server_env=None):
    server, client = pair.start(context.places["lo4"], program, options, SHM, server_env)
    context.wait(lambda: "#bytes" in client.output() or client.status() is not None, 10,
                 f"it never began\n{client.story()}\n{server.story()}")
    return server, client


for name in ("server", "client"):
    def killed(context, name=name):
        """Whichever side is killed, the other one learns it from its retries, and the next pair works."""
        server, client = under_way(context, "ib_send_bw", ["-F", "-D", "20", "-b"])
        victim, other = (server, client) if name == "server" else (client, server)
        victim.kill()
        if other.wait(20) == 0 or not re.search("Failed status (5|12)", other.output()):
            raise Failure(other.story())
        pair.run(context.places["lo4"], "ibv_rc_pingpong", ["-n", "100", "-c"], env=SHM)
    add(f"shm.kill9_{name}", killed, 60)


@case("shm.kill9_broker", 60)
def _(context):
    """A running pair goes on without a broker, and new programs talk to each other."""
    host = context.places["lo4"].client.host
    if not host.holder:
        raise Skip(context.machine.why)
    server, client = under_way(context, "ib_send_lat", ["-F", "-D", "4", "-s", "64"])
    for pid in host.broker_pids():
        os.kill(pid, signal.SIGKILL)
    pair.run(context.places["lo4"], "ibv_rc_pingpong", ["-n", "100", "-c"], env=SHM)
    pair.finish(server, client, 25)


@case("shm.stopped_reader_holds_up_nobody", 60)
def _(context):
    """One server is stopped: another pair of the same host does its work meanwhile."""
    server, client = under_way(context, "ib_write_bw", ["-F", "-D", "20", "-u", "18"])
    server.stop()
    try:
        pair.run(context.places["lo4"], "ib_write_bw", ["-F", "-n", "500"], env=SHM)
    finally:
        server.end()
        client.end()


@case("shm.faults", 60)
def _(context):
    """Faults are met as by UDP; what is damaged goes by UDP, with an ICRC that is wrong."""
    host = context.places["lo4"].client.host
    for rules in ("loss=1%", "reorder=2%/50us", "dup=3%", "corrupt=1%"):
        host.run([context.verbena, "run", "--link", "shm", "--fault", rules, "--fault-seed", "5", "--",
                  os.path.join(context.build, "tests", "system", "verbs_sequence"),
                  host.device(context.verbena, "lo"), "write", "5000", "50"], seconds=30)


@case("shm.captured", 60)
def _(context):
    """Captured as what it would have been on the wire, ICRC included."""
    host = context.places["lo4"].client.host
    server, client = under_way(context, "ib_send_lat", ["-F", "-D", "8", "-s", "300"])
    path = os.path.join(context.machine.folder, "shm.pcapng")
    host.run([context.verbena, "capture", path, "-c", "200", "-t", "5"])
    checked, bad = icrc.check(path)
    if bad or checked < 200:
        raise Failure(f"{checked} packets, of which {bad} with a wrong ICRC")
    for p in (server, client):
        p.end()
