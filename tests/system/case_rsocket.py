# SPDX-License-Identifier: BSD-2-Clause
"""Sockets by RDMA: librdmacm's rsockets in its own programs, programs of TCP sockets under librspreload.so, and
groups of multicast."""
import filecmp
import glob
import os

from case_cm import argv, begin_server, connects, need, place_of, run_client, run_pair
from cases import case
from hosts import Skip

PLACES = (("lo4", "udp"), ("lo6", "udp"), ("net4", "udp"), ("net6", "udp"), ("lo4", "shm"), ("lo6", "shm"))
# Where what takes long runs each time; at the other places it is a long case.
FEW_PLACES = (("lo4", "udp"), ("net6", "udp"), ("lo4", "shm"))


def suffix(where, link):
    return f"{where}{'' if link == 'udp' else '.' + link}"


for program in ("rstream", "riostream"):
    for spot, how in PLACES:
        lines = tuple(f"{program} {side} S -S 4096 -I 20 -T b -p P F" for side in ("-b", "-s"))
        connects(program, lines, spot, how)


def sizes(program, waits, where, link):
    @case(f"cm.{program}.{waits}_sizes.{suffix(where, link)}", seconds=60, is_long=(where, link) not in FEW_PLACES)
    def _(context):
        """Messages that are sent inline, in one packet, in several, in several turns of the buffers: verified.

        The end of the peer may come with its last bytes; a program that polls then takes the hang-up for an error."""
        for size, count in ((1, 50), (64, 50), (3000, 20), (65536, 10), (1500000, 4)):
            tail = f"S -S {size} -C {count} -I 2 -T {waits} -T v -p P F"
            run_pair(place_of(context, where), (f"{program} -b {tail}", f"{program} -s {tail}"), {"VERBENA_LINK": link},
                     good=(0, 16) if waits == "a" else (0,))


for program in ("rstream", "riostream"):
    for kind in "abn":
        for spot, how in PLACES:
            sizes(program, kind, spot, how)


def copies(where, link):
    @case(f"cm.rcopy.{suffix(where, link)}", seconds=60)
    def _(context):
        """100 MB arrive as they were."""
        place, env = place_of(context, where), {"VERBENA_LINK": link}
        source, copy = (os.path.join(context.machine.folder, name) for name in ("sent", "received"))
        with open(source, "wb") as f:
            for _ in range(100):
                f.write(os.urandom(1000) * 1000)
        port = place.server.host.pick_port()
        server = begin_server(place, "rcopy -p P", port, env)
        try:
            run_client(place, server, f"rcopy {source} {place.server.address}:{copy} -p P", port, env)
            # The server writes behind what it has acknowledged.
            context.wait(lambda: "done" in server.output(), 20, server.story)
            need(filecmp.cmp(source, copy, shallow=False), "the files differ")
        finally:
            server.end()
            for path in (source, copy):
                if os.path.exists(path):
                    os.remove(path)


for spot, how in PLACES:
    if spot.endswith("4"):
        copies(spot, how)


def joins(where, link, option="-m"):
    @case(f"cm.mckey{'_unmapped' if option == '-M' else ''}.{suffix(where, link)}", seconds=60)
    def _(context):
        """A datagram to a group arrives at the processes that joined it. The sender waits for 3 s of its own accord.

        -M names the group by its GID, as an address of AF_IB. mckey ends with 0 also where it has sent nothing."""
        place, env = place_of(context, where), {"VERBENA_LINK": link}
        group = "ff0e::4711" if where.endswith("6") else "::ffff:239.1.2.3" if option == "-M" else "239.1.2.3"
        receiver = place.server.host.start(argv(place, f"mckey {option} {group} -b S -C 10", 0), env=env)
        receiver.wait_output("joined dgid")
        sender = place.client.host.start(argv(place, f"mckey -s {option} {group} -b C -C 10", 0), env=env)
        for p in (sender, receiver):
            need(p.wait(20) == 0 and "data transfers complete" in p.output(), f"{sender.story()}\n{receiver.story()}")


# lo has no route for groups of IPv6.
for spot, how in PLACES:
    if spot != "lo6":
        joins(spot, how)
        joins(spot, how, "-M")


@case("cm.mckey_unmapped.other_family", seconds=60)
def _(context):
    """A group of IPv6 by an address of IPv4: joining says that it does not go."""
    place = place_of(context, "lo4")
    p = place.server.host.start(argv(place, "mckey -M ff0e::4711 -b S -C 1", 0))
    need(p.wait(20) != 0 and "failure joining: Invalid argument" in p.output(), p.story())


# The sizes of rstream -S all, which sends each 100,000 times.
ALL_SIZES = sorted(2 ** n * m // 2 for n in range(6, 23) for m in (2, 3))


def all_sizes(where, link):
    @case(f"cm.rstream.all.{suffix(where, link)}", seconds=100, is_long=(where, link) not in FEW_PLACES)
    def _(context):
        """Every size of rstream's own list, with the data verified."""
        for size in ALL_SIZES:
            tail = f"S -S {size} -C 4 -I 1 -T v -p P F"
            run_pair(place_of(context, where), (f"rstream -b {tail}", f"rstream -s {tail}"), {"VERBENA_LINK": link})


for spot, how in PLACES:
    all_sizes(spot, how)


@case("cm.udpong.refused", seconds=60)
def _(context):
    """Datagrams of rsockets need an address handle without a GRH, which no RoCE device makes: docs/cm.md."""
    place = place_of(context, "lo4")
    port = place.server.host.pick_port()
    p = place.client.host.start([place.verbena, "trace", "-e", "create_ah", "--", "udpong", "-s", place.server.address,
                                 "-S", "100", "-C", "1", "-p", str(port)])
    need(p.wait(20) != 0 and "rconnect: " in p.output() and "ah_attr.is_global is 0" in p.output(), p.story())


def echoes(where, link):
    @case(f"cm.sockets.{suffix(where, link)}", seconds=60)
    def _(context):
        """A program of TCP sockets under librspreload.so: no TCP socket is there, and the data is right."""
        library = glob.glob("/usr/lib/*/rsocket/librspreload.so")
        if not library:
            raise Skip("librspreload.so is not installed")
        place, env = place_of(context, where), {"VERBENA_LINK": link, "LD_PRELOAD": library[0]}
        program, port = os.path.join(context.build, "tests", "system", "sockets_echo"), place.server.host.pick_port()
        server = begin_server(place, f"{program} server S P", port, env)
        server.wait_output("listens")
        need(not server.listens(port), "it listens on a TCP socket")
        client = place.client.host.start(argv(place, f"{program} client S P", port), env=env)
        for p in (client, server):
            need(p.wait(30) == 0 and "ok" in p.output().split(), f"{server.story()}\n{client.story()}")


for spot, how in PLACES:
    echoes(spot, how)
