# SPDX-License-Identifier: BSD-2-Clause
"""The registers of congestion control on a live adapter: CC-31...54, by `verbena csr` and `verbena dfx`."""
import os
import random
import re
import signal
import subprocess

from cases import add, case
from case_registers import Adapter, expect
from case_report import data_of
from hosts import Failure
import pair

SCHEME_1 = ["dcqcn_hw_en=1", "hw_rate_throttle_en=1", "tx_wqe_ost_limit_en=1", "speed_limiter_en=1"]
SCHEME_2 = ["dcqcn_hw_en=0", "hw_rate_throttle_en=1", "tx_wqe_ost_limit_en=1", "speed_limiter_en=1"]
SCHEME_3 = ["dcqcn_hw_en=0", "hw_rate_throttle_en=0", "tx_wqe_ost_limit_en=0", "speed_limiter_en=0"]
MEMORIES = ["CNP_MERGE_MEM", "BYTE_COUNTER_MEM", "T_BC_MEM", "CC_BYTE_CNT_MEM"]
UNIT_MBPS = 1.953125  # 250 MHz. CC-01


class Csr(Adapter):
    def csr(self, verb, *argv, status=0):
        return self.verbena("csr", verb, "-d", self.device, *argv, status=status)

    def write(self, *argv):
        self.csr("write", *argv)

    def read(self, name, *argv):
        """The value of one field."""
        return int(re.search(r"^ +\S+ +(\d+)", self.csr("read", name, *argv)).group(1))

    def qps(self):
        """{QPN: (index, state)} of all QPs."""
        rows = re.findall(r"^ +(\d+)  (0x[0-9a-f]{6})  (\w+)", self.csr("dump"), re.M)
        return {qpn: (int(index), state) for index, qpn, state in rows}

    def sender(self):
        """The QPN of the QP that is in RTS, the client's: a server of ib_write_bw stays in RTR."""
        self.context.wait(lambda: [q for q, (_, s) in self.qps().items() if s == "RTS"], 10, self.csr("dump"))
        return [q for q, (_, s) in self.qps().items() if s == "RTS"][0]

    def refuse(self, says, *argv, status=1):
        p = subprocess.run(self.host.enter + [self.context.verbena, *argv], capture_output=True, text=True,
                           timeout=20, stdin=subprocess.DEVNULL)
        if p.returncode != status or not re.fullmatch(rf"verbena \w+: .*{says}.*\n", p.stderr):
            raise Failure(f"{argv}: exit status {p.returncode}\n{p.stdout}\n{p.stderr}")


class Traffic:
    """A program that writes without end, while a case works with its QP."""

    def __init__(self, context, *options):
        self.server, self.client = pair.start(context.places["lo4"], "ib_write_bw",
                                              ["-F", "-s", "4096", "-D", "60", *options])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.end()
        self.client.end()


def packets(a):
    out = a.verbena("counters", "-d", a.device, "--all")
    return int(re.search(r"port_xmit_packets +(\d+)", out).group(1))


@case("csr.globals")
def _(context):
    """By name, by address, and as other adapters call them: CC-29, CC-48, CC-49."""
    with Csr(context) as a:
        a.write("dcqcn_max_rate=20000", "DCQCN_INCREASE.dcqcn_nocnp_timer_th=60")
        expect(int(a.csr("read", "0x200200").split()[2], 16) & 0xffffffff, 20000 << 16 | 60, "the word")
        # A field of a word leaves the others alone, a word does not; reserved bits are ignored.
        expect(a.read("dcqcn_byte_cnt_th"), 156250, "the byte counter")
        a.write("0x200200=0xfff0000000000037")
        expect([a.read("dcqcn_byte_cnt_th"), a.read("dcqcn_max_rate"), a.read("dcqcn_nocnp_timer_busy"),
                a.read("dcqcn_nocnp_timer_th")], [0, 0, 0, 55], "the fields")
        a.csr("params", "rp_dce_tcp_g=1019", "roce_rp/rpg_ai_rate=40", "rpg_max_rate=10000")
        expect([a.read("dcqcn_upd_alpha_g"), a.read("dcqcn_rate_ai"), a.read("dcqcn_max_rate")], [5, 5243, 5120],
               "g, the step, the rate")
        expect(a.csr("params", "rp_dce_tcp_g", "rpg_gd").split(), ["1019", "11"], "the parameters")
        # All of a request or nothing of it.
        a.csr("write", "dcqcn_max_rate=77", "min_dec_fac=101", status=1)
        a.csr("params", "rp_max_rate=77", "np_cnp_prio=4", status=1)
        expect(a.read("dcqcn_max_rate"), 5120, "the rate")
        a.verbena("fwreset", "-d", a.device)
        expect(a.read("dcqcn_upd_alpha_g"), 4, "g after a reset")


