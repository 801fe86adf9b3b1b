# SPDX-License-Identifier: BSD-2-Clause
"""Programs of our own over rdma-core's libraries with the adapter preloaded."""
import json
import os
import re
import subprocess
import time

import browser
from cases import add, case
from hosts import Failure, Skip

HERE = os.path.dirname(os.path.abspath(__file__))


def says_ok(argv):
    def run(context):
        words = [w.format(build=context.build) for w in argv]
        out = context.machine.a.run([context.verbena, "run", "--", *words], 30)
        if out.split()[-1:] != ["ok"]:
            raise Failure(out)
    return run


add("verbs.preload", says_ok(["{build}/tests/system/verbs_preload"]))
add("verbs.preload_O0", says_ok(["{build}/tests/system/verbs_preload_O0"]))
add("verbs.pyverbs", says_ok(["/usr/bin/python3", os.path.join(HERE, "verbs_pyverbs.py")]))


def xrc(what, *options, program="verbs_xrc"):
    """One XRC target and several processes of its domain; verbs_xrc.c, verbs_open_qp.c."""
    def run(context):
        out = context.machine.a.run([context.verbena, "run", *options, "--", os.path.join(
            context.build, "tests", "system", program), what], 30)
        if out.split()[-1:] != ["ok"]:
            raise Failure(out)
    return run


add("verbs.xrc_processes", xrc("10000"))
add("verbs.xrc_processes_shm", xrc("1000", "--link", "shm"))
add("verbs.xrc_processes_faults", xrc("1000", "--fault", "loss=1%,reorder=1%/50us,dup=1%",
                                      "--fault-seed", "1"))
for end in ("kill-idle", "kill-busy", "kill-owner"):
    add(f"verbs.xrc_{end.replace('-', '_')}", xrc(end))


for what in ("shared", "crossed", "closed", "killed-maker", "killed-opener", "stopped"):
    add(f"verbs.open_qp_{what.replace('-', '_')}", xrc(what, program="verbs_open_qp"))
add("verbs.open_qp_shm", xrc("closed", "--link", "shm", program="verbs_open_qp"))


def churn(*numbers):
    def run(context):
        out = context.machine.a.run([*context.sanitizer, context.verbena, "run", "--", os.path.join(
            context.build, "tests", "system", "verbs_churn"), *numbers], 100)
        if out.split()[-1:] != ["ok"]:
            raise Failure(out)
    return run


# Cycles and threads.
add("verbs.churn", churn("8000", "4"), seconds=120)
add("verbs.churn_64_threads", churn("3000", "64"), seconds=120)


def waits(call, link):
    @case(f"verbs.wait.{call}.{link}")
    def _(context):
        """A program that waits for a channel in this call takes its packets itself, nearly always; and the call does
        its work as it does without Verbena."""
        command = [context.verbena, "run", "--link", link, "--", os.path.join(
            context.build, "tests", "system", "verbs_wait"), call]
        # The thread takes those that come while the program is at work: more on a machine that is busy.
        for _ in range(3):
            out = context.machine.a.run(command, 40)
            told = re.fullmatch(r"(\d+) messages, the thread ran (\d+) times\ndone\n", out)
            if not told:
                raise Failure(out)
            if int(told[2]) < 0.6 * int(told[1]):
                return
        raise Failure(out)


for call in ("poll", "ppoll", "select", "pselect", "epoll_wait", "epoll_pwait", "epoll_pwait2", "edge", "poll_epoll"):
    for how in ("udp", "shm"):
        waits(call, how)


@case("verbs.errors")
def verbs_errors(context):
    """The matrix of docs/error-semantics.md, over loopback."""
    context.machine.a.run([context.verbena, "run", "--", os.path.join(
        context.build, "tests", "conformance", "conformance_errors")], 60)


