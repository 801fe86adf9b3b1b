# SPDX-License-Identifier: BSD-2-Clause
"""The page and the charts of `verbena sim`, seen by a browser that has no network."""
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import tempfile
import termios
import xml.etree.ElementTree

import browser
from cases import case
from hosts import Failure, Skip

SCENARIO = """topology: {shape: pair, cable: {rate: 25Gbps, delay: 1us}}
transport: {mtu: 1024, message: 16KiB, depth: 4, timeout: 8}
workload:
  - {shape: single, from: 0, to: 1, bytes: 256KiB}
  - {shape: ping-pong, from: 0, to: 1, count: 20, bytes: 64}
faults:
  - {cable: 0, do: "loss=2e-2"}
"""


def simulate(context, folder, *options, status=0, scenario=SCENARIO):
    path = os.path.join(folder, "<lossy> & more.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(scenario)
    p = subprocess.run([os.path.join(context.build, "verbena"), "sim", path, *options],
                       capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    if p.returncode != status:
        raise Failure(f"exit status {p.returncode}, not {status}\n{p.stdout}\n{p.stderr}")
    return p


def data_of(page):
    """The JSON in a page."""
    with open(page, encoding="utf-8") as f:
        text = f.read()
    begin = text.index('id="data">') + len('id="data">')
    return json.loads(text[begin:text.index("</script>", begin)])


def number(text, label):
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(label))


@case("report.profile_warning")
def _(context):
    """ADP-08: a profile whose first timeout lies in no range runs, and the command says so; another says nothing."""
    def run(first):
        recovery = f"profile: {{timeout_init_low_bound: {first}, timeout_range: [{{range_low_bound: 4, range_size: 4}}]}}"
        with tempfile.TemporaryDirectory(prefix="verbena-report-") as folder:
            return simulate(context, folder, scenario=SCENARIO.replace(
                "timeout: 8}", f"timeout: 8, recovery: {{{recovery}}}}}")).stderr
    for first, warned in ((9, True), (3, True), (4, False)):
        said = run(first)
        if ("timeout_init_low_bound should give only values that lie in a range" in said) != warned:
            raise Failure(f"timeout_init_low_bound {first}: {said}")


@case("report.agrees_with_the_table")
def _(context):
    with tempfile.TemporaryDirectory(prefix="verbena-report-") as folder:
        page = os.path.join(folder, "report.html")
        out = simulate(context, folder, "--report", page).stdout
        data = data_of(page)
        packets = [s for s in data["steps"] if s[0] == 0]
        resent, lost = (sum(bool(s[10] & flag) for s in packets) for flag in (1, 8))
        if number(out, "packets") != len(packets):
            raise Failure(f"{len(packets)} packets in the page\n{out}")
        if number(out, "resent") != resent or resent == 0:
            raise Failure(f"{resent} resent in the page\n{out}")
        faults = next(line for line in out.splitlines() if line.startswith("lost"))
        if f" {lost} to faults" not in faults or lost == 0:
            raise Failure(f"{lost} lost in the page\n{out}")
        if any(s[2] < 0 for s in packets):
            raise Failure("packets that neither arrived nor were lost")
        # Looking changes nothing, and twice the same is the same.
        digest = out.splitlines()[-1]
        if simulate(context, folder).stdout.splitlines()[-1] != digest:
            raise Failure("another digest without the page")
        with open(page, "rb") as f:
            first = f.read()
        simulate(context, folder, "--report", page)
        with open(page, "rb") as f:
            if f.read() != first:
                raise Failure("the page of a second run differs")


# From 20 us on nothing arrives for a while; one QP gives up, and others get through behind it.
TIMEOUTS = """topology: {shape: pair, cable: {rate: 25Gbps, delay: 1us}}
transport: {mtu: 1024, message: 16KiB, depth: 4, timeout: 8, retry: %d}
workload:
  - {shape: single, from: 0, to: 1, bytes: 256KiB}
  - {shape: ping-pong, from: 0, to: 1, count: 20, bytes: 64}
faults:
  - {cable: 0, do: "blackout=20us/3ms"}
"""


# Seventy QPs lose what they send for two timeouts, and one for good.
MANY = """topology: {shape: star, hosts: 71, cable: {rate: 100Gbps, delay: 1us}}
transport: {mtu: 1024, timeout: 8, retry: 3}
workload: {shape: incast, count: 70, to: 0, bytes: 1kB}
faults:
  - {host: 0, do: "blackout=0s/3ms"}
  - {host: 70, do: "blackout=0s/1s"}
"""


UNFINISHED = """until: 500us
topology: {shape: star, hosts: 3, cable: {rate: 100Gbps, delay: 1us}}
transport: {timeout: 14}
workload: {shape: single, bytes: 1MB}
faults: [{do: "%s"}]
"""


@case("report.time_and_dashes")
def _(context):
    with tempfile.TemporaryDirectory(prefix="verbena-report-") as folder:
        page = os.path.join(folder, "report.html")
        # The time is that of the last flow, not of the timers that were set and not needed.
        out = simulate(context, folder, "--report", page, scenario=UNFINISHED % "dup=0").stdout
        spent = next(line for line in out.splitlines() if line.startswith("goodput")).split(" in ")[1].split()[0]
        if f"{spent} ms of virtual time" not in data_of(page)["subtitle"]:
            raise Failure(f"{data_of(page)['subtitle']}\n{out}")
        # No flow is done: no time of one is known.
        out = simulate(context, folder, "--report", page, scenario=UNFINISHED % "loss=1").stdout
        times = next(line for line in out.splitlines() if "FCT, us" in line).split()
        summary = dict(data_of(page)["summary"])
        if times != ["FCT,", "us", "0"] + ["-"] * 5 or summary.get("Completion time") != "\u2013":
            raise Failure(f"{summary}\n{out}")


# Timeout 0 is to wait for ever: nothing is left to happen once all is lost.
SILENT = """until: 20ms
topology: {shape: star, hosts: 2, cable: {rate: 100Gbps, delay: 1us}}
transport: {timeout: 0}
workload: {shape: single, from: 0, to: 1, bytes: 64}
faults: [{do: "loss=1"}]
"""


@case("report.says_how_a_run_ended")
def _(context):
    with tempfile.TemporaryDirectory(prefix="verbena-report-") as folder:
        out, page = os.path.join(folder, "out"), os.path.join(folder, "report.html")
        # No flow got through: files are whole, and the exit status says so.
        p = simulate(context, folder, "--out", out, "--report", page, status=3,
                     scenario=SILENT.replace("timeout: 0", "timeout: 8, retry: 1"))
        with open(os.path.join(out, "summary.json"), encoding="utf-8") as f:
            summary = json.load(f)
        if summary["failed"] != 1 or summary["flows"] != 1 or "every flow failed" not in p.stderr:
            raise Failure(f"{summary}\n{p.stderr}")
        if not data_of(page)["subtitle"].startswith("2 hosts, 1 switch, "):
            raise Failure(data_of(page)["subtitle"])
        if "s of processor time: " not in p.stdout:
            raise Failure(p.stdout)
        # A flow that still runs has had the time that was asked for.
        for scenario, end in ((SILENT, 20_000_000), (SILENT.replace('loss=1', 'dup=0'), None)):
            simulate(context, folder, "--out", out, "--report", page, scenario=scenario)
            with open(os.path.join(out, "summary.json"), encoding="utf-8") as f:
                summary = json.load(f)
            if (summary["running"] > 0) != (end is not None) or \
                    summary["end_ns"] != (end or summary["last_done_ns"]):
                raise Failure(f"{summary}")


@case("report.tells_timeouts")
def _(context):
    with tempfile.TemporaryDirectory(prefix="verbena-report-") as folder:
        page = os.path.join(folder, "report.html")
        simulate(context, folder, "--report", page, scenario=TIMEOUTS % 7)
        stories = data_of(page)["stories"]
        if not stories or any(s["is"] != "recovered" or s["timeouts"] != 3 for s in stories):
            raise Failure(f"{stories}")
        kinds = [row[0] for row in stories[0]["rows"]]
        if kinds[:4] != [0, 1, 1, 1] or 5 not in kinds or "the peer acknowledged" not in str(stories[0]["rows"]):
            raise Failure(f"{stories[0]}")
        # A timer is as long in the picture as it is set.
        if any(row[2] - row[1] != 4096 << 8 for row in stories[0]["rows"] if row[0] == 1):
            raise Failure(f"{stories[0]}")
        simulate(context, folder, "--report", page, scenario=TIMEOUTS % 1)
        stories = data_of(page)["stories"]
        if not stories or stories[0]["is"] != "failed" or \
                "IBV_WC_RETRY_EXC_ERR: no answer from 10.0.0." not in stories[0]["what"][0]:
            raise Failure(f"{stories}")
        simulate(context, folder, "--report", page, scenario=TIMEOUTS.split("faults")[0] % 7)
        if data_of(page)["stories"]:
            raise Failure("a story without trouble")


@case("report.explains_in_words")
def _(context):
    """--explain: the list of all, one of them with its timeline, one without trouble, and none."""
    with tempfile.TemporaryDirectory(prefix="verbena-report-") as folder:
        out = simulate(context, folder, "--explain", "all", scenario=TIMEOUTS % 1).stdout
        table = out[out.index("HOST.QPN"):].splitlines()
        name, timeouts, _, rank = table[1].split()[:4]
        if rank != "failed" or timeouts != "2" or "IBV_WC_RETRY_EXC_ERR: no answer from 10.0.0." not in table[1]:
            raise Failure(out)
        out = simulate(context, folder, "--explain", name, scenario=TIMEOUTS % 1).stdout
        words = (f"QP {name}, RC: failed", "timeout 1: nothing heard for 1.049 ms", "gave up after 2.097 ms",
                 "of virtual time on", "What can be done:")
        if any(w not in out for w in words):
            raise Failure(f"{words}\n{out}")
        out = simulate(context, folder, "--explain", "1.17", scenario=TIMEOUTS.split("faults")[0] % 7).stdout
        if "QP 1.17, RC: well" not in out or "timeout" in out[out.index("QP 1.17"):]:
            raise Failure(out)
        out = simulate(context, folder, "--explain", "all", scenario=TIMEOUTS.split("faults")[0] % 7).stdout
        if "no QP timed out or failed" not in out:
            raise Failure(out)
        # Of more QPs than there is room for, all of which wait for long, the one that fails is kept.
        out = simulate(context, folder, "--explain", "all", scenario=MANY).stdout
        table = out[out.index("HOST.QPN"):].splitlines()
        if len(table) != 66 or "of 64 the histories are kept" not in table[65] or \
                [line.split()[0] for line in table[1:65] if " failed " in line] != ["70.17"]:
            raise Failure(out)
        err = simulate(context, folder, "--explain", "7.17", status=1).stderr
        if "there is no QP 7.17" not in err or len(err.splitlines()) != 1:
            raise Failure(err)
        for wrong in ("17", "x", "0.0", "0.17x"):
            err = simulate(context, folder, "--explain", wrong, status=2).stderr
            if f'"{wrong}"' not in err or len(err.splitlines()) != 1:
                raise Failure(err)


def on_terminal(argv, columns, env):
    """The output of a program on a terminal of that width."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=side, stderr=subprocess.DEVNULL, env={**os.environ, **env})
    os.close(side)
    said = b""
    try:
        while chunk := os.read(main, 65536):
            said += chunk
    except OSError:  # the other side is closed
        pass
    os.close(main)
    p.wait(60)
    return said.decode().replace("\r\n", "\n")


@case("report.ladder")
def _(context):
    """The ladder of a QP in text: a line for each event, cut to a terminal's width, in color there alone."""
    with tempfile.TemporaryDirectory(prefix="verbena-report-") as folder:
        out = simulate(context, folder, "--explain", "all", scenario=TIMEOUTS % 1).stdout
        name = out[out.index("HOST.QPN"):].splitlines()[1].split()[0]
        out = simulate(context, folder, "--explain", name, scenario=TIMEOUTS % 1).stdout
        rows = [line for line in out.splitlines() if re.match(r"  \+ *[\d.]+ \S+ [|X#o.?]", line)]
        if "\033" in out or len(rows) < 4 or "|---------- sent --------->| PSN" not in rows[0] or \
                not any("X--------- again --------->| timeout 1: nothing heard" in r for r in rows) or \
                "#                          | " not in rows[-1]:
            raise Failure(out)
        argv = [os.path.join(context.build, "verbena"), "sim", os.path.join(folder, "<lossy> & more.yaml"), "--explain", name]
        for columns in (72, 110):
            for env, colors in (({}, True), ({"NO_COLOR": "1"}, False)):
                said = on_terminal(argv, columns, {**env, "TERM": "xterm"})
                said = said[said.index(f"QP {name}"):]
                plain = re.sub(r"\033\[\d*m", "", said)
                if ("\033[31mX---" in said) != colors or max(map(len, plain.splitlines())) > columns or \
                        "X--------- again --------->| timeout 1: nothing" not in plain:
                    raise Failure(said)


@case("report.timeouts_in_browser", 120)
def _(context):
    if not browser.is_there():
        raise Skip("chromium or chromedriver is not installed")
    with tempfile.TemporaryDirectory(prefix="verbena-report-") as folder:
        page = os.path.join(folder, "report.html")
        simulate(context, folder, "--report", page, scenario=TIMEOUTS % 1)
        for width, dark in ((1280, False), (500, True)):
            with browser.Browser(width, 1000, dark) as b:
                b.open(page)
                rows = b.run("return [...document.querySelectorAll('#timeline li')].map(li => li.textContent)")
                if not any("gave up after" in row for row in rows) or "timeout 1: nothing heard" not in rows[1]:
                    raise Failure(f"{rows}")
                bars = b.run("return [...document.querySelectorAll('#timeline i')].map(i => i.getBoundingClientRect().width)")
                if len(bars) != 2 or not all(20 < w < width for w in bars):
                    raise Failure(f"{bars}")
                last = b.run("const w = document.getElementById('who'); w.value = w.options.length - 1;"
                             "w.dispatchEvent(new Event('change')); return document.getElementById('why').textContent")
                if b.run("return document.getElementById('who').options.length") < 2 or "IBV_WC_RETRY_EXC_ERR" not in last:
                    raise Failure(last)
                if b.run("return document.documentElement.scrollWidth > innerWidth"):
                    raise Failure(f"the page is wider than {width} pixels")
                if b.errors():
                    raise Failure("\n".join(b.errors()))


@case("report.is_bounded")
def _(context):
    with tempfile.TemporaryDirectory(prefix="verbena-report-") as folder:
        page = os.path.join(folder, "report.html")
        out = simulate(context, folder, "--report", page, scenario=SCENARIO.replace(
            "256KiB", "32MiB").replace("2e-2", "1e-3")).stdout
        data = data_of(page)
        steps = data["steps"]
        # All of the beginning; behind it what went wrong: of packets, NAKs and those sent again.
        if not 16000 < len(steps) <= 20000 or number(out, "packets") < 20000:
            raise Failure(f"{len(steps)} steps\n{out}")
        if any(s[0] == 0 and not s[10] & 1 and s[9] < 0x20 for s in steps[16000:]):
            raise Failure("something usual is in the room for trouble")
        if "are left out" not in data["left_out"]:
            raise Failure(data["left_out"])
        if any(len(line["hi"]) > 512 for c in data["charts"] if not c["step"]
               for line in c["lines"]):
            raise Failure("more values than slots")


@case("report.svg")
def _(context):
    with tempfile.TemporaryDirectory(prefix="verbena-report-") as folder:
        drawing = os.path.join(folder, "charts.svg")
        simulate(context, folder, "--svg", drawing)
        root = xml.etree.ElementTree.parse(drawing).getroot()
        if len(root.findall(".//{*}path")) < 8:
            raise Failure("too few lines")


@case("report.png")
def _(context):
    with tempfile.TemporaryDirectory(prefix="verbena-report-") as folder:
        picture = os.path.join(folder, "charts.png")
        try:
            simulate(context, folder, "--png", picture)
        except Failure as e:
            if "without librsvg" in str(e) or "install librsvg2-2" in str(e):
                raise Skip("no librsvg") from e
            raise
        with open(picture, "rb") as f:
            head = f.read(24)
        if head[:8] != b"\x89PNG\r\n\x1a\n" or int.from_bytes(head[16:20], "big") != 1280:
            raise Failure(f"{head}")


@case("report.capture_says_what_faults_did")
def _(context):
    """Comments as of live captures, on both sides of the cable."""
    rules = ("loss=1:nth=3", "dup=1:nth=6", "corrupt=1:nth=9", "ecn=1:nth=12", "delay=3us:nth=15",
             "delay=3us:nth=18", "ecn=1:nth=18")
    says = ["fault: loss, dropped", "fault: dup", "fault: dup, the copy", "fault: corrupt",
            "fault: ecn", "fault: delay", "fault: delay ecn"]
    scenario = ("topology: {shape: pair}\nworkload: {shape: single, bytes: 64KiB}\n"
                f"faults: {{do: \"{','.join(r + ':dir=tx' for r in rules)}\"}}\n")
    for port, want in (("0.0", says), ("1.0", says[1:])):
        with tempfile.TemporaryDirectory(prefix="verbena-report-") as folder:
            simulate(context, folder, "--out", folder, "--pcap", port, scenario=scenario)
            got = subprocess.run(
                ["tshark", "-n", "-r", os.path.join(folder, port + ".pcapng"), "-Y", "frame.comment",
                 "-T", "fields", "-e", "frame.comment"],
                capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()
            if got != want:
                raise Failure(f"at {port}: {got}, not {want}")


@case("report.scenario_says_what_to_record")
def _(context):
    with tempfile.TemporaryDirectory(prefix="verbena-report-") as folder:
        record = "record:\n" + "".join(f"  {name}: '{os.path.join(folder, path)}'\n" for name, path in (
            ("out", "out"), ("trace", "t.json"), ("report", "r.html"), ("svg", "c.svg")))
        out = simulate(context, folder, scenario=SCENARIO + record + "  pcap: 1.0\n").stdout
        plain = simulate(context, folder).stdout
        if number(out, "packets") != number(plain, "packets"):
            raise Failure(f"recording changes the run\n{out}\n{plain}")
        there = {"out/summary.json", "out/flows.csv", "out/ports.csv", "out/1.0.pcapng", "t.json", "r.html", "c.svg"}
        missing = {name for name in there if not os.path.exists(os.path.join(folder, name))}
        if missing:
            raise Failure(f"there is no {missing}")
        # The command line wins.
        simulate(context, folder, "--trace", os.path.join(folder, "other.json"),
                 scenario=SCENARIO + f"record: {{trace: '{folder}/none/t.json'}}\n")


@case("report.refuses")
def _(context):
    with tempfile.TemporaryDirectory(prefix="verbena-report-") as folder:
        for option in ("--report", "--svg", "--png", "--trace"):
            nowhere = os.path.join(folder, "none", "file")
            p = simulate(context, folder, option, nowhere, status=1)
            if nowhere not in p.stderr or len(p.stderr.splitlines()) != 1 or p.stdout:
                raise Failure(p.stderr + p.stdout)
        p = simulate(context, folder, "--trace", "/dev/full", status=1)
        if "the trace could not be written: No space left" not in p.stderr:
            raise Failure(p.stderr)
        p = subprocess.run([os.path.join(context.build, "verbena"), "sim", folder],
                           capture_output=True, text=True, timeout=60, check=False)
        if p.returncode != 1 or f"{folder} cannot be read: Is a directory" not in p.stderr:
            raise Failure(p.stderr)


OUTPUT = ("--report", "r.html", "--svg", "c.svg", "--out", "out", "--trace", "t.json")


@case("report.nothing_left_of_a_failure")
def _(context):
    kept = {"r.html": "the report of yesterday", "c.svg": "", "other": "x"}
    for scenario, more, says, remains in (
            # Limits are found while it runs: the trace up to there says how it came.
            ("packets: 4\n" + SCENARIO, (), 'larger "packets"', {"t.json"}),
            ("flows: 1\n" + SCENARIO, (), "larger", {"t.json"}),
            # A network that cannot be built, and a port that is not there.
            (SCENARIO.replace("cable: 0", "cable: 7"), (), "fault 1", set()),
            (SCENARIO, ("--pcap", "9.9"), "no port 9.9", set()),
            (SCENARIO, ("--pcap", "nine"), "NODE.PORT", set())):
        with tempfile.TemporaryDirectory(prefix="verbena-report-") as folder:
            options = [o if o.startswith("-") else os.path.join(folder, o) for o in OUTPUT]
            status = 2 if "nine" in more else 1
            p = simulate(context, folder, *options, *more, status=status, scenario=scenario)
            there = set(os.listdir(folder)) - {"<lossy> & more.yaml"}
            if says not in p.stderr or not there <= remains:
                raise Failure(f"{says}: {there}\n{p.stderr}")
            for name, text in kept.items():
                with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                    f.write(text)
            simulate(context, folder, *options, *more, status=status, scenario=scenario)
            for name, text in kept.items():
                with open(os.path.join(folder, name), encoding="utf-8") as f:
                    if f.read() != text:
                        raise Failure(f"{says}: {name} was written over")


@case("report.into_what_is_there")
def _(context):
    with tempfile.TemporaryDirectory(prefix="verbena-report-") as folder:
        behind, link = os.path.join(folder, "behind"), os.path.join(folder, "link")
        os.symlink("behind", link)
        with open(behind, "w", encoding="utf-8") as f:
            f.write("old")
        os.chmod(behind, 0o640)
        p = simulate(context, folder, "--svg", link, "--report", "/dev/stdout")
        if not os.path.islink(link) or os.stat(behind).st_mode & 0o777 != 0o640:
            raise Failure("the link or its mode has gone")
        xml.etree.ElementTree.parse(behind)
        if "</html>" not in p.stdout:
            raise Failure("no page on the output")
        for name in (folder, behind + "/x"):
            p = simulate(context, folder, "--svg", name, status=1)
            if name not in p.stderr or p.stdout:
                raise Failure(p.stderr)
        if set(os.listdir(folder)) != {"behind", "link", "<lossy> & more.yaml"}:
            raise Failure(f"{os.listdir(folder)}")


def check_charts(b):
    for i in range(b.run("return document.querySelectorAll('.chart').length")):
        marks = b.run("return [...document.querySelectorAll('.chart')[arguments[0]]"
                      ".querySelectorAll('path.line')].filter(p => p.getBBox().width > 0).length", i)
        if marks == 0:
            raise Failure(f"nothing is drawn in chart {i}")
    lines = "return document.querySelectorAll('.chart path.line').length"
    before = b.run(lines)
    b.click(".legend button")
    if b.run(lines) != before - 1:
        raise Failure("a line does not go when its name is clicked")


def check_steps(b):
    def at():
        words = b.run("return document.getElementById('words').textContent")
        return int(words.split(" of ")[0]), words

    if at()[0] != 1 or "PSN 0" not in at()[1]:
        raise Failure(at()[1])
    b.press("#drawing", browser.KEY["right"] * 3)
    b.press("#drawing", browser.KEY["left"])
    if at()[0] != 3 or not b.run("return document.querySelectorAll('.current').length"):
        raise Failure(at()[1])
    b.click("#next")
    if at()[0] != 4:
        raise Failure(at()[1])
    b.press("#drawing", browser.KEY["end"])
    if at()[0] < 400 or "completes a work request" not in at()[1]:
        raise Failure(at()[1])
    b.press("#drawing", browser.KEY["home"] + "n")
    seen = ""
    for _ in range(40):
        seen += at()[1] + "\n"
        b.press("#drawing", "n")
    for word in ("is lost: fault: loss", "NAK, PSN sequence error", "not for the first time",
                 "goes back to PSN"):
        if word not in seen:
            raise Failure(f"{word} is not said in\n{seen}")


def check_filter(b):
    choose = ("const f = document.getElementById('filter'); f.value = arguments[0];"
              "f.dispatchEvent(new Event('change'));"
              "return document.getElementById('words').textContent")
    total = {k: int(b.run(choose, k).split(" of ")[1].split()[0]) for k in ("all", "0", "1", "2")}
    if total["all"] != total["0"] + total["1"] + total["2"] or 0 in total.values():
        raise Failure(f"{total}")
    b.click("#trouble")
    if not 0 < int(b.run(choose, "all").split(" of ")[1].split()[0]) < total["all"]:
        raise Failure("the filter of trouble leaves nothing out")


@case("report.browser", 120)
def _(context):
    if not browser.is_there():
        raise Skip("chromium or chromedriver is not installed")
    with tempfile.TemporaryDirectory(prefix="verbena-report-") as folder:
        page = os.path.join(folder, "report.html")
        simulate(context, folder, "--report", page)
        for width, dark in ((1280, False), (500, True)):
            with browser.Browser(width, 1000, dark) as b:
                b.open(page)
                check_charts(b)
                check_steps(b)
                check_filter(b)
                if b.run("return document.documentElement.scrollWidth > innerWidth"):
                    raise Failure(f"the page is wider than {width} pixels")
                if b.run("return performance.getEntriesByType('resource').length"):
                    raise Failure("the page asks for other files")
                if b.errors():
                    raise Failure("\n".join(b.errors()))
