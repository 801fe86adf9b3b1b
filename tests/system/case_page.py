# SPDX-License-Identifier: BSD-2-Clause
"""Pages of live traffic: what `verbena capture --report` makes of captures of real programs."""
import json
import os
import re
import subprocess

import browser
import case_cm
import pair
from case_congestion import Counters, settings
from case_report import data_of
from cases import case
from hosts import Failure, Skip

RESENT, LOST = 1, 8


class Live:
    """A program between two hosts, captured at both; counters of the client's and of the server's."""

    def __init__(self, context, name, program, options, client=(), server=(), server_options=None):
        context.machine.two()
        place = context.places["net4"]
        self.context, self.hosts = context, (place.client.host, place.server.host)
        self.paths = [os.path.join(context.machine.folder, f"{name}.{h.name}.pcapng") for h in self.hosts]
        counters = [Counters(context, h) for h in self.hosts]
        captures = [h.start([context.verbena, "capture", p, "-t", "60"]) for h, p in zip(self.hosts, self.paths)]
        for capture, path in zip(captures, self.paths):
            context.wait(lambda p=path: os.path.exists(p) and os.path.getsize(p) > 0, 10, capture.story)
        port, run = place.server.host.pick_port(), place.run

        def argv(side, more, how):
            place.run = [*context.sanitizer, context.verbena, "run", *more, "--", "stdbuf", "-oL"]
            try:
                return pair.command(place, side, program, how, port)
            finally:
                place.run = run

        served = self.hosts[1].start(argv(place.server, server, server_options or options), name="server")
        served.wait_listen(port)
        asked = self.hosts[0].start(argv(place.client, client, options) + [place.server.control], name="client")
        pair.finish(served, asked, 60)
        self.said = ""
        for capture in captures:
            capture.kill(2)
            if capture.wait(20):
                raise Failure(capture.story())
            self.said += capture.output()
        self.client, self.server = [c.done() for c in counters]
        self.is_whole = self.said.count(" 0 lost") == 2

    def page(self, *paths):
        """The page's path and what it has."""
        path = os.path.join(self.context.machine.folder, "page.html")
        make_page(self.context, path, *(paths or self.paths))
        return path, data_of(path)


def make_page(context, page, *captures, status=0):
    argv = [context.verbena, "capture", "--report", page]
    for path in captures:
        argv += ["--read", path]
    p = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    if p.returncode != status:
        raise Failure(f"exit status {p.returncode}, not {status}\n{p.stderr}")
    return p.stderr


def need_whole(live):
    """Of a machine that is too busy to capture all of it, numbers would not agree."""
    if not live.is_whole:
        raise Skip(f"the captures lost packets: {live.said}")


def need_counts(live, data):
    """
    The page counts as the adapters did. It has every NAK on the wire. The client counts those that have a meaning left:
    no RNR NAK while it waits for an earlier one, no NAK of what a later answer has acknowledged. The server counts the
    packets that draw them, and one NAK answers several that wait in its socket. A busy machine sends and queues more.
    """
    sums, c, s = dict(data["summary"]), live.client, live.server
    naks, rnr_naks = (int(n) for n in re.fullmatch(r"(\d+), and (\d+) RNR NAKs", sums["NAKs"]).groups())
    if not c["packet_seq_err"] <= naks <= s["out_of_sequence"] or \
            not c["rnr_nak_retry_err"] <= rnr_naks <= s["out_of_buffer"]:
        raise Failure(f"{sums}\n{c}\n{s}")
    if sums["Sent again"] != f"{c['retransmitted_packets']} packets":
        raise Failure(f"{sums}\nnot {c['retransmitted_packets']}")
    shown = {name.strip(): int(n) for name, n in re.findall(r"([A-Za-z ]+) (\d+)", sums["... because of"])}
    for name, counter in (("NAK", "packet_seq_err"), ("timeout", "local_ack_timeout_err"),
                          ("implied NAK", "implied_nak_seq_err"), ("RNR", "rnr_nak_retry_err")):
        if abs(shown[name] - c[counter]) > 2 + 0.1 * c[counter]:
            raise Failure(f"{shown}, {counter} {c[counter]}")
    return sums