class Watcher:
    """verbs_events, line by line."""

    def __init__(self, context, host):
        self.program = host.start([*context.sanitizer, context.verbena, "run", "--", os.path.join(
            context.build, "tests", "system", "verbs_events")], stdin=subprocess.PIPE)
        self.read = 0

    def tell(self, line):
        self.program.process.stdin.write(line.encode() + b"\n")
        self.program.process.stdin.flush()

    def expect(self, *lines):
        """Waits until each of the lines has come behind what was expected before, in any order."""
        end = time.monotonic() + 20
        while time.monotonic() < end and self.program.status() is None:
            got = self.program.output().splitlines()
            places = [got.index(line, self.read) if line in got[self.read:] else -1 for line in lines]
            if min(places) >= 0:
                self.read = max(places) + 1
                return
            time.sleep(0.02)
        raise Failure(f"no {lines} behind line {self.read} of\n{self.program.story()}")

    def ask(self, line, answer):
        """Asks until the answer is this one: what netlink says takes a moment to arrive."""
        for _ in range(100):
            self.tell(line)
            word = answer.split()[0]
            self.program.wait_output(rf"(?:.*\n)*{word} .*\n\Z")
            if self.program.output().splitlines()[-1] == answer:
                return
            time.sleep(0.05)
        raise Failure(f"never '{answer}'\n{self.program.story()}")


@case("verbs.hotplug", seconds=90)
def verbs_hotplug(context):
    """Interfaces, addresses and carriers come and go while a program runs: what it hears, what it can
    open, and that what it has open on another interface works throughout."""
    m = context.machine
    m.two()
    c, d = m.host("c"), m.host("d")
    try:
        m.cable(c, d, "veth8", ("10.8.1.1/24",), ("10.8.1.2/24",))
        first = c.device(context.verbena, "veth8")
        lo = c.device(context.verbena, "lo")
        w = Watcher(context, c)
        w.ask("list", "devices " + " ".join(sorted((first, lo))))
        w.tell(f"open {first}")
        w.expect(f"open {first}")

        m.cable(c, d, "veth9", ("10.8.2.1/24",), ("10.8.2.2/24",))
        second = c.device(context.verbena, "veth9")
        everything = "devices " + " ".join(sorted((first, second, lo)))
        w.ask("list", everything)
        w.tell(f"open {second}")
        w.expect(f"open {second}")
        w.tell(f"use {second}")
        w.expect(f"used {second}")

        c.run(["ip", "addr", "add", "10.8.3.1/24", "dev", "veth9"])
        w.expect(f"event {second} 18")
        w.tell(f"use {second}")  # by the new address
        w.expect(f"used {second}")
        c.run(["ip", "addr", "del", "10.8.3.1/24", "dev", "veth9"])
        w.expect(f"event {second} 18")
        c.run(["ip", "link", "set", "veth9", "down"])
        w.expect(f"event {second} 10")
        w.ask(f"state {second}", f"state {second} 1")
        c.run(["ip", "link", "set", "veth9", "up"])
        w.expect(f"event {second} 9")
        w.ask(f"state {second}", f"state {second} 4")

        c.run(["ip", "link", "del", "veth9"])
        w.expect(f"event {second} 8", f"event {second} 10", f"event {second} 18")
        w.ask("list", "devices " + " ".join(sorted((first, lo))))
        w.ask(f"state {second}", f"state {second} 1")
        w.tell(f"use {first}")
        w.expect(f"used {first}")

        # It comes back, and with it the device under its name; what was open goes on.
        m.cable(c, d, "veth9", ("10.8.2.1/24",), ("10.8.2.2/24",))
        w.expect(f"event {second} 9")
        w.ask("list", everything)
        w.tell(f"use {second}")
        w.expect(f"used {second}")
        if f"event {first}" in w.program.output():
            raise Failure(w.program.story())
    finally:
        m.drop(c)
        m.drop(d)


@case("verbs.dlopen")
def verbs_dlopen(context):
    """Every entry point that libverbena.so has is found under its version in rdma-core's library; structure.forward
    compares these versions."""
    with open(os.path.join(context.build, "src", "verbs", "soname", "forward.def"), encoding="utf-8") as f:
        forward = dict(re.findall(r"^FORWARD\((\w+), (\w+(?:\.\d+)?)\)$", f.read(), re.M))
    if len(forward) < 80:
        raise Failure(f"{len(forward)} entry points")
    says_ok(["{build}/tests/system/verbs_dlopen",
             *(f"{name}@{version}" for name, version in forward.items())])(context)


