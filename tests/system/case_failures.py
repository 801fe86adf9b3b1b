# SPDX-License-Identifier: BSD-2-Clause
"""docs/failures.tsv, made true: each failure is made, and what is said of it has the words of its row.

docs/explain.md has the table of these rows, which scripts/failures.py writes there.
"""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys

from case_explain import A, B, Qp, ask, pair
from case_ping import Kept, end_broker, nft_of
from cases import add
from hosts import Failure, Skip

MAKERS = {}


def maker(name):
    def keep(function):
        MAKERS[name] = function
        return function
    return keep


def rows():
    """The rows of the table: (name, failure, shown by, words)."""
    path = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "failures.tsv")
    with open(path, encoding="utf-8") as f:
        lines = [line.rstrip("\n").split("\t") for line in f if line.strip() and not line.startswith("#")]
    return lines


def has_words(text, words):
    """The parts of the words, between which anything may stand, come in this order."""
    at = 0
    for part in words.split(" … "):
        at = text.find(part.strip(), at)
        if at < 0:
            return False
        at += len(part.strip())
    return True


def adds_up(said):
    """The timeline is in order, and what gave up did so after as long as it says."""
    rows_ = said["timeline"]
    for before, after in zip(rows_, rows_[1:]):
        if after["time_ns"] < before["time_ns"] or after["ran_ns"] > after["time_ns"] - rows_[0]["time_ns"] + 1000:
            raise Failure(json.dumps(rows_, indent=1))
    for row in rows_:
        told = re.search(r"gave up after ([\d.]+) (ns|us|ms|s)", row["text"])
        if not told:
            continue
        span = float(told[1]) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[told[2]]
        is_span = row["time_ns"] - rows_[0]["time_ns"]
        if abs(span - is_span) > max(0.01 * is_span, 2000):
            raise Failure(f"{span} is not {is_span}\n{json.dumps(rows_, indent=1)}")


def explained(context, qp):
    said = ask(context, qp)
    adds_up(said)
    return said["text"]


def is_waiting(context, qp):
    """Its timer has fired at least once."""
    context.wait(lambda: ask(context, qp)["timeouts"] > 0, 20, lambda: "no timer fired: " + ask(context, qp)["text"])


# Verbs that refuse.
for name in ("gid_index", "path_mtu", "mask", "pkey_index", "caps", "cqe", "send"):
    @maker(f"verb_{name}")
    def _(context, name=name):
        a, b = context.machine.two()
        try:
            if name == "path_mtu":
                for host in (a, b):
                    host.run(["ip", "link", "set", "veth0", "mtu", "1500"])
                context.wait(lambda: "1024" in a.run([context.verbena, "devices"]).splitlines()[1], 10,
                             lambda: a.run([context.verbena, "devices"]))
            qp = Qp(context, a, A)
            qp.do(f"try {name}")
            if "refused: 0" in qp.program.output():
                raise Failure(qp.program.story())
            return a.run([context.verbena, "explain", "--all", "-p", str(qp.program.pid)]).partition("Refused:")[2]
        finally:
            for host in (a, b) if name == "path_mtu" else ():
                host.run(["ip", "link", "set", "veth0", "mtu", "4200"])
                host.forget()


# The other end does not answer.
@maker("wrong_qpn")
def _(context):
    a, b = context.machine.two()
    one, other = Qp(context, a, A), Qp(context, b, B)
    one.connect(B, other.qpn + 256, timeout=12)
    other.connect(A, one.qpn)
    one.do("write 100 1 4096")
    one.fails("transport retry counter exceeded")
    return explained(context, one)


@maker("peer_in_init")
def _(context):
    a, b = context.machine.two()
    one, other = Qp(context, a, A), Qp(context, b, B)
    one.connect(B, other.qpn, timeout=12)
    one.do("write 100 1 4096")
    one.fails("transport retry counter exceeded")
    return explained(context, one)


def acquainted(context, **options):
    one, other = pair(context, **options)
    one.do(f"write 100 {other.rkey} {other.addr}")
    one.fails("success")
    return one, other


