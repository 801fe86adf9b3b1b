# SPDX-License-Identifier: BSD-2-Clause
"""Congestion control on live packets: marks, CNPs on the wire, rates, and a receive queue that is full."""
import os
import re
import subprocess

import pair
from cases import case
from hosts import Failure


class Counters:
    """The counts of a host since this was made. The adapter stays until done()."""

    def __init__(self, context, host):
        self.verbena, self.host = context.verbena, host
        host.run([self.verbena, "hca", "start"])
        self.before = self.read()

    def read(self):
        out = self.host.run([self.verbena, "counters", "--all"])
        total = {}
        for name, value in re.findall(r"^\s+(\w+)\s+(\d+)  ", out, re.M):
            total[name] = total.get(name, 0) + int(value)
        return total

    def done(self):
        after = self.read()
        self.host.run([self.verbena, "hca", "stop"])
        return {name: after[name] - self.before.get(name, 0) for name in after}


def settings(context, text):
    """A file with these settings."""
    path = os.path.join(context.machine.folder, "settings.cc")
    with open(path, "w", encoding="ascii") as f:
        f.write(text.replace(",", "\n"))
    return path


def incast(context, host, senders, messages, cc):
    """Runs the incast; its figures."""
    out = host.run([context.verbena, "run", "--cc", cc, "--",
                    os.path.join(context.build, "tests", "system", "verbs_incast"),
                    host.device(context.verbena, "lo"), str(senders), str(messages)], seconds=60)
    return {name: float(value) for name, value in re.findall(r"^(\w+) ([\d.]+)$", out, re.M)}


@case("congestion.incast", 90)
def _(context):
    """Eight processes write to one of the same host: next to nothing is sent twice."""
    host = context.machine.a
    counters = Counters(context, host)
    incast(context, host, 8, 150, "paper")
    c = counters.done()
    if c["port_xmit_packets"] < 8 * 150 * 16 or c["retransmitted_packets"] * 1000 > c["port_xmit_packets"]:
        raise Failure(f"{c['retransmitted_packets']} of {c['port_xmit_packets']} packets were sent again")


@case("congestion.algorithms", 120)
def _(context):
    """Algorithms behind verbena/cc.h in place of DCQCN: each moves the data of an incast, and next to nothing is sent twice."""
    host = context.machine.a
    text = settings(context, "algorithm=timely,t-low=200us,t-high=2ms,step=100Mbps")
    own = os.path.join(context.build, "tests", "unit", "libcc_object.so")
    for cc in ("swift,base-target=300us", text, "fixed,window=64kB", "dctcp", own + ",window=64kB"):
        counters = Counters(context, host)
        incast(context, host, 4, 60, cc)
        c = counters.done()
        if c["port_xmit_packets"] < 4 * 60 * 16 or c["retransmitted_packets"] * 100 > c["port_xmit_packets"] or c["np_cnp_sent"]:
            raise Failure(f"{cc}: {c['retransmitted_packets']} of {c['port_xmit_packets']} packets were sent again, "
                          f"{c['np_cnp_sent']} CNPs")


@case("congestion.algorithms_refused")
def _(context):
    """Algorithms that cannot be used, by name and as objects: the reason, and no program."""
    for cc, why in (("hpcc", "only the simulator has these"), ("swift,speed=5", "'speed=5' is no parameter of the algorithm"),
                    ("swift,base-target=5", "'base-target=5' is a time from 1ns to 10s"), ("/none.so", "'/none.so' cannot be read"),
                    ("quick", "is no file, no algorithm, and no preset")):
        done = subprocess.run([context.verbena, "run", "--cc", cc, "--", "echo", "ran"], capture_output=True, text=True, timeout=20)
        if done.returncode not in (2, 125) or why not in done.stderr or "ran" in done.stdout:
            raise Failure(f"--cc {cc}: status {done.returncode}, {done.stderr}")


