# SPDX-License-Identifier: BSD-2-Clause
"""Failures of real life: peers and brokers that die, peers that never answer, Ctrl-C, limits."""
import contextlib
import os
import re
import signal
import time

from cases import case
from hosts import Failure, Skip
import pair

LONG = ["-n", "100000000"]
# Runs for seconds use ib_send_lat, not ib_write_lat, which waits on memory without any call: the
# thread sanitizer would never get to deliver the alarm that ends it.
# ibv_rc_pingpong's QP: timeout 14 is 67.1 ms, retry_cnt 7: the first try and seven more.
ACK_TIMEOUT_S = 4.096e-6 * 2 ** 14
TRIES = 8


def place(context):
    return context.places.get("net4") or context.places["lo4"]


def works(context, where=None):
    """The adapter still works: a short run between the same sides."""
    pair.run(where or place(context), "ibv_rc_pingpong", ["-n", "100", "-c"])


def under_way(context, program, options, where=None):
    """A run that has been exchanging packets for a moment."""
    server, client = pair.start(where or place(context), program, options)
    context.wait(lambda: client.output().count("\n") >= 2 or client.status() is not None, 10,
                 f"it never began\n{client.story()}\n{server.story()}")
    time.sleep(0.3)
    if client.status() is not None or server.status() is not None:
        raise Failure(f"it ended early\n{client.story()}\n{server.story()}")
    return server, client


@case("robust.kill9_server")
def _(context):
    """Kill the server: the client, which always has work in flight, ends with the retry error; the
    next run works."""
    server, client = under_way(context, "ib_write_bw", ["-F", "-D", "20"])
    server.kill()
    client.wait(15)
    if client.status() == 0 or "Failed status 12" not in client.output():
        raise Failure(client.story())
    works(context)


@case("robust.kill9_client")
def _(context):
    """Kill the client of a write test: the server is not harmed, nor is the adapter."""
    server, client = under_way(context, "ib_write_bw", ["-F", "-D", "20"])
    client.kill()
    time.sleep(0.2)
    server.end()
    works(context)


@case("robust.kill9_both")
def _(context):
    server, client = under_way(context, "ib_write_bw", ["-F", "-D", "20"])
    server.kill()
    client.kill()
    works(context)


@case("robust.many_processes")
def _(context):
    """More processes than there are low bytes of QPNs, in pairs: all have the adapter at once, and get their own messages."""
    host = place(context).client.host
    if not host.holder:
        raise Skip(context.machine.why)
    out = host.run([context.verbena, "run", "--", os.path.join(context.build, "tests", "system", "verbs_pairs"), "300"],
                   seconds=25)
    if not re.match(r"300 processes, 300 QPNs, 17[0-9] of them in narrow slots; ", out):
        raise Failure(out)


@case("robust.kill9_broker", seconds=60)
def _(context):
    """Kill the brokers in the middle of a run: the run goes on, and so does everything after."""
    where = place(context)
    if not where.client.host.holder:
        raise Skip(context.machine.why)
    server, client = under_way(context, "ib_send_lat", ["-F", "-D", "3", "-s", "64"])
    brokers = {p for side in (where.server, where.client) for p in side.host.broker_pids()}
    if not brokers:
        raise Failure("found no broker")
    for pid in brokers:
        os.kill(pid, signal.SIGKILL)
    pair.finish(server, client, 25)
    works(context)


@case("robust.kill9_broker_then_new_programs", seconds=60)
def _(context):
    """A program started after the broker died talks to one from before."""
    where = context.places["lo4"]
    if not where.client.host.holder:
        raise Skip(context.machine.why)
    server, client = under_way(context, "ib_send_lat", ["-F", "-D", "4", "-s", "64"], where)
    for pid in where.client.host.broker_pids():
        os.kill(pid, signal.SIGKILL)
    works(context, where)
    pair.finish(server, client, 25)


@case("robust.kill9_everything")
def _(context):
    where = place(context)
    if not where.client.host.holder:
        raise Skip(context.machine.why)
    under_way(context, "ib_write_bw", ["-F", "-D", "20"])
    for side in (where.server, where.client):
        for pid in side.host.pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    works(context)


@case("robust.ctrl_c")
def _(context):
    """Ctrl-C ends a program at once, and nothing is left of it."""
    server, client = under_way(context, "ibv_rc_pingpong", LONG)
    for p in (client, server):
        p.kill(signal.SIGINT)
        if p.wait(3) != -signal.SIGINT:
            raise Failure(p.story())
    works(context)


