#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Stands between the two ends of a tunnel, and loses, delays and repeats datagrams by a seed.

  tunnel_relay.py SEED LOSS LATE TWICE NEAR NEAR-END FAR FAR-END

What comes from NEAR-END to the address NEAR goes from FAR to FAR-END, and back. LOSS, LATE and TWICE are shares of 1: of datagrams
that are lost, that are held until the next one or two have passed, and that arrive twice. SIGUSR1 ends all faults. It prints a line
when it is ready, and counts when it is ended by SIGTERM.
"""
import random
import select
import signal
import socket
import sys

LONGEST = 65536


def address(text):
    host, _, port = text.rpartition(":")
    return host, int(port)


def main():
    rng = random.Random(int(sys.argv[1]))
    loss, late, twice = map(float, sys.argv[2:5])
    near, near_end, far, far_end = map(address, sys.argv[5:9])
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
    for s, own, end in zip(sockets, (near, far), (near_end, far_end)):
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        s.bind(own)
        s.connect(end)
    counts = {"passed": 0, "lost": 0, "late": 0, "twice": 0}
    held = [[], []]  # by direction: how many are to pass first, and the datagram
    faults = [True]
    ending = []
    signal.signal(signal.SIGUSR1, lambda *_: faults.clear())
    signal.signal(signal.SIGTERM, lambda *_: ending.append(True))
    print("ready", flush=True)

    def send(to, data):
        try:
            sockets[to].send(data)
        except OSError:
            pass  # nobody is there yet

    while not ending:
        try:
            ready = select.select(sockets, [], [], 0.1)[0]
        except InterruptedError:
            continue
        for s in ready:
            to = 1 - sockets.index(s)
            try:
                data = s.recv(LONGEST)
            except OSError:
                continue
            dice = rng.random() if faults else 1
            if dice < loss:
                counts["lost"] += 1
                continue
            if dice < loss + late:
                counts["late"] += 1
                held[to].append([rng.randint(1, 2), data])
                continue
            send(to, data)
            counts["passed"] += 1
            if dice > 1 - twice and faults:
                counts["twice"] += 1
                send(to, data)
            for h in held[to]:
                h[0] -= 1
            for h in [h for h in held[to] if h[0] <= 0]:
                held[to].remove(h)
                send(to, h[1])
    print(" ".join(f"{k}={v}" for k, v in counts.items()), flush=True)


main()