def look(page, width=1280, dark=False):
    """The page in a browser, where there is one: no error, nothing overlaps, zoom and hover work."""
    if not browser.is_there():
        return
    with browser.Browser(width, 1000, dark) as b:
        b.open(page)
        overlap = """
            const boxes = [...document.querySelectorAll('#drawing text.label')].map(t => t.getBoundingClientRect());
            let n = 0;
            for (let i = 0; i < boxes.length; i++)
                for (let k = 0; k < i; k++)
                    n += boxes[i].left < boxes[k].right && boxes[k].left < boxes[i].right &&
                        boxes[i].top + 2 < boxes[k].bottom && boxes[k].top + 2 < boxes[i].bottom;
            return [boxes.length, n]"""
        for script in ("", "ladder.jump()", "ladder.zoom(4)", "ladder.zoom(0.1)", "ladder.view(...ladder.full)"):
            b.run(script)
            labels, over = b.run(overlap)
            if over:
                raise Failure(f"after '{script}' {over} of {labels} labels overlap at {width} pixels")
        if b.run("ladder.goTime(ladder.full[0]); ladder.zoom(0.2); return document.querySelectorAll('text.label').length") == 0:
            raise Failure("nothing has a name")
        # The event at hand has its name in any case, however steep its arrow is.
        if not b.run("ladder.go(0); ladder.zoom(1e-6); return document.querySelectorAll('text.label.current').length"):
            raise Failure("the event at hand has no name")
        b.run("ladder.view(...ladder.full); ladder.goTime(ladder.full[0]); ladder.zoom(0.2)")
        before = b.run("return ladder.range[1] - ladder.range[0]")
        b.run("ladder.box.focus(); ladder.box.dispatchEvent(new WheelEvent('wheel', "
              "{deltaY: -100, clientX: 300, clientY: 300, cancelable: true, bubbles: true}))")
        if b.run("return ladder.range[1] - ladder.range[0]") >= before:
            raise Failure("the wheel does not zoom")
        # Where events lay far apart, none may be left in view.
        b.run("if (!document.querySelector('path.hit')) ladder.view(...ladder.full)")
        tip = b.run("""document.querySelector('path.hit').scrollIntoView({block: 'center'});
            const g = document.querySelector('path.hit').closest('g'), l = g.querySelector('path.hit').getPointAtLength(9);
            const p = new DOMPoint(l.x, l.y).matrixTransform(ladder.svg.getScreenCTM());
            ladder.box.dispatchEvent(new PointerEvent('pointermove', {clientX: p.x, clientY: p.y, bubbles: true}));
            return ladder.tip.hidden ? '' : ladder.tip.textContent""")
        if "QP 0x" not in tip and " PSN " not in tip:
            raise Failure(f"hovering says '{tip}'")
        if b.run("return document.documentElement.scrollWidth > innerWidth"):
            raise Failure(f"the page is wider than {width} pixels")
        if b.run("return performance.getEntriesByType('resource').length"):
            raise Failure("the page asks for other files")
        if b.errors():
            raise Failure("\n".join(b.errors()))


def lossy(context):
    return Live(context, "lossy", "ib_write_bw", ["-n", "200", "-s", "8192", "-m", "1024", "-u", "18", "-F"],
                client=["--fault", "loss=1%:dir=tx:op=RC_WRITE*"])


@case("page.lossy", 120)
def _(context):
    """Both ends, of which one has another clock: losses, and what was sent again, as the counters say."""
    live = lossy(context)
    need_whole(live)
    shifted = os.path.join(context.machine.folder, "shifted.pcapng")
    subprocess.run(["editcap", "-t", "-3.5", live.paths[1], shifted], check=True, capture_output=True)
    page, data = live.page(live.paths[0], shifted)
    sums = need_counts(live, data)
    packets = [s for s in data["steps"] if s[0] == 0]
    lost = sum(bool(s[10] & LOST) for s in packets)
    if not lost or sums["Lost"] != f"{lost} to faults, 0 on the way":
        raise Failure(f"{lost} lost in the page: {sums}")
    if sum(bool(s[10] & RESENT) for s in packets) != live.client["retransmitted_packets"]:
        raise Failure("packets that were sent again are missing in the sequence")
    clock = sums["Clock of the second capture"].split()
    if clock[2].rstrip(",") != "behind" or abs(float(clock[0]) - 3.5e6) > 5000:
        raise Failure(f"{clock}")
    if data["hosts"] != ["10.9.0.1", "10.9.0.2"] or len(data["connections"]) != 1 or 0 in data["connections"][0][1::2]:
        raise Failure(f"{data['hosts']} {data['connections']}")
    look(page)
    look(page, 500, True)


