# SPDX-License-Identifier: BSD-2-Clause
"""The shared broker: several users of one host, each with programs of the adapter."""
import contextlib
import json
import os
import re
import signal
import sys
import time

from cases import case
from hosts import Failure, Skip

OTHER = "65534"
UMAD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "umad_roce.py")
# The beginning of a command that each user runs.
USERS = {"root": [], "other": ["setpriv", f"--reuid={OTHER}", "--clear-groups", "env", "-u", "XDG_RUNTIME_DIR"]}


def need(cond, story):
    if not cond:
        raise Failure(story)


@contextlib.contextmanager
def shared_host(context, name="shared"):
    """A host of its own with a shared broker, and the beginning of commands of a second user."""
    if os.geteuid() != 0 or context.machine.user_namespace:
        raise Skip("only root can be two users")
    host = context.machine.host(name)
    user = USERS["other"]
    try:
        if host.start([*user, context.verbena, "--version"]).wait(20) != 0:
            raise Skip("an ordinary user gets nowhere here")
        yield host, user
    finally:
        host.end_programs()
        context.machine.drop(host)


def start(context, host, *options):
    broker = host.start([context.verbena, "broker", "--shared", *options])
    broker.wait_output("ready")
    return broker


def as_user(context, host, user, *command):
    return host.start([*user, context.verbena, "run", "--", "stdbuf", "-oL", *command])


def path(context, program):
    return os.path.join(context.build, "tests", "system", program)


def status(context, host, user):
    return json.loads(host.run([*user, context.verbena, "broker", "--shared", "--status", "--json"]))


def own_brokers(host):
    return [p for p in host.broker_pids() if not any(word in open(f"/proc/{p}/cmdline").read() for word in ("--shared", "--keeper"))]


def listens(context, host, user, pid):
    """The process has a listener of RDMA CM."""
    out = host.run([*user, context.verbena, "explain", "--cm", "--json"], status=None)
    return out.startswith("[") and any(k["role"] == "listener" and k["pid"] == pid for k in json.loads(out))


def serve(context, host, user, *command):
    """Starts a server of RDMA CM, and waits until it listens."""
    server = as_user(context, host, user, *command)
    context.wait(lambda: server.status() is not None or listens(context, host, user, server.pid), 20, server.story)
    need(server.status() is None, server.story())
    return server


def meet(context, server_host, server_user, client_host, client_user, server, client, seconds=40):
    """A server of one user and a client of another; both end well."""
    s = serve(context, server_host, server_user, *server)
    c = as_user(context, client_host, client_user, *client)
    for p in c, s:
        need(p.wait(seconds) == 0, c.story() + s.story())


@case("shared.two_users")
def _(context):
    """Two users' pairs at once; then a pair of one program of each. A third process of a user who may have two is refused."""
    with shared_host(context) as (host, user):
        broker = start(context, host)
        pairs = [as_user(context, host, who, path(context, "verbs_pairs"), "6") for who in ([], user)]
        for p in pairs:
            if p.wait(20) != 0 or "6 processes, 6 QPNs, 6 of them in narrow slots" not in p.output():
                raise Failure(p.story())
        port = str(host.pick_port())
        server = as_user(context, host, user, "ibv_rc_pingpong", "-g", "1", "-n", "1000", "-s", "20000", "-c", "-p", port)
        server.wait_listen(int(port))
        client = as_user(context, host, [], "ibv_rc_pingpong", "-g", "1", "-n", "1000", "-s", "20000", "-c", "-p", port,
                         "127.0.0.1")
        for p in client, server:
            if p.wait(20) != 0:
                raise Failure(client.story() + server.story())
        broker.end()
        start(context, host, "--processes", "2")
        p = as_user(context, host, user, path(context, "verbs_pairs"), "4")
        context.wait(lambda: f"2 processes of user {OTHER} have the adapter" in p.output(), 10, p.story)
        p.kill()
        of_user = {u["uid"]: u for u in status(context, host, [])["users"]}[int(OTHER)]
        need(of_user["refused"]["processes"] > 0, of_user)