@case("robust.unreachable_retry_exceeded")
def _(context):
    """A peer that stops answering: RETRY_EXC after the time the attributes say. IBT-64"""
    where = place(context)
    server, client = under_way(context, "ibv_rc_pingpong", LONG)
    try:
        server.stop()
        stopped = time.monotonic()
        client.wait(20)
        took = time.monotonic() - stopped
    finally:
        server.end()
    if "transport retry counter exceeded" not in client.output():
        raise Failure(client.story())
    # The timer may take from one to four times its value. IBA 9.7.6.1.3
    least, most = (TRIES - 1) * ACK_TIMEOUT_S, 4 * TRIES * ACK_TIMEOUT_S + 1
    if not least <= took <= most:
        raise Failure(f"it took {took:.3f} s, not {least:.3f} to {most:.3f}\n{client.story()}")
    works(context, where)


@case("robust.unreachable_perftest")
def _(context):
    server, client = under_way(context, "ib_write_bw", ["-F", "-D", "30", "-u", "12"])
    try:
        server.stop()
        if client.wait(20) == 0 or not re.search(r"status 12|retry", client.output()):
            raise Failure(client.story())
    finally:
        server.end()


@case("robust.frozen_both", seconds=60)
def _(context):
    """Both ends are frozen for longer than all retries last, as when a virtual machine is paused: neither
    charges the other with that time. With the total timeout of adaptive timers, and with fixed ones."""
    for adaptive in 1, 0:
        rules = os.path.join(context.machine.folder, "frozen.adp")
        with open(rules, "w", encoding="ascii") as f:
            f.write(f"roce_adp_retrans_en={adaptive}\n")
        where = context.places["lo4"]
        where = pair.Place(where.name, context, where.server, where.client)
        at = where.run.index("--")
        where.run = where.run[:at] + ["--adp", rules, "--fault", "loss=2%:dir=tx"] + where.run[at:]
        both = pair.start(where, "ibv_rc_pingpong", LONG)
        try:
            for _ in range(8):
                time.sleep(0.3)
                for p in both:
                    p.kill(signal.SIGSTOP)
                time.sleep(1)
                for p in both:
                    p.kill(signal.SIGCONT)
            time.sleep(0.3)
            if any(p.status() is not None for p in both):
                raise Failure(f"adaptive={adaptive}\n" + "\n".join(p.story() for p in both))
        finally:
            for p in both:
                p.end()


@case("robust.crowd", seconds=120)
def _(context):
    """60 pairs that all poll, on a few processors: a process waits for its turn for many times as long as its
    peer's retries last (1 ms seven times, timeout 8), and that is charged to nobody."""
    where, pairs = context.places["lo4"], 60
    ports = [where.server.host.pick_port() for _ in range(pairs)]
    options = ["-F", "-u", "8", "-s", "4096", "-n", "500"]
    servers, clients = [], []
    try:
        for port in ports:
            servers.append(where.server.host.start(
                pair.command(where, where.server, "ib_send_lat", options, port), name=f"server {port}"))
        for server, port in zip(servers, ports):
            server.wait_listen(port, 60)
        for port in ports:
            clients.append(where.client.host.start(
                pair.command(where, where.client, "ib_send_lat", options, port) + [where.server.control],
                name=f"client {port}"))
        for server, client in zip(servers, clients):
            pair.finish(server, client, 100)
    finally:
        for p in servers + clients:
            p.end()


@case("robust.cable_pulled")
def _(context):
    """The cable is pulled for a moment: RC goes on where it was."""
    with pair.spare(context) as where:
        far = where.server.host
        server, client = pair.start(where, "ib_write_bw", ["-F", "-D", "3", "-u", "18"])
        client.wait_output("BW average", 10)
        # Only the far end goes down: addresses stay, packets vanish.
        far.run(["ip", "link", "set", "veth9", "down"])
        time.sleep(0.3)
        far.run(["ip", "link", "set", "veth9", "up"])
        pair.finish(server, client, 25)


@contextlib.contextmanager
def lone_host(context):
    """A host beside the two of all others, for what would spoil theirs."""
    context.machine.two()
    c = context.machine.host("c")
    try:
        yield c
    finally:
        context.machine.drop(c)


@case("robust.port_taken")
def _(context):
    """UDP port 4791 belongs to another program: one line says so."""
    with lone_host(context) as c:
        taker = c.start(["/usr/bin/python3", "-c", "import socket, time\n"
                         "s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)\n"
                         "s.bind(('::', 4791)); print('bound', flush=True); time.sleep(60)"])
        taker.wait_output("bound")
        p = c.start([context.verbena, "run", "--", "ibv_devinfo"])
        if p.wait(15) == 0 or not re.search(r"^verbena: .*4791.*python3", p.output(), re.M):
            raise Failure(p.story())
        p = c.start([context.verbena, "doctor"])
        if p.wait(15) == 0 or not re.search(r"^FAIL +port +.*4791.*python3", p.output(), re.M):
            raise Failure(p.story())


