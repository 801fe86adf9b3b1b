# SPDX-License-Identifier: BSD-2-Clause
"""Programs that talk with the subnet administrator of an InfiniBand fabric: services, and reports of traps."""
import os
import re
import shutil
import subprocess
import time

from case_subnet import Fabric, lid_of, need
from cases import case
from hosts import Failure, Skip

MGID = "ff120000000000000000000000a5a5a5"


@case("subnet.services", seconds=120)
def services(context):
    """osmtest registers services, asks for them, and takes them back. FAB-53"""
    f = Fabric(context, "services", "star:hosts=2")
    try:
        f.manage()
        f.await_log("SUBNET UP")
        text = f.run("H-0001", "sh", "-c", f"osmtest -t 200 -f s -l {context.machine.folder}/services.log 2>&1")
        need('"Services Registration" PASS' in text, text)
    finally:
        f.end()


class Listener:
    """A program at a node that has subscribed to reports."""

    def __init__(self, fabric, node):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sa_events.py")
        self.program = fabric.host.start(fabric.at(node, "/usr/bin/python3", script), stdin=subprocess.PIPE)
        self.program.wait_output("sm lid")
        self.lines = 1

    def does(self, command, expected, seconds=70):
        """Gives it a command, and waits for its one line. Returns what @expected, an expression, found in it."""
        self.program.process.stdin.write(f"{command}\n".encode())
        self.program.process.stdin.flush()
        self.program.wait_output(rf"\A(?:.*\n){{{self.lines + 1}}}", seconds)
        said = self.program.output().splitlines()[self.lines]
        self.lines += 1
        found = re.fullmatch(expected, said)
        need(found, f"{command}: {said}")
        return found


def await_subscriptions(f, traps):
    """Waits until the manager has subscriptions to these traps and no others."""
    for _ in range(50):
        has = sorted(int(n, 0) for n in re.findall(r"trap_num\.+(\S+)", f.run("H-0002", "saquery", "IIR")))
        if has == sorted(traps):
            return
        time.sleep(0.2)
    raise Failure(f"subscriptions to {has}, not {traps}")


@case("subnet.reports", seconds=180)
def reports(context):
    """Traps 64 to 67 are reported to programs that asked for them, again until they answer. FAB-31, FAB-54"""
    f = Fabric(context, "reports", "star:hosts=4")
    cable = [context.verbena, "fabric", "--name", "reports"]
    try:
        f.manage()
        f.await_log("SUBNET UP")
        listener, other = Listener(f, "H-0001"), Listener(f, "H-0002")
        gid = f.run("H-0003", "cat", "/sys/class/infiniband/verbena0/ports/1/gids/0").strip().replace(":", "")
        for trap in (64, 65, 66, 67):
            listener.does(f"subscribe {trap}", "subscribed, status 0x0")
        other.does("subscribe 65", "subscribed, status 0x0")
        f.host.run([*cable, "unlink", "H-0003", "1"])
        first = listener.does("ignore", rf"trap 65 issuer \d+ gid {gid} transaction (.*)")
        again = listener.does("await", rf"trap 65 issuer \d+ gid {gid} transaction (.*)")
        need(first[1] == again[1], f"another report, {again[1]} behind {first[1]}")
        other.does("await", rf"trap 65 issuer \d+ gid {gid} .*")
        f.host.run([*cable, "link", "H-0003", "1"])
        listener.does("await", rf"trap 64 issuer \d+ gid {gid} .*")
        listener.does(f"join {MGID}", "join, status 0x0")
        listener.does("await", rf"trap 66 issuer \d+ gid {MGID} .*")
        listener.does(f"leave {MGID}", "leave, status 0x0")
        listener.does("await", rf"trap 67 issuer \d+ gid {MGID} .*")
        listener.does("unsubscribe 65", "unsubscribed, status 0x0")
        other.does("unsubscribe 65", "unsubscribed, status 0x0")
        f.host.run([*cable, "unlink", "H-0003", "1"])
        listener.does("quiet 3", "quiet")
        other.does("quiet 0", "quiet")
        # A program that is killed is subscribed no longer.
        other.does("subscribe 65", "subscribed, status 0x0")
        other.program.process.kill()
        await_subscriptions(f, (64, 66, 67))
    finally:
        f.end()


