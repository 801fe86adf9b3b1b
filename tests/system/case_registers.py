# SPDX-License-Identifier: BSD-2-Clause
"""Registers as operators use them: mlxreg's lines, changes while programs run, what survives what."""
import os
import re
import signal
import subprocess
import sys

from cases import add, case
from hosts import Failure
import pair

ACCL = ["--reg_name", "ROCE_ACCL"]
INDEX = ["--indexes", "adp_retx_profile_id=1"]
# One timeout of 1.024 ms, 262 ms in all: the emulated firmware's first timer is four times as long.
PROFILE = ("time_unit=1,time_base=4,qp_total_timeout=0,retx_total_timeout=16,range_num=1,timeout_init_low_bound=8,"
           "timeout_init_range_size=1,timeout_range[0].range_low_bound=8,timeout_range[0].range_size=1,"
           "timeout_range[0].timeout_retry_num=1,timeout_range[0].dec_mode=1")


class Adapter:
    """The adapter of the first host, kept while a case works with its registers."""

    def __init__(self, context, *options):
        self.context, self.host, self.options = context, context.machine.a, options

    def __enter__(self):
        self.host.forget()
        self.verbena("hca", "start", *self.options)
        self.device = self.host.device(self.context.verbena, "lo")
        self.verbena("fwreset", "-d", self.device)
        return self

    def __exit__(self, *_):
        self.verbena("hca", "stop")
        self.host.forget()

    def verbena(self, *argv, status=0, **more):
        return self.host.run([self.context.verbena, *argv], status=status, **more)

    def get(self, *argv, device=None):
        """The fields of a register, those of one name as a list."""
        out = self.verbena("reg", "-d", device or self.device, *(argv or ACCL), "--get")
        fields = {}
        for name, value in re.findall(r"^([\w\[\].]+) +\| 0x([0-9a-f]+)$", out, re.M):
            fields.setdefault(name, []).append(int(value, 16))
        return {name: v[0] if len(v) == 1 else v for name, v in fields.items()}

    def set(self, fields, *argv):
        return self.verbena("reg", "-d", self.device, *ACCL, *argv, "--set", fields, "--yes")

    def bins(self):
        fields = self.get("--reg_name", "ADP_RETX_HISTOGRAM")
        return [fields[f"bin[{i}]"] for i in range(fields["bin_num"])]

    def refuse(self, says, *argv):
        """Runs what must fail with one line of the tool's own errors."""
        p = subprocess.run(self.host.enter + [self.context.verbena, "reg", *argv], capture_output=True,
                           text=True, timeout=20, stdin=subprocess.DEVNULL)
        if p.returncode != 1 or not re.fullmatch(rf"(-W- .*\n)*-E- .*{says}.*\n", p.stderr):
            raise Failure(f"{argv}: exit status {p.returncode}\n{p.stdout}\n{p.stderr}")


def expect(got, want, what):
    if got != want:
        raise Failure(f"{what} is {got}, not {want}")


