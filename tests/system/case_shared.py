# SPDX-License-Identifier: BSD-2-Clause
"""The shared broker: several users of one host, each with programs of the adapter."""
import contextlib
import os
import re
import time

from cases import case
from hosts import Failure, Skip

OTHER = "65534"


@contextlib.contextmanager
def shared_host(context):
    """A host of its own with a shared broker, and the beginning of commands of a second user."""
    if os.geteuid() != 0 or context.machine.user_namespace:
        raise Skip("only root can be two users")
    host = context.machine.host("shared")
    user = ["setpriv", f"--reuid={OTHER}", "--clear-groups", "env", "-u", "XDG_RUNTIME_DIR"]
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
    return host.start([*user, context.verbena, "run", "--", *command])


def path(context, program):
    return os.path.join(context.build, "tests", "system", program)


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


@case("shared.killed", seconds=40)
def _(context):
    """The shared broker is killed, and the next one comes, under a pair of two users; then the brokers of both are killed. The pair
    goes on to its end."""
    with shared_host(context) as (host, user):
        broker = start(context, host)
        options = ["-F", "-D", "5", "-s", "64", "-x", "1", "-p", str(host.pick_port())]
        server = as_user(context, host, user, "ib_send_lat", *options)
        server.wait_listen(int(options[-1]))
        client = as_user(context, host, [], "ib_send_lat", *options, "127.0.0.1")
        time.sleep(1.5)
        broker.kill()
        start(context, host)
        time.sleep(1)
        own = [p for p in host.broker_pids() if "--shared" not in open(f"/proc/{p}/cmdline").read()]
        if len(own) != 2:
            raise Failure(f"brokers: {own}")
        for pid in own:
            os.kill(pid, 9)
        for p in client, server:
            if p.wait(20) != 0:
                raise Failure(client.story() + server.story())


@case("shared.says_so")
def _(context):
    """RDMA CM and an adapter that stays are not there for programs of the shared broker, and that is said."""
    with shared_host(context) as (host, user):
        start(context, host)
        out = host.run([*user, context.verbena, "run", "--", "rping", "-s", "-a", "127.0.0.1", "-C", "1"], status=None)
        if not re.search("the shared broker has the adapter of this host: there is no RDMA CM", out):
            raise Failure(out)
        out = host.run([*user, context.verbena, "hca", "start"], status=None)
        if "the shared broker has the adapter of this host" not in out:
            raise Failure(out)
