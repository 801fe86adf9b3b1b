# SPDX-License-Identifier: BSD-2-Clause
"""Hosts to test between: network namespaces that this process makes, and programs started in them.

A namespace lives as long as its holder, a process that waits for the end of its input; so whatever
happens to this one, the namespace goes with it.
"""
import ipaddress
import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

LINK_MTU = 4200  # holds packets of the largest path MTU, 4096, with their headers


class Skip(Exception):
    """A case cannot run on this machine; the reason is for the user."""


class Failure(Exception):
    """A case has failed; the message says how, with the output of the programs."""


class Program:
    """A program that runs, with its output in one file."""

    def __init__(self, name, argv, env, stdin=subprocess.DEVNULL, cwd=None):
        self.name, self.argv = name, argv
        self.log = tempfile.TemporaryFile(mode="w+b")
        self.started = time.monotonic()
        self.process = subprocess.Popen(argv, stdin=stdin, stdout=self.log, stderr=subprocess.STDOUT,
                                        env=env, cwd=cwd, start_new_session=True)
        self.pid = self.process.pid
        self.ended = None

    def output(self):
        # The program writes at the position of the same open file: reading must not move it.
        return os.pread(self.log.fileno(), os.fstat(self.log.fileno()).st_size, 0).decode(errors="replace")

    def status(self):
        return self.process.poll()

    def wait(self, seconds):
        """Its exit status; raises Failure when it is not done in time."""
        try:
            status = self.process.wait(seconds)
            self.ended = self.ended or time.monotonic()
            return status
        except subprocess.TimeoutExpired:
            raise Failure(f"{self.name} did not end in {seconds} s\n{self.story()}") from None

    def wait_output(self, pattern, seconds=10):
        """Waits for a line that matches, or raises Failure."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if re.search(pattern, self.output(), re.M):
                return
            if self.status() is not None:
                break
            time.sleep(0.02)
        if not re.search(pattern, self.output(), re.M):
            raise Failure(f"{self.name} never printed '{pattern}'\n{self.story()}")

    def listens(self, port):
        """Whether a TCP socket of its host listens on the port."""
        want = f":{port:04X}"
        for table in ("tcp", "tcp6"):
            try:
                with open(f"/proc/{self.pid}/net/{table}", encoding="ascii") as f:
                    for line in f:
                        fields = line.split()
                        if fields[3] == "0A" and fields[1].endswith(want):
                            return True
            except OSError:
                return False
        return False

    def wait_listen(self, port, seconds=10):
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.status() is None:
            if self.listens(port):
                return
            time.sleep(0.01)
        raise Failure(f"{self.name} does not listen on TCP port {port}\n{self.story()}")

    def wait_socket(self, name, seconds=10):
        """Waits until a program of its host listens at an abstract name that begins like this."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.status() is None:
            with open(f"/proc/{self.pid}/net/unix", encoding="utf-8", errors="replace") as f:
                if any(re.search(rf" 00010000 .* @{name}", line) for line in f):
                    return
            time.sleep(0.01)
        raise Failure(f"{self.name} does not listen at @{name}\n{self.story()}")

    def kill(self, sig=signal.SIGKILL):
        if self.status() is None:
            os.kill(self.pid, sig)

    def stop(self):
        """Stops it, and waits until none of its threads runs any more: at first only one is told."""
        self.kill(signal.SIGSTOP)
        folder, end = f"/proc/{self.pid}/task", time.monotonic() + 10
        while time.monotonic() < end:
            states = []
            for thread in os.listdir(folder):
                with open(f"{folder}/{thread}/stat", encoding="ascii", errors="replace") as f:
                    states.append(f.read().rpartition(")")[2].split()[0])
            if set(states) == {"T"}:
                return
            time.sleep(0.001)
        raise Failure(f"process {self.pid} does not stop: {states}")

    def end(self):
        """Ends it and whatever it started."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except OSError:
            pass
        self.process.wait()

    def story(self):
        status = self.status()
        how = "runs" if status is None else f"exit status {status}"
        return f"--- {self.name} ({how}): {' '.join(self.argv)}\n{self.output()}"


class Host:
    """A host: a network namespace of its own, or this machine when holder is None."""

    def __init__(self, name, holder=None, user_namespace=False):
        self.name, self.holder = name, holder
        self.enter = []
        if holder:
            self.enter = ["nsenter", "-t", str(holder.pid), "-n"]
            if user_namespace:
                self.enter += ["-U", "--preserve-credentials"]
        self.programs = []
        self.port = 20000 + os.getpid() % 10000 if not holder else 20000
        self._devices = {}

    def start(self, argv, name=None, env=None, **more):
        p = Program(name or f"{self.name}: {os.path.basename(argv[0])}", self.enter + argv,
                    {**os.environ, **(env or {})}, **more)
        self.programs.append(p)
        return p

    def run(self, argv, seconds=20, status=0, **more):
        """Runs to the end; returns the output. Raises Failure unless the exit status is the wanted one."""
        p = self.start(argv, **more)
        got = p.wait(seconds)
        if status is not None and got != status:
            raise Failure(f"exit status {got}, not {status}\n{p.story()}")
        self.programs.remove(p)
        return p.output()

    def end_programs(self):
        for p in self.programs:
            p.end()
        self.programs.clear()

    def pick_port(self):
        self.port += 1
        return self.port

    def pids(self):
        """Processes of this host other than its holder."""
        if not self.holder:
            return []
        mine = os.stat(f"/proc/{self.holder.pid}/ns/net").st_ino
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if int(pid) != self.holder.pid and os.stat(f"/proc/{pid}/ns/net").st_ino == mine:
                    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
                        if f.read().rsplit(")", 1)[1].split()[0] != "Z":
                            found.append(int(pid))
            except OSError:
                pass
        return found

    def broker_pids(self, options=()):
        """Brokers; or, with the option --keeper, the processes that keep the adapter besides."""
        parents = {}
        for pid in self.pids():
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    argv = f.read().split(b"\0")
                if argv[1:-1] == [b"broker", *(o.encode() for o in options)]:
                    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
                        parents[pid] = int(f.read().rpartition(")")[2].split()[1])
            except OSError:
                pass
        # A broker's child that has yet to exec the keeper has the broker's command line.
        return [pid for pid, parent in parents.items() if parent not in parents]

    def keeper_pids(self):
        return self.broker_pids(["--keeper"])

    def has_adapter(self):
        """Whether somebody has the adapter's port. A broker may stay without, for what failed before."""
        return ":4791 " in self.run(["ss", "-uln"])

    def devices(self, verbena):
        """The adapter's devices by network interface, as `verbena devices --json` has them."""
        if not self._devices:
            out = self.run([verbena, "devices", "--json"])
            # Virtual functions, if there are any, stand on the same interface behind their device.
            self._devices = {d["netdev"]: d for d in reversed(json.loads(out))}
        return self._devices

    def device(self, verbena, ifname):
        """The adapter's device on a network interface."""
        devices = self.devices(verbena)
        if ifname not in devices:
            raise Failure(f"there is no device on {ifname}: {devices}")
        return devices[ifname]["name"]

    def gid_index(self, verbena, ifname, address):
        """The index of the GID that is this address, in the device on ifname."""
        want = ipaddress.ip_address(address)
        if want.version == 4:
            want = ipaddress.ip_address(f"::ffff:{want}")
        device = self.devices(verbena).get(ifname, {"gids": []})
        for gid in device["gids"]:
            if ipaddress.ip_address(gid["gid"]) == want:
                return str(gid["index"])
        raise Failure(f"there is no GID {address} on {ifname}: {device}")

    def forget(self):
        """The devices have changed."""
        self._devices = {}


