# SPDX-License-Identifier: BSD-2-Clause
"""`verbena ping HOST` and `verbena doctor HOST`: what they find between two hosts."""
import json
import os
import re
import shutil
import signal
import subprocess

from cases import add, case
from hosts import Failure, Skip

A, B = "10.9.0.1", "10.9.0.2"


def nft_of(host):
    """Sets a rule for what arrives at the host, or with None takes it away."""
    nft = shutil.which("nft", path=os.environ["PATH"] + ":/usr/sbin")
    if not nft:
        raise Skip("no nft: install nftables")

    def set_rule(rule):
        if rule is None:
            host.run([nft, "delete", "table", "inet", "verbena"])
            return
        table = "table inet verbena { chain input { type filter hook input priority 0; udp dport 4791 %s; }; }"
        p = subprocess.run(host.enter + [nft, table % rule], capture_output=True, text=True, timeout=20)
        if p.returncode != 0:
            raise Skip(f"nft: {p.stderr.splitlines()[0]}")
        host.run(["sh", "-c", "echo 0 >/proc/sys/net/ipv4/icmp_ratelimit; echo 0 >/proc/sys/net/ipv6/icmp/ratelimit"])
    return set_rule


class Kept:
    """The adapter of a host, kept for a while."""

    def __init__(self, context, host):
        self.verbena, self.host = context.verbena, host

    def __enter__(self):
        self.host.run([self.verbena, "hca", "start"])

    def __exit__(self, *_):
        self.host.run([self.verbena, "hca", "stop"])


def end_broker(context, host):
    """A broker of another case may still be there, with what it knows and the answers that it owes."""
    for pid in host.broker_pids():
        os.kill(pid, signal.SIGTERM)
    context.wait(lambda: not host.broker_pids(), 20, "the host has a broker of another case")


def ping_json(context, host, *more, status=0):
    out = host.run([context.verbena, "ping", "-q", "--json", "-i", "0.2", *more], status=status)
    try:
        return json.loads(out)
    except ValueError:
        raise Failure(out) from None


def expect(said, words, story):
    missing = [w for w in words if w not in " ".join(said.split())]
    if missing:
        raise Failure(f"{missing} is missing in\n{story}")


@case("ping.answers")
def _(context):
    """It says what the adapter there is, with the version, GIDs, path MTU and clock, over IPv4 and IPv6."""
    a, b = context.machine.two()
    with Kept(context, b):
        version = b.run([context.verbena, "--version"]).split()[1]
        gids = {g["gid"] for g in b.devices(context.verbena)["veth0"]["gids"]}
        for ip in (B, "fd09::2"):
            said = ping_json(context, a, "-c", "3", ip)
            trip = said["round_trip_ns"]
            if (said["asked"], said["answered"], said["lost"]) != (3, 3, 0) or said["cause"] != "answers" or \
                    not 0 < trip["min"] <= trip["median"] <= trip["max"] or said["address"] != ip or \
                    said["adapter"]["kind"] != "verbena" or said["adapter"]["version"] != version or \
                    said["adapter"]["mtu"] != 4096 or said["path_mtu"] != 4096 or \
                    len(said["adapter"]["gids"]) != len(gids) or ip not in said["adapter"]["gids"] or \
                    abs(said["clock_offset_ns"]) > said["clock_error_ns"] + 10**6:
                raise Failure(json.dumps(said, indent=1))
        out = a.run([context.verbena, "ping", "-c", "2", "-i", "0.2", "-s", "4096", B])
        expect(out, [f"{B} ({B}) from {A}", "4096 bytes", f"answer 2 from {B} after", "2 asked, 2 answered, 0 not",
                     f"adapter: Verbena {version}, path MTU 4096, GIDs", "path MTU 4096: packets of 4148 bytes",
                     "clock: "], out)


@case("ping.interrupted")
def _(context):
    """Ctrl-C ends it at once, with what is known so far: also while nobody answers."""
    a, b = context.machine.two()
    with Kept(context, b):
        p = a.start([context.verbena, "ping", B])
        p.wait_output(f"answer 1 from {B}")
        p.kill(signal.SIGINT)
        if p.wait(5) != 0:
            raise Failure(p.story())
        expect(p.output(), ["answered, 0 not", "adapter: Verbena", "round trip: "], p.story())
    p = a.start([context.verbena, "ping", "-W", "3", "10.9.0.77"])
    p.wait_output("from 10.9.0.1")
    p.kill(signal.SIGINT)
    if p.wait(2) != 1:
        raise Failure(p.story())
    expect(p.output(), ["0 answered, 0 not"], p.story())


@case("ping.nobody_there")
def _(context):
    """No adapter; no host; no way."""
    a, b = context.machine.two()
    context.wait(lambda: not b.has_adapter(), 20, "the other host still has an adapter")
    b.run(["sh", "-c", "echo 0 >/proc/sys/net/ipv4/icmp_ratelimit"])
    said = ping_json(context, a, "-c", "1", B, status=1)
    if said["cause"] != "refused" or said["adapter"] is not None or "no adapter runs at that address" not in said["what"][0]:
        raise Failure(str(said))
    said = ping_json(context, a, "-c", "1", "-W", "2", "10.9.0.77", status=1)
    if said["cause"] not in ("unresolved", "dropped"):
        raise Failure(str(said))
    out = a.run([context.verbena, "ping", "192.0.2.7"], status=1)
    expect(out, ["verbena ping: this host has no way to 192.0.2.7"], out)


