# SPDX-License-Identifier: BSD-2-Clause
"""Programs that connect by RDMA CM: librdmacm's own, perftest with -R, and what becomes of a connection
when one side, or some of the messages, are lost."""
import os
import re
import signal
import time

from cases import case
from hosts import Failure, Skip

# The server's and the client's arguments: S is the server's address, P the port.
PROGRAMS = {
    "rping": ("rping -s -a S -C 100 -V -p P", "rping -c -a S -C 100 -V -p P"),
    "ucmatose": ("ucmatose -b S -c 64 -C 100 -p P F", "ucmatose -s S -c 64 -C 100 -p P F"),
    "udaddy": ("udaddy -b S -c 4 -C 20 F", "udaddy -s S -c 4 -C 20 F"),
    "rdma_client": ("rdma_server -p P", "rdma_client -s S -p P"),
    "xclient.rc": ("rdma_xserver -c r -p P", "rdma_xclient -s S -c r -p P"),
    "xclient.xrc": ("rdma_xserver -c x -p P", "rdma_xclient -s S -c x -p P"),
    "rstream": ("rstream -b S -S 4096 -I 20 -T b -p P F", "rstream -s S -S 4096 -I 20 -T b -p P F"),
    "write_bw": ("ib_write_bw -R -F -n 200 -p P", "ib_write_bw -R -F -n 200 -p P S"),
    "send_ud": ("ib_send_bw -R -F -c UD -n 100 -s 1024 -p P", "ib_send_bw -R -F -c UD -n 100 -s 1024 -p P S"),
    "qps16": ("ib_read_bw -R -F -q 16 -n 50 -p P", "ib_read_bw -R -F -q 16 -n 50 -p P S"),
    "atomic": ("ib_atomic_bw -R -F -n 100 -p P", "ib_atomic_bw -R -F -n 100 -p P S"),
}
# perftest takes names, and asks for IPv4, as these do.
ONLY_IPV4 = ("write_bw", "send_ud", "qps16", "atomic", "rdma_client", "xclient.rc", "xclient.xrc")


def need(cond, story):
    if not cond:
        raise Failure(story)


def place_of(context, where):
    if where not in context.places:
        raise Skip(context.machine.why)
    return context.places[where]


def argv(place, line, port):
    """One side's arguments."""
    meant = {"S": place.server.address, "P": str(port)}
    ipv6 = ":" in place.server.address
    made = []
    for word in line.split():
        if word == "F":
            made += ["-f", "ipv6"] if ipv6 else []
        else:
            made.append(meant.get(word, word))
    return place.run + made


def start_server(place, line, port, env=None):
    server = place.server.host.start(argv(place, line, port), name=f"{line.split()[0]} server", env=env)
    # perftest looks for its device first; a listener of RDMA CM is no socket that one could see.
    time.sleep(1.5)
    need(server.status() is None, server.story())
    return server


def run_pair(place, name, env=None, seconds=40):
    """A server and its client; both end well. Returns what the client said."""
    port = place.server.host.pick_port()
    server = start_server(place, PROGRAMS[name][0], port, env)
    client = place.client.host.start(argv(place, PROGRAMS[name][1], port), name=f"{name} client", env=env)
    try:
        for p in (client, server):
            need(p.wait(seconds) == 0, f"{server.story()}\n{client.story()}")
        return client.output()
    finally:
        server.end()
        client.end()


def connects(name, where, link):
    @case(f"cm.{name}.{where}{'' if link == 'udp' else '.' + link}", seconds=60)
    def _(context):
        run_pair(place_of(context, where), name, {"VERBENA_LINK": link})


for program in PROGRAMS:
    for spot in ("lo4", "lo6", "net4", "net6"):
        if spot.endswith("4") or program not in ONLY_IPV4:
            connects(program, spot, "udp")
    connects(program, "lo4", "shm")


def pinging(place, port):
    """rping's two sides, connected and at work until they are ended."""
    server = start_server(place, "rping -s -a S -v -p P", port)
    client = place.client.host.start(argv(place, "rping -c -a S -v -p P", port), name="rping client")
    client.wait_output("ping data: rdma-ping-3")
    return server, client


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


CONNECTS_64 = ("stdbuf -oL ucmatose -b S -c 64 -C 16000 -S 64 -p P",
               "stdbuf -oL ucmatose -s S -c 64 -C 16000 -S 64 -p P")


def survives_broker(where, link):
    @case(f"cm.kill9_broker.{where}.{link}", seconds=60)
    def _(context):
        """The broker dies in the middle of 64 connections: no event, and they end well later."""
        place = place_of(context, where)
        if not place.server.host.holder:
            raise Skip(context.machine.why)
        port = place.server.host.pick_port()
        env = {"VERBENA_LINK": link}
        server = start_server(place, CONNECTS_64[0], port, env)
        client = place.client.host.start(argv(place, CONNECTS_64[1], port), name="ucmatose client", env=env)
        try:
            client.wait_output("receiving data transfers", seconds=20)
            kill_broker(place.server.host)
            for p in (client, server):
                need(p.wait(30) == 0, f"{server.story()}\n{client.story()}")
            need("event:" not in client.output() + server.output(), f"{server.story()}\n{client.story()}")
        finally:
            server.end()
            client.end()


for spot, by in (("lo4", "udp"), ("net4", "udp"), ("lo4", "shm")):
    survives_broker(spot, by)


@case("cm.kill9_broker.connecting", seconds=120)
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
            for p in (client, server):
                status = p.wait(20)
                need(status == 0 or "UNREACHABLE" in p.output() or "REJECTED" in p.output(),
                     f"{server.story()}\n{client.story()}")
        finally:
            server.end()
            client.end()


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
    client = place.client.host.start(argv(place, "rping -c -a S -C 1 -p 7999", 0), name="rping client")
    need(client.wait(5) != 0, client.story())
    need(re.search("REJECTED|rejected|error 8|status 8", client.output()), client.story())


@case("cm.loss", seconds=120)
def _(context):
    """One packet in ten is lost, MADs too: every connection is made."""
    place = place_of(context, "net4")
    place.server.host.run([context.verbena, "fault", "set", "-d",
                           place.server.host.device(context.verbena, "veth0"), "loss=10%:op=UD_SEND_ONLY:dir=rx"])
    try:
        run_pair(place, "ucmatose", seconds=90)
    finally:
        place.server.host.run([context.verbena, "fault", "clear"])
