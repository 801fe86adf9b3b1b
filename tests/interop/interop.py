#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Real programs between this adapter and rdma_rxe of a Linux kernel that runs in an emulator.

  interop.py [--build DIR] [--short] [--list] [-k PATTERN]... [--keep DIR] [--times N] [-v]

VERBENA_RXE_PEER names the folder of the rig, a program rxe-peer that boots a kernel with rdma_rxe and
gives a namespace connected to it. Without it everything is skipped. Every packet of every run is
captured on the switch between both and its ICRC checked. Closes with "N passed, N failed, N skipped".
"""
import argparse
import difflib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, "..", "system"))

from hosts import Failure, Program  # noqa: E402
import connect  # noqa: E402
import icrc  # noqa: E402
import red  # noqa: E402

HOST = {4: "10.77.0.1", 6: "fd77:0:0:77::1"}
GUEST = {4: "10.77.0.2", 6: "fd77:0:0:77::2"}
GUEST_GID = {4: "1", 6: "2"}
# An emulated kernel on a busy machine may say nothing for half a second: ACK timeout 1 s.
PERFTEST = ["-F", "-u", "18"]
IFNAME = "rdma0"


class Rig:
    """The guest, the namespace beside it, and how to run programs in both."""

    def __init__(self, folder):
        self.program = os.path.join(folder, "rxe-peer")
        self.environment = dict(os.environ)
        self.environment.setdefault("RXE_PEER_CACHE", os.path.join(
            os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "rxe-peer"))
        self.environment["RXE_PEER_INSTANCE"] = f"vb{os.getpid() % 100000}"
        self.programs = []

    def call(self, *argv, seconds=60):
        p = subprocess.run([self.program, *argv], env=self.environment, capture_output=True,
                           text=True, timeout=seconds, stdin=subprocess.DEVNULL)
        if p.returncode:
            raise Failure(f"rxe-peer {' '.join(argv)}: exit status {p.returncode}\n{p.stdout}{p.stderr}")
        return p.stdout

    def start(self, name, argv):
        p = Program(name, argv, self.environment)
        self.programs.append(p)
        return p

    def on_host(self, argv, name="host"):
        return self.start(name, [self.program, "netns", *argv])

    def on_guest(self, argv, name="guest"):
        return self.start(name, [self.program, "exec", "-t", "60", *argv])

    def guest_listens(self, port):
        return f":{port} " in self.call("exec", "ss", "-Htln")

    def end_programs(self):
        for p in self.programs:
            p.end()
        self.programs.clear()


class Interop:
    def __init__(self, rig, build, keep):
        self.keep = keep # where captures of failed runs go, or None
        self.rig, self.build = rig, os.path.abspath(build)
        self.verbena = os.path.join(self.build, "verbena")
        self.port = 21000
        self.packets = 0
        self.gid = {}
        self.device = None

    def find_device(self):
        out = self.rig.call("netns", self.verbena, "devices")
        name = None
        for line in out.splitlines():
            m = re.match(r"(verbena\d+)\s+(\S+)", line)
            if m:
                name = m.group(1) if m.group(2) == IFNAME else None
                self.device = name or self.device
            m = re.search(r"(\d+) (\S+)$", line)
            if name and m:
                for version, address in HOST.items():
                    if m.group(2) == address:
                        self.gid[version] = m.group(1)
        if not self.device or len(self.gid) != 2:
            raise Failure(f"no device with both addresses\n{out}")

    def argv(self, where, program, version, options):
        gid = "-g" if program.startswith("ibv_") else "-x"
        if where == "host":
            return [self.verbena, "run", "--", program, "-d", self.device, gid, self.gid[version],
                    "-p", str(self.port), *options]
        return [program, "-d", "rxe0", gid, GUEST_GID[version], "-p", str(self.port), *options]

    def listening(self, server, server_at, seconds=15):
        end = time.monotonic() + seconds
        while time.monotonic() < end and server.status() is None:
            if server.listens(self.port) if server_at == "host" else self.rig.guest_listens(self.port):
                return
            time.sleep(0.05)
        raise Failure(f"the server does not listen\n{server.story()}")

    def run(self, server_at, program, version, options):
        """One run of a program that meets its peer over TCP, with the server on the host or in the guest;
        raises Failure."""
        self.port += 1
        client_at = "guest" if server_at == "host" else "host"
        address = HOST[4] if server_at == "host" else GUEST[4]
        self.exchange(program, server_at, self.argv(server_at, program, version, options),
                      self.argv(client_at, program, version, options) + [address],
                      lambda server: self.listening(server, server_at))

    def exchange(self, program, server_at, server_argv, client_argv, wait_ready):
        """A server and its client, both of which end with status 0, with all their packets captured."""
        client_at = "guest" if server_at == "host" else "host"
        start = {"host": self.rig.on_host, "guest": self.rig.on_guest}
        folder = tempfile.mkdtemp(prefix="verbena-interop-")
        path, good = os.path.join(folder, "wire.pcap"), False
        inst = self.rig.environment["RXE_PEER_INSTANCE"]
        dump = self.rig.start("tcpdump", ["ip", "netns", "exec", f"{inst}-sw", "tcpdump", "-i", "d1", "-U",
                                          "--immediate-mode", "-s", "5000", "-B", "65536", "-Z",
                                          "root", "-w", path, "udp port 4791"])
        try:
            dump.wait_output("listening on")
            server = start[server_at](server_argv, name=f"server on {server_at}")
            wait_ready(server)
            client = start[client_at](client_argv, name=f"client on {client_at}")
            for p in (client, server):
                try:
                    status = p.wait(45)
                except Failure:
                    status = "none in 45 s"
                if status != 0:
                    raise Failure(f"{p.name}: exit status {status}\n{server.story()}\n{client.story()}"
                                  f"\n{self.tail(path)}")
            for p in (client, server):
                if re.search("invalid data|mismatch", p.output()):
                    raise Failure(f"{server.story()}\n{client.story()}")
            self.check_packets(dump, path)
            good = True
        finally:
            self.rig.end_programs()
            if self.keep and not good:
                shutil.copy(path, os.path.join(self.keep, f"{program}-{server_at}-{self.port}.pcap"))
            shutil.rmtree(folder)

    def check_packets(self, dump, path):
        time.sleep(0.1) # the last packets are on their way to the file
        dump.kill(signal.SIGINT)
        dump.wait(10)
        checked, bad = icrc.check(path)
        self.packets += checked
        if bad or not checked:
            raise Failure(f"{checked} packets, {len(bad)} with a wrong ICRC\n" + "\n".join(bad[:10]))

    @staticmethod
    def tail(path):
        p = subprocess.run(["tshark", "-n", "-r", path], capture_output=True, text=True, check=False)
        return "the last packets:\n" + "\n".join(p.stdout.splitlines()[-15:])


# Of the matrix of errors: what ends in a panic of the guest's kernel.
DEADLY = [f"{operation}, a window that {was}"
          for operation in ("RC SEND with invalidate", "RC local invalidate", "UC local invalidate")
          for was in ("was never bound", "its own side has invalidated")]
# Tests that end in one way or the other there.
FICKLE = [f"{transport} receive, the responder's QP is in ERR" for transport in ("RC", "UC", "UD")]

# Tests that leave a region behind that cannot be deregistered, each time after 50 s.
STUCK = [f"{transport} WRITE with immediate, the responder's CQ {how}"
         for transport in ("RC", "RC, SRQ", "UC") for how in ("has no room", "had overrun before")]


def errors_on_rxe(rig, build):
    """The matrix of docs/error-semantics.md on rdma_rxe differs as docs/interop.md says."""
    kernel = ".".join(rig.call("exec", "uname", "-r").split(".")[:2])
    stored = os.path.join(SOURCE, "tests", "conformance", f"errors_rxe-{kernel}.txt")
    if not os.path.exists(stored):
        return  # the differences of this kernel are not known
    rig.call("put", os.path.join(build, "tests", "conformance", "conformance_errors"), "/root/errors")
    words = " ".join(shlex.quote(case) for case in DEADLY + FICKLE + STUCK)
    got = rig.call("exec", "-t", "1180", f"/root/errors rxe0 100 5000 {words}; true", seconds=1200).splitlines()
    with open(stored, encoding="utf-8") as f:
        wanted = f.read().splitlines()
    if got != wanted:
        raise Failure("\n".join(difflib.unified_diff(wanted, got, stored, "now", lineterm="")))


def cases(short):
    """(name, server_at, program, IP version, options); "errors" runs in the guest alone, and what connects
    by RDMA CM has a function in the place of a program."""
    made = [("errors", None, None, None, None)]
    for server in ("host", "guest"):
        for version in (4, 6):
            for mtu in ("1024", "4096"):
                tag = f"ipv{version}.mtu{mtu}.server_{server}"
                for kind in ("rc", "uc", "srq"):
                    made.append((f"pingpong.{kind}.{tag}", server, f"ibv_{kind}_pingpong", version,
                                 ["-n", "100", "-s", "10000", "-m", mtu] + (["-c"] if kind != "srq" else [])))
                for verb in ("write", "read", "send"):
                    made.append((f"perftest.{verb}.{tag}", server, f"ib_{verb}_bw", version,
                                 [*PERFTEST, "-n", "100", "-s", "20000", "-m", mtu]))
            tag = f"ipv{version}.server_{server}"
            made.append((f"pingpong.ud.{tag}", server, "ibv_ud_pingpong", version, ["-n", "100", "-c"]))
            made.append((f"pingpong.rc_events.{tag}", server, "ibv_rc_pingpong", version,
                         ["-n", "100", "-e", "-c"]))
            for program in ("ib_atomic_bw", "ib_atomic_lat", "ib_write_lat", "ib_send_lat", "ib_read_lat"):
                made.append((f"perftest.{program[3:]}.{tag}", server, program, version, [*PERFTEST, "-n", "100"]))
            for transport in ("UC", "UD"):
                made.append((f"perftest.send_{transport.lower()}.{tag}", server, "ib_send_bw", version,
                             [*PERFTEST, "-n", "50", "-s", "1024", "-c", transport]))
            made.append((f"perftest.write_both_ways.{tag}", server, "ib_write_bw", version,
                         [*PERFTEST, "-n", "50", "-b", "-q", "4"]))
            made.append((f"perftest.cas.{tag}", server, "ib_atomic_bw", version,
                         [*PERFTEST, "-n", "100", "-A", "CMP_AND_SWAP"]))
    # Verbena on both sides of the guest, which is a router.
    router = ("congestion.red", "router", None, 4, [])
    if short:
        # The matrix of errors takes ten minutes.
        made = [c for c in made if "mtu1024" in c[0] and ("ipv4" in c[0]) == (c[1] == "host")] + \
               [c for c in made[1:] if "mtu" not in c[0] and ("ipv6" in c[0]) == (c[1] == "host")]
    return made + connect.cases(short) + [router]


def attempt(interop, server_at, program, version, options):
    """(verdict, text)."""
    try:
        if server_at == "router":
            interop.port += red.SENDERS
            with tempfile.TemporaryDirectory(prefix="verbena-interop-") as folder:
                return "ok", red.run(interop.rig, interop.verbena, folder, interop.port)
        if server_at is None:
            errors_on_rxe(interop.rig, interop.build)
        elif callable(program):
            program(interop, server_at, version, options)
        else:
            interop.run(server_at, program, version, options)
        return "ok", ""
    except Failure as e:
        return "FAIL", str(e)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(SOURCE, "build", "release"))
    parser.add_argument("--short", action="store_true", help="a quarter of the cases, all kinds")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("-k", metavar="PATTERN", action="append", default=[])
    parser.add_argument("--keep", metavar="DIR", help="where to put the captures of failed runs")
    parser.add_argument("--times", type=int, default=1, help="run each case so often")
    parser.add_argument("-v", action="store_true", help="print every case, not only the bad ones")
    args = parser.parse_args()
    chosen = [c for c in cases(args.short) if not args.k or any(re.search(k, c[0]) for k in args.k)]
    chosen *= args.times
    if args.list:
        print("\n".join(c[0] for c in chosen))
        return 0
    folder = os.environ.get("VERBENA_RXE_PEER")
    why = None
    if not folder:
        why = "VERBENA_RXE_PEER is not set"
    elif not os.access(os.path.join(folder, "rxe-peer"), os.X_OK):
        why = f"{folder} has no program rxe-peer"
    elif os.geteuid() != 0:
        why = "the rig needs root"
    if why:
        print(f"skipped: {why}\n0 passed, 0 failed, {len(chosen)} skipped")
        return 0
    rig = Rig(folder)
    passed = failed = 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        rig.call("up", seconds=600)
        interop = Interop(rig, args.build, args.keep)
        interop.find_device()
        for name, server_at, program, version, options in chosen:
            start = time.monotonic()
            verdict, text = attempt(interop, server_at, program, version, options)
            # An emulated guest may starve for longer than the retries of a QP last: one more try,
            # but not for a wrong packet.
            if verdict == "FAIL" and "ICRC" not in text:
                first = text
                verdict, text = attempt(interop, server_at, program, version, options)
                text = f"{text}\nthe first try failed:\n{first}"
            passed += verdict == "ok"
            failed += verdict == "FAIL"
            if args.v or text:
                print(f"{verdict:4} {name} ({time.monotonic() - start:.1f} s)", flush=True)
                print("".join(f"    {line}\n" for line in text.splitlines()[:120]), end="", flush=True)
        print(f"{interop.packets} packets, every ICRC checked")
    except (Failure, subprocess.TimeoutExpired) as e:
        failed += 1
        print(f"FAIL the rig\n    {e}")
    finally:
        rig.end_programs()
        subprocess.run([rig.program, "down"], env=rig.environment, capture_output=True, check=False)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