@maker("peer_killed")
def _(context):
    one, other = acquainted(context, timeout=17)
    other.program.kill(signal.SIGKILL)
    other.program.wait(10)
    one.do(f"write 100 {other.rkey} {other.addr}")
    is_waiting(context, one)
    return explained(context, one)


@maker("peer_frozen")
def _(context):
    one, other = acquainted(context, timeout=17)
    other.program.stop()
    one.do(f"write 100 {other.rkey} {other.addr}")
    is_waiting(context, one)
    try:
        return explained(context, one)
    finally:
        other.program.kill(signal.SIGCONT)


for name, rule in (("nft_drop", "drop"), ("nft_reject", "reject"),
                   ("nft_prohibit", "reject with icmp type admin-prohibited")):
    @maker(name)
    def _(context, rule=rule):
        set_rule = nft_of(context.machine.two()[1])
        one, other = acquainted(context, timeout=12)
        set_rule(rule)
        try:
            one.do(f"write 100 {other.rkey} {other.addr}")
            one.fails("transport retry counter exceeded")
            return explained(context, one)
        finally:
            set_rule(None)


@maker("network_mtu")
def _(context):
    """The network drops what is longer than 1500 bytes; the QPs have path MTU 4096."""
    a, b = context.machine.two()
    set_rule = nft_of(b)
    one, other = Qp(context, a, A), Qp(context, b, B)
    for qp in (one, other):
        qp.do("mtu 5")
    set_rule("udp length > 1472 drop")
    try:
        one.connect(B, other.qpn, timeout=17)
        other.connect(A, one.qpn)
        one.do(f"write 9000 {other.rkey} {other.addr}")
        is_waiting(context, one)
        return explained(context, one)
    finally:
        set_rule(None)


# The other end refuses.
def refused(context, one, other, command, status="remote access error"):
    """The status that the requester is told, which is the responder's word."""
    one.do(command)
    one.fails(status)
    text = explained(context, one)
    own = explained(context, other)
    words = text.partition("The other QP says why. It was ")[2].partition(". ")[0]
    if not words or words not in own:
        raise Failure(f"'{words}' is not in\n{own}\n\n{text}")
    return text


def with_key(context, kind):
    one, other = pair(context)
    other.do(f"key {kind}")
    rkey, addr = re.search(r"^key (\d+) addr (\d+)", other.program.output(), re.M).groups()
    return refused(context, one, other, f"write 100 {rkey} {addr}")


for name in ("read_only", "other_pd", "gone", "window"):
    @maker(f"key_{name}")
    def _(context, name=name):
        return with_key(context, name)


@maker("key_wrong")
def _(context):
    one, other = pair(context)
    return refused(context, one, other, f"write 100 {other.rkey + 256} {other.addr}")


@maker("out_of_bounds")
def _(context):
    one, other = pair(context)
    return refused(context, one, other, f"write 100 {other.rkey} {other.addr + (1 << 20) - 60}")


@maker("receive_short")
def _(context):
    one, other = pair(context)
    other.do("short 10")
    return refused(context, one, other, "send 100", "remote invalid request error")


# Receives that are not there, credits, order.
@maker("rnr")
def _(context):
    one, _ = pair(context, rnr=2)
    one.do("send 100")
    one.fails("RNR retry counter exceeded")
    return explained(context, one)


@maker("srq_empty")
def _(context):
    a, b = context.machine.two()
    one, other = Qp(context, a, A), Qp(context, b, B, more=["srq"])
    one.connect(B, other.qpn, rnr=2)
    other.connect(A, one.qpn)
    one.do("send 100")
    one.fails("RNR retry counter exceeded")
    return explained(context, other)


@maker("credit_stall")
def _(context):
    """One receive for three messages: the second is refused, the third is not sent without a credit."""
    one, other = pair(context)
    other.do("recv")
    for _ in range(3):
        one.do("send 100")
    one.fails("success")
    context.wait(lambda: ask(context, one)["rnr_naks"] > 20, 20, lambda: ask(context, one)["text"])
    return explained(context, one)


