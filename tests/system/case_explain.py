# SPDX-License-Identifier: BSD-2-Clause
"""`verbena explain`: QPs are brought into trouble of every kind, and it says which."""
import json
import os
import re
import shutil
import signal
import subprocess

from case_ping import end_broker
from cases import add, case
from hosts import Failure, Skip
import pair as program_pair

A, B = "10.9.0.1", "10.9.0.2"


class Qp:
    """A QP of a program that does what it is told (verbs_trouble.c)."""

    def __init__(self, context, host, ip, ifname="veth0", faults=None, log=False, more=()):
        self.host, self.ip = host, ip
        device = host.device(context.verbena, ifname)
        self.program = host.start(
            [context.verbena, "run"] + (["--fault", faults] if faults else []) + (["--log"] if log else []) +
            ["--"] + context.sanitizer +
            [os.path.join(context.build, "tests", "system", "verbs_trouble"), device,
             host.gid_index(context.verbena, ifname, ip), *more], stdin=subprocess.PIPE)
        self.program.wait_output(r"^qp .*\n")
        self.qpn, self.rkey, self.addr = (int(w) for w in self.program.output().split()[1:6:2])
        self.done = 0

    def tell(self, text):
        self.program.process.stdin.write((text + "\n").encode())
        self.program.process.stdin.flush()

    def do(self, text):
        """Tells it, and waits until it has done so."""
        self.tell(text)
        self.done += 1
        self.program.wait_output(f"(?s)(: done.*){{{self.done}}}")

    def connect(self, ip, qpn, timeout=14, retry=7, rnr=7):
        self.do(f"connect {ip} {qpn} {timeout} {retry} {rnr}")

    def fails(self, status):
        """A completion with this status comes."""
        self.do("poll")
        if f"completion: {status}" not in self.program.output():
            raise Failure(self.program.story())


def pair(context, **options):
    a, b = context.machine.two()
    one, other = Qp(context, a, A), Qp(context, b, B)
    one.connect(B, other.qpn, **options)
    other.connect(A, one.qpn)
    return one, other


def ask_json(context, qp):
    out = qp.host.run([context.verbena, "explain", str(qp.qpn), "-p", str(qp.program.pid), "--json"])
    return json.loads(out)[0]


def ask(context, qp):
    """The explanation of the QP, as JSON; the text is looked at too."""
    said = ask_json(context, qp)
    while True:
        text = qp.host.run([context.verbena, "explain", hex(qp.qpn), "-p", str(qp.program.pid)])
        after = ask_json(context, qp)
        if after["rank"] == said["rank"]:
            break
        said = after  # it has changed between the two
    # The text is broken into lines, and knows the time better.
    if f"0x{qp.qpn:06x}" not in text or said["rank"] not in text.splitlines()[0]:
        raise Failure(text)
    said["text"] = " ".join(text.split())
    return said


def expect(context, qp, rank, cause, *words):
    said = ask(context, qp)
    missing = [w for w in words if w not in said["text"]]
    if said["rank"] != rank or said["cause"] != cause or missing:
        raise Failure(f"{missing} is missing; wanted {rank}, {cause}:\n{json.dumps(said, indent=1)}")
    return said


@case("explain.peer_never_there")
def _(context):
    """Nobody has the port at that address: the other host says so."""
    a, b = context.machine.two()
    end_broker(context, b)
    qp = Qp(context, a, A)
    qp.connect(B, 0x123402, timeout=12)
    qp.do("write 100 1 4096")
    qp.fails("transport retry counter exceeded")
    said = expect(context, qp, "failed", "refused", "no answer from 10.9.0.2", "port 4791 is unreachable",
                  "or a firewall",
                  "timeout 12 (16.78 ms), retry_cnt 7", "RDMA WRITE of 100 bytes (wr_id 77", "R_Key 0x1")
    listed = a.run([context.verbena, "explain"])
    for words in ("Cause: UDP port 4791 is unreachable there.", "'verbena explain QPN' tells the whole"):
        if words not in listed:
            raise Failure(listed)
    fired = [row for row in said["timeline"] if row["kind"] == "timeout"]
    if len(fired) < 7 or said["timeouts"] != len(fired) or not all(r["ran_ns"] > 0 for r in fired):
        raise Failure(json.dumps(said, indent=1))
    if [row["kind"] for row in said["timeline"]][0] != "sent" or said["timeline"][-1]["kind"] != "end":
        raise Failure(json.dumps(said, indent=1))


