# SPDX-License-Identifier: BSD-2-Clause
"""The `verbena` command: what it prints, what it refuses and how, and its captures."""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile

from cases import add, case
from hosts import Failure, Skip
import icrc
import pair

# Arguments, the exit status, what standard error must say in one line.
WRONG = (
    ("no_command", [], 2, None),
    ("unknown_command", ["fly"], 2, "no command 'fly'"),
    ("unknown_help", ["help", "fly"], 2, "no command 'fly'"),
    ("near_command", ["expalin"], 2, "no command 'expalin'; did you mean 'explain'"),
    ("near_beginning", ["dev"], 2, "no command 'dev'; did you mean 'devices'"),
    ("near_plural", ["brokers"], 2, "no command 'brokers'; did you mean 'broker'"),
    ("near_option", ["devices", "--jsom"], 2, "'--jsom' .did you mean '--json'"),
    ("version_argument", ["version", "twice"], 2, "'twice'"),
    ("unknown_option", ["devices", "--bogus"], 2, "'--bogus'"),
    ("unexpected_argument", ["devices", "extra"], 2, "'extra'"),
    ("run_nothing", ["run"], 2, "no command"),
    ("run_missing", ["run", "--", "/nonexistent/program"], 127, "/nonexistent/program"),
    ("run_folder", ["run", "--", "/"], 126, "'/'"),
    ("capture_no_file", ["capture"], 2, "file|FILE"),
    ("capture_bad_folder", ["capture", "/nonexistent/x.pcapng"], 1, "/nonexistent/x.pcapng"),
    ("capture_bad_count", ["capture", "x.pcapng", "-c", "many"], 2, "many"),
    ("capture_bad_time", ["capture", "x.pcapng", "-t", "-5"], 2, "-5"),
    ("counters_argument", ["counters", "nosuchdevice9"], None, "nosuchdevice9"),
    ("fabric_slow_part", ["fabric", "--real-time", "1.5", "up", "star:hosts=2"], 2, "--real-time takes a whole number .*'1.5'"),
    ("fabric_slow_none", ["fabric", "--real-time", "0", "up", "star:hosts=2"], 2, "--real-time takes a whole number .*'0'"),
    ("doctor_arguments", ["doctor", "here", "there"], 2, "'there'"),
)


def wrong(argv, status, says):
    def run(context):
        p = subprocess.run(context.machine.a.enter + [context.verbena] + argv, capture_output=True,
                           text=True, timeout=20, stdin=subprocess.DEVNULL, cwd="/")
        told = f"exit status {p.returncode}\n{p.stdout}\n{p.stderr}"
        if p.returncode != status if status is not None else p.returncode == 0:
            raise Failure(f"exit status {p.returncode}, not {status}\n{told}")
        if says and (len(p.stderr.splitlines()) != 1 or not re.search(says, p.stderr)):
            raise Failure(f"standard error is not one line with '{says}'\n{told}")
    return run


for name, argv, status, says in WRONG:
    add(f"command.wrong.{name}", wrong(argv, status, says))


@case("command.help")
def _(context):
    a = context.machine.a
    out = a.run([context.verbena, "--help"])
    for command in ("run", "devices", "counters", "capture", "doctor"):
        if not re.search(rf"^  {command}\b", out, re.M):
            raise Failure(f"--help has no '{command}'\n{out}")
    if a.run([context.verbena, "help", "devices"]) != a.run([context.verbena, "devices", "--help"]):
        raise Failure("'verbena help devices' is not 'verbena devices --help'")
        if "Usage:" not in a.run([context.verbena, command, "--help"]):
            raise Failure(f"{command} --help has no usage")
    said = {a.run([context.verbena, version]) for version in ("version", "--version", "-V")}
    if len(said) != 1 or not re.match(r"verbena \d+\.\d+\.\d+$", said.pop()):
        raise Failure("no version, or several")