@case("csr.own_settings", seconds=60)
def _(context):
    """Programs that were started with settings of their own are told of, until the registers hold for them."""
    with Csr(context) as a:
        def says(what):
            # The commands leave standard output as it is.
            return what in a.csr("dump") and what in a.csr("params") and what in a.csr("read", "dcqcn_max_rate")
        own = "settings of their own"
        expect(says(own), False, "what is said without a program")
        server, client = pair.start(context.places["lo4"], "ib_write_bw", ["-F", "-s", "4096", "-D", "60"],
                                    {"VERBENA_CC": "paper"})
        try:
            context.wait(lambda: says("2 programs have " + own), 10, lambda: a.csr("dump"))
            a.write("np_en=1")
            context.wait(lambda: own not in a.csr("dump"), 10, lambda: a.csr("dump"))
        finally:
            client.end()
            server.end()


@case("csr.files")
def _(context):
    """The files that tools of other adapters have: they show what holds, and take what is written."""
    with Csr(context) as a:
        tree = re.search(r"tree in (\S+)", a.verbena("doctor", status=None)).group(1)
        files = {"debugfs": f"{tree}/class/infiniband/{a.device}/cc_params/rp_time_reset",
                 "sysfs": f"{tree}/class/net/lo/ecn/roce_rp/rpg_time_reset"}

        def text(name):
            with open(files[name], encoding="utf-8") as f:
                return f.read()

        def shows(value):
            context.wait(lambda: {text("debugfs"), text("sysfs")} == {f"{value}\n"}, 5,
                         lambda: text("debugfs") + text("sysfs"))

        def echo(name, value):
            with open(files[name], "w", encoding="utf-8") as f:
                f.write(value)
        expect(len(os.listdir(os.path.dirname(files["debugfs"]))), 20, "the number of files")
        shows(55)
        a.write("dcqcn_nocnp_timer_th=60")
        shows(60)
        for name, value, now in (("debugfs", "61\n", 61), ("sysfs", "0x3e", 62), ("sysfs", "70000", 62),
                                 ("debugfs", "fast\n", 62), ("debugfs", "", 62), ("sysfs", "7", 7)):
            echo(name, value)
            shows(now)
            expect(a.read("dcqcn_nocnp_timer_th"), now, "the register")
        a.verbena("fwreset", "-d", a.device)
        shows(55)


