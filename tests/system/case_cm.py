# SPDX-License-Identifier: BSD-2-Clause
"""Programs that connect by RDMA CM: librdmacm's own, perftest with -R, and what becomes of a connection
when one side, or some of the messages, are lost."""
import json
import os
import re
import signal
import subprocess
import time

from cases import case
from hosts import Failure, Skip
import pair

# The server's and the client's arguments: S is the server's address, P the port, F what asks for the family.
PROGRAMS = {
    "rping": ("rping -s -a S -C 100 -V -p P", "rping -c -a S -C 100 -V -p P"),
    "ucmatose": ("ucmatose -b S -c 64 -C 100 -p P F", "ucmatose -s S -c 64 -C 100 -p P F"),
    "udaddy": ("udaddy -b S -c 4 -C 20 F", "udaddy -s S -c 4 -C 20 F"),
    "rdma_client": ("rdma_server -s S -p P", "rdma_client -s S -p P"),
    "xclient.rc": ("rdma_xserver -c r -p P", "rdma_xclient -s S -c r -p P"),
    "xclient.xrc": ("rdma_xserver -c x -p P", "rdma_xclient -s S -c x -p P"),
    "write_bw": ("ib_write_bw -R -F -n 200 -p P", "ib_write_bw -R -F -n 200 -p P S"),
    "send_ud": ("ib_send_bw -R -F -c UD -n 100 -s 1024 -p P", "ib_send_bw -R -F -c UD -n 100 -s 1024 -p P S"),
    "qps16": ("ib_read_bw -R -F -q 16 -n 50 -p P", "ib_read_bw -R -F -q 16 -n 50 -p P S"),
    "atomic": ("ib_atomic_bw -R -F -n 100 -p P", "ib_atomic_bw -R -F -n 100 -p P S"),
}
# perftest takes names, and asks for IPv4, as these do.
ONLY_IPV4 = ("write_bw", "send_ud", "qps16", "atomic")
# The rest of perftest. -z takes RDMA CM to exchange what the QPs need, which are the program's own.
PERFTEST = {
    "read_bw": "ib_read_bw -R -F -n 100",
    "read_lat": "ib_read_lat -R -F -n 100",
    "write_lat": "ib_write_lat -R -F -n 100",
    "send_bw": "ib_send_bw -R -F -n 100",
    "send_lat": "ib_send_lat -R -F -n 100",
    "send_lat_ud": "ib_send_lat -R -F -c UD -n 100",
    "write_qps16": "ib_write_bw -R -F -q 16 -n 50",
    "send_qps16": "ib_send_bw -R -F -q 16 -n 50",
    "atomic_qps16": "ib_atomic_bw -R -F -q 16 -n 50",
    "write_bw_z": "ib_write_bw -z -F -n 100",
    "write_lat_z": "ib_write_lat -z -F -n 100",
    "read_bw_z": "ib_read_bw -z -F -n 100",
    "read_lat_z": "ib_read_lat -z -F -n 100",
    "send_bw_z": "ib_send_bw -z -F -n 100",
    "send_lat_z": "ib_send_lat -z -F -n 100",
    "atomic_z": "ib_atomic_bw -z -F -n 100",
}
# Servers that serve for ever.
FOR_EVER = ("cmtime", "rcopy", "udpong")
# Nobody listens yet, in the words of each program.
NOBODY_YET = r"REJECTED.*error:? 8|UNREACHABLE.*error:? 1|Connection refused|Unexpected CM event bl blka 8|" \
    "rpoll: Transport endpoint is not connected"
# perftest connects twice: its client may come the second time before the server listens again, and it dies of that.
TOO_EARLY = "Failed to handle RDMA CM event"


def need(cond, story):
    if not cond:
        raise Failure(story)


def place_of(context, where):
    if where not in context.places:
        raise Skip(context.machine.why)
    return context.places[where]


def argv(place, line, port):
    """One side's arguments."""
    meant = {"S": place.server.address, "C": place.client.address, "P": str(port)}
    ipv6 = ":" in place.server.address
    made = []
    for word in line.split():
        if word == "F":
            made += ["-f", "ipv6"] if ipv6 else []
        else:
            made.append(meant.get(word, word))
    return place.run + made


def begin_server(place, line, port, env=None):
    return place.server.host.start(argv(place, line, port), name=f"{line.split()[0]} server", env=env)


def listens(place, pid):
    """The process has a listener of RDMA CM, which is no socket that one could see."""
    p = subprocess.run(place.server.host.enter + [place.verbena, "explain", "--cm", "--json"],
                       capture_output=True, text=True, timeout=20)
    return p.returncode == 0 and any(k["role"] == "listener" and k["pid"] == pid for k in json.loads(p.stdout))