@case("verbs.ctypes")
def verbs_ctypes(context):
    """Python opens the library by name and looks for functions in it."""
    program = """
import ctypes
lib = ctypes.CDLL("libibverbs.so.1")
lib.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
lib.ibv_get_device_name.restype = lib.ibv_wc_status_str.restype = ctypes.c_char_p
lib.ibv_get_device_name.argtypes = [ctypes.c_void_p]
assert lib.ibv_get_device_name(lib.ibv_get_device_list(None)[0]).startswith(b"verbena")
assert lib.ibv_wc_status_str(0) == b"success"
print("ok")
"""
    says_ok(["/usr/bin/python3", "-c", program])(context)


def raw_program(context):
    program = os.path.join(context.build, "tests", "system", "verbs_raw")
    if not os.path.exists(program):
        raise Skip("no libmlx5 to link with")
    return program


@case("verbs.raw", seconds=90)
def raw(context):
    """Queues that a program writes by itself, linked with rdma-core's libmlx5: docs/mlx5dv.md"""
    program = raw_program(context)
    for option, how in (("", "raw"), ("", "verbs"), ("=trap", "raw"), ("=spin", "raw")):
        out = context.machine.a.run([context.verbena, "run", "--mlx5dv" + option, "--", program, how, "100"], 60)
        if out.split()[-1:] != ["ok"]:
            raise Failure(out)
    context.machine.a.run([context.verbena, "run", "--mlx5dv=nap", "--", program, "raw", "1"], 30, status=2)
    # Without the option the devices are not such devices.
    context.machine.a.run([context.verbena, "run", "--", program, "raw", "1"], 30, status=1)


def show_json(shown, qpn):
    """The answer of `explain --wqe --json` about three WRITEs with inline data, whose completions were read."""
    send, receive, entries = shown["queues"]
    if (shown["qpn"], shown["raw"], send["doorbell_record"], send["adapter_read"]) != (qpn, True, 3, 3):
        raise Failure(shown)
    if [(e["index"], e["state"]) for e in send["elements"]] != [(i, "read by the adapter") for i in range(3)]:
        raise Failure(send)
    control, remote, data = send["elements"][2]["segments"]
    names = [(s["at"], s["name"], len(s["bytes"])) for s in (control, remote, data)]
    if names != [(0, "control", 32), (16, "remote address", 32), (32, "inline data", 32)]:
        raise Failure(names)
    fields = {f["name"]: f for f in control["fields"]}
    if fields["QPN"]["value"] != f"0x{qpn:06x}" or fields["opcode"] != {"name": "opcode", "value": 8, "word": "RDMA WRITE"}:
        raise Failure(fields)
    if receive["name"] != "Receive queue" or receive["elements"] or not entries["copied"]:
        raise Failure((receive, entries))
    if entries["name"] != "Completion queue of sends" or {e["state"] for e in entries["elements"]} != {"read"}:
        raise Failure(entries)


def step_through(path):
    """The rows that the page of the same queues shows while a reader goes from element to element."""
    with browser.Browser(1100, 900) as b:
        b.open(path)
        words = "return document.getElementById('words').textContent"
        seen = [b.run(words)]
        for move in ("#next", "#last", "#back", "#first"):
            b.click(move)
            seen.append(b.run(words))
        for key, wanted in (("right", 1), ("end", 2), ("left", 3), ("home", 4)):
            b.press("body", browser.KEY[key])
            if b.run(words) != seen[wanted]:
                raise Failure(f"{key}: {b.run(words)}")
        ends = [re.fullmatch(r"(.*), index (\d+): (.*) \((\d+) of 4\)", text).groups() for text in seen]
        send, entry = "Send queue", "Completion queue of sends"
        if ends != [(send, "0", "read by the adapter", "1"), (send, "1", "read by the adapter", "2"), (entry, "0", "read", "4"),
                    (send, "2", "read by the adapter", "3"), (send, "0", "read by the adapter", "1")]:
            raise Failure(seen)
        text = b.run("return document.body.innerText")
        for wanted in ("adapter reads on at 3", "doorbell: program writes on at 3", "program reads on at 1", "8 (RDMA WRITE)",
                       "remote address"):
            if wanted not in text:
                raise Failure(f"no {wanted!r} in\n{text}")
        if b.errors():
            raise Failure(b.errors())


