# SPDX-License-Identifier: BSD-2-Clause
"""`verbena sim --wqe`: the queues of simulated QPs as bytes and as fields. IBT-38...IBT-57"""
import os
import re
import subprocess
import tempfile

from cases import case
from hosts import Failure

ONE = """topology: {shape: pair, cable: {rate: 100Gbps, delay: 1us}}
transport: {type: %s, message: %s, depth: 12}
workload: {shape: single, from: 1, to: 0, bytes: %s, mix: {%s: 1}}
"""


def queues(context, folder, scenario, where, status=0):
    """The printed part about the queues; or, of a run that fails, the error."""
    path = os.path.join(folder, "scenario.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(scenario)
    p = subprocess.run([context.verbena, "sim", path, "--wqe", where], capture_output=True, text=True, timeout=60,
                       stdin=subprocess.DEVNULL)
    if p.returncode != status:
        raise Failure(f"exit status {p.returncode}, not {status}\n{p.stdout}\n{p.stderr}")
    return p.stderr if status else p.stdout[p.stdout.index("\nQP ") + 1:]


def queue_of(text, name):
    """The lines of one queue."""
    found = re.search(rf"^{name}: .*\n(?:  .*\n)*", text, re.M)
    if not found:
        raise Failure(f"no {name}\n{text}")
    return found.group()


def indices(queue, state):
    return [int(i) for i in re.findall(rf"^  \[(\d+)\] {state}$", queue, re.M)]


def need(condition, text):
    if not condition:
        raise Failure(text)


@case("sim.queues.write")
def _(context):
    """Ten WRITEs of 64 KiB: after 20 us, then at the end of the run."""
    scenario = ONE % ("rc", "64KiB", "640KiB", "write")
    with tempfile.TemporaryDirectory(prefix="verbena-sim-") as folder:
        text = queues(context, folder, scenario, "1.17@20us")
        send = queue_of(text, "Send queue")
        seen = int(re.search(r"has read up to (\d+)", send).group(1))
        posted = int(re.search(r"doorbell record says (\d+)", send).group(1))
        need(0 < seen < posted == 10 and f"---- the adapter reads on at {seen} ----" in send, text)
        need(indices(send, "read by the adapter") == list(range(seen)), text)
        need(indices(send, "posted") == list(range(seen, posted)), text)
        need(send.endswith(f"---- doorbell: the program writes on at {posted} ----\n"), text)
        # All of these are sent before the first one is acknowledged.
        text = queues(context, folder, ONE % ("rc", "4KiB", "20KiB", "write"), "1.17@2us")
        need("the adapter has read up to 5" in text and "says that 0 were read" in text, text)
        text = queues(context, folder, scenario, "1.17")
        send, done = queue_of(text, "Send queue"), queue_of(text, "Completion queue")
        need("the doorbell record says 10, the adapter has read up to 10" in send, text)
        # The last eight of what is done, as long as their places are theirs.
        need(indices(send, "read by the adapter") == list(range(2, 10)) and not indices(send, "posted"), text)
        words = re.search(r"\[9\] read by the adapter\n((?:    .*\n)+)", send).group(1)
        need(re.match(r"    000  00000908 00001103 00000008 00000000  control: index 9, opcode 8 \(RDMA WRITE\), QPN 0x000011, "
                      r"DS, units of 16 bytes 3, completion mode 2\n"
                      r"    010  00000000 00090000 (\w{8}) 00000000  remote address: address 0x0000000000090000, R_Key 0x\1\n"
                      r"    020  00010000 (\w{8}) 00000000 00090000  data: bytes 65536, L_Key 0x\2, "
                      r"address 0x0000000000090000\n$", words), text)
        need("says that 10 were read" in done and indices(done, "read") == list(range(2, 10)), text)
        need(re.search(r"\[9\] read\n(?:    .*\n){3}    030  .* 08000011 00090000  completion: bytes 65536, time \d+, opcode of the "
                       r"send WQE 8 \(RDMA WRITE\), QPN 0x000011, index of the WQE 9, kind 0 \(sent\), owner 0$", done, re.M), text)


@case("sim.queues.receives")
def _(context):
    """SENDs of UD take two blocks each; the receiver has them as entries and its receives as WQEs."""
    with tempfile.TemporaryDirectory(prefix="verbena-sim-") as folder:
        scenario = ONE % ("ud", "1KiB", "3KiB", "send")
        text = queues(context, folder, scenario, "1.17")
        send = queue_of(text, "Send queue")
        need(indices(send, "read by the adapter") == [0, 2, 4] and "the doorbell record says 6" in send, text)
        need("datagram: " in send and "Q_Key 0x11111111" in send and "destination 0x000011" in send and
             "with a GRH 1, GID, last 8 bytes 0x0000ffff0a000001" in send, text)
        text = queues(context, folder, scenario, "0.17")
        receive, done = queue_of(text, "Receive queue"), queue_of(text, "Completion queue")
        posted, seen = (int(n) for n in re.search(r"record says (\d+), the adapter has read (\d+)", receive).groups())
        need(seen == 3 and indices(receive, "posted") == list(range(posted - 1, 2, -1)), text)
        need(indices(receive, "read by the adapter") == list(range(seen - 1, -1, -1)), text)
        need(len(re.findall(r"data: bytes 1064, L_Key 0x\w{8}", receive)) == posted, text)
        need(len(re.findall(r"completion: bytes 10(?:24|64), .*kind 2 \(received SEND\)", done)) == 3 and
             re.findall(r"index of the WQE (\d)", done) == ["0", "1", "2"], text)


@case("sim.queues.one_cq")
def _(context):
    """The QPs of a host have one CQ: an entry's place counts those of all."""
    scenario = """topology: {shape: star, hosts: 3, cable: {rate: 100Gbps, delay: 1us}}
transport: {message: 4KiB}
workload: {shape: incast, to: 0, count: 2, bytes: 16KiB, mix: {send: 1}}
"""
    with tempfile.TemporaryDirectory(prefix="verbena-sim-") as folder:
        both = [queue_of(queues(context, folder, scenario, where), "Completion queue") for where in ("0.17", "0.18")]
        need(all("says that 8 were read" in q for q in both), both)
        need(sorted(indices(both[0], "read") + indices(both[1], "read")) == list(range(8)), both)


@case("sim.queues.shared")
def _(context):
    """An XRC target takes from an SRQ, whose WQEs name each other; a DC initiator names its target in each WQE."""
    with tempfile.TemporaryDirectory(prefix="verbena-sim-") as folder:
        scenario = ONE % ("xrc", "16KiB", "32KiB", "send")
        text = queues(context, folder, scenario, "1.17")
        need(len(re.findall(r"XRC: SRQ of the peer 0x\w{6}$", queue_of(text, "Send queue"), re.M)) == 2 and
             "Receive queue" not in text, text)
        text = queues(context, folder, scenario, "0.17")
        shared = queue_of(text, "Shared receive queue")
        chain = [(int(i), int(n or 0)) for i, n in re.findall(r"\[(\d+)\]\n .* next: ?(?:next WQE (\d+))?$", shared, re.M)]
        need(len(chain) > 1 and all(n == chain[k + 1][0] for k, (_, n) in enumerate(chain[:-1])), text)
        text = queues(context, folder, ONE % ("dc", "16KiB", "16KiB", "read"), "1.17")
        need(re.search(r"opcode 16 \(RDMA READ\)", text) and re.search(r"datagram: key of a DCT 0x0*[1-9a-f]\w*, all 48 bytes 1", text),
             text)


@case("sim.queues.wrong")
def _(context):
    """A QP that is not there, a host that is not there, and words that are no QP."""
    scenario = ONE % ("rc", "64KiB", "64KiB", "write")
    with tempfile.TemporaryDirectory(prefix="verbena-sim-") as folder:
        err = queues(context, folder, scenario, "1.18", status=1)
        need(err == "verbena sim: there is no QP 1.18; the host has 1.17\n", err)
        err = queues(context, folder, scenario, "2.17", status=1)
        need(err == "verbena sim: there is no QP 2.17: hosts are 0 to 1\n", err)
        for wrong in ("17", "x", "0.0", "0.17x", "0.17@", "0.17@5", "0.17@5us "):
            err = queues(context, folder, scenario, wrong, status=2)
            need(f'"{wrong}"' in err and len(err.splitlines()) == 1, err)
