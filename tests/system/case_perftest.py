# SPDX-License-Identifier: BSD-2-Clause
"""perftest: every verb, transport and mode that its programs have for this adapter."""
import re

from cases import add, case
from hosts import Failure, Skip
import pair

COMMON = ["-F"]  # do not complain about CPU frequency


def perftest(where, program, options, seconds=25, env=None, api=None):
    """@api: whether it must post by ibv_wr_*(), "ON" or "OFF"."""
    def run(context):
        if where not in context.places:
            raise Skip(context.machine.why)
        _, client = pair.run(context.places[where], program, COMMON + list(options), seconds, env)
        if not re.search(r"^\s*\d+\s+\d+\s+[\d.]+", client, re.M):
            raise Failure(f"no line of results in\n{client}")
        if api and not re.search(rf"ibv_wr\* API\s*:\s*{api}\b", client):
            raise Failure(f"does not post by the API that the case is for: {api}\n{client}")
    return run


def add_verbs():
    """Each verb over each transport it has, in every place."""
    table = {"send": ("RC", "UC", "UD", "XRC"), "write": ("RC", "UC", "XRC"),
             "read": ("RC", "XRC"), "atomic": ("RC", "XRC")}
    for where in ("lo4", "lo6", "net4", "net6"):
        for verb, transports in table.items():
            for transport in transports:
                for kind in ("bw", "lat"):
                    size = [] if verb == "atomic" else ["-s", "1024"]
                    add(f"perftest.{verb}_{kind}.{transport}.{where}",
                        perftest(where, f"ib_{verb}_{kind}",
                                 ["-c", transport, "-n", "200", *size]))


def add_modes():
    """The modes of perftest, each on one host and between two."""
    modes = (
        ("both_ways", ("send", "write", "read", "atomic"), ("bw",), ["-b", "-n", "500"]),
        ("events", ("send", "read"), ("bw", "lat"), ["-e", "-n", "200"]),
        ("events", ("atomic",), ("bw",), ["-e", "-n", "200"]),
        ("qps16", ("send", "write", "read", "atomic"), ("bw",), ["-q", "16", "-n", "200"]),
        ("depth", ("send", "write", "read"), ("bw",), ["-t", "7", "-n", "300"]),
        ("list", ("send", "write", "read"), ("bw",), ["-l", "16", "-n", "320"]),
        ("gbits", ("write", "read"), ("bw",), ["--report_gbits", "-n", "300"]),
        ("rx_depth", ("send",), ("bw",), ["-r", "40", "-n", "300"]),
        ("cq_mod", ("send", "write"), ("bw",), ["-Q", "20", "-n", "300"]),
        ("odp", ("send", "write", "read"), ("bw", "lat"), ["--odp", "-n", "200"]),
        ("recv_list", ("send",), ("bw",), ["--recv_post_list", "16", "-n", "320"]),
        ("inline", ("send", "write"), ("bw", "lat"), ["--inline_size", "64", "-s", "64", "-n", "300"]),
    )
    for where in ("lo4", "net6"):
        for mode, verbs, kinds, options in modes:
            for verb in verbs:
                for kind in kinds:
                    add(f"perftest.{verb}_{kind}.{mode}.{where}",
                        perftest(where, f"ib_{verb}_{kind}", options))
        for mtu in (256, 1024, 4096):
            add(f"perftest.write_bw.mtu{mtu}.{where}",
                perftest(where, "ib_write_bw", ["-m", str(mtu), "-s", "65536", "-n", "200"]))
        add(f"perftest.send_bw.uc_all.{where}",
            perftest(where, "ib_send_bw", ["-c", "UC", "-s", "30000", "-n", "50"]))
        add(f"perftest.send_bw.ud_both_ways.{where}",
            perftest(where, "ib_send_bw", ["-c", "UD", "-b", "-s", "512", "-n", "200"]))
        add(f"perftest.send_bw.srq.{where}",
            perftest(where, "ib_send_bw", ["--use-srq", "-q", "4", "-n", "200"]))
        add(f"perftest.atomic_bw.cas.{where}",
            perftest(where, "ib_atomic_bw", ["-A", "CMP_AND_SWAP", "-n", "300"]))
        add(f"perftest.write_bw.no_peak.{where}",
            perftest(where, "ib_write_bw", ["-N", "-Q", "10", "-n", "300"]))


