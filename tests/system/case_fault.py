# SPDX-License-Identifier: BSD-2-Clause
"""Faults on live packets: what they do, how they are changed, and that the simulator does the same."""
import json
import os
import re
import subprocess

from cases import add, case
from case_registers import ACCL
from hosts import Failure

KINDS = {"loss": "loss=1%", "burst": "burst=0.5%/30%", "reorder": "reorder=2%/50us", "dup": "dup=3%",
         "delay": "delay=20us/20us", "corrupt": "corrupt=1%", "ecn": "ecn=10%",
         "blackout": "blackout=2ms/1ms/20ms"}


def survives(rules):
    """Every operation, its data checked, while packets meet the rules."""
    def run(context):
        host = context.machine.a
        for op, size in (("write", 5000), ("send", 3000), ("read", 5000), ("atomic", 8)):
            host.run([context.verbena, "run", "--fault", rules, "--fault-seed", "5", "--",
                      os.path.join(context.build, "tests", "system", "verbs_sequence"),
                      host.device(context.verbena, "lo"), op, str(size), "50"], seconds=30)
    return run


for name, rules in KINDS.items():
    add(f"fault.survives.{name}", survives(rules), 80)


@case("fault.short_life", 60)
def _(context):
    """Rules and settings for nobody end with the adapter, and those who make them are told."""
    host = context.machine.host("alone")
    v = context.verbena
    try:
        def told(*argv):
            p = subprocess.run([*host.enter, "sh", "-c", f"{v} devices >/dev/null && exec {v} $0 \"$@\"", *argv],
                               capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL)
            if p.returncode:
                raise Failure(f"{argv}: exit status {p.returncode}\n{p.stdout}{p.stderr}")
            return "no program uses the adapter, which ends with its settings in 2 s" in p.stderr

        device = ["-d", host.device(v, "lo")]
        changes = (["fault", "set", "loss=1%"], ["csr", "write", *device, "dcqcn_hw_en=1"],
                   ["reg", *device, *ACCL, "--set", "roce_tx_window_en=0x1", "--yes"])
        if not all(told(*argv) for argv in changes) or told("fault", "clear") or told("fault", "list"):
            raise Failure("a change for nobody is made in silence, or what changes nothing is not")
        host.run([v, "hca", "start"])
        if any(told(*argv) for argv in changes):
            raise Failure("an adapter that stays is said to end")
        host.run([v, "hca", "stop"])
    finally:
        context.machine.drop(host)


@case("fault.blackout_is_retry_exceeded", 60)
def _(context):
    """Nothing arrives any more: the retries run out, as without any peer."""
    host = context.machine.a
    p = host.start([context.verbena, "run", "--fault", "blackout=0s/1000s", "--",
                    os.path.join(context.build, "tests", "system", "verbs_sequence"),
                    host.device(context.verbena, "lo"), "write", "100", "1"])
    if p.wait(30) != 1 or "transport retry counter exceeded" not in p.output():
        raise Failure(p.story())


for name, argv, status, says in (
        ("run_rules", ["run", "--fault", "los=1%", "--", "true"], 2, "character 1: unknown fault"),
        ("run_value", ["run", "--fault", "loss=2", "--", "true"], 2, "at most 1"),
        ("run_mads", ["run", "--fault", "loss=1:op=CM_REQ", "--", "true"], 2, "meets the rules of 'verbena fault set' alone"),
        ("run_seed", ["run", "--fault-seed", "x", "--", "true"], 2, "'x' is no seed"),
        ("verb", ["fault", "frob"], 2, "'frob'"),
        ("no_rules", ["fault", "set"], 2, "needs rules"),
        ("rules", ["fault", "set", "loss=1%:op=NOTHING"], 2, "no such opcode"),
        ("nobody", ["fault", "clear"], 1, "no program uses the adapter")):
    def wrong(context, argv=argv, status=status, says=says):
        # A host of its own, where nothing runs.
        host = context.machine.host("quiet")
        try:
            p = subprocess.run(host.enter + [context.verbena] + argv, capture_output=True, text=True,
                               timeout=20, stdin=subprocess.DEVNULL)
            if p.returncode != status or len(p.stderr.splitlines()) != 1 or says not in p.stderr:
                raise Failure(f"exit status {p.returncode}\n{p.stdout}{p.stderr}")
        finally:
            context.machine.drop(host)
    add(f"fault.wrong.{name}", wrong)