class Machine:
    """The machines of the tests: hosts a and b on a virtual cable where that is allowed, and others."""

    def __init__(self):
        self.holders, self.why = [], None
        self.folder = tempfile.mkdtemp(prefix="verbena-system-")
        # Runtime files of the programs under test, so that what stays behind is seen. They are in memory, as
        # XDG_RUNTIME_DIR is everywhere: a broker writes and removes 2,000 files, which takes seconds on a disk.
        self.runtime = tempfile.mkdtemp(prefix="verbena-system-", dir="/dev/shm")
        os.environ["XDG_RUNTIME_DIR"] = self.runtime
        self.user_namespace = os.geteuid() != 0
        try:
            self.a = self._hold("a", ["unshare"] + (["-U", "-r"] if self.user_namespace else []) + ["-n"])
            self.b = self.host("b")
            self.cable(self.a, self.b, "veth0", ("10.9.0.1/24", "fd09::1/64"), ("10.9.0.2/24", "fd09::2/64"))
        except (Failure, OSError) as e:
            self.why = f"no network namespaces here: {str(e).strip().splitlines()[-1]}"
            self.a, self.b = Host("here"), None

    def _hold(self, name, enter):
        holder = subprocess.Popen(enter + ["sh", "-c", "ip link set lo up && echo ready && exec cat"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
        self.holders.append(holder)
        ready = holder.stdout.readline() if select.select([holder.stdout], [], [], 10)[0] else ""
        if ready.strip() != "ready":
            raise Failure(ready.strip() or "unshare gave no answer")
        return Host(name, holder, self.user_namespace)

    def host(self, name):
        """One more host, not connected to any other."""
        if self.why:
            raise Skip(self.why)
        return self._hold(name, self.a.enter + ["unshare", "-n"])

    def drop(self, host):
        host.end_programs()
        host.holder.stdin.close()
        host.holder.wait()

    def cable(self, one, other, ifname, one_addresses, other_addresses):
        """Connects two hosts with a virtual cable whose ends have these addresses."""
        one.run(["ip", "link", "add", ifname, "mtu", str(LINK_MTU), "type", "veth", "peer", "name",
                 ifname, "mtu", str(LINK_MTU), "netns", str(other.holder.pid)])
        for host, addresses in ((one, one_addresses), (other, other_addresses)):
            for address in addresses:
                more = ["nodad"] if ":" in address else []
                host.run(["ip", "addr", "add", address, "dev", ifname] + more)
            host.run(["ip", "link", "set", ifname, "up"])
        for host in (one, other):
            host.forget()
            # A cable is up when both ends are; link-local addresses come a moment later.
            end = time.monotonic() + 5
            while "tentative" in host.run(["ip", "addr", "show", "dev", ifname]):
                if time.monotonic() > end:
                    break
                time.sleep(0.05)

    def two(self):
        if self.b is None:
            raise Skip(self.why)
        return self.a, self.b

    def end(self):
        for host in (self.a, self.b):
            if host:
                host.end_programs()
                # One that has histories to tell would stay for a while.
                for pid in host.broker_pids() if host.holder else []:
                    os.kill(pid, signal.SIGTERM)
        for holder in self.holders:
            if holder.poll() is None:
                holder.stdin.close()
                try:
                    holder.wait(2)
                except subprocess.TimeoutExpired:
                    holder.kill()
                    holder.wait()
        for folder in (self.folder, self.runtime):
            shutil.rmtree(folder, ignore_errors=True)
