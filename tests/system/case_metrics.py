# SPDX-License-Identifier: BSD-2-Clause
"""The counters in the formats of other programs: JSON, OpenMetrics, Prometheus' node exporter."""
import json
import os
import re
import shutil
import tempfile

from cases import case
from hosts import Failure, Skip
import pair

EXPORTER = "prometheus-node-exporter"


class Adapter:
    """The adapter of a host, which stays while the block runs; a ping-pong has counted something."""

    def __init__(self, context):
        self.place = context.places["lo4"]
        self.host, self.verbena = self.place.client.host, context.verbena

    def __enter__(self):
        self.host.run([self.verbena, "hca", "start"])
        pair.run(self.place, "ibv_rc_pingpong", ["-n", "100", "-s", "4096"])
        return self

    def __exit__(self, *_):
        self.host.run([self.verbena, "hca", "stop"])

    def counters(self, *options):
        return self.host.run([self.verbena, "counters", *options])

    def tree(self):
        """Its root, as doctor names it: what /sys is elsewhere."""
        out = self.host.run([self.verbena, "doctor"], status=None)
        m = re.search(r"broker.*?(/\S*verbena-\d+-\d+)", out, re.S)
        if not m:
            raise Failure(f"doctor names no tree\n{out}")
        return m[1]



def by_name(text):
    """{device: {counter: value}} of what people read."""
    found, device = {}, None
    for line in text.splitlines():
        head, fields = re.match(r"(\S+) \(", line), line.split()
        if head:
            device = found.setdefault(head[1], {})
        elif len(fields) > 1 and fields[1].isdigit():
            device[fields[0]] = int(fields[1])
    return found


@case("metrics.json", seconds=60)
def _(context):
    """The same numbers as in the table, under the names and in the folders of sysfs, all of them."""
    with Adapter(context) as a:
        table = by_name(a.counters("--all"))
        told = json.loads(a.counters("--json"))
        one = json.loads(a.counters("--json", "-d", "lo"))
        root = a.tree()
        for d in told:
            same = {**d["counters"], **d["hw_counters"]}
            if same != table[d["device"]]:
                raise Failure(f"{d['device']}: {same}\n{table[d['device']]}")
            folder = f"{root}/class/infiniband/{d['device']}/ports/{d['port']}"
            for group in ("counters", "hw_counters"):
                for name in d[group]:
                    if not os.path.exists(f"{folder}/{group}/{name}"):
                        raise Failure(f"{folder}/{group} has no {name}")
            if d["xmit_bytes"] != 4 * d["counters"]["port_xmit_data"] or \
                    d["rcv_bytes"] != 4 * d["counters"]["port_rcv_data"]:
                raise Failure(f"bytes: {d}")
    if [d["netdev"] for d in one] != ["lo"] or one[0]["xmit_bytes"] < 100 * 4096 or len(told) < len(table):
        raise Failure(f"{one}\n{[d['device'] for d in told]}")


def families(text):
    try:
        from prometheus_client.openmetrics.parser import text_string_to_metric_families
    except ImportError:
        raise Skip("python3-prometheus-client is not here") from None
    try:
        return {m.name: m for m in text_string_to_metric_families(text)}
    except ValueError as e:
        raise Failure(f"no OpenMetrics: {e}\n{text}") from None


@case("metrics.openmetrics", seconds=60)
def _(context):
    """The strict parser of OpenMetrics takes it, and finds every counter of every device."""
    with Adapter(context) as a:
        text, told = a.counters("--openmetrics"), json.loads(a.counters("--json"))
    found = families(text)
    for d in told:
        for name, value in {**d["counters"], **d["hw_counters"]}.items():
            unit, factor = ("_bytes", 4) if name.endswith("_data") else ("", 1)
            m = found.get(f"verbena_{name}{unit}")
            mine = [s for s in m.samples if s.labels == {"device": d["device"], "port": "1"}] if m else []
            if len(mine) != 1 or mine[0].value != value * factor or m.type != "counter" or \
                    m.unit != unit[1:] or not m.documentation:
                raise Failure(f"{name} of {d['device']} is {value}, and {m}")
        up = [s for s in found["verbena_port_up"].samples if s.labels["device"] == d["device"]]
        if [s.labels["netdev"] for s in up] != [d["netdev"]] or up[0].value not in (0, 1):
            raise Failure(f"{d['device']}: {up}")


@case("metrics.node_exporter", seconds=90)
def _(context):
    """Prometheus' node exporter, as the manual page has it: its textfile and its infiniband collector."""
    if not shutil.which(EXPORTER):
        raise Skip(f"{EXPORTER} is not here")
    folder = tempfile.mkdtemp(dir=context.machine.folder)
    with Adapter(context) as a:
        told = json.loads(a.counters("--json", "-d", "lo"))[0]
        with open(f"{folder}/verbena.prom", "w", encoding="ascii") as f:
            f.write(a.counters("--openmetrics"))
        port = a.host.pick_port()
        exporter = a.host.start([EXPORTER, f"--web.listen-address=127.0.0.1:{port}",
                                 "--collector.disable-defaults", "--collector.textfile",
                                 f"--collector.textfile.directory={folder}", "--collector.infiniband",
                                 f"--path.sysfs={a.tree()}"])
        exporter.wait_listen(port)
        page = a.host.run(["/usr/bin/python3", "-c", "import sys, urllib.request as r; "
                           "print(r.urlopen(sys.argv[1]).read().decode())",
                           f"http://127.0.0.1:{port}/metrics"])
        exporter.end()
    label = f'{{device="{told["device"]}",port="1"}}'
    # The tree of sysfs is at most a second behind.
    wanted = {"verbena_port_xmit_packets_total": told["counters"]["port_xmit_packets"],
              "verbena_port_rcv_data_bytes_total": told["rcv_bytes"],
              "node_infiniband_port_data_transmitted_bytes_total": None,
              "node_infiniband_port_packets_received_total": None,
              "node_infiniband_state_id": 4}
    for name, value in wanted.items():
        m = re.search(rf"^{re.escape(name + label)} (\S+)$", page, re.M)
        if not m or (float(m[1]) != value if value is not None else float(m[1]) < 0):
            raise Failure(f"{name} is not {value}\n{page}\n{exporter.story()}")
    if "node_textfile_scrape_error 0" not in page:
        raise Failure(f"{page}\n{exporter.story()}")


@case("metrics.watch", seconds=60)
def _(context):
    """--watch has bytes and Gb/s of the same rate of words."""
    with Adapter(context) as a:
        watch = a.host.start(["stdbuf", "-oL", a.verbena, "counters", "-d", "lo", "--watch", "0.2"])
        for _ in range(20):
            if "Gb/s" not in watch.output():
                pair.run(a.place, "ibv_rc_pingpong", ["-n", "200", "-s", "65536"])
        watch.end()
    for words, bytes_, gbps in re.findall(r"port_xmit_data +(\d+) /s +(\d+) bytes/s +([\d.]+) Gb/s",
                                          watch.output()):
        if abs(int(words) * 4 - int(bytes_)) <= 4 and abs(int(bytes_) * 8e-9 - float(gbps)) < 0.001:
            return
    raise Failure(watch.story())


@case("metrics.one_format")
def _(context):
    host = context.machine.a
    p = host.start([context.verbena, "counters", "--json", "--openmetrics"])
    if p.wait(10) != 2 or "only one of" not in p.output():
        raise Failure(p.story())