@case("registers.operator_lines")
def _(context):
    """The forms that mlxreg prints and takes: REG-35, REG-37, ADP-28."""
    with Adapter(context) as a:
        out = a.verbena("reg", "-d", a.device, "--yes", *ACCL, "--get")
        lines = out.splitlines()
        expect(lines[0], "Sending access register...", "the first line")
        expect(lines[2], f"{'Field Name':46} | Data    ", "the head")
        expect(lines[3], "=" * 60, "the rule")
        expect(lines[4], f"{'roce_adp_retrans_field_select':46} | 0x00000001", "the first row")
        expect(lines[-1], "=" * 60, "the last line")
        out = a.verbena("reg", "-d", "lo", *ACCL, "-s", "roce_tx_window_en=0x1,ack_dscp=46", "--yes")
        if not re.search(r"^You are about to send access register: ROCE_ACCL with the following data:$"
                         r".*^ Do you want to continue \? \(y/n\) \[n\] : y\n Sending access register\.\.\.",
                         out, re.M | re.S):
            raise Failure(out)
        fields = a.get()
        expect((fields["roce_tx_window_en"], fields["ack_dscp"]), (1, 46), "window and DSCP")
        out = a.verbena("reg", "-d", a.device, "--reg_id", "0x402c", "--reg_len", "0x40", "-g")
        expect(out.splitlines()[2:6], ["Address    | Data", "=" * 23, "0x00000000 | 0x100006ff",
                                       "0x00000004 | 0x0300b887"], "the raw register")
        # Raw, with the select bits as they are read.
        a.verbena("reg", "-d", a.device, "--reg_id", "0x402c", "--reg_len", "0x80", "-s",
                  "0x04.1:1=0,0x04.10:6=0x0a", "--yes")
        fields = a.get()
        expect((fields["roce_tx_window_en"], fields["ack_dscp"]), (0, 10), "window and DSCP")
        # Only what is selected; without --overwrite everything is.
        a.set("roce_slow_restart_en=0,roce_tx_window_en=1,roce_tx_window_field_select=1", "-w")
        fields = a.get()
        expect((fields["roce_slow_restart_en"], fields["roce_tx_window_en"]), (1, 1), "the switches")
        for answer, window in (("n\n", 1), ("", 1), ("yes\n", 0)):
            subprocess.run(a.host.enter + [context.verbena, "reg", "-d", a.device, *ACCL, "--set",
                                           "roce_tx_window_en=0"], input=answer, text=True, check=True,
                           stdout=subprocess.DEVNULL, timeout=20)
            expect(a.get()["roce_tx_window_en"], window, f"the window after the answer {answer!r}")
        expect(a.verbena("reg", "-d", a.device, "--show_regs").split()[-1], "ROCE_RECOVERY", "the last register")
        out = a.verbena("reg", "-d", a.device, "--show_reg", "ROCE_ACCL")
        if not re.search(r"^adp_retx_profile_id +\| 0x00000004      \| 28       "
                         r"     \| 3           \| INDEX", out, re.M):
            raise Failure(out)


@case("registers.refused")
def _(context):
    """Each mistake has its line, and a profile that breaks a rule is refused whole."""
    with Adapter(context) as a:
        d = ["-d", a.device]
        before = a.get()
        a.refuse("you must provide a device name", *ACCL, "--get")
        a.refuse("no operation flag", *d, *ACCL)
        a.refuse("incompatible flags", *d, *ACCL, "--get", "--set", "a=1")
        a.refuse("Failed to open device: \"mlx5_0\"", "-d", "mlx5_0", *ACCL, "--get")
        a.refuse("Can't find access register name: PAOS", *d, "--reg_name", "PAOS", "--get")
        a.refuse("Can't find field name: \"speed\"", *d, *ACCL, "--set", "speed=1", "--yes")
        a.refuse("adp_retx_profile_max_id is ReadOnly", *d, *ACCL, "--set", "adp_retx_profile_max_id=2", "--yes")
        a.refuse("ack_dscp is not a INDEX", *d, *ACCL, "--indexes", "ack_dscp=1", "--get")
        a.refuse("non-negative", *d, *ACCL, "--set", "ack_dscp=-1", "--yes")
        a.refuse("ack_dscp has 6 bits", *d, *ACCL, "--set", "ack_dscp=64", "--yes")
        a.refuse("register length", *d, "--reg_id", "0x402c", "--get")
        a.refuse("0x40 or 0x80", *d, "--reg_id", "0x402c", "--reg_len", "0x44", "--get")
        a.refuse("0x00000003 is not 4-bytes aligned", *d, "--reg_id", "0x402c", "--reg_len", "0x40", "--set",
                 "0x03.0:1=1", "--yes")
        a.refuse("only valid for SET", *d, *ACCL, "--get", "-w")
        a.refuse("adp_retx_profile_id=0x0: must not be 0", *d, *ACCL, "--set", PROFILE, "--yes")
        a.refuse("adp_retx_profile_id=0x2: must be at most", *d, *ACCL, "--set",
                 "adp_retx_profile_id=2," + PROFILE, "--yes")
        a.refuse("time_base=0x3: must be a power of 2", *d, *ACCL, *INDEX, "--set",
                 "roce_tx_window_en=1," + PROFILE.replace("time_base=4", "time_base=3"), "--yes")
        a.refuse(r"adp_retx_profile.timeout_range\[0\].dec_mode=0x3: must be", *d, *ACCL, *INDEX, "--set",
                 PROFILE.replace("dec_mode=1", "dec_mode=3"), "--yes")
        expect(a.get(), before, "the register")