def start_server(place, line, port, env=None):
    """Starts it and waits until it listens, for a client that is not tried again."""
    server = begin_server(place, line, port, env)
    end = time.monotonic() + 20
    while not listens(place, server.pid):
        need(server.status() is None and time.monotonic() < end, f"it does not listen\n{server.story()}")
        time.sleep(0.05)
    return server


def start_client(place, line, port, env=None):
    return place.client.host.start(argv(place, line, port), name=f"{line.split()[0]} client", env=env)


class TooEarly(Exception):
    """The client was refused in the middle, and it or the server cannot go on."""


def told(place, server, client):
    """The output of both sides, and how their connections stand."""
    said = [subprocess.run(side.host.enter + [place.verbena, "explain", "--cm"], capture_output=True, text=True,
                           timeout=20, check=False).stdout for side in (place.server, place.client)]
    return "\n".join([server.story(), client.story(), *said])


def run_client(place, server, line, port, env=None, seconds=40, good=(0,)):
    """Runs a client to its end, and again while its server does not listen yet: no socket shows when it does."""
    end = time.monotonic() + 10
    while True:
        client = start_client(place, line, port, env)
        try:
            if client.wait(seconds) in good:
                return client.output()
            if time.monotonic() > end or not re.search(NOBODY_YET, client.output()):
                raise Failure(told(place, server, client))
            if TOO_EARLY in client.output() or server.status() is not None:
                raise TooEarly(f"{server.story()}\n{client.story()}")
        finally:
            client.end()
        time.sleep(0.1)


def run_pair(place, lines, env=None, seconds=40, good=(0,), attempts=20):
    """A server and its client; both end well. Returns what the client said."""
    port = place.server.host.pick_port()
    # rstream does not say why it was refused; riostream says what it maps just after it has begun to listen. Of udaddy's
    # first client some requests may be refused and others taken: its server waits for data of those for ever. cmtime
    # counts a connection that was refused as made, and ends well.
    early = lines[0].split()[0] not in ("rstream", "riostream", "udaddy", "cmtime")
    server = (begin_server if early else start_server)(place, lines[0], port, env)
    try:
        out = run_client(place, server, lines[1], port, env, seconds, good)
        if lines[0].split()[0] in FOR_EVER:
            need(server.status() is None, server.story())
        else:
            need(server.wait(seconds) in good, server.story())
        return out
    except TooEarly as e:
        if attempts == 1:
            raise Failure(str(e)) from None
    finally:
        server.end()
    return run_pair(place, lines, env, seconds, good, attempts - 1)


def connects(name, lines, where, link, is_long=False):
    @case(f"cm.{name}.{where}{'' if link == 'udp' else '.' + link}", seconds=60, is_long=is_long)
    def _(context):
        run_pair(place_of(context, where), lines, {"VERBENA_LINK": link})


for program, pair_of_lines in PROGRAMS.items():
    for spot in ("lo4", "lo6", "net4", "net6"):
        if spot.endswith("4") or program not in ONLY_IPV4:
            connects(program, pair_of_lines, spot, "udp")
    connects(program, pair_of_lines, "lo4", "shm")
    if program not in ONLY_IPV4:
        connects(program, pair_of_lines, "lo6", "shm")
for program, start in PERFTEST.items():
    for spot, how in (("net4", "udp"), ("lo4", "shm"), ("lo4", "udp")):
        connects(program, (f"{start} -p P", f"{start} -p P S"), spot, how, is_long=(spot, how) == ("lo4", "udp"))


def thousand(where, link, is_long=False):
    @case(f"cm.cmtime.{where}{'' if link == 'udp' else '.' + link}", seconds=60, is_long=is_long)
    def _(context):
        """A thousand connections at a time: each step of each one ends, and none is refused."""
        out = run_pair(place_of(context, where), ("cmtime -b S -p P", "cmtime -s S -c 1000 -p P"),
                       {"VERBENA_LINK": link})
        need(re.search(r"^destroy +: +\d", out, re.M) and "event:" not in out, out)


for spot in ("lo4", "lo6", "net4", "net6"):
    thousand(spot, "udp")
thousand("lo4", "shm")
thousand("lo6", "shm", is_long=True)


