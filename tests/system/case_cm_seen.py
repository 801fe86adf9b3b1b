# SPDX-License-Identifier: BSD-2-Clause
"""The traces of connections that are made: counters of messages, captures, and faults that meet them."""
import copy
import json
import os
import subprocess
import time

import pair
from case_cm import argv, listens, need, place_of, start_server
from cases import case

GROUPS = ("cm_tx_msgs", "cm_tx_retries", "cm_rx_msgs", "cm_rx_duplicates")
KINDS = ("req", "mra", "rej", "rep", "rtu", "dreq", "drep", "sidr_req", "sidr_rep", "lap", "apr")


def counters(place, side):
    """The counter files of the side's port, as a program reads them: {"cm_tx_msgs/req": 1, ...}."""
    port = f"/sys/class/infiniband/{side.host.device(place.verbena, side.ifname)}/ports/1"
    names = [f"{g}/{k}" for g in GROUPS for k in KINDS]
    out = side.host.run(place.run + ["cat"] + [f"{port}/{n}" for n in names])
    return dict(zip(names, (int(n) for n in out.split())))


def place_back(place):
    """The place with its sides exchanged."""
    back = copy.copy(place)
    back.server, back.client = place.client, place.server
    return back


def settled_counters(place, side):
    """... with what cases before have made of them: the files are brought up to date once a second."""
    time.sleep(2)
    return counters(place, side)


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
    other = start_server(place_back(place), "rping -s -P -p P", port)
    try:
        before = [settled_counters(place, s) for s in (place.client, place.server)]
        client = place.client.host.start(argv(place, "rping -c -a S -C 1 -p P", port), name="rping client")
        need(client.wait(20) == 0, f"{server.story()}\n{client.story()}")
        grown(context, place, place.client, before[0], {f"cm_{d}_msgs/{k}": 1 for d, k in (
            ("tx", "req"), ("rx", "rep"), ("tx", "rtu"), ("tx", "dreq"), ("rx", "drep"))})
        grown(context, place, place.server, before[1], {f"cm_{d}_msgs/{k}": 1 for d, k in (
            ("rx", "req"), ("tx", "rep"), ("rx", "rtu"), ("rx", "dreq"), ("tx", "drep"))})
    finally:
        server.end()
        other.end()


def lossy(place, rule):
    """Sets a rule at the client's device, where a program must use the adapter."""
    host = place.client.host
    host.run([place.verbena, "fault", "set", "-d", host.device(place.verbena, place.client.ifname), rule])


@case("cm.fault.first_req_lost", seconds=60)
def _(context):
    """The first REQ is lost: it is sent again, and the connection is made."""
    place = place_of(context, "net4")
    port = place.server.host.pick_port()
    server = start_server(place, "rping -s -P -a S -p P", port)
    other = start_server(place_back(place), "rping -s -P -p P", port)
    try:
        before = settled_counters(place, place.client)
        lossy(place, "loss=1:op=CM_REQ:dir=tx:first=1")
        client = place.client.host.start(argv(place, "rping -c -a S -C 1 -p P", port), name="rping client")
        need(client.wait(20) == 0, f"{server.story()}\n{client.story()}")
        grown(context, place, place.client, before, dict({f"cm_{d}_msgs/{k}": 1 for d, k in (
            ("rx", "rep"), ("tx", "rtu"), ("tx", "dreq"), ("rx", "drep"))},
            **{"cm_tx_msgs/req": 2, "cm_tx_retries/req": 1}))
        log = place.client.host.run([place.verbena, "fault", "list"])
        need("1 hits" in log, log)
        log = place.client.host.run([place.verbena, "fault", "log"])
        need([(e["opcode"], e["message"]) for e in map(json.loads, log.splitlines())] == [("UD_SEND_ONLY", "CM_REQ")], log)
    finally:
        place.client.host.run([place.verbena, "fault", "clear"])
        server.end()
        other.end()