@case("csr.refused")
def _(context):
    """Each mistake has its line."""
    with Csr(context, "--vfs", "1") as a:
        d = ["-d", a.device]
        for says, status, argv in (
                ("what: read, write", 2, ["csr"]),
                ("'frob' is none of", 2, ["csr", "frob"]),
                ("no device: -d", 2, ["csr", "dump"]),
                ("there is no device 'mlx5_0'", 1, ["csr", "dump", "-d", "mlx5_0"]),
                ("read what", 2, ["csr", "read", *d]),
                ("write what", 2, ["csr", "write", *d]),
                ("no register or field 'speed'", 1, ["csr", "read", *d, "speed"]),
                ("no register at 0x000011", 1, ["csr", "read", *d, "0x11"]),
                ("say which one", 2, ["csr", "read", *d, "RATE_MEM"]),
                ("is not NAME=VALUE", 2, ["csr", "write", *d, "np_en"]),
                ("no number of 64 bits", 2, ["csr", "write", *d, "np_en=on"]),
                ("no number of 64 bits", 2, ["csr", "write", *d, "0x200200=18446744073709551616"]),
                ("np_en has 1 bits", 1, ["csr", "write", *d, "np_en=2"]),
                ("dcqcn_nocnp_timer_busy is read-only", 1, ["csr", "write", *d, "dcqcn_nocnp_timer_busy=1"]),
                ("cc_clk_hz=0x5: must be 1 MHz", 1, ["csr", "write", *d, "cc_clk_hz=5"]),
                ("is no index", 2, ["csr", "read", *d, "--index", "8193", "alpha"]),
                ("no QP 0x000abc", 1, ["csr", "read", *d, "--qp", "0xabc", "alpha"]),
                ("no QP of .* has index 7", 1, ["csr", "read", *d, "-i", "7", "alpha"]),
                ("name a QP both", 2, ["csr", "read", *d, "-i", "7", "-q", "2", "alpha"]),
                ("rp_gd=9 is too small", 1, ["csr", "params", *d, "rp_gd=9"]),
                ("no parameter 'rp_foo'", 1, ["csr", "params", *d, "rp_foo"]),
                ("use '-d", 1, ["csr", "write", "-d", a.device + "v1", "np_en=1"]),
                ("record, start, stop, dump or sim", 2, ["dfx"]),
                ("no QP: --qp", 2, ["dfx", "record", *d]),
                ("no QP of", 1, ["dfx", "start", *d, "-i", "1"]),
                ("no number of seconds", 2, ["dfx", "record", *d, "-i", "1", "-t", "x"])):
            a.refuse(says, *argv, status=status)
        expect(a.verbena("csr", "read", "-d", a.device + "v1", "np_en").split(), ["np_en", "0"], "what a VF reads")


