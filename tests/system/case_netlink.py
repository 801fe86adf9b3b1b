# SPDX-License-Identifier: BSD-2-Clause
"""NETLINK_RDMA: iproute2's rdma(8) on the adapter's devices, unmodified, and requests by hand."""
import json
import os
import shutil

from cases import case
from hosts import Failure, Skip
import pair


class Rdma:
    """rdma(8) on a host, with the adapter."""

    def __init__(self, context, host):
        if not shutil.which("rdma"):
            raise Skip("iproute2 has no rdma(8) here")
        self.host, self.verbena = host, context.verbena

    def text(self, *argv, status=0):
        return self.host.run([self.verbena, "rdma", *argv], status=status)

    def json(self, *argv):
        return json.loads(self.text("-j", *argv))


def need_keys(entry, *keys):
    missing = [k for k in keys if k not in entry]
    if missing:
        raise Failure(f"no {', '.join(missing)} in {entry}")


@case("netlink.links")
def _(context):
    """Devices and ports with iproute2's keys, as `verbena devices` has them; the same by `verbena run`."""
    host = context.machine.a
    rdma = Rdma(context, host)
    ours = json.loads(host.run([context.verbena, "devices", "--json"]))
    links, devices = rdma.json("link", "show"), rdma.json("dev", "show")
    if [d["ifname"] for d in devices] != [d["name"] for d in ours] or len(links) != len(ours):
        raise Failure(f"{devices}\n{links}\n{ours}")
    for d, link, our in zip(devices, links, ours):
        need_keys(d, "ifindex", "node_type", "fw", "node_guid", "sys_image_guid")
        need_keys(link, "ifindex", "ifname", "port", "state", "physical_state", "netdev", "netdev_index")
        if d["node_guid"].replace(":", "") != our["guid"] or link["netdev"] != our["netdev"] or \
                link["netdev_index"] != our["ifindex"] or link["state"] != our["state"] or link["port"] != 1:
            raise Failure(f"{d}\n{link}\n{our}")
    if json.loads(host.run([context.verbena, "run", "--", "rdma", "-j", "link"])) != links:
        raise Failure("`verbena run -- rdma` says something else")
    if "netns exclusive" not in rdma.text("system", "show"):
        raise Failure(rdma.text("system", "show"))


@case("netlink.resources", seconds=60)
def _(context):
    """QPs and connection ids of programs that run, live: they come, and are gone."""
    place = context.places["lo4"]
    rdma = Rdma(context, place.client.host)
    server, client = pair.start(place, "ibv_rc_pingpong", ["-n", "100000000", "-s", "64"])
    context.wait(lambda: len(rdma.json("res", "show", "qp")) == 2, 10, lambda: rdma.text("res", "show", "qp"))
    first = {q["pid"]: q for q in rdma.json("res", "show", "qp")}
    for q in first.values():
        need_keys(q, "ifindex", "ifname", "port", "lqpn", "rqpn", "type", "state", "rq-psn", "sq-psn",
                  "path-mig-state", "pid", "comm")
    a, b = first[server.pid], first[client.pid]
    if (a["rqpn"], b["rqpn"]) != (b["lqpn"], a["lqpn"]) or a["type"] != "RC" or a["comm"] != "ibv_rc_pingpong":
        raise Failure(f"{a}\n{b}")
    context.wait(lambda: {q["pid"]: q for q in rdma.json("res", "show", "qp")}[server.pid]["sq-psn"] != a["sq-psn"],
                 10, "the PSN stands still")
    one = rdma.json("res", "show", "qp", "lqpn", str(a["lqpn"]))
    if [q["pid"] for q in one] != [server.pid]:
        raise Failure(f"lqpn {a['lqpn']}: {one}")
    listener = place.server.host.start([*place.run, "rping", "-s", "-a", "127.0.0.1", "-p", "7999"])
    context.wait(lambda: [i for i in rdma.json("res", "show", "cm_id") if i["state"] == "LISTEN"], 10,
                 lambda: rdma.text("res", "show", "cm_id"))
    (an_id,) = rdma.json("res", "show", "cm_id")
    need_keys(an_id, "ifindex", "ifname", "cm-idn", "state", "ps", "pid", "comm", "src-addr")
    if (an_id["src-addr"], an_id["ps"], an_id["pid"]) != ("127.0.0.1:7999", "TCP", listener.pid):
        raise Failure(f"{an_id}")
    summary = {d["ifname"]: d for d in rdma.json("res", "show")}[a["ifname"]]
    if (summary["qp"], summary["cm_id"]) != (2, 1):
        raise Failure(f"{summary}")
    if "not supported" not in rdma.text("res", "show", "cq", status=None):
        raise Failure("CQs are listed")
    for p in (server, client, listener):
        p.end()
    context.wait(lambda: not rdma.json("res", "show", "qp"), 10, lambda: rdma.text("res", "show", "qp"))


@case("netlink.many_qps", seconds=120)
def _(context):
    """A list that is longer than the socket's queue: no QP is lost, none comes twice."""
    place = context.places["lo4"]
    rdma = Rdma(context, place.client.host)
    pairs = pair.start(place, "ib_write_bw", ["-q", "900", "-D", "60", "-s", "64", "-t", "1"])
    context.wait(lambda: len(rdma.json("res", "show", "qp")) >= 1800, 60,
                 lambda: f"{len(rdma.json('res', 'show', 'qp'))} QPs\n" + "\n".join(p.story() for p in pairs))
    numbers = [q["lqpn"] for q in rdma.json("res", "show", "qp")]
    if len(set(numbers)) != len(numbers):
        raise Failure(f"{len(numbers) - len(set(numbers))} QPs come twice")


@case("netlink.statistics", seconds=60)
def _(context):
    """The counters of hw_counters under their names."""
    place = context.places["lo4"]
    host = place.client.host
    rdma = Rdma(context, host)
    # Counters stay as long as the adapter.
    host.run([context.verbena, "hca", "start"])
    pair.run(place, "ib_write_bw", ["-n", "100", "-s", "4096"])
    ours = {d["device"]: d["hw_counters"] for d in json.loads(host.run([context.verbena, "counters", "--json"]))}
    told = {d["ifname"]: d for d in rdma.json("statistic", "show", "link")}
    host.run([context.verbena, "hca", "stop"])
    for device, counters in ours.items():
        need_keys(told[device], "ifname", "port")
        theirs = {k: v for k, v in told[device].items() if k not in ("ifindex", "ifname", "port")}
        if theirs != counters:
            raise Failure(f"{device}: {theirs}\n{counters}")
    if not sum(c["rx_write_requests"] for c in ours.values()):
        raise Failure(f"nothing is counted: {ours}")


@case("netlink.requests", seconds=60)
def _(context):
    host = context.machine.a
    program = os.path.join(context.source, "tests", "system", "netlink_ask.py")
    # The broker may take its time to come on a busy machine.
    host.run([context.verbena, "devices"])
    p = host.start([*context.sanitizer, context.verbena, "run", "--", "/usr/bin/python3", program])
    if p.wait(50) or p.output().strip() != "ok":
        raise Failure(p.story())


@case("netlink.no_rdma")
def _(context):
    """Where iproute2 is not installed: a line that says so."""
    p = context.machine.a.start(["env", "PATH=/nonexistent", context.verbena, "rdma", "link"])
    if p.wait(10) != 127 or "iproute2" not in p.output():
        raise Failure(p.story())