@case("cm.fault.rtu_lost", seconds=60)
def _(context):
    """An RTU that is lost is sent again for the REP that is: both sides are connected."""
    place = place_of(context, "net4")
    port = place.server.host.pick_port()
    server = start_server(place, "rping -s -P -a S -p P", port)
    other = start_server(place_back(place), "rping -s -P -p P", port)
    try:
        lossy(place, "loss=1:op=CM_RTU:dir=tx:first=1")
        client = place.client.host.start(argv(place, "rping -c -a S -C 5 -V -p P", port), name="rping client")
        need(client.wait(30) == 0, f"{server.story()}\n{client.story()}")
        log = place.client.host.run([place.verbena, "fault", "list"])
        need("1 hits" in log, log)
    finally:
        place.client.host.run([place.verbena, "fault", "clear"])
        server.end()
        other.end()


@case("cm.capture", seconds=60)
def _(context):
    """A capture has the MADs of a connection, and tshark reads them: REQ, REP, RTU, DREQ, DREP, each way."""
    place = place_of(context, "net4")
    port = place.server.host.pick_port()
    server = start_server(place, "rping -s -P -a S -p P", port)
    path = os.path.join(context.machine.folder, "cm.pcapng")
    try:
        capture = place.server.host.start([place.verbena, "capture", path, "-t", "20"])
        context.wait(lambda: os.path.exists(path) and os.path.getsize(path) > 0, 10, capture.story)
        client = place.client.host.start(argv(place, "rping -c -a S -C 1 -p P", port), name="rping client")
        need(client.wait(20) == 0, f"{server.story()}\n{client.story()}")
        capture.kill(2)
        need(capture.wait(10) == 0, capture.story())
        out = subprocess.run(["tshark", "-n", "-r", path, "-Y", "infiniband.mad.mgmtclass == 7", "-T", "fields", "-e",
                              "infiniband.mad.attributeid", "-e", "infiniband.bth.destqp"],
                             capture_output=True, text=True, timeout=60).stdout
        seen = [tuple(int(w, 16) for w in line.split()) for line in out.splitlines()]
        need(seen == [(a, 1) for a in (0x10, 0x13, 0x14, 0x15, 0x16)], f"{seen}\n{client.story()}")
    finally:
        server.end()


def connections(place, side):
    """The answer of `verbena explain --cm` at the side, as JSON, and as text in one line."""
    argv_ = [place.verbena, "explain", "--cm"]
    return json.loads(side.host.run(argv_ + ["--json"])), " ".join(side.host.run(argv_).split())


def one(place, side, **wanted):
    """The only connection there with these values."""
    said, text = connections(place, side)
    found = [k for k in said if all(k[name] == value for name, value in wanted.items())]
    need(len(found) == 1, f"{len(found)} like {wanted}:\n{json.dumps(said, indent=1)}")
    found[0]["text"] = text
    return found[0]


def says(said, *words):
    missing = [w for w in words if w not in said["text"]]
    need(not missing, f"{missing} is missing:\n{said['text']}")


@case("cm.explain.established", seconds=60)
def _(context):
    """Both sides list the connection and its QPs; `verbena explain` and `explain QPN` tell of it, too."""
    place = place_of(context, "net4")
    port = place.server.host.pick_port()
    server = start_server(place, "rping -s -a S -v -p P", port)
    client = place.client.host.start(argv(place, "rping -c -a S -v -p P", port), name="rping client")
    try:
        client.wait_output("ping data: rdma-ping-3")
        at = f"{place.server.address}:{port}"
        listener = one(place, place.server, role="listener", local=at, pid=server.pid)
        says(listener, f"Listens at {at}: backlog 3, 0 requests wait for the program.")
        here = one(place, place.client, role="client", state="ESTABLISHED", pid=client.pid)
        there = one(place, place.server, role="server", state="ESTABLISHED", pid=server.pid)
        need(here["qpn"] == there["dest_qpn"] and there["qpn"] == here["dest_qpn"] and here["remote"] == at
             and here["local"] == there["remote"] and here["program"] == "rping", f"{here}\n{there}")
        says(here, f"Connected with {at}, QP 0x{there['qpn']:06x} there.")
        run = place.client.host.run
        need("RDMA CM" in run([place.verbena, "explain"]), run([place.verbena, "explain"]))
        of_qp = run([place.verbena, "explain", str(here["qpn"])])
        need(f"RDMA CM, client {here['local']}: Connected with {at}" in of_qp, of_qp)
    finally:
        client.end()
        server.end()