@case("page.one_end", 120)
def _(context):
    """One end tells what was sent again, and not what was lost on the way."""
    live = lossy(context)
    need_whole(live)
    _, data = live.page(live.paths[0])
    sums = need_counts(live, data)
    if "else not known from one end" not in sums["Lost"] or "level arrows" not in data["left_out"]:
        raise Failure(f"{sums} {data['left_out']}")
    # The story that its program was told, in the file itself: the rule, packet by packet.
    faults = sum(bool(s[10] & LOST) for s in data["steps"] if s[0] == 0)
    if faults == 0 or not sums["Lost"].startswith(f"{faults} to faults"):
        raise Failure(f"{faults}: {sums}")


@case("page.rnr_storm", 120)
def _(context):
    """A shared receive queue of four, that has no credits: RNR NAKs again and again, and the pauses behind them."""
    options = ["-n", "1000", "-s", "1024", "-F", "--use-srq"]
    live = Live(context, "rnr", "ib_send_bw", options + ["-t", "128"], server_options=options + ["-r", "4"])
    need_whole(live)
    page, data = live.page()
    sums = need_counts(live, data)
    if live.client["rnr_nak_retry_err"] < 20:
        raise Failure(f"no storm: {sums}")
    rows = [row[3] for story in data["stories"] for row in story["rows"]]
    if not any("the peer answered: RNR NAK" in r and "later sent again from PSN" in r for r in rows):
        raise Failure("\n".join(rows))
    look(page)


@case("page.dcqcn", 120)
def _(context):
    """
    Eight QPs, whose packets are marked: CNPs of each, and eight connections in pairs. No receive queue marks: that is
    behind the place where captures look, and a server that waits for the processor has a long one. A -Q that divides
    -n: else perftest may stop polling while a slow QP has messages left, and never ends.
    """
    live = Live(context, "dcqcn", "ib_write_bw", ["-q", "8", "-n", "150", "-Q", "50", "-s", "8192", "-m", "1024", "-u", "18", "-F"],
                client=["--cc", "paper"], server=["--cc", settings(context, "paper,rxq_en=0"),
                                                 "--fault", "ecn=2%:dir=rx"])
    need_whole(live)
    page, data = live.page()
    sums = need_counts(live, data)
    if sums["CNPs"] != str(live.server["np_cnp_sent"]) or sums["CNPs"] == "0":
        raise Failure(f"{sums} {live.server}")
    if sums["Marked CE"] != f"{live.server['np_ecn_marked_roce_packets']} packets":
        raise Failure(f"{sums} {live.server}")
    if len(data["connections"]) != 8 or len({c[1] for c in data["connections"]}) != 8 or \
            len({c[3] for c in data["connections"]}) != 8:
        raise Failure(f"{data['connections']}")
    chart = next((c for c in data["charts"] if c["title"].startswith("CNPs")), None)
    if not chart or not 4 <= len(chart["lines"]) <= 8:
        raise Failure(f"{chart and [l['name'] for l in chart['lines']]}")
    # Packets do not tell rates; the capture has noted them. The rates of a QP are those of the settings, at most.
    for title, most in (("Rate that congestion control allows", 1e3), ("Target rate", 1e3),
                        ("Alpha, the congestion that it has seen", 1)):
        need_lines(data, title, "10.9.0.1 QP 0x", most)
    look(page)


def need_lines(data, title, name, most):
    """A chart of several QPs, in which something happens; a target may stay what it is."""
    chart = next((c for c in data["charts"] if c["title"] == title), None)
    if not chart or not 4 <= len(chart["lines"]) <= 8 or not all(line["name"].startswith(name) for line in chart["lines"]):
        raise Failure(f"{title}: {chart and [line['name'] for line in chart['lines']]}")
    values = [v for line in chart["lines"] for v in line["hi"] + line["lo"]]
    if not 0 < max(values) <= most or len(set(values)) < (1 if title == "Target rate" else 3):
        raise Failure(f"{title}: {chart['lines'][0]}")
    return chart