@case("csr.initialization", seconds=60)
def _(context):
    """The flow of s4 with a QP at work, by registers alone: CC-40...44; and what it does, recorded: CC-50...54."""
    with Csr(context) as a:
        # 1: the global parameters. The timer is to be seen at work, so it is slow.
        # A sender that gets no processor for a millisecond would start over with its first rate.
        a.write("dcqcn_nocnp_timer_th=1000", "dcqcn_byte_cnt_th=0", "dcqcn_rate_ai=25600", "inactivity_th=0", *SCHEME_1)
        with Traffic(context):
            qp = ["--qp", a.sender()]
            expect(a.read("nocnp_timer_on", *qp), 0, "the timer at the maximum rate")
            # 2: the memories.
            a.write(*qp, "RATE_MEM=1000", "CC_RATE_MEM=1000", "ALPHA_MEM=512", *(f"{m}=0" for m in MEMORIES))
            expect([a.read("current_rate", *qp), a.read("target_rate", *qp), a.read("t", *qp)], [1000, 1000, 0],
                   "the rates and T")
            svg, page = (f"{context.machine.folder}/dfx.{kind}" for kind in ("svg", "html"))
            recorder = a.host.start([context.verbena, "dfx", "record", "-d", a.device, *qp, "--time", "20",
                                     "--svg", svg, "--html", page])
            recorder.wait_output("Current Rate 1000 ")
            # 3: the rate is not the maximum.
            expect(a.read("dcqcn_nocnp_timer_busy"), 0, "busy")
            a.write(*qp, "dcqcn_nocnp_timer_start=1")
            if recorder.wait(20) != 0:
                raise Failure(recorder.story())
            kinds = re.findall(r"^ *\d+ +\d+ +(\d+) .*/s +(\S+)$", recorder.output(), re.M)
            # Five rounds of fast recovery, then the target rises by 100 units each time.
            expect([k for _, k in kinds], ["Noncnp_timer.FastRecovery"] * 5 + ["Noncnp_timer.AdditiveIncrease"] * 59,
                   "the events")
            expect([int(r) for r, _ in kinds[3:8]], [1000, 1000, 1050, 1125, 1212], "the rates")
            if not re.search(r"^decrease 0, .* nocnp_timer-increase \d+; 64 in the window", recorder.output(), re.M):
                raise Failure(recorder.output())
            drawing = open(svg, encoding="utf-8").read()
            if "</svg>" not in drawing or "Noncnp_timer.AdditiveIncrease" not in drawing:
                raise Failure("no chart")
            text = open(page, encoding="utf-8").read()
            if drawing not in text or not text.endswith("</html>\n") or " 63  " not in text:
                raise Failure("no page")
            # The window was stopped and its entries were taken.
            out = a.verbena("dfx", "dump", "-d", a.device, *qp)
            if not re.search(r"^decrease 0, bytecounter-increase 0, nocnp_timer-increase \d+; 0 in the window", out):
                raise Failure(out)
            a.verbena("dfx", "start", "-d", a.device, *qp)
            context.wait(lambda: a.read("dfx_unread", *qp) == 64, 10, "no events")
            a.verbena("dfx", "stop", "-d", a.device, *qp)
            kept = [a.verbena("dfx", "dump", "--raw", "--keep", "-d", a.device, *qp).split() for _ in range(2)]
            # A page that shows it leaves it as it is, too.
            page = f"{context.machine.folder}/explain.html"
            a.verbena("explain", "--html", page)
            data = data_of(page)
            chart = next(c for c in data["charts"] if "recorders have" in c["title"])
            expect([len(line["x"]) for line in chart["lines"]], [64], "the entries in the page")
            expect({"Rate that congestion control allows", "Target rate"} <= {c["title"] for c in data["charts"]}, True,
                   "the rates in the page")
            expect([v for n, v in data["summary"] if n.startswith("Recorder of QP")][0].split(" cuts")[0].isdigit(), True,
                   "the counts in the page")
            entries = a.verbena("dfx", "dump", "--raw", "-d", a.device, *qp).split()
            expect(len(entries), 64, "the entries")
            expect(kept, [entries, entries], "the entries that were left")
            expect({int(e, 16) & 7 for e in entries} <= {5, 6, 7}, True, "increases by time")


@case("csr.dfx_sim", seconds=60)
def _(context):
    """A recording in the simulator is what a live one is, and the same each time: CC-50...54."""
    scenario = os.path.join(context.source, "scenarios", "dcqcn", "two-flows.yaml")
    page = f"{context.machine.folder}/sim.html"

    def dfx(*argv, status=0):
        p = subprocess.run([context.verbena, "dfx", "sim", *argv], capture_output=True, text=True, timeout=50)
        expect(p.returncode, status, p.stderr)
        return p.stdout if status == 0 else p.stderr
    out = dfx(scenario, "--flow", "1", "--html", page)
    expect(out.startswith("Current Rate 20480 (40 Gb/s), Target Rate 20480 (40 Gb/s), alpha 1023/1024, BC 0, T 0"), True,
           out)
    kinds = re.findall(r"^ *\d+ +\d+ +\d+ .*/s +(\S+)$", out, re.M)
    # The second flow starts at line rate, is cut, and recovers five times before it adds.
    last = len(kinds) - kinds[::-1].index("Decrease")
    expect([kinds[0], len(kinds), kinds[last:last + 5]],
           ["Decrease", 64, ["Noncnp_timer.FastRecovery"] * 5], out)
    raw = dfx("--raw", "-f", "1", scenario)
    expect([int(e, 16) & 7 for e in raw.splitlines()[1:]][:1], [0], "the first entry")
    expect(len(raw.splitlines()), 65, "the entries")
    if "</svg>" not in open(page, encoding="utf-8").read():
        raise Failure("no page")
    expect(dfx(scenario, "--flow", "2", status=1), "verbena dfx: flow 2 does not run after 0 s; there are 2\n", "")
    dfx("--flow", "1", status=2)
    dfx(scenario, "--flow", "1.5", status=2)
    expect("cannot be read" in dfx("nowhere.yaml", status=1), True, "the complaint")