@case("registers.initial_value_warning")
def _(context):
    """ADP-08: a profile whose first timeout lies in no range is taken, and the tool says so."""
    with Adapter(context) as a:
        lies = PROFILE.replace("timeout_init_low_bound=8", "timeout_init_low_bound=6")
        for profile, warns in ((PROFILE, False), (lies, True)):
            p = subprocess.run(a.host.enter + [context.verbena, "reg", "-d", a.device, *ACCL, *INDEX, "--set", profile,
                                               "--yes"], capture_output=True, text=True, timeout=20, check=True)
            warning = re.search(r"^-W- adp_retx_profile.timeout_init_low_bound=0x6: should give only values that lie",
                                p.stderr, re.M)
            expect(bool(warning), warns, f"that a warning came ({p.stderr})")
        expect(a.get()["timeout_init_low_bound"], 6, "the bound")
        path = f"{context.machine.folder}/lies"
        with open(path, "w", encoding="utf-8") as f:
            f.write(lies)
        p = subprocess.run(a.host.enter + [context.verbena, "run", "--adp", path, "true"], capture_output=True,
                           text=True, timeout=20, check=True)
        if "-W- adp_retx_profile.timeout_init_low_bound" not in p.stderr:
            raise Failure(p.stderr)


@case("registers.fwreset")
def _(context):
    """ADP-27: only a reset goes back to profile 0."""
    with Adapter(context) as a:
        first = a.get()
        a.set(PROFILE, *INDEX)
        fields = a.get()
        expect((fields["adp_retx_profile_id"], fields["time_base"], fields["range_size"]), (1, 4, [1, 0, 0, 0]),
               "the profile")
        a.refuse("fwreset", "-d", a.device, *ACCL, "--set", "adp_retx_profile_id=0", "--yes")
        a.verbena("reg", "-d", a.device, "--preset", "lossless", "--yes")
        expect([a.get()[f"roce_{n}_en"] for n in ("adp_retrans", "tx_window", "slow_restart")], [0, 0, 0], "lossless")
        a.verbena("reg", "-d", a.device, "--preset", "lossy", "--yes", "-w")
        expect([a.get()[f"roce_{n}_en"] for n in ("adp_retrans", "tx_window", "slow_restart")], [1, 1, 1], "lossy")
        a.verbena("fwreset", "-d", a.device)
        expect(a.get(), first, "the register after the reset")
        a.verbena("fwreset", "-d", "nosuchdevice", status=1)


@case("registers.live_timer", seconds=60)
def _(context):
    """REG-34: a profile that is set while a program works rules its next timers: its peer dies, and
    all timers that fire have the profile's value; those of the ladder before it would not."""
    with Adapter(context) as a:
        place = context.places["lo4"]
        server, client = pair.start(place, "ib_write_bw", ["-F", "-D", "30"])
        client.wait_output("BW average")
        a.set(PROFILE, *INDEX)
        before = a.bins()
        server.kill()
        client.wait(15)
        if client.status() == 0 or "Failed status 12" not in client.output():
            raise Failure(client.story())
        # Counted beyond the end of the program.
        bins = a.bins()
        # One that ran before the change may have ended as it was set.
        if bins[0] - before[0] < 10 or sum(bins[1:]) - sum(before[1:]) > 1:
            raise Failure(f"bins {before}, then {bins}")
        a.verbena("reg", "-d", a.device, "--reg_name", "ADP_RETX_HISTOGRAM_CONFIG", "--set", "clear_on_read=1", "--yes")
        a.bins()
        expect(sum(a.bins()), 0, "the histogram after it was read")


@case("registers.live_pairs", seconds=90)
def _(context):
    """Eight pairs at work do not notice that the settings change under them."""
    with Adapter(context) as a:
        place = context.places["lo4"]
        kinds = (("ib_write_bw", ["-s", "8192"]), ("ib_send_bw", ["-s", "1024"]),
                 ("ib_read_bw", ["-s", "4096"]), ("ib_send_lat", ["-s", "64"]))
        pairs = []
        try:
            for i in range(8):
                program, options = kinds[i % 4]
                pairs.append(pair.start(place, program, ["-F", *options, "-n", "3000"]))
            for turn in range(10):
                a.set(PROFILE if turn % 2 else PROFILE.replace("=8", "=12"), *INDEX)
                a.verbena("reg", "-d", a.device, "--preset", "lossy" if turn % 2 else "lossless", "--yes")
                if turn % 3 == 0:
                    a.verbena("fwreset", "-d", a.device)
            for server, client in pairs:
                pair.finish(server, client, 60)
        finally:
            for server, client in pairs:
                server.end()
                client.end()