# Rules of nft(8) for what arrives at the other host, and what is said of each: an adapter runs there.
for name, ip, rule, cause, says in (
        ("prohibits", B, "reject with icmp type admin-prohibited", "firewall",
         "A firewall there or on the way to 10.9.0.2 rejects the packets and says so"),
        ("prohibits_ipv6", "fd09::2", "reject with icmpv6 type admin-prohibited", "firewall",
         "A firewall there or on the way to fd09::2 rejects the packets and says so"),
        ("rejects", B, "reject", "refused", "or a firewall there or on the way rejects packets in these words"),
        ("drops", B, "drop", "dropped", "and a question to the adapter there gets no answer: packets are dropped on the way "
         "(a firewall?), or that host is down.")):
    def firewall(context, ip=ip, rule=rule, cause=cause, says=says):
        nft = shutil.which("nft", path=os.environ["PATH"] + ":/usr/sbin")
        if not nft:
            raise Skip("no nft: install nftables")
        a, b = context.machine.two()
        there = Qp(context, b, B)
        qp = Qp(context, a, "fd09::1" if ":" in ip else A)
        table = "table inet verbena { chain input { type filter hook input priority 0; udp dport 4791 %s; }; }"
        p = subprocess.run(b.enter + [nft, table % rule], capture_output=True, text=True, timeout=20)
        if p.returncode != 0:
            raise Skip(f"nft: {p.stderr.splitlines()[0]}")
        try:
            # The kernel sends few ICMP messages a second to one host, and other cases had theirs.
            b.run(["sh", "-c", "echo 0 >/proc/sys/net/ipv4/icmp_ratelimit; echo 0 >/proc/sys/net/ipv6/icmp/ratelimit"])
            qp.connect(ip, there.qpn, timeout=12)
            qp.do("write 100 1 4096")
            qp.fails("transport retry counter exceeded")
            expect(context, qp, "failed", cause, says)
        finally:
            b.run([nft, "delete", "table", "inet", "verbena"])
    add(f"explain.firewall_{name}", firewall)


@case("explain.address_does_not_resolve")
def _(context):
    a, _ = context.machine.two()
    qp = Qp(context, a, A)
    # Long enough for the kernel to give up asking.
    qp.connect("10.9.0.77", 0x123402, timeout=17)
    qp.do("write 100 1 4096")
    context.wait(lambda: ask(context, qp)["cause"] == "unresolved", 10, lambda: str(ask(context, qp)))
    expect(context, qp, "stuck", "unresolved", "nobody on the link answers for 10.9.0.77 (ARP)")


@case("explain.no_route")
def _(context):
    a, _ = context.machine.two()
    qp = Qp(context, a, A)
    qp.connect("192.0.2.7", 0x123402, timeout=12)
    qp.do("write 100 1 4096")
    qp.fails("transport retry counter exceeded")
    expect(context, qp, "failed", "send-error", "192.0.2.7", "unreachable")


@case("explain.peer_killed")
def _(context):
    one, other = pair(context)
    one.do(f"write 100 {other.rkey} {other.addr}")
    one.fails("success")
    other.program.kill(signal.SIGKILL)
    other.program.wait(10)
    one.do(f"write 100 {other.rkey} {other.addr}")
    # The other host's broker has the port for a while.
    expect(context, one, "stuck", "peer-gone", f"The process that had QP 0x{other.qpn:06x} at 10.9.0.2 ended",
           "connect to a new one")
    one.fails("transport retry counter exceeded")
    said = ask(context, one)
    if said["cause"] not in ("refused", "peer-gone") or said["rank"] != "failed":
        raise Failure(json.dumps(said, indent=1))