@case("subnet.devices", seconds=120)
def devices(context):
    """No node has units of input and output: SRP's tools end well, and a program that asks is told. FAB-49"""
    if not shutil.which("ibsrpdm"):
        raise Skip("srptools are not installed")
    f = Fabric(context, "devices", "star:hosts=3")
    try:
        f.manage()
        f.await_log("SUBNET UP")
        asker, lid = Listener(f, "H-0001"), lid_of(f, "H-0002")
        for mgmt_class, attribute in ((0x06, 0x10), (0x06, 0x11), (0x06, 0x12), (0x05, 0x10), (0x06, 0x01), (0x30, 0x10)):
            asker.does(f"get {mgmt_class} {attribute} {lid}", "status 0xc")
        need(not f.run("H-0001", "ibsrpdm", "-c", "-d", "/dev/infiniband/umad0").strip(), "ibsrpdm finds targets")
        text = f.run("H-0001", "sh", "-c", "srp_daemon -o -c -a -n -V -i verbena0 -p 1 2>&1")
        need("capability query" in text and "id_ext" not in text, text)
    finally:
        f.end()


TARGET = """Switch 4 "S"
[1] "H-0000"[1]
[2] "H-0001"[1]
[3] "T"[1]
Ca 1 "H-0000"
Ca 1 "H-0001"
vendid=0x2c9
caguid=0x2c90300001234
Ca 1 "T" # "target"
#ioc "an array of disks" slot=2 device=0x1234
#service "SRP.T10:0002c90300001234" id=0x2c90300001234
#service "SRP.T10:0002c90300005678" id=0x77
#service "another one"
#service "SRP.T10:0002c9030000aaaa"
#service "SRP.T10:0002c9030000bbbb"
"""