for name, rule, cause, says in (
        ("drops", "drop", "dropped", "no ICMP message says why"),
        ("rejects", "reject", "refused", "or a firewall there or on the way rejects packets in these words"),
        ("prohibits", "reject with icmp type admin-prohibited", "firewall", "rejects the packets and says so")):
    def firewall(context, rule=rule, cause=cause, says=says):
        a, b = context.machine.two()
        set_rule = nft_of(b)
        with Kept(context, b):
            set_rule(rule)
            try:
                said = ping_json(context, a, "-c", "1", B, status=1)
                if said["cause"] != cause or says not in " ".join(said["what"]):
                    raise Failure(json.dumps(said, indent=1))
                out = a.run([context.verbena, "doctor", "-q", B], status=1)
                if not re.search(r"^FAIL  peer ", out, re.M) or says not in out:
                    raise Failure(out)
            finally:
                set_rule(None)
    add(f"ping.firewall_{name}", firewall)


@case("ping.path_mtu")
def _(context):
    """Packets longer than the network takes are dropped: the largest that gets through is found out."""
    a, b = context.machine.two()
    set_rule = nft_of(b)
    with Kept(context, b):
        # UDP's length: 8, BTH 12, DETH 8, ICRC 4; path MTU 1024 fits into 1500, 2048 does not.
        set_rule("udp length > 1472 drop")
        try:
            said = ping_json(context, a, "-c", "1", B)
            if said["mtu"] != 4096 or said["path_mtu"] != 1024:
                raise Failure(str(said))
            out = a.run([context.verbena, "ping", "-c", "1", B])
            expect(out, ["path MTU 1024: packets of 1076 bytes come there and back, those of 2100 do not, and nobody says "
                         "why: the network drops them", "-> The adapters allow a path MTU of 4096"], out)
            out = a.run([context.verbena, "doctor", "-q", B])
            if not re.search(r"^warn  path MTU      1024: packets of 1076 bytes", out, re.M):
                raise Failure(out)
        finally:
            set_rule(None)


@case("ping.rate")
def _(context):
    """However many ask: one address gets 32 answers at once, then ten a second, none longer than its question."""
    a, b = context.machine.two()
    with Kept(context, b):
        def count():
            link = json.loads(a.run(["ip", "-j", "-s", "link", "show", "dev", "veth0"]))[0]["stats64"]
            return link["tx"]["bytes"], link["rx"]["bytes"]
        a.run([context.verbena, "ping", "-c", "1", B])
        before = count()
        crowd = [a.start([context.verbena, "ping", "-q", "-i", "0.2", "-c", "20", "-W", "0.2", B]) for _ in range(8)]
        for p in crowd:
            p.wait(30)
        asked = sum(int(re.search(r"^(\d+) asked", p.output(), re.M)[1]) for p in crowd)
        answered = sum(int(re.search(r" (\d+) answered", p.output())[1]) for p in crowd)
        after = count()
        seconds = 60  # that it may have taken, at the very most
        if asked != 160 or not 20 <= answered <= min(150, 32 + 10 * seconds) or \
                after[1] - before[1] > after[0] - before[0]:
            raise Failure(f"{asked} asked, {answered} answered, bytes {before} {after}\n{crowd[0].story()}")


@case("ping.doctor")
def _(context):
    """Nothing but ok between two hosts that are well; and nothing that cannot be seen is called ok."""
    a, b = context.machine.two()
    end_broker(context, b)
    with Kept(context, b):
        out = a.run([context.verbena, "doctor", B], status=None)
        for name, says in (("way", f"{B} by verbena"), ("peer", "Verbena .* answers after .*; GIDs .*" + re.escape(B)),
                           ("loss", "5 of 5 questions were answered"), ("path MTU", "4096: packets of 4148 bytes"),
                           ("clock", f"that of {B} is ")):
            if not re.search(rf"^ok    {name} +{says}", out, re.M):
                raise Failure(f"{name}\n{out}")
        if not re.search(r"^\?     firewall .*cannot be seen from here", out, re.M) or \
                not re.search(r"^ok    port ", out, re.M):
            raise Failure(out)
    out = a.run([context.verbena, "doctor", "-q", "nosuch.invalid"], status=1)
    if not re.search(r"^FAIL  way +'nosuch.invalid' is no host: ", out, re.M):
        raise Failure(out)


for name, argv, says in (
        ("nothing", [], "which host?"),
        ("two", ["a", "b"], "unexpected argument 'b'"),
        ("count", ["-c", "0", "x"], "'0' is no number of questions"),
        ("interval", ["-i", "0.01", "x"], "'0.01' is no interval"),
        ("size", ["-s", "258", "x"], "'258' is no size: 256 to 4096 bytes, a multiple of 4"),
        ("timeout", ["-W", "9", "x"], "'9' is no time"),
        ("option", ["--fast", "x"], "unknown option '--fast'")):
    def wrong(context, argv=argv, says=says):
        a = context.machine.a
        p = subprocess.run(a.enter + [context.verbena, "ping"] + argv, capture_output=True, text=True, timeout=20)
        if p.returncode != 2 or len(p.stderr.splitlines()) != 1 or says not in p.stderr:
            raise Failure(f"exit status {p.returncode}\n{p.stdout}{p.stderr}")
    add(f"ping.wrong.{name}", wrong)


for name, argv, says in (
        ("host", ["nosuch.invalid"], "'nosuch.invalid' is no host: "),
        ("device", ["-d", "nosuch0", B], "no device 'nosuch0' leads to 10.9.0.2"),
        ("other_device", ["-d", "lo", B], "device 'lo' does not lead to 10.9.0.2")):
    def refused(context, argv=argv, says=says):
        a, _ = context.machine.two()
        out = a.run([context.verbena, "ping", *argv], status=1)
        if says not in out or len(out.splitlines()) != 1:
            raise Failure(out)
    add(f"ping.refused.{name}", refused)