@case("registers.kill9_tool", seconds=60)
def _(context):
    """A tool that is killed while it sets leaves the old profile or the new one."""
    with Adapter(context) as a:
        def profile(e):
            """Two profiles that differ in many fields."""
            return re.sub(r"(low_bound|retx_total_timeout|range_size|retry_num)=\d+",
                          lambda m: f"{m.group(1)}={e}", PROFILE)
        a.set(profile(3), *INDEX)
        seen = set()
        for n in range(40):
            old, new = (3, 7) if n % 2 else (7, 3)
            tool = subprocess.Popen(a.host.enter + [context.verbena, "reg", "-d", a.device, *ACCL, *INDEX, "--set",
                                                    profile(new), "--yes"],
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            try:
                # At another point each time: before it begins, while it prints, after the request.
                tool.stdout.read(97 * n)
            finally:
                tool.kill()
                tool.wait()
            f = a.get()
            values = {f["retx_total_timeout"], f["timeout_init_low_bound"], f["timeout_init_range_size"],
                      f["range_low_bound"][0], f["range_size"][0], f["timeout_retry_num"][0]}
            if len(values) != 1 or not values <= {old, new}:
                raise Failure(f"half a profile: {f}")
            seen |= values
            a.set(profile(old if n % 2 == 0 else new), *INDEX)
        expect(seen, {3, 7}, "the profiles that were left")


@case("registers.kill9_broker", seconds=60)
def _(context):
    """While one program uses the adapter, its settings outlive the broker."""
    with Adapter(context) as a:
        server, client = pair.start(context.places["lo4"], "ib_send_lat", ["-F", "-D", "3"])
        client.wait_output("usec")
        a.set(PROFILE, *INDEX)
        for pid in a.host.broker_pids():
            a.host.run(["kill", "-9", str(pid)])
        pair.finish(server, client, 30)
        # Brokers change places while programs see that the old one is gone.
        context.wait(lambda: a.get()["adp_retx_profile_id"] == 1, 10, "the settings are gone")
        if "stays until" not in a.verbena("hca", "status"):
            raise Failure(a.verbena("hca", "status"))


@case("registers.kill9_broker_of_kept", seconds=60)
def _(context):
    """A kept adapter that no program uses outlives its broker, and its keeper, killed one after the other."""
    with Adapter(context, "--vfs", "1") as a:
        def expect_kept(window):
            context.wait(lambda: "stays until" in a.verbena("hca", "status"), 10, "the adapter is gone")
            expect(a.get()["roce_tx_window_en"], window, "the setting")
            if f"{a.device}v1" not in a.verbena("devices"):
                raise Failure(a.verbena("devices"))

        for n in range(3):
            a.set(f"roce_tx_window_en={n % 2}")
            context.wait(a.host.keeper_pids, 10, "there is no keeper")
            for pid in a.host.broker_pids():
                a.host.run(["kill", "-9", str(pid)])
            # Nobody is told that it is stopped meanwhile.
            says = a.verbena("hca", "status")
            if not re.match("running: .*stays until|restarting: ", says):
                raise Failure(says)
            expect_kept(n % 2)
        for pid in a.host.keeper_pids():
            a.host.run(["kill", "-9", str(pid)])
            context.wait(lambda pid=pid: pid not in a.host.pids() and a.host.keeper_pids(), 10, "there is no keeper")
        expect_kept(0)
        pair.run(context.places["lo4"], "ibv_rc_pingpong", ["-n", "100"])
    context.wait(lambda: not a.host.keeper_pids() and not a.host.has_adapter(), 10, "the adapter stays")


@case("registers.hca")
def _(context):
    """The adapter stays when it is told to, and goes when it is not."""
    with Adapter(context) as a:
        a.set("ack_dscp=33")
        pid = a.host.broker_pids()
        pair.run(context.places["lo4"], "ibv_rc_pingpong", ["-n", "100"])
        # It would be gone after two seconds.
        subprocess.run(["sleep", "2.5"], check=True)
        expect(a.host.broker_pids(), pid, "the broker")
        expect(a.get()["ack_dscp"], 33, "the setting")
        if not re.match(r"running: process \d+, 0 programs, stays", a.verbena("hca", "status")):
            raise Failure(a.verbena("hca", "status"))
    context.wait(lambda: not a.host.has_adapter(), 10, "the adapter stays")
    if not a.verbena("hca", "status").startswith("stopped"):
        raise Failure(a.verbena("hca", "status"))
    a.verbena("hca", "stop")


@case("registers.hca_port_taken")
def _(context):
    """An adapter that has no port is not kept; the message names the process that has it."""
    host = context.machine.host("taken")
    code = "import socket, time; s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.bind(('::', 4791)); " \
           "print('bound', flush=True); time.sleep(60)"
    try:
        taker = host.start([sys.executable, "-c", code], name="taker")
        context.wait(lambda: "bound" in taker.output(), 20, "nobody takes the port")
        p = subprocess.run(host.enter + [context.verbena, "hca", "start"], capture_output=True, text=True, timeout=20)
        if p.returncode != 1 or not re.search(r"UDP port 4791 is taken by process \d+ \(python", p.stderr):
            raise Failure(f"exit status {p.returncode}\n{p.stdout}{p.stderr}")
        expect(host.keeper_pids(), [], "the keepers")
    finally:
        context.machine.drop(host)


@case("registers.hca_after_end")
def _(context):
    """A keeper that has yet to see that its broker was ended has the port: the next start waits for it."""
    host = context.machine.host("again")
    try:
        host.run([context.verbena, "hca", "start"])
        context.wait(host.keeper_pids, 10, "there is no keeper")
        keeper, broker = host.keeper_pids()[0], host.broker_pids()[0]
        os.kill(keeper, signal.SIGSTOP)
        os.kill(broker, signal.SIGTERM)
        context.wait(lambda: not host.broker_pids(), 10, "the broker stays")
        if not host.has_adapter():
            raise Failure("the keeper does not have the port: nothing is shown")
        again = host.start([context.verbena, "hca", "start"], name="again")
        context.wait(host.broker_pids, 10, "no broker is started")
        os.kill(keeper, signal.SIGCONT)
        if again.wait(20) != 0:
            raise Failure(again.output())
        context.wait(lambda: keeper not in host.keeper_pids(), 10, "the first keeper stays")
        says = host.run([context.verbena, "hca", "status"])
        if not re.match(r"running: process \d+, 0 programs, stays", says) or not host.has_adapter():
            raise Failure(says + host.run(["ss", "-ulnp"]))
        host.run([context.verbena, "hca", "stop"])
    finally:
        context.machine.drop(host)


@case("registers.vfs", seconds=60)
def _(context):
    """ADP-26: virtual functions work like devices, and have the settings of theirs."""
    with Adapter(context, "--vfs", "2") as a:
        vf = a.device + "v1"
        table = a.verbena("devices")
        expect(len(re.findall(rf"^{a.device}v[12] +lo ", table, re.M)), 2, "the number of VFs")
        a.set(PROFILE, *INDEX)
        expect(a.get(device=vf), a.get(), "the VF's register")
        a.refuse(f"use '-d {a.device}'", "-d", vf, *ACCL, "--set", "ack_dscp=1", "--yes")
        place = context.places["lo4"]
        for sides in ((vf, a.device), (a.device, vf), (vf, a.device + "v2")):
            for program, options in (("ibv_rc_pingpong", ["-n", "200"]), ("ibv_ud_pingpong", ["-n", "200", "-s", "512"])):
                port = a.host.pick_port()
                argv = [[*place.run, program, "-d", d, "-g", a.host.gid_index(context.verbena, "lo", "127.0.0.1"),
                         "-p", str(port), *options] for d in sides]
                server = a.host.start(argv[0], name="server")
                server.wait_listen(port)
                client = a.host.start(argv[1] + ["127.0.0.1"], name="client")
                pair.finish(server, client, 20)
        a.verbena("hca", "start")
        if vf in a.verbena("devices"):
            raise Failure("the VFs stay")


@case("registers.run_adp")
def _(context):
    """A program that is started with settings has them; settings that break a rule start none."""
    a = context.machine.a
    good, bad = f"{context.machine.folder}/good", f"{context.machine.folder}/bad"
    with open(good, "w", encoding="utf-8") as f:
        f.write("preset=lossy # for networks that drop\n" + PROFILE.replace(",", "\n") + "\n\nack_dscp = 12\n")
    with open(bad, "w", encoding="utf-8") as f:
        f.write(PROFILE + "\ntime_base=5\n")
    # The adapter goes two seconds after its last user: what is shown is that the program itself, which
    # uses no device yet, keeps it for longer. Only time can show that.
    out = a.run([context.verbena, "run", "--adp", good, "--", "sh", "-c",
                 f"sleep 2.5; {context.verbena} reg -d lo --reg_name ROCE_ACCL --get"])
    for name, value in (("ack_dscp", 12), ("roce_tx_window_en", 1), ("adp_retx_profile_id", 1), ("time_base", 4)):
        if not re.search(rf"^{name} +\| 0x{value:08x}$", out, re.M):
            raise Failure(f"{name} is not {value}\n{out}")
    context.wait(lambda: not a.has_adapter(), 10, "the adapter stays")
    for path in (bad, "/nonexistent"):
        p = subprocess.run(a.enter + [context.verbena, "run", "--adp", path, "--", "echo", "ran"],
                           capture_output=True, text=True, timeout=20)
        if p.returncode != 125 or p.stdout or path not in p.stderr:
            raise Failure(f"{p.returncode}\n{p.stdout}\n{p.stderr}")


def pkey_table(host, verbena):
    out = host.run([verbena, "reg", "-d", "lo", "--reg_name", "PKEY_TABLE", "--get"])
    return [int(v, 16) for v in re.findall(r"^pkey\[\d+\] +\| (0x[0-9a-f]+)$", out, re.M)]


@case("registers.run_pkeys")
def _(context):
    """`verbena run --pkeys`: the tables of all devices as the list says, and the program meets them. Members of
    one partition talk, of whom at least one is a full member; others do not. IBT-81"""
    a, v = context.machine.a, context.verbena
    both = context.places["lo4"]
    out = a.run([v, "run", "--pkeys", "0xffff,0x8005,5", "--", "sh", "-c",
                 f"{v} reg -d lo --reg_name PKEY_TABLE --set 'pkey[3]=7' --yes >/dev/null; ibv_devinfo -v -d "
                 + a.device(v, "lo")])
    if "max_pkeys:\t\t\t16" not in out:
        raise Failure(out)
    where = pair.Place(both.name, context, both.server, both.client)
    at = where.run.index("--")
    where.run = where.run[:at] + ["--pkeys", "0xffff,0x8005,5"] + where.run[at:]
    # 1 and 1, 1 and 2: a full member and a full, a limited one.
    for server_index, client_index, works in (1, 1, True), (1, 2, True), (2, 2, False), (0, 1, False):
        port = a.pick_port()
        # Only where nothing arrives the end of the retries is waited for.
        timeout = "14" if works else "8"
        argv = [pair.command(where, where.server, "ib_send_lat", ["-F", "-n", "5", "-u", timeout, f"--pkey_index={i}"],
                             port) for i in (server_index, client_index)]
        server = a.start(argv[0], name="server")
        server.wait_listen(port)
        client = a.start(argv[1] + ["127.0.0.1"], name="client")
        try:
            if (client.wait(20) == 0) != works:
                raise Failure(f"{server_index} {client_index}\n{client.story()}\n{server.story()}")
            if pkey_table(a, v)[:4] != [0xffff, 0x8005, 5, 0]:
                raise Failure(f"{pkey_table(a, v)}")
        finally:
            server.end()
            client.end()
    context.wait(lambda: not a.has_adapter(), 10, "the adapter stays")
    # The second word of each: what the message names.
    for wrong, named in (("0x10000", "0x10000"), ("0xffff,", "''"), ("0xffff,0x8000", "0x8000"), ("-1", "'-1'"),
                         ("0xffff,x", "'x'"), (",".join(["1"] * 17), "more than 16")):
        p = subprocess.run(a.enter + [v, "run", f"--pkeys={wrong}", "--", "echo", "ran"], capture_output=True,
                           text=True, timeout=20)
        if p.returncode != 2 or p.stdout or named not in p.stderr or a.has_adapter():
            raise Failure(f"{wrong}: {p.returncode}\n{p.stdout}\n{p.stderr}")


# Arguments, and what standard error says.
for name, argv, says in (("hca_nothing", ["hca"], "start, stop or status"), ("hca_other", ["hca", "fly"], "'fly'"),
                         ("hca_vfs", ["hca", "start", "--vfs", "9"], "'9'"),
                         ("hca_stop_vfs", ["hca", "stop", "--vfs", "1"], "--vfs"),
                         ("fwreset_nothing", ["fwreset"], "-d DEVICE")):
    def wrong(context, argv=argv, says=says):
        p = subprocess.run(context.machine.a.enter + [context.verbena, *argv], capture_output=True, text=True,
                           timeout=20, stdin=subprocess.DEVNULL)
        if p.returncode != 2 or says not in p.stderr or len(p.stderr.splitlines()) != 1:
            raise Failure(f"{p.returncode}\n{p.stdout}\n{p.stderr}")
    add(f"registers.wrong.{name}", wrong)