@case("csr.schemes", seconds=90)
def _(context):
    """The schemes, switched while a program writes, do what s4 says: CC-45...47."""
    with Csr(context) as a, Traffic(context):
        qp = ["--qp", a.sender()]
        # Firmware's rate: the limiter keeps to it, whatever the controller would do.
        a.write(*SCHEME_2)
        a.write(*qp, "CC_RATE_MEM=512")
        expect([a.read("cc_rate", *qp), a.read("tx_wqe_ost", *qp)], [512, 16], "rate and window")
        # Hardware's rate takes over from there.
        a.write("dcqcn_nocnp_timer_th=100", *SCHEME_1)
        a.write(*qp, "RATE_MEM=512", "dcqcn_nocnp_timer_start=1")
        context.wait(lambda: a.read("cc_rate", *qp) > 512, 10, "the rate does not rise")
        # Firmware only: the mask stops the QP, and lets it go on.
        a.write(*SCHEME_3)
        expect(a.read("tx_wqe_ost", *qp), 0, "the window")
        a.write(*qp, "sq_arb_mask=1")
        seen = [packets(a)]

        def stands():
            seen.append(packets(a))
            return seen[-1] == seen[-2]
        context.wait(stands, 10, "a masked QP sends")
        a.write(*qp, "sq_arb_mask=0")
        context.wait(lambda: packets(a) > seen[-1] + 100, 10, "the QP does not go on")


@case("csr.limit", seconds=60)
def _(context):
    """CC-01, CC-33: at 128 units a program gets 250 Mb/s, less its headers, and not more."""
    with Csr(context) as a:
        a.write("initial_rate=128", *SCHEME_2)
        _, out = pair.run(context.places["lo4"], "ib_write_bw", ["-F", "-s", "4096", "-n", "2000", "--report_gbits"], 50)
        average = float(re.search(r"^ *4096 +\d+ +\S+ +(\S+)", out, re.M).group(1)) * 1000
        if not average < 128 * UNIT_MBPS * 1.02:
            raise Failure(out)
        a.write(*SCHEME_3)
        _, out = pair.run(context.places["lo4"], "ib_write_bw", ["-F", "-s", "4096", "-n", "2000", "--report_gbits"], 50)
        if not float(re.search(r"^ *4096 +\d+ +\S+ +(\S+)", out, re.M).group(1)) * 1000 > average * 1.5:
            raise Failure(out)


@case("csr.stopped_program", seconds=60)
def _(context):
    """CC-43: a program that does not answer is waited for, but not for ever; meanwhile its device is busy."""
    with Csr(context) as a, Traffic(context) as t:
        qp = a.sender()
        t.client.stop()
        tool = a.host.start([context.verbena, "csr", "write", "-d", a.device, "--qp", qp, "sq_arb_mask=0"])
        context.wait(lambda: a.read("dcqcn_nocnp_timer_busy") == 1, 10, "it is not busy")
        if tool.wait(15) != 1 or "does not answer" not in tool.output():
            raise Failure(tool.story())
        context.wait(lambda: a.read("dcqcn_nocnp_timer_busy") == 0, 10, "it stays busy")
        t.client.kill(signal.SIGCONT)
        context.wait(lambda: a.qps().get(qp, (0, ""))[1] == "RTS", 10, "it does not answer again")
        # The step it died in is said, and its index is free.
        t.client.stop()
        tool = a.host.start([context.verbena, "csr", "read", "-d", a.device, "--qp", qp, "alpha"])
        context.wait(lambda: tool.status() is None, 5, tool.story)
        t.client.kill()
        if tool.wait(15) != 1 or not re.search("has ended|no QP|no registers", tool.output()):
            raise Failure(tool.story())
        context.wait(lambda: qp not in a.qps(), 10, "its QP stays")