def persistent(where, link, is_long=False):
    @case(f"cm.rping_persistent.{where}{'' if link == 'udp' else '.' + link}", seconds=90, is_long=is_long)
    def _(context):
        """rping -P serves 64 clients, many at a time. They come one by one: it remembers one request at a time."""
        place, env = place_of(context, where), {"VERBENA_LINK": link}
        port = place.server.host.pick_port()
        server = begin_server(place, "rping -s -P -a S -p P", port, env)
        line = "rping -c -a S -C 30 -v -V -p P"
        clients = []
        try:
            run_client(place, server, line, port, env)
            for _ in range(64):
                clients.append(start_client(place, line, port, env))
                clients[-1].wait_output("ping data: rdma-ping-0")
            for client in clients:
                need(client.wait(60) == 0, client.story())
            need(server.status() is None, server.story())
        finally:
            for client in clients:
                client.end()
            server.end()


for spot in ("lo4", "net4", "net6"):
    persistent(spot, "udp")
persistent("lo4", "shm")
for how in ("udp", "shm"):
    persistent("lo6", how, is_long=True)


def pinging(place, port):
    """rping's two sides, connected and at work until they are ended."""
    server = begin_server(place, "rping -s -a S -v -p P", port)
    for _ in range(100):
        client = start_client(place, "rping -c -a S -v -p P", port)
        while client.status() is None and "ping data: rdma-ping-3" not in client.output():
            time.sleep(0.02)
        if client.status() is None:
            return server, client
        need(re.search(NOBODY_YET, client.output()) and server.status() is None, server.story() + client.story())
        client.end()
        time.sleep(0.1)
    raise Failure(server.story())


def dies(side, where):
    """kill -9 of one side: the other hears of it within a second, and the port is free at once."""
    @case(f"cm.kill9.{side}.{where}", seconds=60)
    def _(context):
        place = place_of(context, where)
        port = place.server.host.pick_port()
        server, client = pinging(place, port)
        dead, alive = (server, client) if side == "server" else (client, server)
        try:
            dead.kill(9)
            begin = time.monotonic()
            alive.wait_output("DISCONNECT EVENT", seconds=5)
            need(time.monotonic() - begin < 1, f"it took {time.monotonic() - begin:.2f} s\n{alive.story()}")
            alive.end()
            again, ping = pinging(place, port)
            again.end()
            ping.end()
        finally:
            server.end()
            client.end()


for spot in ("lo4", "net4"):
    dies("server", spot)
    dies("client", spot)


def kill_broker(host):
    """The brokers of @host; each program that has a connection to one starts the next."""
    pids = host.broker_pids()
    need(pids, "found no broker")
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def ends_well(program, seconds):
    """False when it ends with an error, or not in time."""
    try:
        return program.wait(seconds) == 0
    except Failure:
        return False


CONNECT_RESPONSE = 5  # of enum rdma_cm_event_type

CONNECTS_64 = ("stdbuf -oL ucmatose -b S -c 64 -C 4000 -S 64 -p P",
               "stdbuf -oL ucmatose -s S -c 64 -C 4000 -S 64 -p P")


def survives_broker(where, link, side="server"):
    @case(f"cm.kill9_broker.{where}.{link}{'' if side == 'server' else '.' + side}", seconds=240)
    def _(context):
        """The broker dies in the middle of 64 connections: no event, and they end well later.

        Their half a million messages take a second of a machine that does nothing else."""
        place = place_of(context, where)
        if not place.server.host.holder:
            raise Skip(context.machine.why)
        port = place.server.host.pick_port()
        env = {"VERBENA_LINK": link}
        server = start_server(place, CONNECTS_64[0], port, env)
        client = place.client.host.start(argv(place, CONNECTS_64[1], port), name="ucmatose client", env=env)
        try:
            client.wait_output("receiving data transfers", seconds=20)
            kill_broker(getattr(place, side).host)
            need(client.status() is None, f"the broker was killed too late\n{client.story()}")
            for p in (client, server):
                need(ends_well(p, 100), told(place, server, client))
            need("event:" not in client.output() + server.output(), f"{server.story()}\n{client.story()}")
        finally:
            server.end()
            client.end()


for spot, by in (("lo4", "udp"), ("net4", "udp"), ("lo4", "shm")):
    survives_broker(spot, by)
survives_broker("net4", "udp", "client")