@case("explain.peer_between_hosts")
def _(context):
    """The adapter of the other host tells how the other QP stands, from INIT to its end."""
    a, b = context.machine.two()
    one, other = Qp(context, a, A), Qp(context, b, B)
    one.connect(B, other.qpn, timeout=17)
    one.do("write 100 1 4096")
    context.wait(lambda: ask(context, one)["timeouts"] > 0, 10, lambda: "no timer fired: " + ask(context, one)["text"])
    expect(context, one, "stuck", "peer-not-ready", f"QP 0x{other.qpn:06x} there is in INIT: it does not receive before RTR")
    # Connected to another QP: nothing is told of it.
    other.do(f"rtr {A} {one.qpn + 256}")
    said = expect(context, one, "stuck", "peer-qpn-unknown", "The adapter at 10.9.0.2 answers, and knows of no QP that is "
                  f"connected to this one: QP 0x{other.qpn:06x} is not there, or is another QP's peer.")
    if f"{one.qpn + 256:06x}" in said["text"]:
        raise Failure(said["text"])


@case("explain.wrong_number_between_hosts")
def _(context):
    """The QP there is connected to this one, and this one sends to another; then it is stopped, and then it goes."""
    a, b = context.machine.two()
    one, other = Qp(context, a, A), Qp(context, b, B)
    one.connect(B, other.qpn + 256, timeout=17)
    other.connect(A, one.qpn)
    one.do("write 100 1 4096")
    context.wait(lambda: ask(context, one)["timeouts"] > 0, 10, lambda: "no timer fired: " + ask(context, one)["text"])
    expect(context, one, "stuck", "wrong-qpn", f"The QP there that is connected to this one is 0x{other.qpn:06x}, "
           f"and this one sends to 0x{other.qpn + 256:06x}")
    other.program.stop()
    expect(context, one, "stuck", "peer-stopped", f"The process that has QP 0x{other.qpn:06x} there is stopped")
    other.program.kill(signal.SIGCONT)
    other.do("drop")
    expect(context, one, "stuck", "peer-destroyed", f"QP 0x{other.qpn:06x} at 10.9.0.2 was connected to this one, and was "
           "destroyed or reset")


@case("explain.peer_in_error_between_hosts")
def _(context):
    """The NAK of the other QP gets lost: it can tell all the same what it refused."""
    a, b = context.machine.two()
    one, other = Qp(context, a, A), Qp(context, b, B, faults="loss=100%:op=ACK")
    one.connect(B, other.qpn, timeout=12)
    other.connect(A, one.qpn)
    one.do(f"write 100 {other.rkey} {other.addr - 24}")
    one.fails("transport retry counter exceeded")
    said = expect(context, one, "failed", "peer-error", f"QP 0x{other.qpn:06x} there is in the error state and answers nothing.",
                  "It refused a request: RDMA WRITE of 100 bytes", "that begins 24 bytes before the region or window")
    if f"'verbena explain 0x{other.qpn:06x}' on that host" not in " ".join(said["advice"]):
        raise Failure(json.dumps(said, indent=1))


@case("explain.qpn_unknown_there")
def _(context):
    """The adapter there answers another QP, and not this one."""
    one, other = pair(context)
    one.do(f"write 100 {other.rkey} {other.addr}")
    one.fails("success")
    lost = Qp(context, context.machine.a, A)
    lost.connect(B, other.qpn + 0x5500, timeout=12)
    lost.do("write 100 1 4096")
    lost.fails("transport retry counter exceeded")
    expect(context, lost, "failed", "peer-qpn-unknown", "knows of no QP that is connected to this one",
           f"QP 0x{other.qpn + 0x5500:06x} is not there")