@case("csr.kill9_tool", seconds=60)
def _(context):
    """A tool that is killed while it writes leaves the old settings or the new ones."""
    with Csr(context) as a:
        seen = set()
        for n in range(30):
            new = 3 if n % 2 else 7
            fields = [f"{f}={new}" for f in ("dcqcn_max_rate", "dcqcn_nocnp_timer_th", "initial_rate", "np_min_cnp_us",
                                             "dcqcn_alpha_timer_th")]
            tool = subprocess.Popen(a.host.enter + [context.verbena, "csr", "write", "-d", a.device, *fields],
                                    stderr=subprocess.DEVNULL)
            try:
                # At another point each time.
                tool.wait(n / 5000)
            except subprocess.TimeoutExpired:
                pass
            finally:
                tool.kill()
                tool.wait()
            out = a.csr("read", *(f.split("=")[0] for f in fields))
            values = set(re.findall(r"^ +\w+ +(\d+)", out, re.M))
            if n and len(values) != 1:
                raise Failure(f"half a change\n{out}")
            a.write(*fields)
            seen |= values
        expect({"3", "7"} <= seen, True, "that changes were made and not made")


@case("csr.fuzz", seconds=120)
def _(context):
    """Any values at any addresses while a program writes: rates stay within limits, and it goes on in the end."""
    rng = random.Random(5)
    with Csr(context) as a, Traffic(context):
        qpn = a.sender()
        index = a.qps()[qpn][0]
        a.write(*SCHEME_1)
        words = re.findall(r"^0x([0-9a-f]{6})( \+)? \w+:", a.verbena("csr", "fields"), re.M)
        expect(len(words) > 20, True, "the registers")
        for _ in range(150):
            address, of_qp = rng.choice(words)
            at = int(address, 16) + (0x100 * (index - 1) if of_qp else 0)
            if rng.random() < 0.2:
                at = rng.randrange(1 << 32)
            value = rng.getrandbits(64) >> rng.randrange(64)
            p = subprocess.run(a.host.enter + [context.verbena, "csr", "write", "-d", a.device, f"{at:#x}={value:#x}"],
                               capture_output=True, text=True, timeout=20)
            if p.returncode not in (0, 1) or (p.returncode == 1) != (len(p.stderr.splitlines()) == 1):
                raise Failure(f"{at:#x}={value:#x}: {p.returncode}\n{p.stderr}")
            if rng.random() < 0.2:
                low, high = max(a.read("dcqcn_min_rate"), 1), a.read("dcqcn_max_rate")
                if a.read("dcqcn_hw_en") and not low <= a.read("cc_rate", "--qp", qpn) <= max(low, high):
                    raise Failure(a.csr("dump", "--qp", qpn))
        a.verbena("fwreset", "-d", a.device)
        a.write("--qp", qpn, "sq_arb_mask=0")
        before = packets(a)
        context.wait(lambda: packets(a) > before + 1000, 20, lambda: a.csr("dump", "--qp", qpn))


@case("csr.index", seconds=60)
def _(context):
    """CC-31: indexes count from 1, one for each QP, and come back when the QP ends."""
    with Csr(context) as a:
        with Traffic(context, "-q", "5"):
            a.sender()
            context.wait(lambda: len(a.qps()) == 10, 10, a.csr("dump"))
            expect(sorted(i for i, _ in a.qps().values()), list(range(1, 11)), "the indexes")
        context.wait(lambda: not a.qps(), 10, "QPs stay")
        with Traffic(context):
            sender = a.sender()
            expect(a.qps()[sender][0] <= 2, True, "that indexes are used again")


def help_of(command):
    def run(context):
        out = subprocess.run([context.verbena, command, "--help"], capture_output=True, text=True, check=True).stdout
        man = open(os.path.join(context.source, "man", f"verbena-{command}.1"), encoding="utf-8").read()
        for option in re.findall(r"--(\w+)", out):
            if f"Fl Fl {option}" not in man:
                raise Failure(f"--{option} is not in the man page")
    return run


for name in ("csr", "dfx"):
    add(f"csr.help_{name}", help_of(name))