@case("congestion.own_queue_marks", 90)
def _(context):
    """A receive queue that marks early slows its senders down by CNPs, and nobody is left behind. CC-03"""
    host = context.machine.a
    counters = Counters(context, host)
    cc = settings(context, "paper,dcqcn_max_rate=10Gbps,rxq_kmin=2,rxq_kmax=20,rxq_pmax=50")
    incast(context, host, 4, 300, cc)
    c = counters.done()
    if not c["np_ecn_marked_roce_packets"] or not c["rp_cnp_handled"]:
        raise Failure(f"no marks, or no CNPs: {c}")


def shark(path, select, *fields):
    out = subprocess.run(["tshark", "-n", "-r", path, "-Y", select, "-T", "fields"] +
                         [x for f in fields for x in ("-e", f)],
                         capture_output=True, text=True, timeout=60).stdout
    return [line.split("\t") for line in out.splitlines()]


def marked_run(context, where, program, options, cc="paper", marks="ecn=2%:dir=rx"):
    """Client and server at @where, both with these settings; what the server receives is marked.
    Returns the capture, the counters of both hosts, and the client's output."""
    place = context.places.get(where)
    context.machine.two()
    path = os.path.join(context.machine.folder, "marked.pcapng")
    if os.path.exists(path):
        os.remove(path)
    server_host, client_host = place.server.host, place.client.host
    server_counters, client_counters = Counters(context, server_host), Counters(context, client_host)
    capture = server_host.start([context.verbena, "capture", path, "-t", "40"])
    context.wait(lambda: os.path.exists(path) and os.path.getsize(path) > 0, 10, capture.story())
    # The server's marks are the server's own.
    run = place.run
    try:
        place.run = [*context.sanitizer, context.verbena, "run", "--cc", cc, "--fault", marks, "--", "stdbuf", "-oL"]
        _, out = pair.run(place, program, options)
    finally:
        place.run = run
    capture.kill(2)
    capture.wait(20)
    return path, server_counters.done(), client_counters.done(), out


@case("congestion.cnp_on_the_wire", 90)
def _(context):
    """Packets as another reader sees them: data is ECT(0), and a CNP answers a mark. CC-03, CC-04, facts B.3"""
    path, server, client, _ = marked_run(context, "net4", "ib_write_bw", ["-n", "60", "-s", "65536"],
                                         marks="ecn=5%:dir=rx")
    data = {d for d, in shark(path, "infiniband.bth.opcode <= 12 && ip", "ip.dsfield")}
    acks = {d for d, in shark(path, "infiniband.bth.opcode == 17 && ip", "ip.dsfield")}
    cnps = shark(path, "infiniband.bth.opcode == 129", "ip.dsfield", "infiniband.bth.psn",
                 "infiniband.bth.a", "udp.dstport", "udp.length")
    if data != {"0x02"} or acks != {"0x00"}:
        raise Failure(f"DS fields of data {data}, of acknowledgements {acks}")
    # 12 of BTH, 16 zeros, 4 of ICRC, 8 of UDP.
    if not cnps or any(c != ["0xc2", "0", c[2], "4791", "40"] for c in cnps):
        raise Failure(f"CNPs: {cnps[:5]}")
    # A capture may miss some packets of a flood.
    if server["np_cnp_sent"] < len(cnps) or not 0 < client["rp_cnp_handled"] <= server["np_cnp_sent"]:
        raise Failure(f"{len(cnps)} CNPs seen, {server['np_cnp_sent']} sent, {client['rp_cnp_handled']} handled")
    if server["np_ecn_marked_roce_packets"] < server["np_cnp_sent"]:
        raise Failure(f"counted: {server}")


@case("congestion.cnp_ipv6", 60)
def _(context):
    """The same over IPv6, for UC. CC-03"""
    path, server, client, _ = marked_run(context, "net6", "ib_write_bw", ["-c", "UC", "-n", "60", "-s", "65536"],
                                         marks="ecn=5%:dir=rx")
    cnps = shark(path, "infiniband.bth.opcode == 129", "ipv6.tclass")
    if not cnps or any(c != ["0x000000c2"] and c != ["0xc2"] for c in cnps):
        raise Failure(f"CNPs: {cnps[:5]}")
    if not server["np_cnp_sent"] or not client["rp_cnp_handled"]:
        raise Failure(f"{server} {client}")


