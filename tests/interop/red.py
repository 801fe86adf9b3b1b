# SPDX-License-Identifier: BSD-2-Clause
"""Congestion control against a queue that is somebody else's: the guest's kernel is a router with RED.

    A, namespace of the rig --- switch --- guest --- the same switch --- B, a namespace made here

Four senders in A write to four receivers in B, and what the guest forwards waits in a queue of 4 Mb/s, in
which RED marks. An emulated router is slow, so time runs slowly for all of it: a rate that any machine can
forward, and a controller whose steps are as far apart as such a queue needs them."""
import re
import subprocess

from hosts import Failure

NEAR, FAR, ROUTER = "10.77.0.1", "10.78.0.1", "10.78.0.2"
SENDERS = 4
QUEUE = f"""set -e
ip addr add {ROUTER}/24 dev eth0
sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.send_redirects=0 net.ipv4.conf.eth0.send_redirects=0
tc qdisc add dev eth0 root handle 1: prio bands 3 priomap {"2 " * 16}
tc qdisc add dev eth0 parent 1:1 handle 10: tbf rate 4mbit burst 5kb limit 2mb
tc qdisc add dev eth0 parent 10:1 handle 100: red limit 1000000 min 5000 max 50000 avpkt 1100 burst 10 \
probability 0.1 bandwidth 4mbit ecn
tc filter add dev eth0 parent 1: protocol ip u32 match ip dst {FAR}/32 match ip protocol 17 0xff flowid 1:1
"""
SETTINGS = """preset=paper
cc_clk_hz=2000000
dcqcn_max_rate=4Mbps
dcqcn_min_rate=100kbps
dcqcn_nocnp_timer_th=20000
dcqcn_alpha_timer_th=20000
dcqcn_rx_cnp_merge_period=20000
np_min_cnp_us=20000
dcqcn_byte_cnt_th=0
dcqcn_upd_alpha_g=64
dcqcn_rate_ai=20kbps
dcqcn_rate_hai=50kbps
"""
# A queue of a second takes longer than adaptive timers begin with.
RECOVERY = "roce_adp_retrans_en=0\n"
PERFTEST = ["-F", "-s", "8192", "-m", "1024", "-D", "10", "-t", "16", "-Q", "1", "-u", "20", "--report_gbits"]


def ip(*argv):
    p = subprocess.run(["ip", *argv], capture_output=True, text=True, check=False)
    if p.returncode:
        raise Failure(f"ip {' '.join(argv)}: {p.stderr}")