@case("subnet.target", seconds=180)
def target(context):
    """A target channel adapter tells SRP's tools of its controller; no other node announces one. FAB-08, FAB-49, IBT-95"""
    if not shutil.which("ibsrpdm"):
        raise Skip("srptools are not installed")
    path = os.path.join(context.machine.folder, "target.net")
    with open(path, "w", encoding="utf-8") as out:
        out.write(TARGET)
    f = Fabric(context, "target", path)
    try:
        f.manage()
        f.await_log("SUBNET UP")
        lid = lid_of(f, "T")
        text = f.run("H-0001", "ibsrpdm", "-d", "/dev/infiniband/umad0")
        for expected in (f"port LID:        {lid:04x}", "max controllers: 0x02", "controller[  2]\n",
                         "GUID:      0002c90300001235", "vendor ID: 0002c9", "device ID: 001234", "IO class : 0100",
                         "ID:        an array of disks", "service entries: 5", "service[  0]: 0002c90300001234 / SRP.T10:0002c90300001234",
                         "service[  1]: 0000000000000077 / SRP.T10:0002c90300005678",
                         "service[  4]: 0002c90300001235 / SRP.T10:0002c9030000bbbb"):
            need(expected in text, f"{expected}: {text}")
        # The commands for a kernel, but for targets that one has logged in to: it looks where those would be.
        commands = [line for line in f.run("H-0001", "ibsrpdm", "-c", "-d", "/dev/infiniband/umad0").splitlines() if "opendir" not in line]
        need(not os.path.isdir("/sys/class/scsi_host") or len(commands) == 4 and "id_ext=0002c90300001234,ioc_guid=0002c90300001235" in commands[0] and
             commands[0].endswith("service_id=0002c90300001234"), commands)
        # CapabilityMask, bit 19: IsDeviceManagementSupported.
        mask = {n: int(f.run(n, "cat", "/sys/class/infiniband/verbena0/ports/1/cap_mask"), 16) >> 19 & 1 for n in ("H-0001", "T")}
        need(mask == {"H-0001": 0, "T": 1}, mask)
        # Nodes of each kind, and who serves which class: SM and SA are OpenSM, the rest are the node's own agents.
        found = f.run("H-0001", "ibnetdiscover", "-l")
        need(sorted(re.findall(r"^(Ca|Switch|Rt)\b", found, re.M)) == ["Ca", "Ca", "Ca", "Switch"], found)
        asker, manager = Listener(f, "H-0001"), lid_of(f, "H-0000")
        for mgmt_class, attribute, at, status in ((0x04, 0x01, lid, 0), (0x05, 0x01, lid, 0), (0x05, 0x10, lid, 0xC),
                                                  (0x06, 0x01, lid, 0), (0x06, 0x10, lid, 0), (0x06, 0x20, lid, 0xC),
                                                  (0x06, 0x10, manager, 0xC), (0x05, 0x01, manager, 0), (0x07, 0x01, lid, 0xC)):
            asker.does(f"get {mgmt_class} {attribute} {at}", f"status {status:#x}")
        need("SMINFO_MASTER" in f.run("T", "sminfo"), "sminfo")
        need(f.run("T", "saquery", "PIR").count("PortInfoRecord dump") >= 4, "saquery")
        need("ClassPortInfo" in f.run("H-0001", "saquery", "-c"), "saquery -c")
        need("CC_Key" in f.run("H-0001", "ibccquery", "CK", str(lid)), "ibccquery")
        # The agent has the class: no program of the node can register for it, as with a kernel's target driver.
        refused = ("import fcntl, os, struct\nfd = os.open('/dev/infiniband/umad0', os.O_RDWR)\n"
                   "try: fcntl.ioctl(fd, 0xC01C1B01, struct.pack('=I4IBBB3sBxxx', 0, 2, 0, 0, 0, 1, 6, 1, bytes(3), 0))\n"
                   "except OSError as e: print(e.errno)\n")
        need(f.run("T", "/usr/bin/python3", "-c", refused).strip() == "22" and
             not f.run("H-0001", "/usr/bin/python3", "-c", refused).strip(), "registrations")
    finally:
        f.end()


CONGESTION = """congestion_control TRUE
cc_sw_cong_setting_control_map 0x1f
cc_sw_cong_setting_victim_mask 0x000000000000000000000000000000000000000000000000000000000000001e
cc_sw_cong_setting_credit_mask 0x0
cc_sw_cong_setting_threshold 0x0c
cc_sw_cong_setting_packet_size 8
cc_sw_cong_setting_marking_rate 3
cc_ca_cong_setting_port_control 0x1
cc_ca_cong_setting_control_map 0x2
cc_ca_cong_setting_ccti_timer 1 150
cc_ca_cong_setting_ccti_increase 1 2
cc_ca_cong_setting_trigger_threshold 1 9
cc_ca_cong_setting_ccti_min 1 1
cc_cct 0:0,0:1,1:7
"""


def values(text):
    """Names and values of what ibccquery prints; of a name that comes again the values are a list's."""
    found = {}
    for name, value in re.findall(r"^(\w+):\.+(.*)$", text, re.M):
        found.setdefault(name, []).append(value)
    return found