@case("cm.explain.rejected", seconds=60)
def _(context):
    """Nobody listens: the client's side says who refused, why, and which address that was."""
    place = place_of(context, "net4")
    port = place.server.host.pick_port()
    server = start_server(place, "rping -s -P -a S -p P", port)
    other = start_server(place_back(place), "rping -s -P -p P", port)
    try:
        client = place.client.host.start(argv(place, "rping -c -a S -C 1 -p 7999", 0), name="rping client")
        need(client.wait(10) != 0, client.story())
        said = one(place, place.client, cause="rejected", pid=client.pid)
        need(said["gone"] and said["reason"] == 8 and said["rank"] == "failed", str(said))
        says(said, f"{place.server.address} rejected it: REJ 8, invalid service ID. No program listens at "
                   f"{place.server.address}:7999 (TCP port space).")
    finally:
        server.end()
        other.end()


def lose_requests(context, and_then):
    """Every REQ is lost; once one was sent three times, and_then(place, client, its listener's address) goes on."""
    place = place_of(context, "net4")
    port = place.server.host.pick_port()
    server = start_server(place, "rping -s -P -a S -p P", port)
    other = start_server(place_back(place), "rping -s -P -p P", port)
    try:
        lossy(place, "loss=1:op=CM_REQ")
        client = place.client.host.start(argv(place, "rping -c -a S -C 1 -p P", port), name="rping client")

        def sent():
            return [k["sent"] for k in connections(place, place.client)[0] if k["state"] == "REQ_SENT"]
        context.wait(lambda: sent() and sent()[0] > 2, 20, client.story)
        and_then(place, client, f"{place.server.address}:{port}")
        need(one(place, place.server, role="listener", local=f"{place.server.address}:{port}")["rank"] == "well", "")
    finally:
        place.client.host.run([place.verbena, "fault", "clear"])
        server.end()
        other.end()


@case("cm.explain.unanswered")
def _(context):
    """A REQ that is lost waits for its answer, and the rules that take it away are named."""
    def check(place, client, listener):
        said = one(place, place.client, state="REQ_SENT", pid=client.pid)
        need(said["rank"] == "stuck" and said["cause"] == "no-answer", str(said))
        says(said, f"REQ to {listener} waits for an answer: sent ", " times, first ", "Fault rules have taken away ")
    lose_requests(context, check)


@case("cm.explain.unreachable", seconds=150, is_long=True)
def _(context):
    """In the end the program is told that nobody answers, and the attempt is kept."""
    def check(place, client, listener):
        need(client.wait(110) != 0 and "UNREACHABLE" in client.output(), client.story())
        said = one(place, place.client, cause="unreachable", pid=client.pid)
        need(said["sent"] > 16 and said["gone"], str(said))
        says(said, f"Unreachable: REQ to {listener} was sent {said['sent']} times in ")
    lose_requests(context, check)


def link_local(side):
    """The link-local address of a side, with the scope that a program has to say."""
    out = json.loads(side.host.run(["ip", "-j", "-6", "addr", "show", "dev", side.ifname, "scope", "link"]))
    return out[0]["addr_info"][0]["local"]


@case("cm.link_local")
def over_link_local(context):
    """A connection between link-local addresses, which mean nothing without the port that they are of."""
    with pair.spare(context) as place:
        address = link_local(place.server)
        server = place.server.host.start([*place.run, "rping", "-s", "-a", f"{address}%veth9", "-C", "3"])
        end = time.monotonic() + 20
        while not listens(place, server.pid):
            need(server.status() is None and time.monotonic() < end, server.story())
            time.sleep(0.05)
        out = place.client.host.run([*place.run, "rping", "-c", "-a", f"{address}%veth9", "-C", "3", "-v"])
        need(out.count("ping data") == 3, out)
        server.wait(10)