PROGRAMS = {
    "rping": ("rping -s -a S -C 20 -V -p P", "rping -c -a S -C 20 -V -p P"),
    "ucmatose": ("ucmatose -b S -c 16 -C 20 -p P", "ucmatose -s S -c 16 -C 20 -p P"),
    "udaddy": ("udaddy -b S -c 4 -C 20", "udaddy -s S -c 4 -C 20"),
    "write_bw": ("ib_write_bw -R -F -n 200 -p P", "ib_write_bw -R -F -n 200 -p P S"),
    "send_ud": ("ib_send_bw -R -F -c UD -n 100 -s 1024 -p P", "ib_send_bw -R -F -c UD -n 100 -s 1024 -p P S"),
    "rstream": ("rstream -b S -p P -S 4096 -C 100", "rstream -s S -p P -S 4096 -C 100"),
}


def connects(name, lines):
    @case(f"shared.cm.{name}", seconds=60)
    def _(context):
        """Between two users, the server the one's and then the other's, and of one user alone."""
        with shared_host(context) as (host, user):
            start(context, host)
            for server_user, client_user in (([], user), (user, []), (user, user)):
                meant = {"S": "127.0.0.1", "P": str(host.pick_port())}
                meet(context, host, server_user, host, client_user,
                     *([meant.get(w, w) for w in line.split()] for line in lines))


for program, pair_of_lines in PROGRAMS.items():
    connects(program, pair_of_lines)


@case("shared.cm.port", seconds=60)
def _(context):
    """A port of RDMA CM is one user's, as a TCP port; another user gets it when the first one has ended. A client of a
    port that nobody has is refused."""
    with shared_host(context) as (host, user):
        start(context, host)
        port = str(host.pick_port())
        server = serve(context, host, user, "rping", "-s", "-a", "127.0.0.1", "-p", port)
        thief = as_user(context, host, [], "rping", "-s", "-p", port)
        need(thief.wait(20) != 0 and "rdma_bind_addr: Address already in use" in thief.output(), thief.story())
        of_root = {u["uid"]: u for u in status(context, host, [])["users"]}[0]
        need(of_root["refused"]["services"] > 0, of_root)
        server.kill()
        meet(context, host, [], host, user, ["rping", "-s", "-a", "127.0.0.1", "-p", port, "-C", "2"],
             ["rping", "-c", "-a", "127.0.0.1", "-p", port, "-C", "2"])
        nobody = as_user(context, host, user, "rping", "-c", "-a", "127.0.0.1", "-p", port, "-C", "1")
        need(nobody.wait(20) != 0 and "REJECTED" in nobody.output(), nobody.story())


@case("shared.hosts", seconds=90)
def _(context):
    """From host to host: RDMA CM of each user to each, pings, and what the far end of a connection says of it."""
    with shared_host(context, "sharedc") as (one, user), shared_host(context, "sharedd") as (other, _):
        context.machine.cable(one, other, "veth8", ("10.7.0.1/24",), ("10.7.0.2/24",))
        for host in one, other:
            start(context, host)
        port = 7100
        for server_user in [], user:
            for client_user in [], user:
                port += 1
                meet(context, other, server_user, one, client_user,
                     ["rping", "-s", "-a", "10.7.0.2", "-p", str(port), "-C", "5", "-V"],
                     ["rping", "-c", "-a", "10.7.0.2", "-p", str(port), "-C", "5", "-V"])
        for who in [], user:
            out = one.run([*who, context.verbena, "ping", "-c", "3", "10.7.0.2"])
            need("3 asked, 3 answered" in out and re.search("GIDs .*10.7.0.2", out), out)
        # The far end of a connection tells of itself, by the broker of the user whose it is.
        line = ["ib_write_bw", "-F", "-D", "30", "-x", "1"]
        server = as_user(context, other, user, *line)
        server.wait_listen(18515)
        client = as_user(context, one, [], *line, "10.7.0.2")

        def said(words):
            out = one.run([context.verbena, "explain", "--json"], status=None)
            return words in out
        context.wait(lambda: '"qpn"' in one.run([context.verbena, "explain", "--json"], status=None), 10, client.story)
        time.sleep(1)
        server.kill(signal.SIGSTOP)
        context.wait(lambda: said("peer-stopped"), 20,
                     lambda: one.run([context.verbena, "explain", "--json"], status=None) + server.story())
        client.kill()
        server.kill()