@case("command.stopped_broker", seconds=60)
def _(context):
    """A command that looks while the broker is stopped names it, long before a program would give up."""
    host, v = context.machine.host("still"), context.verbena
    try:
        host.run([v, "hca", "start"])
        (pid,) = host.broker_pids()
        os.kill(pid, signal.SIGSTOP)
        for command in (["counters"], ["fault", "list"]):
            p = subprocess.run([*host.enter, v, *command], capture_output=True, text=True, timeout=20,
                               stdin=subprocess.DEVNULL)
            if p.returncode != 1 or f"the broker, process {pid}, is stopped: continue it by 'kill -CONT {pid}'" not in p.stderr:
                raise Failure(f"{command}: exit status {p.returncode}\n{p.stdout}{p.stderr}")
        os.kill(pid, signal.SIGCONT)
        host.run([v, "counters"])
        host.run([v, "hca", "stop"])
    finally:
        context.machine.drop(host)


@case("command.run_passes_status_on")
def _(context):
    a = context.machine.a
    a.run([context.verbena, "run", "--", "sh", "-c", "exit 7"], status=7)
    a.run([context.verbena, "run", "sh", "-c", "kill -9 $$"], status=-9)


@case("command.devices")
def _(context):
    a = context.machine.a
    devices = json.loads(a.run([context.verbena, "devices", "--json"]))
    table = a.run([context.verbena, "devices"])
    for d in devices:
        if not re.match(r"verbena\d+$", d["name"]) or d["name"] not in table:
            raise Failure(f"{d}\n{table}")


@case("command.doctor")
def _(context):
    out = context.machine.a.run([context.verbena, "doctor"])
    if not re.search(r"^\d+ ok, \d+ warn, 0 fail, \d+ not seen$", out, re.M):
        raise Failure(out)


@case("command.doctor_program")
def _(context):
    """Programs into which nothing can be preloaded are named."""
    a, doctor = context.machine.a, [context.verbena, "doctor", "-p"]
    plain = os.path.join(context.build, "tests", "system", "files_calls")
    for path, text, status in ((plain, "is in reach", 0), (plain + "_static", "is linked statically", 1),
                               ("/no/such", "there is no such program", 1)):
        out = a.run([*doctor, path], status=status)
        if text not in out:
            raise Failure(out)
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(plain, folder)
        os.chmod(copy, 0o4755)
        out = a.run([*doctor, copy], status=1)
        if "set-user-ID" not in out:
            raise Failure(out)


@case("command.counters")
def _(context):
    """The packets of a run are in the totals after its processes are gone."""
    place = context.places.get("net4") or context.places["lo4"]
    keeper = place.client.host.start([context.verbena, "counters", "--watch"])
    before = counter(context, place.client, "port_xmit_packets")
    pair.run(place, "ibv_rc_pingpong", ["-n", "100"])
    after = counter(context, place.client, "port_xmit_packets")
    keeper.end()
    if after - before < 100:
        raise Failure(f"port_xmit_packets went from {before} to {after}")


def counter(context, side, name):
    device = side.host.device(context.verbena, side.ifname)
    out = side.host.run([context.verbena, "counters", "--all"])
    section = ""
    for line in out.splitlines():
        m = re.match(r"(verbena\d+)\b", line)
        section = m.group(1) if m else section
        m = re.search(rf"\b{name}\s+(\d+)", line)
        if m and section == device:
            return int(m.group(1))
    raise Failure(f"no {name} of {device} in\n{out}")


def dissect(path):
    """The fields that tshark prints of each RoCEv2 packet; raises Failure when it is not content."""
    p = subprocess.run(["tshark", "-n", "-r", path, "-T", "fields", "-e", "frame.number", "-e",
                        "infiniband.bth.opcode", "-e", "_ws.malformed", "-e", "_ws.expert.message"],
                       capture_output=True, text=True, timeout=60)
    if p.returncode:
        raise Failure(f"tshark cannot read {path}: {p.stderr}")
    packets = [line.split("\t") for line in p.stdout.splitlines()]
    for number, opcode, malformed, expert in packets:
        if not opcode or malformed or expert:
            raise Failure(f"packet {number}: opcode '{opcode}' {malformed} {expert}")
    return [int(opcode.split(",")[0]) for _, opcode, _, _ in packets]


def check_icrc(path, at_least):
    checked, bad = icrc.check(path)
    if bad or checked < at_least:
        raise Failure(f"{checked} packets of RoCEv2, {len(bad)} wrong\n" + "\n".join(bad[:10]))


