# SPDX-License-Identifier: BSD-2-Clause
"""Pairs that work through faults for as long as they are told to, frozen and thawed on the way."""
import itertools
import os
import random
import re
import signal
import time

from cases import case
from hosts import Failure
import pair

FAULTS = "loss=5%:dir=tx,reorder=2%/100us:dir=tx,dup=2%:dir=tx,corrupt=1%:dir=tx"
FREEZE_S = (0.05, 2.0)
# One end alone is frozen for less than the QP's retries last, or an adapter would give it up, too:
# at 4.3 s a timer no time is short; at 67 ms a tenth of a second is. Both ends together may always be.
SLOW_TIMEOUT, FAST_TIMEOUT, FAST_FREEZE_S = 18, 14, (0.05, 0.15)


class Couple:
    """Two processes with one QP each, and when they are frozen next."""

    def __init__(self, context, name, sides, rules, fast, rng):
        self.name, self.fast, self.rng = name, fast, rng
        self.programs, self.frozen, self.freezes = [], [], 0
        self.sides, self.rules, self.context = sides, rules, context
        self.due = 0
        self.seed = rng.randrange(1 << 32)

    def start(self, seconds):
        port = self.sides[0].host.pick_port()
        for i, side in enumerate(self.sides):
            v = self.context.verbena
            argv = [v, "run", "--adp", self.rules, "--fault", FAULTS, "--fault-seed", str(self.seed + i), "--",
                    os.path.join(self.context.build, "tests", "system", "verbs_soak"),
                    side.host.device(v, side.ifname), side.host.gid_index(v, side.ifname, side.address),
                    str(port), str(FAST_TIMEOUT if self.fast else SLOW_TIMEOUT), str(self.seed), str(seconds)]
            p = side.host.start(argv + ([self.sides[0].control] if i else []), name=f"{self.name} {'ab'[i]}")
            self.programs.append(p)
            if i == 0:
                p.wait_listen(port)
        self.due = time.monotonic() + 1 + self.rng.random()

    def step(self, now):
        """Freezes or thaws when it is time to."""
        if now < self.due:
            return
        if self.frozen:
            for p in self.frozen:
                p.kill(signal.SIGCONT)
            # Time enough to be heard of before the next one.
            self.frozen, self.due = [], now + self.rng.uniform(1, 3)
            return
        both = self.rng.random() < 0.5
        self.frozen = self.programs if both else [self.rng.choice(self.programs)]
        span = FAST_FREEZE_S if self.fast and not both else FREEZE_S
        for p in self.frozen:
            p.kill(signal.SIGSTOP)
        self.freezes += 1
        self.due = time.monotonic() + self.rng.uniform(*span)

    def thaw(self):
        for p in self.frozen:
            p.kill(signal.SIGCONT)
        self.frozen = []

    def ended(self):
        """True when both are done; raises Failure as soon as one has failed."""
        for p in self.programs:
            if p.status() not in (None, 0):
                raise Failure("\n".join([f"{self.name}: failed"] + [q.story() for q in self.programs]))
        return all(p.status() == 0 for p in self.programs)


def settings(context, name, adaptive, selective):
    path = os.path.join(context.machine.folder, f"{name}.adp")
    with open(path, "w", encoding="ascii") as f:
        f.write(f"roce_adp_retrans_en={int(adaptive)}\nselective_repeat_forced_en={int(selective)}\n"
                "roce_tx_window_en=0\nroce_slow_restart_en=0\n")
    return path


def couples(context, rng):
    """Go-back-N and selective repeat, fixed and adaptive, IPv4 and IPv6; the settings are a host's."""
    m, made, hosts = context.machine, [], []
    m.two()
    for adaptive, selective in itertools.product((False, True), repeat=2):
        name = f"{'adaptive' if adaptive else 'fixed'}-{'sr' if selective else 'gbn'}"
        a, b = m.host("soak-a"), m.host("soak-b")
        hosts += [a, b]
        m.cable(a, b, "veth0", ("10.7.0.1/24", "fd07::1/64"), ("10.7.0.2/24", "fd07::2/64"))
        rules = settings(context, name, adaptive, selective)
        fast_family = rng.choice((4, 6))
        for family, addresses in ((4, ("10.7.0.1", "10.7.0.2")), (6, ("fd07::1", "fd07::2"))):
            sides = [pair.Side(h, "veth0", address, f"10.7.0.{i + 1}")
                     for i, (h, address) in enumerate(zip((a, b), addresses))]
            made.append(Couple(context, f"{name}-ipv{family}", sides, rules, family == fast_family,
                               random.Random(rng.random())))
    return made, hosts


def soak(context, seconds, seed):
    """Runs all pairs; returns their totals in words. Raises Failure at the first thing wrong."""
    rng = random.Random(seed)
    made, hosts = couples(context, rng)
    try:
        for c in made:
            c.start(seconds)
        end = time.monotonic() + seconds
        while time.monotonic() < end and not all([c.ended() for c in made]):
            for c in made:
                c.step(time.monotonic())
            time.sleep(0.005)
        for c in made:
            c.thaw()
        # Requests under way may wait for some timers more.
        context.wait(lambda: all([c.ended() for c in made]), 60,
                     lambda: "not done\n" + "\n".join(p.story() for c in made for p in c.programs
                                                        if p.status() is None))
        total = dict.fromkeys(("messages", "blocks", "atomics", "bytes"), 0)
        for p in (p for c in made for p in c.programs):
            for what in total:
                total[what] += int(re.search(rf"{what} (\d+)", p.output()).group(1))
        return (f"seed {seed}: {len(made)} pairs, " + ", ".join(f"{n} {what}" for what, n in total.items()) +
                f", {sum(c.freezes for c in made)} freezes")
    except Failure as e:
        raise Failure(f"seed {seed}\n{e}") from None
    finally:
        for c in made:
            c.thaw()
        for h in hosts:
            m = context.machine
            m.drop(h)


@case("soak.short", 150)
def _(context):
    """No wrong byte, nothing out of order, no failed QP. IBA 9.7.5, 9.7.6"""
    print(soak(context, 20, int.from_bytes(os.urandom(4), "big")), flush=True)