@case("shared.cm.killed", seconds=90)
def _(context):
    """Pairs of two users connect by RDMA CM and go on. The shared broker is killed, then the brokers of both users; then all
    at once. No connection is lost, listeners are there as before, and nobody else has got their ports meanwhile."""
    with shared_host(context) as (host, user):
        broker = start(context, host)
        pairs = []
        for server_user, client_user in (([], user), (user, [])):
            port = str(host.pick_port())
            line = ["ib_send_lat", "-R", "-F", "-D", "9", "-s", "64", "-p", port]
            s = serve(context, host, server_user, *line)
            pairs += [s, as_user(context, host, client_user, *line, "127.0.0.1")]
        port = str(host.pick_port())
        late = serve(context, host, user, "rping", "-s", "-a", "127.0.0.1", "-p", port, "-C", "2")
        time.sleep(2)
        broker.kill()
        broker = start(context, host)
        time.sleep(1)
        for pid in own_brokers(host):
            os.kill(pid, 9)
        time.sleep(1)
        for pid in own_brokers(host):
            os.kill(pid, 9)
        broker.kill()
        start(context, host)
        thief = as_user(context, host, [], "rping", "-s", "-p", port)
        need(thief.wait(20) != 0 and "Address already in use" in thief.output(), thief.story())
        client = as_user(context, host, [], "rping", "-c", "-a", "127.0.0.1", "-p", port, "-C", "2")
        for p in client, late, *pairs:
            need(p.wait(30) == 0, "\n".join(q.story() for q in (client, late, *pairs)))


@case("shared.fault", seconds=60)
def _(context):
    """The administrator's faults meet what comes to any user, connections and data; users see them, and cannot change them."""
    with shared_host(context) as (host, user):
        start(context, host, "--fault", "delay=1ms,loss=2%", "--seed", "7")
        port = str(host.pick_port())
        meet(context, host, [], host, user, ["rping", "-s", "-a", "127.0.0.1", "-p", port, "-C", "50", "-V"],
             ["rping", "-c", "-a", "127.0.0.1", "-p", port, "-C", "50", "-V"])
        need(status(context, host, [])["faulted"] > 100, status(context, host, []))
        out = host.run([*user, context.verbena, "broker", "--shared", "--status"])
        need("faults of all users: delay=1ms,loss=2%" in out, out)
        need("delay" not in host.run([*user, context.verbena, "fault", "list"], status=None), "they are his own, too")
        bad = host.start([context.verbena, "broker", "--shared", "--fault", "los=1%"])
        need(bad.wait(20) == 2 and "--fault, column 1" in bad.output(), bad.story())


@case("shared.umad", seconds=60)
def _(context):
    """Open umad files of users: an agent of one host answers another user's of the other host; requests of a class are one
    user's, and the connection manager's are root's. MAD-07, MAD-08, MAD-09"""
    with shared_host(context, "sharedc") as (one, user), shared_host(context, "sharedd") as (other, _):
        context.machine.cable(one, other, "veth8", ("10.7.0.1/24",), ("10.7.0.2/24",))
        for host in one, other:
            start(context, host)

        def run(host, who, *words):
            return as_user(context, host, who, "/usr/bin/python3", UMAD, words[0], host.device(context.verbena, "veth8"),
                           *words[1:])
        server = run(other, user, "serve")
        server.wait_output("^ready$")
        thief = run(other, [], "serve")
        need(thief.wait(20) != 0 and "Invalid argument" in thief.output(), thief.story())
        for who in [], user:
            client = run(one, who, "ask", "10.7.0.1", "10.7.0.2")
            need(client.wait(40) == 0 and client.output().splitlines() == [
                f"file False EPROTONOSUPPORT EINVAL {'EACCES' if who else 'ok'} ENOENT", "write EINVAL EINVAL EIO", "answer (129, 0, 7, 'HELLO!')",
                "refused (129, 12, 8)", "connections (129, 12, 11)", "own (129, 12, 9)", "nobody ETIMEDOUT"],
                 client.story() + server.story())
        server.kill()
        now = run(other, [], "serve")
        now.wait_output("^ready$")