@case("page.rates", 120)
def _(context):
    """`verbena explain --html` of QPs that are well: what they do and what DCQCN allows them, as time goes on."""
    context.machine.two()
    place, v = context.places["net4"], context.verbena
    host, page = place.client.host, os.path.join(context.machine.folder, "rates.html")
    options = ["-q", "8", "-D", "30", "-s", "8192", "-m", "1024", "-u", "18", "-F"]
    run, port, ends = place.run, place.server.host.pick_port(), []
    try:
        for side, more in ((place.server, ["--cc", "paper", "--fault", "ecn=5%:dir=rx"]), (place.client, ["--cc", "paper"])):
            place.run = [*context.sanitizer, v, "run", *more, "--"]
            argv = pair.command(place, side, "ib_write_bw", options, port)
            ends.append(side.host.start(argv + ([] if side is place.server else [place.server.control])))
            if side is place.server:
                ends[0].wait_listen(port)
        context.wait(lambda: host.run([v, "explain", "--json"], status=None).count('"state": "RTS"') >= 8, 20, ends[1].story)

        def is_seen():
            host.run([v, "explain", "--html", page])
            rate = next((c for c in data_of(page)["charts"] if c["title"] == "Rate that congestion control allows"), None)
            return rate and sum(len(set(line["lo"])) >= 4 for line in rate["lines"]) == 8
        context.wait(is_seen, 30, lambda: str(data_of(page)["charts"]))
        data = data_of(page)
        for title, most in (("Acknowledged by the peer", 1e8), ("Rate that congestion control allows", 1e3),
                            ("Target rate", 1e3), ("Alpha, the congestion that it has seen", 1)):
            chart = need_lines(data, title, "10.9.0.1 QP 0x", most)
            # Not before the last ten seconds.
            if chart["each"] * len(chart["lines"][0]["hi"]) > 11e6:
                raise Failure(f"{chart['each']} us each")
        if int(dict(data["summary"])["QPs"]) < 8:
            raise Failure(f"{data['summary']}")
    finally:
        place.run = run
        for end in ends:
            end.end()
    if browser.is_there():
        with browser.Browser(1280, 1000) as b:
            b.open(page)
            if b.run("return document.querySelectorAll('figure.chart').length") < 4 or b.errors():
                raise Failure(f"{b.errors()}")
            if b.run("return document.documentElement.scrollWidth > innerWidth"):
                raise Failure("the page is wider than the window")


@case("page.mads", 60)
def _(context):
    """Messages of the connection manager, and questions to another adapter, are called by their names."""
    context.machine.two()
    place, v = context.places["net4"], context.verbena
    host, path = place.client.host, os.path.join(context.machine.folder, "mads.pcapng")
    p = host.start([v, "capture", path, "-t", "30"])
    context.wait(lambda: os.path.exists(path) and os.path.getsize(path) > 0, 10, p.story)
    port = place.server.host.pick_port()
    server = case_cm.start_server(place, "rping -s -a S -C 3 -p P", port)
    case_cm.run_client(place, server, "rping -c -a S -C 3 -p P", port)
    server.end()
    host.run([v, "ping", "-c", "1", place.server.address])
    p.kill(2)
    if p.wait(20):
        raise Failure(p.story())
    page = os.path.join(context.machine.folder, "mads.html")
    make_page(context, page, path)
    data = data_of(page)
    names = [data["mads"].get(str(s[8])) for s in data["steps"] if s[0] == 0 and str(s[5]) in data["opcodes"] and
             data["opcodes"][str(s[5])] == "UD_SEND_ONLY"]
    if not {"CM_REQ", "CM_REP", "CM_RTU", "CM_DREQ", "CM_DREP", "VENDOR_ADAPTER_GET", "VENDOR_ADAPTER_GET_RESP"} <= set(names) or \
            None in names:
        raise Failure(f"{names}")
    if browser.is_there():
        with browser.Browser(1280, 1000) as b:
            b.open(page)
            shown = b.run("ladder.view(...ladder.full); return [...document.querySelectorAll('#drawing text.label')]"
                          ".map(t => t.textContent).join(' ') + ladder.events.map(e => ladder.say(e)).join(' ')")
            if "CM_REQ" not in shown or "UD_SEND_ONLY" in shown:
                raise Failure(shown)


@case("page.captured_and_shown", 60)
def _(context):
    """In one go: capture, then the page; both ends on one host are in one capture."""
    host = context.machine.a
    capture, page = (os.path.join(context.machine.folder, name) for name in ("one.pcapng", "one.html"))
    p = host.start([context.verbena, "capture", capture, "-c", "40", "--report", page])
    context.wait(lambda: os.path.exists(capture) and os.path.getsize(capture) > 0, 10, p.story)
    pair.run(context.places["lo4"], "ibv_rc_pingpong", ["-n", "50"])
    if p.wait(20):
        raise Failure(p.story())
    data = data_of(page)
    if data["hosts"] != ["127.0.0.1", "127.0.0.1 (other end)"] or int(dict(data["summary"])["Seen at both ends"].split()[0]) < 15:
        raise Failure(f"{data['hosts']} {data['summary']}")