@contextlib.contextmanager
def patient_pair(context):
    """A QP whose peer does not run, and whose timer is long: so long, nothing else is the matter with what waits."""
    a, b = context.machine.two()
    one, other = Qp(context, a, A), Qp(context, b, B)
    register = [context.verbena, "reg", "-d", a.device(context.verbena, "veth0"), "--reg_name", "ROCE_ACCL", "--yes", "--set"]
    a.run(register + ["roce_adp_retrans_en=0"])
    try:
        one.connect(B, other.qpn, timeout=21)
        other.connect(A, one.qpn)
        one.do(f"write 100 {other.rkey} {other.addr}")
        one.fails("success")
        other.program.stop()
        yield one, other
    finally:
        other.program.kill(signal.SIGCONT)
        a.run(register + ["roce_adp_retrans_en=1"])


@maker("fence")
def _(context):
    with patient_pair(context) as (one, other):
        one.do(f"read 100 {other.rkey} {other.addr}")
        one.do(f"fenced 100 {other.rkey} {other.addr}")
        return explained(context, one)


@maker("credits")
def _(context):
    """The acknowledgement of the WRITE told that no receive is posted: one message goes nevertheless, the next waits."""
    with patient_pair(context) as (one, other):
        one.do("send 100")
        one.do("send 100")
        return explained(context, one)


@maker("window")
def _(context):
    """More is posted than the receive buffer of the other address is taken to hold."""
    with patient_pair(context) as (one, other):
        for _ in range(16):
            one.do(f"write {1 << 20} {other.rkey} {other.addr}")
        return explained(context, one)


@maker("cq_small")
def _(context):
    a, b = context.machine.two()
    one, other = Qp(context, a, A, more=["cq"]), Qp(context, b, B)
    one.connect(B, other.qpn)
    other.connect(A, one.qpn)
    for _ in range(8):
        one.do(f"write 100 {other.rkey} {other.addr}")
    context.wait(lambda: ask(context, one)["rank"] == "failed", 10, lambda: ask(context, one)["text"])
    return explained(context, one)


# The adapter cannot be used.
@maker("port_taken")
def _(context):
    host = context.machine.host("taken")
    try:
        p = host.start([sys.executable, "-c", "import socket, sys; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
                        "s.bind(('', 4791)); print('bound', flush=True); sys.stdin.read()"], stdin=subprocess.PIPE)
        p.wait_output("bound")
        return host.run([context.verbena, "run", "--", "ibv_devinfo"], status=None)
    finally:
        context.machine.drop(host)


@maker("other_user")
def _(context):
    if os.geteuid() != 0 or context.machine.user_namespace:
        raise Skip("only root can be two users")
    host = context.machine.host("shared")
    try:
        own = host.start(["setpriv", "--reuid=65534", "--clear-groups", "env", "-u", "XDG_RUNTIME_DIR", context.verbena,
                          "hca", "start"])
        if own.wait(20) != 0:
            raise Skip(f"an ordinary user gets nowhere here: {own.output()}")
        return host.run([context.verbena, "run", "--", "ibv_devinfo"], status=None)
    finally:
        for pid in host.keeper_pids() + host.broker_pids():
            os.kill(pid, signal.SIGKILL)
        context.machine.drop(host)


@maker("clock_off")
def _(context):
    a, b = context.machine.two()
    end_broker(context, b)
    library = os.path.join(context.build, "tests", "system", "libclock_ahead.so")
    # The broker of that host lives an hour later.
    broker = b.start([context.verbena, "broker"], env={"LD_PRELOAD": library})
    # A program that comes before it listens starts a broker of its own, with the right time.
    broker.wait_socket("verbena/")
    with Kept(context, b):
        out = a.run([context.verbena, "doctor", "-q", B], status=None)
    broker.wait(20)
    return out