@case("fault.changed_while_running", 60)
def _(context):
    """Set, added to and cleared under a running pair; counted, logged, and visible in the capture."""
    host, v = context.machine.a, context.verbena
    device, port = host.device(v, "lo"), host.pick_port()
    argv = [v, "run", "--", "ib_write_bw", "-d", device, "-x", host.gid_index(v, "lo", "127.0.0.1"), "-F",
            "-D", "30", "-u", "14", "-p", str(port)]
    server = host.start(argv)
    server.wait_listen(port)
    client = host.start(argv + ["127.0.0.1"])
    host.run([v, "fault", "set", "-d", device, "loss=0.5%:op=RC_WRITE*:dir=tx"])
    host.run([v, "fault", "add", "-d", "lo", "ecn=1%"])

    def hits():
        return [int(n) for n in re.findall(r"loss=\S+\s+(\d+) hits", host.run([v, "fault", "list", "-d", "lo"]))]
    context.wait(lambda: any(hits()), 10, "no hits were counted")
    path = os.path.join(context.machine.folder, "fault.pcapng")
    capture = host.start([v, "capture", path, "-c", "3000", "-t", "10"])
    if capture.wait(20):
        raise Failure(capture.story())
    out = subprocess.run(["tshark", "-n", "-r", path, "-Y", "frame.comment", "-T", "fields", "-e",
                          "frame.comment"], capture_output=True, text=True, timeout=60).stdout
    if "fault: loss, dropped" not in out.splitlines():
        raise Failure(f"the capture shows no loss: {sorted(set(out.splitlines()))}")
    log = [json.loads(line) for line in host.run([v, "fault", "log", "-d", "lo"]).splitlines()]
    if not any(e["kind"] == "loss" and e["opcode"].startswith("RC_WRITE") and e["rule"] == 1 for e in log):
        raise Failure(f"no loss in the log: {log[-3:]}")
    host.run([v, "fault", "clear"])
    context.wait(lambda: "hits" not in host.run([v, "fault"]), 10, "faults are left")
    if client.status() is not None or server.status() is not None:
        raise Failure(client.story() + server.story())
    host.end_programs()


# The live system and the simulator agree: name, operation, bytes, rule. The same rule is about the
# packets that leave a process that talks to itself, and about all on the cable of a simulated host.
AGREE = (
    ("quiet.write", "write", 5000, None),
    ("quiet.send", "send", 3000, None),
    ("quiet.read", "read", 5000, None),
    ("quiet.atomic", "atomic", 8, None),
    ("request_lost", "write", 5000, "loss=1:op=RC_WRITE_MIDDLE:nth=4"),
    ("first_lost", "write", 5000, "loss=1:op=RC_WRITE_FIRST:nth=2"),
    ("last_lost", "write", 5000, "loss=1:op=RC_WRITE_LAST:nth=3"),
    ("every_other_lost", "write", 5000, "loss=1:op=RC_WRITE_FIRST:every=2"),
    ("ack_lost", "write", 900, "loss=1:op=ACK:nth=2"),
    ("acks_lost", "send", 900, "loss=1:op=ACK:every=3"),
    ("read_request_lost", "read", 5000, "loss=1:op=READ_REQUEST:nth=2"),
    ("read_response_lost", "read", 5000, "loss=1:op=READ_RESP_MIDDLE:nth=5"),
    ("read_last_lost", "read", 5000, "loss=1:op=READ_RESP_LAST:nth=2"),
    ("atomic_lost", "atomic", 8, "loss=1:op=FETCH_ADD:nth=3"),
    ("atomic_ack_lost", "atomic", 8, "loss=1:op=ATOMIC_ACK:nth=2"),
    ("request_twice", "write", 900, "dup=1:op=RC_WRITE_ONLY:nth=2"),
    ("atomic_twice", "atomic", 8, "dup=1:op=FETCH_ADD:nth=2"),
    ("ack_twice", "write", 900, "dup=1:op=ACK:nth=2"),
    ("read_response_twice", "read", 5000, "dup=1:op=READ_RESP_LAST:nth=2"),
    ("damaged", "write", 5000, "corrupt=1:op=RC_WRITE_MIDDLE:nth=2"),
    ("marked", "write", 5000, "ecn=1:op=RC_WRITE_MIDDLE:every=3"),
    # Of packets that overtake others it is a matter of time how many have come before the NAK leaves.
    ("late.send", "send", 900, None),
    ("late.long_send", "send", 3000, None),
    ("late.lost", "send", 3000, "loss=1:op=RC_SEND_LAST:nth=4"),
)
ROUNDS, ROUNDS_LATE = 6, 3
SCENARIO = """data: true
topology: {{shape: pair}}
transport: {{mtu: 1024, timeout: 12, message: {size}, depth: 1, rd-atomic: 1{late}}}
workload:
  - {{shape: single, from: 0, to: 1, bytes: {total}, mix: {{{op}: 1}}}}
"""


