# SPDX-License-Identifier: BSD-2-Clause
"""`verbena top`: what it says of programs that run, and how it behaves in a terminal."""
import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

from cases import case
from hosts import Failure
import pair


def look(context, host, *options):
    return json.loads(host.run([context.verbena, "top", "--once", "--json", *options]))


@case("top.json", seconds=60)
def _(context):
    """Bits, packets and PSNs of both ends are those of one stream of RDMA WRITE."""
    place = context.places["lo4"]
    server, client = pair.start(place, "ib_write_bw", ["-D", "40", "-s", "65536", "-m", "1024", "-q", "2"])
    context.wait(lambda: look(context, place.client.host)["qps"], 20, "there are no QPs")
    told = look(context, place.client.host, "-s", "2")
    processes = {p["pid"]: p for p in told["processes"]}
    sender, receiver = processes[client.pid], processes[server.pid]
    sent, received = sender["xmit_bits_per_s"], receiver["rcv_bits_per_s"]
    # Both are read one after the other while packets pass.
    if sender["program"] != "ib_write_bw" or sender["qps"] != 2 or sent < 1e7 or \
            not 0.8 < sent / received < 1.25 or sender["rcv_bits_per_s"] > sent / 4:
        raise Failure(f"{told}")
    qps = [q for q in told["qps"] if q["pid"] == client.pid]
    acked = sum(q["acked_psns_per_s"] for q in qps)
    # PSNs of 1024 bytes with a header of 12 to 28 and an ICRC of 4.
    if len(qps) != 2 or any(q["rcvd_psns_per_s"] for q in qps) or not 0.5 < acked * 8 * 1040 / sent < 2:
        raise Failure(f"{acked} PSNs/s for {sent} bit/s\n{told}")
    peers = {q["qpn"] for q in told["qps"] if q["pid"] == server.pid}
    if {q["dest_qpn"] for q in qps} != peers or {q["type"] for q in qps} != {"RC"}:
        raise Failure(f"{told}")
    other = next(d["name"] for d in json.loads(place.client.host.run([context.verbena, "devices", "--json"]))
                 if d["netdev"] != "lo") if context.machine.b else None
    if other and look(context, place.client.host, "-d", other)["qps"]:
        raise Failure(f"QPs of lo are QPs of {other}")
    # A process that is stopped is told as one that does not answer.
    client.stop()
    still = {p["pid"]: p for p in look(context, place.client.host)["processes"]}[client.pid]
    client.kill(signal.SIGCONT)
    if still["answers"] or still["xmit_bits_per_s"]:
        raise Failure(f"{still}")


@case("top.wrong")
def _(context):
    host = context.machine.a
    # Without a program there may be no broker to say that there is no such device.
    keeper = host.start([context.verbena, "counters", "--watch"])
    keeper.wait_output("verbena", 20)
    for argv, status, says in ((["-d", "nodevice"], 1, "nodevice"), (["-s", "0"], 2, "'0'"),
                               (["x"], 2, "'x'"), (["--once", "-s", "soon"], 2, "'soon'")):
        p = host.start([context.verbena, "top", *argv])
        if p.wait(20) != status or says not in p.output():
            raise Failure(p.story())


class Terminal:
    """`verbena top` in a terminal of its own."""

    def __init__(self, context, host, rows, columns):
        self.master, slave = pty.openpty()
        self.resize(rows, columns)
        self.slave, self.before = slave, termios.tcgetattr(slave)
        self.process = subprocess.Popen(host.enter + [context.verbena, "top", "-s", "0.2"], stdin=slave,
                                        stdout=slave, stderr=slave, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(slave, termios.TIOCSCTTY, 0))
        self.text = ""

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read_until(self, what, seconds=20):
        end = time.monotonic() + seconds
        while not what(self.text):
            if time.monotonic() > end:
                self.process.kill()
                raise Failure(f"never came\n{self.text[-3000:]!r}")
            if select.select([self.master], [], [], 0.1)[0]:
                self.text += os.read(self.master, 65536).decode(errors="replace")

    def screens(self):
        """Whole screens: lines of text."""
        return [s.split("\r\n")[:-1] for s in self.text.split("\033[H\033[J")[1:-1]]

    def ends(self, status=0):
        got = self.process.wait(10)
        self.read_until(lambda t: "\033[?25h\033[?1049l" in t)
        if got != status or termios.tcgetattr(self.slave) != self.before:
            raise Failure(f"exit status {got}; the terminal is not as it was\n{self.text[-2000:]!r}")
        os.close(self.master)
        os.close(self.slave)


@case("top.terminal", seconds=90)
def _(context):
    """The table follows the size of the terminal; Ctrl-C and q end it and leave the terminal as it was."""
    place = context.places["lo4"]
    host = place.client.host
    pair.start(place, "ib_write_bw", ["-D", "60", "-q", "40", "-s", "1024"])
    context.wait(lambda: len(look(context, host)["qps"]) == 80, 20, "there are no 80 QPs")
    for key in ("\x03", "q"):
        t = Terminal(context, host, 24, 80)
        t.read_until(lambda text: text.count("\033[H\033[J") > 3 and "0x" in text)
        if not t.text.startswith("\033[?1049h\033[?25l"):
            raise Failure(f"no screen of its own: {t.text[:100]!r}")
        for lines in t.screens():
            if len(lines) > 23 or any(len(line) > 80 for line in lines):
                raise Failure("does not fit 24 x 80\n" + "\n".join(lines))
        t.text = ""
        t.resize(40, 120)
        t.read_until(lambda text: t.screens() and len(t.screens()[-1]) == 39)
        if max(len(line) for line in t.screens()[-1]) > 120 or len(t.screens()[-1][7]) <= 80:
            raise Failure("does not fill 40 x 120\n" + "\n".join(t.screens()[-1]))
        t.text = ""
        os.write(t.master, key.encode())
        t.ends()