@case("shared.multicast", seconds=60)
def _(context):
    """Members of a group of both users, on two hosts; who leaves or dies hears no more, and a user has so many."""
    with shared_host(context, "sharedc") as (one, user), shared_host(context, "sharedd") as (other, _):
        context.machine.cable(one, other, "veth8", ("10.7.0.1/24",), ("10.7.0.2/24",))
        start(context, one)
        start(context, other, "--groups", "1")

        def play(host, who, *role):
            p = host.start([*who, context.verbena, "run", "--", "stdbuf", "-oL", path(context, "verbs_multicast"),
                            host.device(context.verbena, "veth8"),
                            host.gid_index(context.verbena, "veth8", "10.7.0.1" if host is one else "10.7.0.2"),
                            "239.4.5.6", *role], name=f"multicast {' '.join(role)}", stdin=-1)
            if role[0] == "member":
                p.wait_output("^joined$")
            return p

        def send(value):
            p = play(one, [], "send", str(value))
            need(p.wait(20) == 0, p.story())

        members = [play(other, [], "member"), play(other, user, "member"), play(one, user, "member")]
        send(1)
        for m in members:
            m.wait_output("^got 1$")
        members[0].process.stdin.close()
        need(members[0].wait(10) == 0, members[0].story())
        send(2)
        for m in members[1:]:
            m.wait_output("^got 2$")
        need("got 2" not in members[0].output(), members[0].story())
        p = other.start([*user, context.verbena, "run", "--", path(context, "verbs_multicast"),
                         other.device(context.verbena, "veth8"),
                         other.gid_index(context.verbena, "veth8", "10.7.0.2"), "239.4.5.7", "member"], stdin=-1)
        need(p.wait(20) != 0, p.story())
        of_user = {u["uid"]: u for u in status(context, other, [])["users"]}[int(OTHER)]
        need(of_user["refused"]["groups"] == 1 and of_user["groups"] == 1, of_user)
        for m in members[1:]:
            m.kill()
        context.wait(lambda: not any(u["groups"] for u in status(context, other, [])["users"]), 10,
                     lambda: str(status(context, other, [])))


@case("shared.status")
def _(context):
    """Users see how they stand themselves, root sees all, in each format."""
    with shared_host(context) as (host, user):
        need("no shared broker runs here" in host.run([context.verbena, "broker", "--shared", "--status"], status=1), "")
        start(context, host, "--qps", "100", "--memory", "64", "--services", "9", "--groups", "5")
        for who in [], user:
            p = as_user(context, host, who, path(context, "verbs_pairs"), "2")
            need(p.wait(20) == 0, p.story())
        seen = status(context, host, [])
        need(seen["limits"] == {"processes": 64, "qps": 100, "services": 9, "groups": 5, "memory_mib": 64}, seen)
        need(sorted(u["uid"] for u in seen["users"]) == [0, int(OTHER)], seen)
        need(all(u["carried"] > 0 for u in seen["users"]), seen)
        seen = status(context, host, user)
        need([u["uid"] for u in seen["users"]] == [int(OTHER)], seen)
        out = host.run([context.verbena, "broker", "--shared", "--status"])
        need("each user: 64 processes, 100 QPs in each, 9 service IDs, 5 groups, 64 MiB" in out and f"user {OTHER}" in out, out)
        out = host.run([context.verbena, "broker", "--shared", "--status", "--openmetrics"])
        need(re.search(r'^verbena_shared_carried_total\{uid="0"\} [1-9]', out, re.M) and out.endswith("# EOF\n"), out)
        out = as_user(context, host, user, "ibv_devinfo", "-v")
        need(out.wait(20) == 0 and re.search(r"max_qp:\s+100\n", out.output()), out.story())


ACTIVATE = """
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(sys.argv[1].replace("@", "\\0"))
s.listen(8)
print("listens", flush=True)
s.settimeout(30)
os.set_blocking(s.fileno(), True)
import select
select.select([s], [], [], 30)  # a user comes
if s.fileno() != 3:
    os.dup2(s.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv(sys.argv[2], [sys.argv[2], "broker", "--shared"])
"""


@case("shared.activated")
def _(context):
    """A service manager has the socket, and starts the shared broker when the first user comes: he waits for nothing but that. A
    descriptor that is another socket is refused."""
    with shared_host(context) as (host, user):
        manager = host.start([sys.executable, "-c", ACTIVATE, "@verbena/shared", context.verbena])
        manager.wait_output("listens")
        p = as_user(context, host, user, path(context, "verbs_pairs"), "2")
        need(p.wait(30) == 0 and "2 of them in narrow slots" in p.output(), p.story() + manager.story())
        need("ready" in manager.output(), manager.story())
        manager.kill()
        wrong = host.start([sys.executable, "-c", ACTIVATE, "@verbena/other", context.verbena])
        wrong.wait_output("listens")
        host.run([sys.executable, "-c", "import socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); "
                  "s.connect('\\0verbena/other')"])
        need(wrong.wait(20) == 1 and "handed in" in wrong.output(), wrong.story())