def requester_view(path):
    """The packets that pass the requester's port: two lists of (opcode, PSN, syndrome), PSNs from the first one on.
    Requests as they were sent, also those that a fault dropped; responses as they arrived. What of the
    two came first is a matter of time, which is not the same."""
    p = subprocess.run(["tshark", "-n", "-r", path, "-T", "fields", "-e", "frame.packet_flags_direction",
                        "-e", "infiniband.bth.opcode", "-e", "infiniband.bth.psn", "-e",
                        "infiniband.aeth.syndrome", "-e", "frame.comment"],
                       capture_output=True, text=True, timeout=60)
    requests, responses, first = [], [], None
    for line in p.stdout.splitlines():
        direction, opcode, psn, syndrome, comment = line.split("\t")
        if not opcode:
            continue
        opcode, psn = int(opcode), int(psn)
        is_response = 13 <= opcode <= 18
        if is_response != (int(direction, 0) == 1) or (is_response and "dropped" in comment):
            continue
        # A packet that is doubled on the way was sent once, and arrives twice.
        if not is_response and "copy" in comment:
            continue
        first = psn if first is None else first
        step = (opcode, (psn - first) & 0xffffff, syndrome)
        # One acknowledgement may answer for several packets that were taken together.
        if not is_response:
            requests.append(step)
        elif opcode != 17 or not responses or responses[-1] != step:
            responses.append(step)
    return requests, responses


def agree(name, op, size, rule):
    is_late = name.startswith("late.")
    rounds = ROUNDS_LATE if is_late else ROUNDS

    def run(context):
        host, v, folder = context.machine.a, context.verbena, context.machine.folder
        taken, sim, scenario = (os.path.join(folder, f) for f in ("live.pcapng", "0.0.pcapng", "agree.yaml"))
        # The receiver is late by 200 ms and the RNR timer the longest, 655 ms: room for a slow machine.
        text = SCENARIO.format(size=size, total=size * rounds, op=op,
                               late=", rnr-timer: 0, receive-delay: 200ms" if is_late else "")
        if is_late:
            text += "until: 1500ms\n"  # before the receive after the last, which here nobody posts
        if rule:
            text += f"faults:\n  - {{do: \"{rule}\", host: 0}}\n"
        with open(scenario, "w", encoding="ascii") as f:
            f.write(text)
        out = subprocess.run([v, "sim", "--out", folder, "--pcap", "0.0", scenario], capture_output=True,
                             text=True, timeout=30)
        if out.returncode:
            raise Failure(out.stdout + out.stderr)
        if os.path.exists(taken):
            os.remove(taken)
        capture = host.start([v, "capture", taken, "-t", "20"])
        context.wait(lambda: os.path.exists(taken) and os.path.getsize(taken) > 0, 10, capture.story())
        host.run([v, "run"] + (["--fault", f"{rule}:dir=tx"] if rule else []) +
                 ["--", os.path.join(context.build, "tests", "system", "verbs_sequence"),
                  host.device(v, "lo"), op, str(size), str(rounds)] + (["late"] if is_late else []))
        capture.kill(2)
        capture.wait(10)
        simulated = requester_view(sim)
        for want, got in zip(simulated, requester_view(taken)):
            if len(want) < rounds or want != got:
                at = next((i for i, (a, b) in enumerate(zip(want, got)) if a != b), min(len(want), len(got)))
                raise Failure(f"{len(want)} and {len(got)} packets; from {at} on\n"
                              f"simulated {want[at:at + 6]}\nlive      {got[at:at + 6]}\n{capture.story()}")
        # RNR NAKs have codes 0x20 to 0x3f (IBA 9.7.5.2.8).
        rnr = sum(syndrome != "" and 0x20 <= int(syndrome, 0) < 0x40 for _, _, syndrome in simulated[1])
        if rnr != (rounds - 1 if is_late else 0):
            raise Failure(f"{rnr} RNR NAKs")
    return run


for name, op, size, rule in AGREE:
    add(f"fault.agree.{name}", agree(name, op, size, rule))