def add_wr_api():
    """Posting by ibv_wr_*(), which perftest uses where the device looks like one of mlx5's, and by
    ibv_post_send() where it is told to: that is what it uses with every other device."""
    half = {"VERBENA_DC": "half"}
    for where in ("lo4", "net6"):
        for name, program, options in (
                ("list", "send_bw", ["-l", "16", "-n", "320"]),
                ("UD", "send_bw", ["-c", "UD", "-s", "1024", "-n", "200"]),
                ("XRC", "write_bw", ["-c", "XRC", "-n", "200"]),
                ("inline", "write_lat", ["--inline_size", "64", "-s", "64", "-n", "300"]),
                ("qps4", "read_bw", ["-q", "4", "-n", "200"]),
                ("fetch_add", "atomic_bw", ["-A", "FETCH_AND_ADD", "-n", "200"])):
            add(f"perftest.{program}.wr_{name}.{where}",
                perftest(where, f"ib_{program}", options, env=half, api="ON"))
        for name, options in (("post", ["-n", "200"]), ("list", ["-l", "8", "-n", "320"])):
            add(f"perftest.write_bw.old_{name}.{where}",
                perftest(where, "ib_write_bw", ["--use_old_post_send", *options], env=half, api="OFF"))


def add_dc():
    """DC: each verb, with half and full handshake, several initiators for one target, streams."""
    half, full = ({"VERBENA_DC": handshake} for handshake in ("half", "full"))
    for where in ("lo4", "net6"):
        for verb in ("send", "write", "read", "atomic"):
            for kind in ("bw", "lat"):
                size = [] if verb == "atomic" else ["-s", "10000"]
                add(f"perftest.{verb}_{kind}.DC.{where}",
                    perftest(where, f"ib_{verb}_{kind}", ["-c", "DC", "-n", "200", *size], env=half))
        for program, mode, options in (("send_bw", "full", []), ("read_lat", "full", []),
                                       ("send_bw", "qps4", ["-q", "4"]), ("send_bw", "both_ways", ["-b"]),
                                       ("write_bw", "streams", ["--log_dci_streams", "2"])):
            add(f"perftest.{program}.DC_{mode}.{where}",
                perftest(where, f"ib_{program}", ["-c", "DC", "-n", "200", *options],
                         env=full if mode in ("full", "qps4") else half))


def add_multicast():
    """To a group that the server has joined. IPv6 knows no multicast on "lo". Not the latency: there
    both have joined, and get what they send themselves, so who ends first is a matter of luck."""
    groups = {4: "0:0:0:0:0:0:0:0:0:0:255:255:239:3:3:3", 6: "255:14:0:0:0:0:0:0:0:0:0:0:0:3:3:3"}
    for where in ("lo4", "net4", "net6"):
        add(f"perftest.send_bw.multicast.{where}",
            perftest(where, "ib_send_bw",
                     ["-c", "UD", "-g", "-M", groups[int(where[-1])], "-s", "1024", "-n", "200"]))


def add_all_sizes():
    """All sizes from 2 bytes to 8 MiB. perftest measures the CPU's clock for each: half a second."""
    for where, programs in (("lo4", ("send_bw", "write_lat", "read_bw")),
                            ("net6", ("write_bw", "read_lat", "send_lat"))):
        for program in programs:
            add(f"perftest.{program}.all.{where}",
                perftest(where, f"ib_{program}", ["-a", "-n", "10"], 90), 100)


def together(count):
    """That many pairs at once on one host, of different programs."""
    kinds = (("ib_write_bw", ["-s", "8192"]), ("ib_send_bw", ["-s", "1024"]),
             ("ib_read_bw", ["-s", "4096"]), ("ib_write_lat", ["-s", "64"]))

    def run(context):
        place = context.places["lo4"]
        pairs = []
        try:
            for i in range(count):
                program, options = kinds[i % len(kinds)]
                pairs.append(pair.start(place, program, COMMON + options + ["-n", "1000"]))
            for server, client in pairs:
                pair.finish(server, client, 60)
        finally:
            for server, client in pairs:
                server.end()
                client.end()
    return run


@case("perftest.send_bw.DC_not_asked_for.lo4", seconds=20)
def _(context):
    """Without --dc there is no DC, and the user learns how to have it."""
    for p in pair.start(context.places["lo4"], "ib_send_bw", COMMON + ["-c", "DC"]):
        if p.wait(10) == 0 or "verbena run --dc half" not in p.output():
            raise Failure(p.story())


@case("perftest.several_devices.net4", seconds=40)
def _(context):
    """One host talks over loopback and over the cable at the same time."""
    if "net4" not in context.places:
        raise Skip(context.machine.why)
    pairs = [pair.start(context.places[w], "ib_send_bw", COMMON + ["-n", "1000"])
             for w in ("lo4", "net4", "net6")]
    try:
        for server, client in pairs:
            pair.finish(server, client, 30)
    finally:
        for server, client in pairs:
            server.end()
            client.end()


add_verbs()
add_modes()
add_wr_api()
add_dc()
add_multicast()
add_all_sizes()
add("pairs.2", together(2), 70)
add("pairs.8", together(8), 90)