def captured(where, program, options, opcodes):
    """Our own capture of a run: tshark reads all of it, the ICRCs are right, the opcodes are there."""
    def run(context):
        if where not in context.places:
            raise Skip(context.machine.why)
        place = context.places[where]
        path = os.path.join(context.machine.folder, "capture.pcapng")
        capture = place.client.host.start([context.verbena, "capture", path, "-t", "60", "-c", "60"])
        context.wait(lambda: os.path.exists(path) and os.path.getsize(path) > 0, 10,
                     f"capture made no file\n{capture.story()}")
        pair.run(place, program, options)
        if capture.wait(10) != 0:
            raise Failure(capture.story())
        seen = dissect(path)
        check_icrc(path, 60)
        if len(seen) < 60 or not set(opcodes) <= set(seen):
            raise Failure(f"{len(seen)} packets, opcodes {sorted(set(seen))}\n{capture.story()}")
        os.remove(path)
    return run


# 4 SEND_ONLY, 17 ACK, 36 UC SEND_ONLY, 100 UD SEND_ONLY, 10 WRITE_ONLY, 12 READ_REQUEST, ...
add("capture.rc.lo4", captured("lo4", "ibv_rc_pingpong", ["-n", "200", "-s", "100"], (4, 17)))
add("capture.rc.net4", captured("net4", "ibv_rc_pingpong", ["-n", "200"], (0, 1, 2, 17)))
add("capture.rc.net6", captured("net6", "ibv_rc_pingpong", ["-n", "200"], (0, 1, 2, 17)))
add("capture.uc.net6", captured("net6", "ibv_uc_pingpong", ["-n", "200", "-s", "100"], (36,)))
add("capture.ud.net4", captured("net4", "ibv_ud_pingpong", ["-n", "200", "-s", "100"], (100,)))
add("capture.read.net4", captured("net4", "ib_read_bw", ["-F", "-n", "50", "-s", "9000"], (12, 13, 14, 15)))
add("capture.atomic.net6", captured("net6", "ib_atomic_bw", ["-F", "-n", "100"], (20,)))


def often(times, case):
    def run(context):
        for _ in range(times):
            case(context)
    return run


# A run that is over in 20 ms, and fills the ring of a process in 15: its first packets are there.
case("capture.first_packets", seconds=120)(
    often(10, captured("net4", "ibv_rc_pingpong", ["-n", "1000"], (0, 1, 2, 17))))


def witnessed(where, runs):
    """tcpdump's capture of runs, not ours: every packet dissects and its ICRC is right."""
    def run(context):
        if where not in context.places:
            raise Skip(context.machine.why)
        place = context.places[where]
        host, ifname = place.server.host, place.server.ifname
        path = os.path.join(context.machine.folder, "witness.pcap")
        # Segments as they are on a wire: the kernel cuts trains before the capture sees them.
        for side in {place.server, place.client}:
            side.host.run(["ip", "link", "set", "dev", side.ifname, "gso_max_segs", "1"], status=None)
        dump = host.start(["tcpdump", "-i", ifname, "-U", "--immediate-mode", "-s", "5000",
                           "-B", "65536", "-Z", "root", "-w", path, "udp port 4791"])
        try:
            dump.wait_output("listening on")
            for program, options in runs:
                pair.run(place, program, options)
            context.wait(lambda: os.path.getsize(path) > 10000, 5, "tcpdump wrote nothing")
            dump.kill(2)
            dump.wait(10)
            if not re.search(r"^0 packets dropped by kernel", dump.output(), re.M):
                raise Skip("tcpdump missed packets on this machine")
            dissect(path)
            check_icrc(path, 100)
        finally:
            dump.end()
            for side in {place.server, place.client}:
                side.host.run(["ip", "link", "set", "dev", side.ifname, "gso_max_segs", "65535"],
                              status=None)
            if os.path.exists(path):
                os.remove(path)
    return run


RUNS = (("ibv_rc_pingpong", ["-n", "50"]), ("ibv_uc_pingpong", ["-n", "50"]),
        ("ibv_ud_pingpong", ["-n", "50"]), ("ibv_srq_pingpong", ["-n", "20"]),
        ("ib_send_bw", ["-F", "-n", "50", "-s", "9001"]), ("ib_write_bw", ["-F", "-n", "50", "-s", "9001"]),
        ("ib_read_bw", ["-F", "-n", "50", "-s", "9001"]), ("ib_atomic_bw", ["-F", "-n", "50"]))
for where in ("net4", "net6", "lo4"):
    add(f"capture.witness.{where}", witnessed(where, RUNS), 90)