@case("page.explain", 90)
def _(context):
    """`verbena explain --html`: what the adapter keeps of a QP that gave up, as text, JSON and page."""
    context.machine.two()
    place, v = context.places["net4"], context.verbena
    host, page = place.client.host, os.path.join(context.machine.folder, "explain.html")
    host.run([v, "hca", "start"])
    run, port = place.run, place.server.host.pick_port()
    options = ["-n", "50", "-s", "8192", "-m", "1024", "-u", "8", "-F"]
    server = place.server.host.start(pair.command(place, place.server, "ib_write_bw", options, port), name="server")
    server.wait_listen(port)
    place.run = [*context.sanitizer, v, "run", "--fault", "loss=1:dir=tx:op=RC_WRITE*", "--"]
    try:
        argv = pair.command(place, place.client, "ib_write_bw", options, port)
    finally:
        place.run = run
    client = host.start(argv + [place.server.control], name="client")
    if client.wait(40) == 0:
        raise Failure(client.story())
    # QPs of earlier programs may be told of, too.
    qpn = int(re.search(r"local address: .*?QPN (0x[0-9a-f]+)", client.output()).group(1), 16)
    told = next(q for q in json.loads(host.run([v, "explain", "--json"])) if q["qpn"] == qpn)
    host.run([v, "explain", "--html", page])
    data = data_of(page)
    story = next((s for s in data["stories"] if s["qpn"] == qpn), None)
    if not story or story["is"] != "failed" or story["timeouts"] != told["timeouts"] or \
            [r[3] for r in story["rows"]] != [t["text"] for t in told["timeline"]]:
        raise Failure(f"{data['stories']}\n{told}")
    connection = [c[1] for c in data["connections"]].index(qpn)
    kinds = [s[0] for s in data["steps"] if s[3] == connection]
    timers = kinds.count(1)
    if not timers or 4 not in kinds or timers != len([t for t in told["timeline"] if t["kind"] == "timeout"]):
        raise Failure(f"{timers} timers: {data['steps']}")
    names = [data["hosts"][data["connections"][connection][i]] for i in (0, 2)]
    if names != ["10.9.0.1", "10.9.0.2, the peer"]:
        raise Failure(f"{names}")
    look(page)
    look(page, 500, True)
    # One QP, by its number; and nothing is written of one that is not there.
    host.run([v, "explain", f"{qpn:#x}", "--html", page])
    if len(data_of(page)["stories"]) != 1:
        raise Failure("one QP was asked for")
    os.remove(page)
    host.run([v, "explain", "0xfffff0", "--html", page], status=1)
    host.run([v, "explain", "--json", "--html", page], status=2)
    if os.path.exists(page):
        raise Failure("a page of nothing")
    host.run([v, "hca", "stop"])


@case("page.refuses")
def _(context):
    folder = context.machine.folder
    bad, page, empty = (os.path.join(folder, n) for n in ("bad.pcapng", "p.html", "empty.pcapng"))
    with open(bad, "wb") as f:
        f.write(bytes.fromhex("0a0d0d0a1c0000004d3c2b1a010000 00ffffffffffffffff1c000000") + b"\1\0\0\0\7\0\0\0")
    with open(empty, "wb") as f:
        f.write(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000065000000"))
    for captures, says in (((bad,), f"{bad}: offset "), ((empty,), f"{empty} has no packet of RoCEv2"),
                           ((folder + "/none",), f"cannot read {folder}/none: No such file"),
                           ((folder,), f"{folder}: offset 0: Is a directory")):
        err = make_page(context, page, *captures, status=1)
        if says.replace(": offset 0: Is", ": Is") not in err.replace(": offset 0: Is", ": Is") or len(err.splitlines()) != 1:
            raise Failure(f"{says}\n{err}")
        if os.path.exists(page):
            raise Failure("something was written")
    for argv, says in ((["-r", bad], "--report"), (["-r", bad, "x", "--report", page], "either capture"),
                       (["-r", bad, "-r", bad, "-r", bad, "--report", page], "at most twice"),
                       (["-", "--report", page], "needs a file")):
        p = subprocess.run([context.verbena, "capture", *argv], capture_output=True, text=True, timeout=20, check=False)
        if p.returncode != 2 or says not in p.stderr:
            raise Failure(f"{argv}: {p.returncode} {p.stderr}")