@case("explain.peer_not_ready_on_this_host")
def _(context):
    a, _ = context.machine.two()
    one, other = Qp(context, a, A), Qp(context, a, A)
    one.connect(A, other.qpn, timeout=17)
    one.do("write 100 1 4096")
    context.wait(lambda: ask(context, one)["timeouts"] > 0, 10,
                 lambda: "no timer fired: " + ask(context, one)["text"])
    expect(context, one, "stuck", "peer-not-ready", "is in INIT: it does not receive before RTR", "to come: timeout")
    # Connected the wrong way.
    other.do(f"rtr {B} {one.qpn}")
    expect(context, one, "stuck", "peer-of-another", f"connected to QP 0x{one.qpn:06x} at 10.9.0.2")
    # The number of a QP that is gone, of a process that is there, and of one that is not.
    other.do("drop")
    expect(context, one, "stuck", "peer-qpn-unknown", f"has no QP 0x{other.qpn:06x}")
    other.program.kill()
    other.program.wait(10)
    context.wait(lambda: ask(context, one)["cause"] == "peer-gone", 10, lambda: str(ask(context, one)))


@case("explain.peer_stopped_on_this_host")
def _(context):
    a, _ = context.machine.two()
    one, other = Qp(context, a, A), Qp(context, a, A)
    one.connect(A, other.qpn, timeout=17)
    other.connect(A, one.qpn)
    one.do(f"write 100 {other.rkey} {other.addr}")
    one.fails("success")
    other.program.stop()
    one.do(f"write 100 {other.rkey} {other.addr}")
    context.wait(lambda: ask(context, one)["timeouts"] > 0, 10,
                 lambda: "no timer fired: " + ask(context, one)["text"])
    expect(context, one, "stuck", "peer-stopped", "is stopped", f"kill -CONT {other.program.pid}")
    # Of itself the stopped process says nothing, and others are answered all the same.
    table = a.run([context.verbena, "explain", "--all"])
    if "1 program did not answer" not in table or f"0x{one.qpn:06x}" not in table.splitlines()[1]:
        raise Failure(table)
    other.program.kill(signal.SIGCONT)
    one.fails("success")
    expect(context, one, "recovered", "idle", "made progress again 1 time", "the peer acknowledged up to PSN 1001")
    # It is the reason too when the program that waited has ended, and when packets met faults.
    a.run([context.verbena, "fault", "set", "loss=0.01"])
    other.program.stop()
    one.do(f"write 100 {other.rkey} {other.addr}")
    one.fails("transport retry counter exceeded")
    one.program.kill()
    one.program.wait(10)
    expect(context, one, "failed", "peer-stopped", "(ended): failed", f"kill -CONT {other.program.pid}")
    a.run([context.verbena, "fault", "clear"])  # the broker keeps rules for the next program


@case("explain.blackout")
def _(context):
    a, b = context.machine.two()
    one, other = Qp(context, a, A, faults="blackout=0s/1000s"), Qp(context, b, B)
    one.connect(B, other.qpn)
    other.connect(A, one.qpn)
    one.do(f"write 100 {other.rkey} {other.addr}")
    one.fails("transport retry counter exceeded")
    expect(context, one, "failed", "fault", "Fault rules are set for its packets: 'blackout=0s/1000s'")
    # It can be asked after the program has ended, and the port is free then.
    one.program.kill()
    one.program.wait(10)
    said = expect(context, one, "failed", "fault", "(ended): failed")
    if not said["ended"] or said["state"] != "gone":
        raise Failure(str(said))
    context.wait(lambda: not a.has_adapter(), 10, "the port is still taken")
    expect(context, one, "failed", "fault", "(ended): failed")