class Path:
    """A and B with the router between them."""

    def __init__(self, rig, verbena, folder):
        self.rig, self.verbena = rig, verbena
        self.inst = rig.environment["RXE_PEER_INSTANCE"]
        self.near, self.far = f"{self.inst}-peer", f"{self.inst}-far"
        self.run = [verbena, "run"]
        for option, text in (("cc", SETTINGS), ("adp", RECOVERY)):
            with open(f"{folder}/{option}", "w", encoding="ascii") as f:
                f.write(text)
            self.run += [f"--{option}", f"{folder}/{option}"]

    def make(self):
        switch = f"{self.inst}-sw"
        ip("netns", "add", self.far)
        ip("link", "add", "far0", "netns", self.far, "type", "veth", "peer", "name", "far1", "netns", switch)
        ip("-n", switch, "link", "set", "far1", "mtu", "4200", "master", "br0", "up")
        ip("-n", self.far, "link", "set", "lo", "up")
        ip("-n", self.far, "link", "set", "far0", "mtu", "4200", "up")
        ip("-n", self.far, "addr", "add", f"{FAR}/24", "dev", "far0")
        ip("-n", self.far, "route", "add", "10.77.0.0/24", "via", ROUTER)
        ip("-n", self.near, "route", "add", "10.78.0.0/24", "via", "10.77.0.2")
        self.rig.call("exec", QUEUE)

    def command(self, where, *argv):
        p = subprocess.run(["ip", "netns", "exec", where, self.verbena, *argv], capture_output=True, text=True,
                           timeout=60)
        if p.returncode:
            raise Failure(f"{argv}: {p.stdout}{p.stderr}")
        return p.stdout

    def program(self, where, address, name, port, *more):
        out = self.command(where, "devices")
        m = re.search(rf"^(verbena\d+).*?(\d+) {re.escape(address)}$", out, re.M | re.S)
        device = re.findall(r"^verbena\d+", out[:m.end()], re.M)[-1] if m else None
        if not device:
            raise Failure(f"no device with {address}\n{out}")
        return self.rig.start(name, ["ip", "netns", "exec", where, *self.run, "--", "ib_write_bw", "-d", device,
                                     "-x", m.group(2), "-p", str(port), *PERFTEST, *more])

    def counters(self, where):
        total = {}
        for name, value in re.findall(r"^\s+(\w+)\s+(\d+)  ", self.command(where, "counters", "--all"), re.M):
            total[name] = total.get(name, 0) + int(value)
        return total

    def marks(self):
        """The counts of RED: marked, dropped early, dropped because it was full."""
        m = re.search(r"marked (\d+) early (\d+) pdrop (\d+)", self.rig.call("exec", "tc -s qdisc show dev eth0"))
        return [int(n) for n in m.groups()]

    def remove(self):
        for where in (self.near, self.far):
            subprocess.run(["ip", "netns", "exec", where, self.verbena, "hca", "stop"], capture_output=True,
                           check=False)
        # The namespace itself may live as long as its broker.
        for argv in (["-n", self.near, "route", "del", "10.78.0.0/24"], ["-n", self.far, "link", "del", "far0"],
                     ["netns", "del", self.far]):
            subprocess.run(["ip", *argv], capture_output=True, check=False)
        self.rig.call("exec", f"tc qdisc del dev eth0 root; ip addr del {ROUTER}/24 dev eth0; true")


def rate_of(output):
    rows = re.findall(r"^\s*\d+\s+\d+\s+[\d.]+\s+([\d.]+)\s+[\d.]+\s*$", output, re.M)
    if not rows:
        raise Failure(f"no bandwidth:\n{output}")
    return float(rows[-1])


def measure(path, port):
    servers, clients = [], []
    for where in (path.near, path.far):
        path.command(where, "hca", "start")
    for n in range(SENDERS):
        servers.append(path.program(path.far, FAR, f"server {n}", port + n))
    for n, s in enumerate(servers):
        s.wait_listen(port + n)
    for n in range(SENDERS):
        clients.append(path.program(path.near, NEAR, f"client {n}", port + n, FAR))
    for p in clients + servers:
        if p.wait(90):
            raise Failure(p.story())
    return [rate_of(c.output()) for c in clients]


def run(rig, verbena, folder, port):
    """Four senders get the same, by marks of a real RED queue: CC-03, CC-09, CC-19...28."""
    path = Path(rig, verbena, folder)
    try:
        path.make()
        rates = measure(path, port)
        near, far, (marked, early, _) = path.counters(path.near), path.counters(path.far), path.marks()
        jain = sum(rates) ** 2 / (len(rates) * sum(r * r for r in rates)) if any(rates) else 0
        story = f"Jain's index {jain:.3f}, Mb/s {[round(r * 1000, 2) for r in rates]}, {marked} marked, {early} dropped"
        if jain < 0.95:
            raise Failure(story)
        # Data is ECT, so RED drops none of it early; its marks arrive, and the answers to them too.
        if not marked or early or not 0 < far["np_ecn_marked_roce_packets"] <= marked:
            raise Failure(f"{story}\n{far}")
        if not 0 < near["rp_cnp_handled"] <= far["np_cnp_sent"] or far["np_cnp_sent"] > marked:
            raise Failure(f"{story}\n{near}\n{far}")
        return story
    finally:
        rig.end_programs()
        path.remove()