@case("congestion.ud_counts_only", 60)
def _(context):
    """A mark on UD is counted, and there is nobody to send a CNP to. CC-03"""
    _, server, _, _ = marked_run(context, "net4", "ib_send_bw", ["-c", "UD", "-n", "200", "-s", "1024", "--tclass=2"],
                                 marks="ecn=100%:dir=rx")
    if not server["np_ecn_marked_roce_packets"] or server["np_cnp_sent"]:
        raise Failure(f"{server}")


@case("congestion.firmware_only_ignores", 60)
def _(context):
    """Scheme 3: CNPs come and are ignored by the adapter; they are software's business. CC-47"""
    _, server, client, _ = marked_run(context, "net4", "ib_write_bw", ["-n", "300", "-s", "65536"],
                                      cc="firmware-only")
    if not server["np_cnp_sent"] or not client["rp_cnp_ignored"] or client["rp_cnp_handled"]:
        raise Failure(f"{server} {client}")


@case("congestion.interrupt", 60)
def _(context):
    """A CNP for a QP that wants it wakes whoever waits for it, in another process. CC-07"""
    host, v = context.machine.a, context.verbena
    device = host.device(v, "lo")
    host.run([v, "hca", "start"])
    p = host.start([v, "csr", "wait", "-d", device, "0.2"])
    if p.wait(10) != 1 or "no CNP came in 0.2 s" not in p.output():
        raise Failure(p.story())
    waits = host.start([v, "csr", "wait", "-d", "lo", "30"])
    cc = settings(context, "paper,cnp_irq_en=true")
    for _ in range(20):
        host.run([v, "run", "--cc", cc, "--fault", "ecn=50%:dir=rx", "--",
                  os.path.join(context.build, "tests", "system", "verbs_sequence"), device, "write", "40000", "20"])
        if waits.status() is not None:
            break
    host.run([v, "hca", "stop"])
    if waits.wait(1) or not re.match(r"QP 0x[0-9a-f]{6} got a CNP", waits.output()):
        raise Failure(waits.story())


@case("congestion.off_is_silent", 60)
def _(context):
    """Without congestion control data is not ECT, so nothing marks it and nothing answers."""
    path, server, _, _ = marked_run(context, "net4", "ib_write_bw", ["-n", "50", "-s", "65536"], cc="off",
                                    marks="ecn=100%:dir=rx")
    if server["np_ecn_marked_roce_packets"] or {d for d, in shark(path, "infiniband && ip", "ip.dsfield")} != {"0x00"}:
        raise Failure(f"{server}")


def rate_of(output):
    """The average bandwidth in Gb/s that perftest's client printed."""
    rows = re.findall(r"^\s*\d+\s+\d+\s+[\d.]+\s+([\d.]+)\s+[\d.]+\s*$", output, re.M)
    if not rows:
        raise Failure(f"no bandwidth:\n{output}")
    return float(rows[-1])


@case("congestion.rate_by_software", 60)
def _(context):
    """Scheme 2: a QP keeps to the rate it was given, however often CNPs come. CC-46"""
    cc = settings(context, "preset=firmware-rate,initial_rate=200Mbps")
    _, _, client, out = marked_run(context, "net4", "ib_write_bw",
                                   ["-D", "2", "-s", "65536", "--report_gbits"], cc=cc)
    # The limiter counts BTH through ICRC; what is kept of idle time is the message it begins with.
    if not 0.02 < rate_of(out) < 0.206 or not client["rp_cnp_handled"]:
        raise Failure(f"{rate_of(out)} Gb/s\n{client}")


@case("congestion.algorithm_rate", 90)
def _(context):
    """The rate of an algorithm holds live."""
    _, _, _, out = marked_run(context, "net4", "ib_write_bw", ["-D", "2", "-s", "65536", "--report_gbits"],
                              cc="fixed,rate=200Mbps")
    if not 0.02 < rate_of(out) < 0.206:
        raise Failure(f"{rate_of(out)} Gb/s")


