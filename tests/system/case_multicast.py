# SPDX-License-Identifier: BSD-2-Clause
"""Multicast groups between two hosts: who is a member, and what the network hears of it."""
import os
import subprocess
import sys

from cases import case
from hosts import Failure, Skip
import pair

# Prints a line for each join and leave that a host reports: IGMPv3 (RFC 3376 4.2), MLDv2 (RFC 3810 5.2).
LISTENER = """
import ipaddress, socket, struct, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
s.bind((sys.argv[1], 0))
print("listening", flush=True)
def reports(p):
    if p[0] >> 4 == 4 and p[9] == 2:
        return p[(p[0] & 15) * 4:], 0x22, 4
    if p[0] >> 4 == 6 and p[6] == 0 and p[40] == 58:
        return p[40 + 8 * (p[41] + 1):], 143, 16
    return None, 0, 0
while True:
    p, (_, _, direction, *_) = s.recvfrom(2000)
    p, kind, size = reports(p)
    if direction == socket.PACKET_OUTGOING or not p or p[0] != kind:
        continue
    at = 8
    for _ in range(struct.unpack_from("!H", p, 6)[0]):
        mode, more, sources = struct.unpack_from("!BBH", p, at)
        group = ipaddress.ip_address(p[at + 4:at + 4 + size])
        if sources == 0 and mode in (3, 4):  # TO_IN {} and TO_EX {}
            print("left" if mode == 3 else "joined", group, flush=True)
        at += 4 + size + size * sources + 4 * more
"""


def need(cond, story):
    if not cond:
        raise Failure(story)


class Player:
    """verbs_multicast on one side of a place."""

    @staticmethod
    def start(context, place, side, group, *role, env=None):
        return side.host.start(
            place.run + [os.path.join(context.build, "tests", "system", "verbs_multicast"),
                         side.host.device(place.verbena, side.ifname),
                         side.host.gid_index(place.verbena, side.ifname, side.address), group, *role],
            name=f"multicast {' '.join(role)}", stdin=subprocess.PIPE, env=env)

    def __init__(self, context, place, side, group, *role, env=None):
        self.program = self.start(context, place, side, group, *role, env=env)
        self.wait = self.program.wait_output
        if role == ("member",):
            self.wait("^joined$")

    def got(self):
        return self.program.output().count("got ")

    def leave(self):
        self.program.process.stdin.close()
        self.wait("^left$")
        need(self.program.wait(10) == 0, self.program.story())


def groups(where, group, env=None, name=""):
    """Two members on one host and one on the other, where somebody sends; they leave in all ways."""
    @case(f"multicast.members.{where}{name}", seconds=60)
    def _(context):
        if where not in context.places:
            raise Skip(context.machine.why)
        place = context.places[where]
        near, far = place.client, place.server

        def send(value):
            p = Player(context, place, near, group, "send", str(value), env=env)
            p.wait("^sent$")
            need(p.program.wait(10) == 0, p.program.story())

        listener = near.host.start([sys.executable, "-c", LISTENER, near.ifname], name="listener")
        listener.wait_output("^listening$")
        members = [Player(context, place, far, group, "member", env=env) for _ in range(2)]
        listener.wait_output(f"^joined {group}$")
        members.append(Player(context, place, near, group, "member", env=env))
        send(1)
        for m in members:
            m.wait("^got 1$")
        # One leaves, one dies: the other still hears it all, and the host stays in the group.
        members[0].leave()
        send(2)
        for m in members[1:]:
            m.wait("^got 2$")
        members[2].program.kill()
        need(f"left {group}" not in listener.output(), listener.output())
        send(3)
        members[1].wait("^got 3$")
        need([m.got() for m in members] == [1, 3, 2], "\n".join(m.program.story() for m in members))
        members[1].program.kill()
        listener.wait_output(f"^left {group}$")


groups("net4", "239.4.5.6")
groups("net6", "ff0e::4:5:6")
# The members of this host take part in the shared-memory link; those of the other host do not.
for where_, group_ in (("net4", "239.4.5.7"), ("net6", "ff0e::4:5:7")):
    groups(where_, group_, {"VERBENA_LINK": "shm"}, ".shm")
# Of this one Linux sees to it alone that it stays on the link.
groups("net6", "ff02::4:5:8", name=".link")


@case("multicast.scope.net6", seconds=40)
def _(context):
    """A datagram that Linux would keep off the cable is refused at both ends, and perftest, which takes such a
    group if it is told none, ends and says why."""
    if "net6" not in context.places:
        raise Skip(context.machine.why)
    place = context.places["net6"]
    for group in ("ff00::4:5:6", "ff01:0:2:c985::"):
        for role, call in ((("member",), "ibv_attach_mcast"), (("send", "1"), "ibv_create_ah")):
            p = Player.start(context, place, place.client, group, *role)
            need(p.wait(10) not in (0, None), p.story())
            need(f"multicast group {group} has scope {group[3]}" in p.output() and call in p.output(),
                 p.story())
    port = place.server.host.pick_port()
    server = place.server.host.start(pair.command(place, place.server, "ib_send_bw",
                                                  ["-F", "-c", "UD", "-g"], port))
    server.wait_listen(port)
    client = place.client.host.start(pair.command(place, place.client, "ib_send_bw",
                                                  ["-F", "-c", "UD", "-g"], port)
                                     + [place.server.control])
    need(server.wait(10) != 0 and "has scope 1" in server.output(), server.story())
    need(client.wait(10) != 0, client.story())