@case("robust.few_descriptors")
def _(context):
    """Too few file descriptors, for the program or for a broker it starts: an error, not a crash."""
    with lone_host(context) as c:
        for limit in range(3, 24, 2):
            p = c.start(["prlimit", f"--nofile={limit}", context.verbena, "run", "--",
                         "ibv_rc_pingpong", "-g", "0", "-n", "1", "localhost"])
            if p.wait(15) <= 0:
                raise Failure(f"with {limit} descriptors: {p.story()}")


@case("robust.broker_descriptors")
def _(context):
    """A broker takes as many descriptors as its hard limit allows: it has some for every process of the host."""
    with lone_host(context) as c:
        c.run(["prlimit", "--nofile=300:5000", context.verbena, "run", "--", "ibv_devinfo"])
        for pid in c.pids():
            with open(f"/proc/{pid}/cmdline", encoding="utf-8") as f:
                if f.read().split("\0")[:2] != ["verbena", "broker"]:
                    continue
            with open(f"/proc/{pid}/limits", encoding="ascii") as f:
                found = re.search(r"^Max open files +(\d+) +(\d+)", f.read(), re.M)
            if found.groups() != ("5000", "5000"):
                raise Failure(found[0])
            return
        raise Failure("no broker runs")


REMEDY = r"^verbena(?: run)?: (.+); .*\('ulimit -\w+'\)$"


def starve(context, host, limits):
    """A run under each limit works, or one line says what to do; returns what these lines name."""
    named = []
    for limit in limits:
        p = host.start(["prlimit", limit, context.verbena, "run", "--", "ibv_devinfo"])
        if p.wait(15) == 0 or "error while loading shared libraries" in p.output():
            continue
        lines = re.findall(REMEDY, p.output(), re.M)
        if len(lines) != 1:
            raise Failure(f"with {limit}: {p.story()}")
        named += lines
    return named


@case("robust.exhausted")
def _(context):
    """Too few descriptors or too little memory: one line with what to do, wherever it is noticed."""
    if context.sanitizer:
        raise Skip("a sanitizer takes terabytes of addresses")
    with lone_host(context) as c:
        named = starve(context, c, ["--as=20000000"])  # a broker begins under this one
        if named and "the broker" not in named[0]:
            raise Failure(f"the broker of 20 MB says {named}")
        context.wait(lambda: not c.pids(), 20, lambda: f"left behind: {c.pids()}")
        c.run([context.verbena, "run", "--", "ibv_devinfo"])
        named += starve(context, c, [f"--as={mb}000000" for mb in (*range(16, 40), *range(40, 100, 8))])
        named += starve(context, c, [f"--nofile={n}" for n in range(6, 18)])
        for short in "Too many open files", "Cannot allocate memory":
            for what in "progress thread", "cannot open verbena0":
                if not any(what in line and line.endswith(short) for line in named):
                    raise Failure(f"never saw: {what} ... {short}\n" + "\n".join(named))


@case("robust.no_threads")
def _(context):
    """As many threads as the user may have: one line says so, and the errno is that of the verbs."""
    user = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    with lone_host(context) as c:
        if c.start([*user, context.verbena, "run", "--", "ibv_devinfo"]).wait(15) != 0:
            raise Skip("an ordinary user gets nowhere here")
        p = c.start([*user, "prlimit", "--nproc=1", context.verbena, "run", "--", "ibv_devinfo"])
        if (p.wait(15) == 0 or "Cannot allocate memory" not in p.output()
                or not re.search(r"^verbena: .*progress thread.*too many threads.*'ulimit -u'", p.output(),
                                 re.M)):
            raise Failure(p.story())


@case("robust.memory_locked")
def _(context):
    """A limit on locked memory is none for this adapter: nothing is pinned."""
    where = place(context)
    where = pair.Place(where.name, context, where.server, where.client)
    where.run = ["prlimit", "--memlock=0", *where.run]
    pair.run(where, "ibv_rc_pingpong", ["-n", "100", "-s", "1048576"])


@case("robust.garbage")
def _(context):
    """A stranger sends garbage to port 4791 during a run: it is counted, the run goes on."""
    where = place(context)
    server, client = under_way(context, "ib_send_lat", ["-F", "-D", "3", "-s", "64"])
    where.client.host.run(["/usr/bin/python3", "-c", f"""
import os, random, socket
random.seed(1)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(4000):
    s.sendto(random.randbytes(random.choice((0, 1, 11, 12, 15, 16, 17, 60, 1000, 4000))),
             ("{where.server.control}", 4791))
"""])
    pair.finish(server, client, 25)


@case("robust.nothing_lingers", seconds=40)
def _(context):
    """When the last program has ended the broker goes too, and takes its files along."""
    m = context.machine
    m.two()
    c = m.host("c")
    try:
        c.run([context.verbena, "run", "--", "ibv_devinfo"])
        context.wait(lambda: not c.pids(), 20, lambda: f"left behind: {c.pids()}")
    finally:
        m.drop(c)
