# SPDX-License-Identifier: BSD-2-Clause
"""Programs that wait for completion events: none is lost, none comes twice, and few system calls are made for a message."""
import os
import shutil
import tempfile

from cases import case
from hosts import Failure, Skip


def orders(call, cqs, link):
    @case(f"waiting.orders.{call}.{cqs}.{link}", 60, is_alone=True)
    def _(context):
        """Each order of arming, sending and waiting."""
        out = context.machine.a.run([*context.sanitizer, context.verbena, "run", "--link", link, "--", os.path.join(
            context.build, "tests", "system", "verbs_orders"), call, str(cqs)], 50)
        if out.startswith("no io_uring"):
            raise Skip(out.strip())
        if out != "done\n":
            raise Failure(out)


for call in ("get", "poll", "epoll", "edge", "io_uring"):
    for cqs in (1, 8):
        for link in ("udp", "shm"):
            orders(call, cqs, link)


def system_calls(context, link, order, cqs, rounds):
    """{name: how many} of bench/waiting with so many rounds, both processes."""
    program = os.path.join(context.build, "bench", "waiting")
    a = context.machine.a
    device = a.run([context.verbena, "devices"], 20).split("\n")[1].split()[0]
    with tempfile.NamedTemporaryFile("r", suffix=".txt") as f:
        a.run([context.verbena, "run", "--link", link, "--", "strace", "-f", "-qq", "-c", "-o", f.name, program, device,
               "event", order, str(rounds), str(cqs)], 60)
        rows = [line.split() for line in f]
    return {row[-1]: int(row[3]) for row in rows if len(row) >= 5 and row[0][0].isdigit() and row[-1] != "total"}


# A message needs three: it is sent, it is waited for, and it is taken. strace makes each call take twenty times as long, so
# that timers end which do not otherwise, and threads meet at the lock: most is what those add, and nothing else.
MOST = {"sendto": 1.2, "sendmsg": 1.2, "epoll_pwait2": 2, "rt_sigprocmask": 0.2, "fcntl": 0.2, "epoll_ctl": 0.1, "geteuid": 0.1,
        "signalfd4": 0.1}


def few_calls(link, order):
    @case(f"waiting.system_calls.{order}.{link}", 60, is_alone=True)
    def _(context):
        """Of what does not depend on time: one send for the message and its acknowledgement, and no call that a message does not
        need."""
        if not shutil.which("strace") or context.sanitizer:
            raise Skip("strace is not installed, or counts a sanitizer's calls")
        few, many = (system_calls(context, link, order, 1, n) for n in (200, 1200))
        each = {name: (n - few.get(name, 0)) / 2000 for name, n in many.items()}
        for name, most in MOST.items():
            if each.get(name, 0) > most:
                raise Failure(f"{name}: {each[name]:.2f} a message; {each}")


for order in ("arm-post", "post-arm"):
    for link in ("udp", "shm"):
        few_calls(link, order)


def sleepers(link):
    @case(f"waiting.sleepers.{link}", 60, is_alone=True)
    def _(context):
        """Two processes that wait in every way, for some seconds; scripts/soak --waiting goes on for longer."""
        out = context.machine.a.run([*context.sanitizer, context.verbena, "run", "--link", link, "--", os.path.join(
            context.build, "tests", "system", "verbs_sleepers"), "3"], 50)
        if not out.endswith("\ndone\n"):
            raise Failure(out)


for link in ("udp", "shm"):
    sleepers(link)