@case("explain.rest_forgets_the_adapter")
def _(context):
    """A broker that stays for its histories alone keeps neither registers nor counters, and ends no other way than
    one that has none: with the adapter of the next program being a new one."""
    a, _ = context.machine.two()
    v = context.verbena
    qp = Qp(context, a, A, faults="blackout=0s/1000s")
    device = a.device(v, "veth0")
    qp.connect(B, 0x123402, timeout=12)
    qp.do("write 100 1 4096")
    qp.fails("transport retry counter exceeded")
    a.run([v, "reg", "-d", device, "--reg_name", "ROCE_ACCL", "--set", "roce_tx_window_en=1", "--yes"])
    qp.program.kill()
    qp.program.wait(10)
    context.wait(lambda: not a.has_adapter(), 10, "the port is still taken")
    get = [v, "reg", "-d", device, "--reg_name", "ROCE_ACCL", "--get"]
    if not re.search(r"roce_tx_window_en +\| 0x0+$", a.run(get), re.M):
        raise Failure(a.run(get))
    expect(context, qp, "failed", "fault", "(ended): failed")
    # A new program gets a new adapter, and the history is still there.
    other = Qp(context, a, A)
    if "retry_exceeded_err" in a.run([v, "counters"]):
        raise Failure(a.run([v, "counters"]))
    expect(context, other, "well", "not-ready")
    expect(context, qp, "failed", "fault", "(ended): failed")


@case("explain.rnr")
def _(context):
    one, other = pair(context, rnr=2)
    one.do("send 100")
    one.fails("RNR retry counter exceeded")
    said = expect(context, one, "failed", "rnr", "has posted no receive for it: ", "rnr_retry 2", "min_rnr_timer",
                  "RNR NAK, 10.00 us")
    # The last one is not forgiven; on a busy machine the adaptive timer adds some.
    if said["rnr_naks"] < 3:
        raise Failure(str(said))
    expect(context, other, "well", "idle",
           "that no receive is posted (RNR NAK); now none is posted")


@case("explain.rnr_without_retries")
def _(context):
    """The timeline begins with the wait that the first RNR NAK ends, and is as long as it says."""
    one, _ = pair(context, rnr=0)
    one.do("send 100")
    one.fails("RNR retry counter exceeded")
    rows = expect(context, one, "failed", "rnr", "rnr_retry 0")["timeline"]
    end = [r for r in rows if "gave up after" in r["text"]][0]
    if rows[0]["kind"] != "sent" or end["time_ns"] == rows[0]["time_ns"]:
        raise Failure(json.dumps(rows, indent=1))


@case("explain.rnr_for_ever")
def _(context):
    one, other = pair(context)
    one.do("send 100")
    context.wait(lambda: ask(context, one)["rnr_naks"] > 100, 10, "no RNR NAKs")
    said = expect(context, one, "stuck", "rnr-wait", "It does so for ever (rnr_retry 7)",
                  "events in between are not kept", "more like that")
    if len(said["timeline"]) > 20:
        raise Failure(f"{len(said['timeline'])} rows")
    other.do("recv")
    one.fails("success")
    if ask(context, one)["rank"] != "recovered":
        raise Failure(ask(context, one)["text"])


@case("explain.wrong_rkey")
def _(context):
    one, other = pair(context)
    one.do(f"write 100 {other.rkey + 256} {other.addr}")
    one.fails("remote access error")
    expect(context, one, "failed", "peer-access", '10.9.0.2 answered "NAK, remote access error"',
           "The other QP says why.",
           f"under R_Key 0x{other.rkey + 256:x}: this program has no region and no window with that R_Key.")
    said = expect(context, other, "failed", "refused-access", 'It refused a request of its peer at 10.9.0.1',
                  "is in the error state since", "RDMA WRITE of 100 bytes",
                  f"under R_Key 0x{other.rkey + 256:x}: this program has no region and no window with that R_Key.")
    if said["check"] != "key-unknown" or len(said["advice"]) != 1:
        raise Failure(json.dumps(said, indent=1))


