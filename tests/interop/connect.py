# SPDX-License-Identifier: BSD-2-Clause
"""Programs of librdmacm between this adapter and rdma_rxe: two connection managers that share no code.

Each program runs with its server on either side, over IPv4 and IPv6. Operations that a kernel lacks are shown
by the error that it gives: rdma_rxe of Linux 6.1 refuses multicast groups of IPv6.
"""
import time

from hosts import Failure

HOST = {4: "10.77.0.1", 6: "fd77:0:0:77::1"}
GUEST = {4: "10.77.0.2", 6: "fd77:0:0:77::2"}
GROUP = {4: "239.1.2.3", 6: "ff0e::4711"}
FORMAT = {4: [], 6: ["-f", "ipv6"]}
LISTENS_S = 15

# The server's and the client's arguments; S is the server's address, C the client's, P the port.
PROGRAMS = {
    "rping": ("rping -s -a S -C 20 -V -p P", "rping -c -a S -C 20 -V -p P"),
    "rping_big": ("rping -s -a S -C 5 -S 60000 -V -p P", "rping -c -a S -C 5 -S 60000 -V -p P"),
    "ucmatose": ("ucmatose -b S -c 16 -C 10 -p P", "ucmatose -s S -c 16 -C 10 -p P"),
    "udaddy": ("udaddy -b S -c 4 -C 10", "udaddy -s S -c 4 -C 10"),
    "write_bw": ("ib_write_bw -R -F -u 18 -n 100 -p P", "ib_write_bw -R -F -u 18 -n 100 -p P S"),
    "rstream": ("rstream -b S -S 4096 -C 50 -I 10 -T v -p P", "rstream -s S -S 4096 -C 50 -I 10 -T v -p P"),
}

# perftest 4.5 asks getaddrinfo for IPv4 alone where librdmacm connects.
ONLY_IPV4 = ("write_bw",)


def words(line, interop, version, server, client):
    """The arguments of one side."""
    meant = {"S": server, "C": client, "P": str(interop.port)}
    argv = [meant.get(w, w) for w in line.split()]
    return argv + (FORMAT[version] if argv[0] in ("ucmatose", "udaddy", "rstream") else [])


def place(interop, where, argv):
    """The arguments as they run on the host, in the guest as they are."""
    return [interop.verbena, "run", "--", *argv] if where == "host" else argv


def wait_listener(interop, where, server):
    """Until a connection manager has a listener: the guest's kernel tells, the host's program is given time."""
    end = time.monotonic() + LISTENS_S
    if where == "host":
        time.sleep(1)
        return
    while time.monotonic() < end and server.status() is None:
        if "LISTEN" in interop.rig.call("exec", "rdma", "resource", "show", "cm_id"):
            return
        time.sleep(0.1)
    raise Failure(f"the server does not listen\n{server.story()}")


def wait_member(interop, where, receiver):
    """Until the receiver's host has joined the group. mckey says so at its end, in the buffer of its output."""
    show = ["netns", "ip", "maddr", "show", "dev", "rdma0"] if where == "host" else \
        ["exec", "ip", "maddr", "show", "dev", "eth0"]
    end = time.monotonic() + LISTENS_S
    while GROUP[4] not in interop.rig.call(*show):
        if time.monotonic() > end or receiver.status() is not None:
            raise Failure(f"it does not join the group\n{receiver.story()}")
        time.sleep(0.1)


def run_pair(interop, server_at, version, name):
    """One of PROGRAMS."""
    interop.port += 1
    client_at = "guest" if server_at == "host" else "host"
    at = {"host": HOST[version], "guest": GUEST[version]}
    argv = [words(line, interop, version, at[server_at], at[client_at]) for line in PROGRAMS[name]]
    interop.exchange(name, server_at, place(interop, server_at, argv[0]), place(interop, client_at, argv[1]),
                     lambda server: wait_listener(interop, server_at, server))


def run_mckey(interop, server_at, version, _options):
    """A receiver of a group on one side, its sender on the other."""
    client_at = "guest" if server_at == "host" else "host"
    at = {"host": HOST[version], "guest": GUEST[version]}
    receiver = ["mckey", "-m", GROUP[version], "-b", at[server_at], "-C", "10"]
    sender = ["mckey", "-s", "-m", GROUP[version], "-b", at[client_at], "-C", "10"]
    interop.exchange("mckey", server_at, place(interop, server_at, receiver), place(interop, client_at, sender),
                     lambda server: wait_member(interop, server_at, server))


def refuse_ipv6_group(interop, _server_at, _version, options):
    """The guest's kernel has no multicast groups of IPv6 for RoCEv2: 524, ENOTSUPP."""
    p = interop.rig.on_guest(["mckey", *options, "-m", GROUP[6], "-b", GUEST[6], "-C", "1"])
    status = p.wait(45)
    if status == 0 or "524" not in p.output():
        raise Failure(f"exit status {status}\n{p.story()}")


def cases(short):
    """(name, server_at, function, IP version, its argument)."""
    made = []
    for server in ("host", "guest"):
        for version in (4, 6):
            if short and (version == 4) == (server == "guest"):
                continue
            tag = f"ipv{version}.server_{server}"
            made += [(f"connect.{name}.{tag}", server, run_pair, version, name)
                     for name in PROGRAMS if version == 4 or name not in ONLY_IPV4]
            if version == 4:
                made.append((f"connect.mckey.{tag}", server, run_mckey, version, None))
    return made + [(f"connect.mckey.ipv6.refused_{role}", "guest", refuse_ipv6_group, 6, options)
                   for role, options in (("receiver", ()), ("sender", ("-s",)))]