@case("cm.kill9_broker.connecting", seconds=240)
def _(context):
    """The broker dies while 64 connections are made, sooner or later: no program waits for ever."""
    place = place_of(context, "lo4")
    if not place.server.host.holder:
        raise Skip(context.machine.why)
    for after in (0.02, 0.04, 0.06, 0.1):
        port = place.server.host.pick_port()
        server = start_server(place, "ucmatose -b S -c 64 -C 10 -p P", port)
        client = place.client.host.start(argv(place, "ucmatose -s S -c 64 -C 10 -p P", port), name="ucmatose client")
        try:
            time.sleep(after)
            kill_broker(place.server.host)
            need(ends_well(server, 60) or "UNREACHABLE" in server.output() or "REJECTED" in server.output(),
                 told(place, server, client))
            # Its RTU was lost: it is connected and hears REJECTED, but ucmatose waits for data and for no event.
            if server.status() and "data transfers" in client.output():
                continue
            need(ends_well(client, 60) or "UNREACHABLE" in client.output() or "REJECTED" in client.output(),
                 told(place, server, client))
        finally:
            server.end()
            client.end()


@case("cm.kill9_broker.posted", seconds=120)
def _(context):
    """CMP-51: the broker is killed with a posted command: the next one carries it out, unasked."""
    place = place_of(context, "lo4")
    host = place.server.host
    if not host.holder:
        raise Skip(context.machine.why)
    port = host.pick_port()
    program = os.path.join(context.build, "tests", "system", "cm_posted")
    server = start_server(place, "rping -s -a S -v -p P", port)
    client = host.start([context.verbena, "run", "--", program, place.server.address, str(port)], name="cm_posted",
                        stdin=subprocess.PIPE)
    try:
        client.wait_output("ready", seconds=20)
        stopped = host.broker_pids()
        need(stopped, "found no broker")
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        client.process.stdin.write(b"\n")
        client.process.stdin.flush()
        client.wait_output("posted", seconds=20)
        for pid in stopped:
            os.kill(pid, signal.SIGKILL)
        client.wait_output(f"event {CONNECT_RESPONSE}", seconds=60)
        need(client.wait(20) == 0, client.story())
    finally:
        client.end()
        server.end()


@case("cm.addr_change", seconds=60)
def _(context):
    """CMP-51: the interface gets another MAC address; the programs on it are told."""
    place = place_of(context, "net4")
    server, client = pinging(place, place.server.host.pick_port())
    try:
        place.client.host.run(["ip", "link", "set", "veth0", "address", "02:00:00:00:77:01"])
        client.wait_output("RDMA_CM_EVENT_ADDR_CHANGE", seconds=5)
    finally:
        client.end()
        server.end()


@case("cm.device_removal", seconds=60)
def _(context):
    """The interface under a connection goes: the programs on it are told that their device did."""
    with pair.spare(context) as place:
        far = place.server.host
        server, client = pinging(place, far.pick_port())
        far.run(["ip", "link", "del", "veth9"])
        for side in (server, client):
            side.wait_output("RDMA_CM_EVENT_DEVICE_REMOVAL|cma detected device removal", seconds=10)
            side.end()


@case("cm.rstream_by_gid", seconds=60)
def _(context):
    """CMP-50: both ends name each other by GIDs, as addresses of AF_IB."""
    place = place_of(context, "net4")
    port, gid = place.server.host.pick_port(), f"::ffff:{place.server.address}"
    line = f"{gid} -f gid -S 4096 -I 20 -T b -p P"
    server = start_server(place, f"rstream -b {line}", port)
    client = place.client.host.start(argv(place, f"rstream -s {line}", port), name="rstream client")
    try:
        for p in (client, server):
            need(p.wait(20) == 0, f"{server.story()}\n{client.story()}")
    finally:
        server.end()
        client.end()


@case("cm.refused", seconds=60)
def _(context):
    """Nobody listens: the error is a program's own, and at once."""
    place = place_of(context, "net4")
    # Where no program uses the adapter nobody answers at all.
    server = start_server(place, "rping -s -P -a S -p P", place.server.host.pick_port())
    client = place.client.host.start(argv(place, "rping -c -a S -C 1 -p 7999", 0), name="rping client")
    try:
        need(client.wait(10) != 0, client.story())
        need(re.search("REJECTED|rejected|error 8|status 8", client.output()), client.story())
    finally:
        server.end()


@case("cm.loss", seconds=120)
def _(context):
    """One packet in ten is lost, MADs too: every connection is made."""
    place = place_of(context, "net4")
    place.server.host.run([context.verbena, "fault", "set", "-d",
                           place.server.host.device(context.verbena, "veth0"), "loss=10%:op=UD_SEND_ONLY:dir=rx"])
    try:
        run_pair(place, PROGRAMS["ucmatose"], seconds=90)
    finally:
        place.server.host.run([context.verbena, "fault", "clear"])