@case("explain.responder_of_this_host_says_why")
def _(context):
    """By how much a WRITE missed, in the words of the one who saw it, at both ends."""
    host, _ = context.machine.two()
    one, other = Qp(context, host, A), Qp(context, host, A)
    one.connect(A, other.qpn)
    other.connect(A, one.qpn)
    one.do(f"write 100 {other.rkey} {other.addr - 24}")
    one.fails("remote access error")
    words = f"RDMA WRITE of 100 bytes at 0x{other.addr - 24:x} under R_Key 0x{other.rkey:x}: " \
            "that begins 24 bytes before the region or window."
    expect(context, other, "failed", "refused-access", words)
    said = expect(context, one, "failed", "peer-access", "the peer refused it", "The other QP says why. It was " + words)
    if said["check"] != "bounds":
        raise Failure(json.dumps(said, indent=1))
    # Also when the other program has ended.
    other.program.process.stdin.close()
    other.program.wait(10)
    expect(context, one, "failed", "peer-access", "The other QP says why. It was " + words)


@case("explain.idle_and_not_ready")
def _(context):
    one, other = pair(context)
    expect(context, one, "well", "idle", "Idle: nothing is posted to send")
    fresh = Qp(context, context.machine.a, A)
    expect(context, fresh, "well", "not-ready", "It is in INIT")
    fresh.do(f"rtr {B} {other.qpn}")
    expect(context, fresh, "well", "rtr", "It is in RTR")
    one.do("state SQD")
    one.do(f"write 100 {other.rkey} {other.addr}")
    expect(context, one, "stuck", "sqd", "It is in SQD", "1 work request is not complete")
    one.do("state ERR")
    expect(context, one, "failed", "moved", "the program moved it there")


@case("explain.own_process_stopped")
def _(context):
    one, _ = pair(context)
    one.program.stop()
    table = one.host.run([context.verbena, "explain"])
    if "1 program did not answer" not in table:
        raise Failure(table)
    one.program.kill(signal.SIGCONT)
    expect(context, one, "well", "idle")


@case("explain.json_of_all")
def _(context):
    one, other = pair(context)
    said = json.loads(one.host.run([context.verbena, "explain", "--all", "--json"]))
    if [q["qpn"] for q in said if q["pid"] == one.program.pid] != [one.qpn]:
        raise Failure(str(said))
    if not one.host.run([context.verbena, "explain", "-p", str(one.program.pid)]).count("0x") == 1:
        raise Failure("other processes are shown")


for name, argv, status, says in (
        ("word", ["frob"], 2, "'frob' is no QPN"),
        ("both", ["--all", "5"], 2, "either a QPN or --all"),
        ("two", ["5", "6"], 2, "unexpected argument '6'"),
        ("large", ["0x1000000"], 2, "is no QPN"),
        ("zero", ["0"], 2, "is no QPN"),
        ("pid", ["-p", "x"], 2, "'x' is no process"),
        ("nobody", [], 1, "no program uses the adapter now")):
    def wrong(context, argv=argv, status=status, says=says):
        host = context.machine.host("quiet")
        try:
            p = subprocess.run(host.enter + [context.verbena, "explain"] + argv, capture_output=True, text=True,
                               timeout=20, stdin=subprocess.DEVNULL)
            if p.returncode != status or len(p.stderr.splitlines()) != 1 or says not in p.stderr:
                raise Failure(f"exit status {p.returncode}\n{p.stdout}{p.stderr}")
        finally:
            context.machine.drop(host)
    add(f"explain.wrong.{name}", wrong)


@case("explain.wrong.qpn")
def _(context):
    """A QPN that is not there: those that are get named."""
    a, _ = context.machine.two()
    qp = Qp(context, a, A)
    out = a.run([context.verbena, "explain", "0x777777"], status=1)
    if f"there is no QP 0x777777 on this host; there" not in out or f"0x{qp.qpn:06x}" not in out:
        raise Failure(out)