@case("verbs.raw_shown", seconds=60)
def raw_shown(context):
    """`verbena explain --wqe` finds the queues, and what was written there."""
    a = context.machine.a
    program = a.start([context.verbena, "run", "--mlx5dv", "--", raw_program(context), "hold"], stdin=subprocess.PIPE)
    program.wait_output(r"^0x[0-9a-f]+$")
    qpn = re.search(r"^0x[0-9a-f]+$", program.output(), re.M)[0]
    out = a.run([context.verbena, "explain", "--wqe", qpn])
    for wanted in ("the program writes into its queues by itself", "the adapter has read up to 3",
                   r"\[2\] read by the adapter", r"control: index 2, opcode 8 \(RDMA WRITE\)",
                   r"inline data: inline 1, bytes 8", "doorbell: the program writes on at 3"):
        if not re.search(wanted, out):
            raise Failure(f"no {wanted!r} in\n{out}")
    show_json(json.loads(a.run([context.verbena, "explain", "--wqe", qpn, "--json"])), int(qpn, 16))
    page = os.path.join(context.machine.folder, "queues.html")
    a.run([context.verbena, "explain", "--wqe", qpn, "--html", page])
    if browser.is_there():
        step_through(page)
    out = a.run([context.verbena, "explain", "--wqe", qpn, "--html", "/nowhere/x.html"], status=1)
    if "cannot write /nowhere/x.html" not in out:
        raise Failure(out)
    out = a.run([context.verbena, "explain", "--wqe", "0x99"], status=1)
    if "verbena run --mlx5dv" not in out:
        raise Failure(out)
    program.process.stdin.close()
    if program.wait(30):
        raise Failure(program.story())


@case("verbs.raw_compressed", seconds=60)
def raw_compressed(context):
    """`verbena explain --wqe` shows a compressed block of entries as its title and its arrays."""
    a = context.machine.a
    program = a.start([context.verbena, "run", "--mlx5dv", "--", raw_program(context), "hold", "compressed"], stdin=subprocess.PIPE)
    program.wait_output(r"^0x[0-9a-f]+$")
    qpn = re.search(r"^0x[0-9a-f]+$", program.output(), re.M)[0]
    shown = json.loads(a.run([context.verbena, "explain", "--wqe", qpn, "--json"]))
    entries = next(q for q in shown["queues"] if q["name"].startswith("Completion queue"))["elements"]
    if {e["state"] for e in entries} != {"to be read"}:
        raise Failure(entries)
    title = next(i for i, e in enumerate(entries) if e["segments"][0]["name"] == "title of a compressed block")
    fields = {f["name"]: f["value"] for f in entries[title]["segments"][0]["fields"]}
    minis = []
    for e in entries[title + 1:]:
        if e["segments"][0]["name"] != "sent":
            break
        place = len(minis) or 1
        if e["index"] != entries[title]["index"] + place:
            raise Failure(entries)
        minis += [{f["name"]: f["value"] for f in s["fields"]} for s in e["segments"]]
    first = fields["index of the first WQE"]
    if [m["index of the WQE"] for m in minis] != list(range(first, first + fields["completions"])):
        raise Failure((fields, minis))
    if {m["opcode of the send WQE"] for m in minis} != {8}:
        raise Failure(minis)
    out = a.run([context.verbena, "explain", "--wqe", qpn])
    for wanted in ("title of a compressed block: completions", r"sent: index of the WQE \d+, opcode of the send WQE 8 \(RDMA WRITE\)"):
        if not re.search(wanted, out):
            raise Failure(f"no {wanted!r} in\n{out}")
    program.process.stdin.close()
    if program.wait(30):
        raise Failure(program.story())
