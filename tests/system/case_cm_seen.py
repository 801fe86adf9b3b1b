# SPDX-License-Identifier: BSD-2-Clause
"""What is seen of connections that are made: counters of messages, captures, and faults that meet them."""
import os

from case_cm import argv, need, place_of, start_server
from cases import case

GROUPS = ("cm_tx_msgs", "cm_tx_retries", "cm_rx_msgs", "cm_rx_duplicates")
KINDS = ("req", "mra", "rej", "rep", "rtu", "dreq", "drep", "sidr_req", "sidr_rep", "lap", "apr")


def counters(place, side):
    """The counter files of the side's port, as a program reads them: {"cm_tx_msgs/req": 1, ...}."""
    port = f"/sys/class/infiniband/{side.host.device(place.verbena, side.ifname)}/ports/1"
    names = [f"{g}/{k}" for g in GROUPS for k in KINDS]
    out = side.host.run(place.run + ["cat"] + [f"{port}/{n}" for n in names])
    return dict(zip(names, (int(n) for n in out.split())))


def grown(context, place, side, before, wanted):
    """Waits until the side's counters have grown by these, and by nothing else."""
    def seen():
        now = counters(place, side)
        return {n: now[n] - before[n] for n in now if now[n] != before[n]}
    context.wait(lambda: seen() == wanted, 10, lambda: f"{seen()}, not {wanted}")


@case("cm.counters", seconds=60)
def _(context):
    """One rping: the messages of one connection, each once, at the ports that it is made between."""
    place = place_of(context, "net4")
    port = place.server.host.pick_port()
    server = start_server(place, "rping -s -P -a S -p P", port)
    # The adapter, and its counters, stay as long as a program uses it.
    other = place.client.host.start(place.run + ["rping", "-s", "-P", "-p", str(port)])
    try:
        context.wait(lambda: place.client.host.has_adapter(), 10, other.story)
        before = [counters(place, s) for s in (place.client, place.server)]
        client = place.client.host.start(argv(place, "rping -c -a S -C 1 -p P", port), name="rping client")
        need(client.wait(20) == 0, f"{server.story()}\n{client.story()}")
        grown(context, place, place.client, before[0], {f"cm_{d}_msgs/{k}": 1 for d, k in (
            ("tx", "req"), ("rx", "rep"), ("tx", "rtu"), ("tx", "dreq"), ("rx", "drep"))})
        grown(context, place, place.server, before[1], {f"cm_{d}_msgs/{k}": 1 for d, k in (
            ("rx", "req"), ("tx", "rep"), ("rx", "rtu"), ("rx", "dreq"), ("tx", "drep"))})
    finally:
        server.end()
        other.end()