@case("congestion.minimum_rate_goes_on", 60)
def _(context):
    """At the lowest rate there is, 2 Mb/s, messages get through, and not by being sent twice. CC-60"""
    host = context.machine.a
    counters = Counters(context, host)
    cc = settings(context, "paper,dcqcn_max_rate=1,dcqcn_min_rate=1")
    c = None
    for op in ("write", "send", "read"):
        if op == "read": # whose responses come slower than adaptive timers begin
            c = counters.done()
        host.run([context.verbena, "run", "--cc", cc, "--",
                  os.path.join(context.build, "tests", "system", "verbs_sequence"),
                  host.device(context.verbena, "lo"), op, "40000", "4"], seconds=30)
    # A machine that lets the program wait for longer than an adaptive timer at its lowest may cost one.
    if c["retransmitted_packets"] * 10 > c["port_xmit_packets"]:
        raise Failure(f"{c['retransmitted_packets']} packets again, {c['local_ack_timeout_err']} timeouts")


# A queue of 40 Mb/s is slow, so that any machine can keep up; the controller's steps are as far apart.
SLOW = """paper,cc_clk_hz=10000000,dcqcn_max_rate=40Mbps,dcqcn_min_rate=1Mbps,dcqcn_nocnp_timer_th=20000,\
dcqcn_alpha_timer_th=20000,dcqcn_rx_cnp_merge_period=10000,np_min_cnp_us=10000,dcqcn_byte_cnt_th=0,\
dcqcn_upd_alpha_g=64,dcqcn_rate_ai=200kbps,dcqcn_rate_hai=500kbps"""


@case("congestion.fair_share", 90)
def _(context):
    """
    Four senders over a bottleneck that marks ECN share it, and none is left out: CC-03, CC-09, CC-19...28. How evenly
    they do is up to the processor's time as well; test_scenario_dcqcn measures that in virtual time.
    """
    context.machine.two()
    place, v = context.places["net4"], context.verbena
    server, client = place.server, place.client
    cc, adp = settings(context, SLOW), os.path.join(context.machine.folder, "fixed.adp")
    with open(adp, "w", encoding="ascii") as f:
        f.write("roce_adp_retrans_en=0\n")
    counters = [Counters(context, h) for h in (server.host, client.host)]
    runs = []
    for _ in range(4):
        port = server.host.pick_port()

        def argv(side, *more, fault=(), port=port):
            return [v, "run", "--cc", cc, "--adp", adp, *fault, "--", "ib_write_bw", "-d",
                    side.host.device(v, side.ifname), "-x", side.host.gid_index(v, side.ifname, side.address), "-F",
                    "-D", "8", "-s", "16384", "-m", "4096", "-t", "16", "-Q", "1", "-u", "18", "--report_gbits",
                    "-p", str(port), *more]
        s = server.host.start(argv(server, fault=("--fault", "queue=40Mbps/2s/20kB/200kB/10%:dir=rx")))
        s.wait_listen(port)
        runs.append((s, client.host.start(argv(client, server.control))))
    rates = []
    for s, c in runs:
        if c.wait(60) or s.wait(20):
            raise Failure(c.story() + s.story())
        rates.append(rate_of(c.output()))
    at_server, at_client = (c.done() for c in counters)
    jain = sum(rates) ** 2 / (len(rates) * sum(r * r for r in rates))
    story = f"Jain's index {jain:.3f}: {rates} Gb/s\n{at_server}\n{at_client}"
    if min(rates) <= 0 or sum(rates) > 0.041:
        raise Failure(story)
    # Marks draw CNPs, CNPs act, and what they are for: next to nothing is lost.
    if not 0 < at_client["rp_cnp_handled"] <= at_server["np_cnp_sent"] <= at_server["np_ecn_marked_roce_packets"]:
        raise Failure(story)