for name, listener in (("cm_no_listener", None), ("cm_consumer", "reject")):
    @maker(name)
    def _(context, listener=listener):
        a, b = context.machine.two()
        python = [context.verbena, "run", "--"] + context.sanitizer + [
            "/usr/bin/python3", os.path.join(context.source, "tests", "system", "cm_reject.py")]
        if subprocess.run(["/usr/bin/python3", "-c", "import pyverbs.cmid"], capture_output=True).returncode:
            raise Skip("no pyverbs: install python3-pyverbs")
        keep = a.start([context.verbena, "run", "--", "sleep", "60"])
        with Kept(context, b), Kept(context, a):
            if listener:
                server = b.start(python + ["listen", B, "7471"])
                server.wait_output("listens")
            client = a.start(python + ["connect", B, "7471"])
            if client.wait(30) == 0:
                raise Failure(client.story())
            text = " ".join(a.run([context.verbena, "explain", "--cm", "-p", str(client.pid)]).split())
        keep.end()
        return text


def rejected_on_the_wire(reason):
    """A peer that is no Verbena answers the request with a REJ of @reason."""
    def make(context):
        a, b = context.machine.two()
        if subprocess.run(["/usr/bin/python3", "-c", "import pyverbs.cmid"], capture_output=True).returncode:
            raise Skip("no pyverbs: install python3-pyverbs")
        for pid in b.broker_pids():
            os.kill(pid, signal.SIGTERM)
        context.wait(lambda: not b.broker_pids(), 20, "the other host has a broker of another case")
        folder = os.path.join(context.source, "tests", "system")
        peer = b.start(["/usr/bin/python3", os.path.join(folder, "cm_wire.py"), B, str(reason)])
        with Kept(context, a):
            peer.wait_output("listens")
            client = a.start([context.verbena, "run", "--"] + context.sanitizer + [
                "/usr/bin/python3", os.path.join(folder, "cm_reject.py"), "connect", B, "7471"])
            if client.wait(30) == 0:
                raise Failure(client.story())
            peer.wait(20)
            return a.run([context.verbena, "explain", "--cm", "-p", str(client.pid)])
    return make


# Those that arise between adapters of RoCE; our own adapter sends 9, 10, 12 and 26 of them, too.
for number in (1, 3, 5, 6, 7, 9, 10, 12, 24, 25, 26, 27, 29, 35):
    MAKERS[f"cm_rej_{number}"] = rejected_on_the_wire(number)


@maker("cm_rej_4")
def _(context):
    a, b = context.machine.two()
    if subprocess.run(["/usr/bin/python3", "-c", "import pyverbs.cmid"], capture_output=True).returncode:
        raise Skip("no pyverbs: install python3-pyverbs")
    program = [context.verbena, "run", "--"] + context.sanitizer + [
        "/usr/bin/python3", os.path.join(context.source, "tests", "system", "cm_reject.py")]
    with Kept(context, b), Kept(context, a):
        server = b.start(program + ["hold", B, "7471"])
        server.wait_output("listens")
        client = a.start(program + ["connect", B, "7471"])
        server.wait_output("asked")
        client.end()
        said = []

        def is_told():
            said[:] = [b.run([context.verbena, "explain", "--cm", "-p", str(server.pid)])]
            return "rejected it" in said[0]
        context.wait(is_told, 20, lambda: said[0])
        server.end()
    return said[0]


def check(name, words):
    def run(context):
        text = " ".join(MAKERS[name](context).split())
        if not has_words(text, words):
            raise Failure(f"'{words}' is not in\n{text}")
    return run


for name, _, _, words in rows():
    add(f"failures.{name}", check(name, words), 90)


def complete(context):
    """Each row has somebody who makes it, each maker a row; and the docs have the table of today."""
    named = [row[0] for row in rows()]
    if sorted(named) != sorted(MAKERS):
        raise Failure(f"only there: {sorted(set(named) ^ set(MAKERS))}")
    p = subprocess.run([sys.executable, os.path.join(context.source, "scripts", "failures.py"), "--check"],
                       capture_output=True, text=True, timeout=20)
    if p.returncode:
        raise Failure(p.stdout + p.stderr)


add("failures.complete", complete)