@case("subnet.congestion", seconds=120)
def congestion(context):
    """OpenSM sets congestion control of switches and adapters, ibccquery reads it, and ibccconfig changes it. FAB-45"""
    f = Fabric(context, "congestion", "star:hosts=3")
    config = os.path.join(context.machine.folder, "congestion.conf")
    try:
        with open(config, "w", encoding="utf-8") as out:
            out.write(CONGESTION)
        f.manage("H-0000", "-F", config)
        f.await_log("SUBNET UP")
        shown = f.host.run([context.verbena, "fabric", "show", f.name])
        adapter, switch = str(lid_of(f, "H-0002")), re.search(r"^Switch S-0000 .* lid (\d+)$", shown, re.M)[1]

        def query(what, lid, *options):
            return values(f.run("H-0001", "ibccquery", *options, what, lid))

        def await_query(what, lid, name, index, value):
            deadline = time.monotonic() + 20
            while query(what, lid)[name][index] != value:
                need(time.monotonic() < deadline, query(what, lid))
                time.sleep(0.1)

        await_query("SS", switch, "Marking_Rate", 0, "3")
        got = query("SS", switch)
        need([got[k] for k in ("Control_Map", "Threshold", "Packet_Size")] == [["0x0000001f"], ["0x0c"], ["8"]], got)
        need(got["Victim_Mask"][0].strip("0").upper() == "1E", got)
        await_query("CS", adapter, "CCTI_Timer", 1, "150")
        got = query("CS", adapter)
        need([got[k][1] for k in ("CCTI_Increase", "Trigger_Threshold", "CCTI_Min")] == ["2", "9", "1"], got)
        need(got["CCTI_Timer"][0] == "0" and got["Port_Control"] == ["0x0001"], got)
        await_query("CT", adapter, "CCTI_Limit", 0, "2")
        got = query("CT", adapter)
        need((got["CCT_Shift"][2], got["CCT_Multiplier"][2]) == ("1", "7"), got)
        # A port of the switch, by hand; then a key, without which nothing changes any more.
        f.run("H-0001", "ibccconfig", "SP", switch, "2", "1", "0", "5", "8", "77")
        got = query("SP", switch)
        need(got["Cong_Parm_Marking_Rate"][1:3] == ["0", "77"] and got["Valid"][2] == "1", got)
        f.run("H-0001", "ibccconfig", "CK", adapter, "0x77", "1", "0", "0")
        f.run("H-0001", "sh", "-c", f"! ibccquery -t 100 -c 0x76 CS {adapter} 2>/dev/null")
        f.run("H-0001", "sh", "-c", f"! ibccconfig -t 100 CT {adapter} 1 0 0:0 0:0 2>/dev/null")
        got = query("CK", adapter, "-c", "0x77")
        need(got["CC_KeyProtectBit"] == ["1"] and int(got["CC_KeyViolations"][0]) >= 2, got)
        need(query("CT", adapter, "-c", "0x77")["CCTI_Limit"] == ["2"], "a wrong key has changed the table")
    finally:
        f.end()


BAD_MANAGER = """#!/bin/sh
for word; do
    case $last in -f) echo "x ERR 5: it cannot begin" >"$word"; esac
    last=$word
done
exit 1
"""


@case("subnet.beside", seconds=60)
def beside(context):
    """`up --sm` returns when the subnet is up; where OpenSM ends at once it says why, and there is no fabric."""
    f = Fabric(context, "beside", "fat-tree:k=4", "--sm")
    try:
        shown = f.host.run([context.verbena, "fabric", "show", "beside"])
        need(re.findall(r"^ +\d+ (\w+) ", shown, re.M) == ["ACTIVE"] * 96, shown)
    finally:
        f.end()
    folder = os.path.join(context.machine.folder, "bad-manager")
    os.makedirs(folder)
    with open(os.path.join(folder, "opensm"), "w", encoding="utf-8") as out:
        out.write(BAD_MANAGER)
    os.chmod(os.path.join(folder, "opensm"), 0o755)
    up = [context.verbena, "fabric", "--name", "beside", "--sm", "up", "star:hosts=2"]
    text = f.host.run(up, status=1, env={"PATH": f"{folder}:{os.environ['PATH']}"})
    need("OpenSM has ended" in text and "ERR 5: it cannot begin" in text, text)
    text = f.host.run([context.verbena, "fabric", "show", "beside"], status=1)
    need("no fabric 'beside' runs" in text, text)
