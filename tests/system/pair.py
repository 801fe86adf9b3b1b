# SPDX-License-Identifier: BSD-2-Clause
"""Runs a program that talks to itself: a server on one host, a client on another."""
import contextlib

from hosts import Failure, Host


class Side:
    """Where one end runs: a host, the interface its device is on, the address that is its GID."""

    def __init__(self, host: Host, ifname: str, address: str, control: str):
        self.host, self.ifname, self.address = host, ifname, address
        self.control = control  # IPv4 address for the program's own TCP connection


class Place:
    """Two sides, and the command that gives both the adapter."""

    def __init__(self, name, context, server: Side, client: Side):
        self.name, self.verbena, self.server, self.client = name, context.verbena, server, client
        # stdbuf: what a program has said is known while it runs.
        self.run = [*context.sanitizer, context.verbena, "run", "--", "stdbuf", "-oL"]


@contextlib.contextmanager
def spare(context):
    """Two hosts beside those of all others, with a cable between them that may be pulled: the place on it."""
    m = context.machine
    m.two()
    c, d = m.host("c"), m.host("d")
    try:
        m.cable(c, d, "veth9", ("10.8.0.1/24",), ("10.8.0.2/24",))
        yield Place("spare", context, Side(d, "veth9", "10.8.0.2", "10.8.0.2"), Side(c, "veth9", "10.8.0.1", "10.8.0.1"))
    finally:
        m.drop(c)
        m.drop(d)


def places(context):
    """The ways two programs can be apart, by name."""
    m = context.machine
    lo4 = Side(m.a, "lo", "127.0.0.1", "127.0.0.1")
    lo6 = Side(m.a, "lo", "::1", "127.0.0.1")
    made = {"lo4": Place("lo4", context, lo4, lo4), "lo6": Place("lo6", context, lo6, lo6)}
    if m.b:
        made["net4"] = Place("net4", context, Side(m.b, "veth0", "10.9.0.2", "10.9.0.2"),
                             Side(m.a, "veth0", "10.9.0.1", "10.9.0.1"))
        made["net6"] = Place("net6", context, Side(m.b, "veth0", "fd09::2", "10.9.0.2"),
                             Side(m.a, "veth0", "fd09::1", "10.9.0.1"))
    return made


def command(place, side, program, options, port):
    """The argument vector of one side: device, GID index and port in the program's own notation."""
    gid_option = "-g" if program.startswith("ibv_") else "-x"
    argv = place.run + [program, "-d", side.host.device(place.verbena, side.ifname), gid_option,
                        side.host.gid_index(place.verbena, side.ifname, side.address),
                        "-p", str(port)]
    return argv + list(options)


def start(place, program, options, env=None, server_env=None):
    """Starts both sides; returns (server, client). server_env: the server's, if it has another."""
    port = place.server.host.pick_port()
    server = place.server.host.start(command(place, place.server, program, options, port),
                                     name=f"{program} server", env=server_env or env)
    server.wait_listen(port)
    client = place.client.host.start(command(place, place.client, program, options, port) +
                                     [place.server.control], name=f"{program} client", env=env)
    return server, client


def finish(server, client, seconds):
    """Both must end well in time. Returns the output of both."""
    for p in (client, server):
        if p.wait(seconds) != 0:
            other = server if p is client else client
            raise Failure(f"{p.name} failed\n{p.story()}\n{other.story()}")
    return server.output(), client.output()


def run(place, program, options, seconds=25, env=None, server_env=None):
    server, client = start(place, program, options, env, server_env)
    try:
        return finish(server, client, seconds)
    except Failure as e:
        if server.name in str(e) and client.name in str(e):
            raise
        raise Failure(f"{e}\n{server.story()}\n{client.story()}") from None
    finally:
        for p in (server, client):
            p.end()