@case("shared.direct", seconds=60)
def _(context):
    """The kernel hands packets to the processes of two users; connections and groups go by the shared broker. Where it may not change
    nftables, it says so; its rule ends with it."""
    with shared_host(context) as (host, user):
        if host.start(["nft", "list", "tables"]).wait(20) != 0:
            raise Skip("no nftables here")
        broker = start(context, host, "--direct")
        pairs = [as_user(context, host, who, path(context, "verbs_pairs"), "6") for who in ([], user)]
        for p in pairs:
            need(p.wait(20) == 0 and "6 of them in narrow slots" in p.output(), p.story())
        port = str(host.pick_port())
        meet(context, host, [], host, user, ["rping", "-s", "-a", "127.0.0.1", "-p", port, "-C", "50", "-V"],
             ["rping", "-c", "-a", "127.0.0.1", "-p", port, "-C", "50", "-V"])
        seen = status(context, host, [])["users"]
        need(len(seen) == 2 and all(u["carried"] == 0 and u["gsi_carried"] > 0 and u["sockets"] == 0 for u in seen), seen)
        need("0x" not in host.run(["nft", "list", "map", "inet", "verbena", "slots"]), "slots are left in the map")
        broker.kill(signal.SIGTERM)
        need(broker.wait(20) == 0, broker.story())
        need("verbena" not in host.run(["nft", "list", "tables"]), "the rule is left")
        weak = host.start(["setpriv", "--bounding-set", "-net_admin", context.verbena, "broker", "--shared", "--direct"])
        need(weak.wait(20) == 1 and "nftables does not take the rule" in weak.output(), weak.story())
        both = host.start([context.verbena, "broker", "--shared", "--direct", "--fault", "loss=1%"])
        need(both.wait(20) == 1 and "--fault is for packets that pass through" in both.output(), both.story())


def killed(name, *shared):
    @case(name, seconds=40)
    def _(context):
        """The shared broker is killed, and the next one comes, under a pair of two users; then the brokers of both are killed. The pair
        goes on to its end."""
        with shared_host(context) as (host, user):
            if shared and host.start(["nft", "list", "tables"]).wait(20) != 0:
                raise Skip("no nftables here")
            change_over(context, host, user, shared)


def change_over(context, host, user, shared):
    broker = start(context, host, *shared)
    options = ["-F", "-D", "5", "-s", "64", "-x", "1", "-p", str(host.pick_port())]
    server = as_user(context, host, user, "ib_send_lat", *options)
    server.wait_listen(int(options[-1]))
    client = as_user(context, host, [], "ib_send_lat", *options, "127.0.0.1")
    time.sleep(1.5)
    broker.kill()
    start(context, host, *shared)
    time.sleep(1)
    own = own_brokers(host)
    need(len(own) == 2, f"brokers: {own}")
    for pid in own:
        os.kill(pid, 9)
    for p in client, server:
        need(p.wait(20) == 0, client.story() + server.story())


killed("shared.killed")
killed("shared.direct.killed", "--direct")


@case("shared.stays", seconds=40)
def _(context):
    """A user's adapter stays with its settings while no program uses it, also when its broker is killed; another user's goes."""
    with shared_host(context) as (host, user):
        start(context, host)
        verbena = [*user, context.verbena]
        host.run([*verbena, "hca", "start"])
        host.run([*verbena, "fault", "set", "loss=1%"])
        try:
            pid = own_brokers(host)[0]
            time.sleep(3)
            need(own_brokers(host) == [pid], "it has gone")
            p = as_user(context, host, user, path(context, "verbs_pairs"), "2")
            need(p.wait(20) == 0, p.story())
            os.kill(pid, 9)
            context.wait(lambda: own_brokers(host) not in ([], [pid]), 10, lambda: "no broker comes after it")
            context.wait(lambda: "loss=1%" in host.run([*verbena, "fault", "list"], status=None), 10, lambda: "its settings have gone")
            need("loss" not in host.run([context.verbena, "fault", "list"], status=None), "another user has them")
        finally:
            host.run([*verbena, "hca", "stop"])