@case("explain.refused")
def _(context):
    """A verb that was refused says why: in the list, of its QP and of its process; and as it happens with --log."""
    a, _ = context.machine.two()
    qp = Qp(context, a, A)
    qp.do("refused")
    qp.do("refused")
    words = f"ibv_modify_qp of QP 0x{qp.qpn:06x}: a QP of its type does not go from INIT to RTS (IBA 10.3.1)"
    for which in ["--all"], [hex(qp.qpn)], ["--all", "-p", str(qp.program.pid)]:
        out = a.run([context.verbena, "explain"] + which)
        if not re.search(r"Refused:\n.* ago, process \d+ verbs_trouble, EINVAL: " + re.escape(words) + r" \(2 times\)\n",
                         out):
            raise Failure(out)
    if "Refused" in a.run([context.verbena, "explain", "--cm"], status=None) or \
            "Refused" in a.run([context.verbena, "explain", "--json"]):
        raise Failure("refused verbs are where nobody asked for them")
    if "EINVAL" in qp.program.output():
        raise Failure(qp.program.story())
    logged = Qp(context, a, A, log=True)
    logged.do("refused")
    logged.program.wait_output(f"verbena: EINVAL: ibv_modify_qp of QP 0x{logged.qpn:06x}: a QP of its type does not go")


@case("explain.many_questions", 90)
def _(context):
    """The adapter there answers 10 questions a second, at most 32 at once. Where it answers some of them, packets are not dropped."""
    a, b = context.machine.two()
    keep = Qp(context, b, B)  # the adapter of the killed program stays
    server, client = program_pair.start(context.places["net4"], "ib_write_bw", ["-q", "32", "-D", "60", "-s", "4096", "-u", "20", "-F"])
    context.wait(lambda: a.run([context.verbena, "explain", "--json"], status=None).count('"state": "RTS"') >= 32, 20, client.story)
    for pid in b.pids():
        with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
            if f.read().strip() == "ib_write_bw":
                os.kill(pid, signal.SIGKILL)
    server.wait(10)

    def told():
        said = [q for q in json.loads(a.run([context.verbena, "explain", "--json"])) if q["pid"] == client.pid]
        return [q["cause"] for q in said if q["timeouts"]]
    context.wait(lambda: len(told()) == 32, 30, client.story)
    for _ in range(3):
        causes = told()
        if len(causes) != 32 or not set(causes) <= {"peer-gone", "no-answer"} or "peer-gone" not in causes:
            raise Failure(f"{causes}")
    client.end()
    keep.program.end()


@case("explain.number_recurs", 90)
def _(context):
    """A number that a QP of a killed program had and that a living QP has is the living one's."""
    a, b = context.machine.two()
    keep = Qp(context, a, A)  # the adapter stays, and with it what it knows of those that ended
    dead = Qp(context, a, A, faults="blackout=0s/1000s")
    other = Qp(context, b, B)
    dead.connect(B, other.qpn)
    dead.do(f"write 100 {other.rkey} {other.addr}")
    dead.fails("transport retry counter exceeded")
    dead.program.kill()
    dead.program.wait(10)
    expect(context, dead, "failed", "fault", "(ended): failed")
    living = Qp(context, a, A, more=[f"qpn={dead.qpn}"])
    if living.qpn != dead.qpn:
        raise Failure(f"0x{living.qpn:06x} is not 0x{dead.qpn:06x}")
    said = json.loads(a.run([context.verbena, "explain", hex(dead.qpn), "--json"]))
    if [(s["pid"], s["ended"]) for s in said] != [(living.program.pid, False)]:
        raise Failure(json.dumps(said, indent=1))
    text = a.run([context.verbena, "explain", hex(dead.qpn)])
    if "failed" in text or "ended" in text or f"process {living.program.pid} " not in text:
        raise Failure(text)
    # The one that has ended is told of where its process is named.
    expect(context, dead, "failed", "fault", "(ended): failed")
    keep.program.end()
