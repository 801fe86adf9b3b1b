# SPDX-License-Identifier: BSD-2-Clause
"""The kernel's file interfaces, as real programs use them: docs/files.md."""
import collections
import os
import re
import shutil
import tempfile

from cases import add, case
from hosts import Failure, Skip
import pair

LISTING = """
import os, stat
dev, = [d for d in os.listdir("/sys/class/infiniband")
        if os.listdir(f"/sys/class/infiniband/{d}/device/net") == ["lo"]]
assert [e.name for e in os.scandir(f"/sys/class/infiniband/{dev}/ports")] == ["1"]
place = os.path.realpath(f"/sys/class/infiniband/{dev}/../..")
assert "/5642:" in place, place
int(open(f"{place}/numa_node").read())
assert open(f"{place}/local_cpulist").read().strip()
s = os.stat("/dev/infiniband/rdma_cm")
assert stat.S_ISCHR(s.st_mode) and (os.major(s.st_rdev), os.minor(s.st_rdev)) == (10, 122)
assert open("/sys/class/misc/rdma_cm/abi_version").read() == "4\\n"
print("ok")
"""


# The contents of a device's files, and those that a program reads which names devices by their place: rdma_rename of
# rdma-core (a PCI function, its address, slots and ports), libudev (subsystem, uevent).
ATTRIBUTES = """
import glob, os, re
dev, = [d for d in os.listdir("/sys/class/infiniband")
        if os.listdir(f"/sys/class/infiniband/{d}/device/net") == ["lo"]]
at = f"/sys/class/infiniband/{dev}"
port = f"{at}/ports/1"
def need(name, pattern):
    text = open(name).read()
    assert re.fullmatch(pattern, text), (name, text)
guid = "([0-9a-f]{4}:){3}[0-9a-f]{4}\\n"
gid = "([0-9a-f]{4}:){7}[0-9a-f]{4}\\n"
for name, pattern in {
    "node_type": "1: CA\\n", "node_guid": guid, "sys_image_guid": guid, "node_desc": f"{dev} on lo\\n",
    "fw_ver": "[0-9.]+[^\\n]*\\n", "hca_type": ".+\\n", "board_id": ".+\\n", "hw_rev": "0x.+\\n", "uevent": f"NAME={dev}\\n",
    "device/uevent": "(?s).*PCI_SLOT_NAME=5642:[0-9a-f]{2}:00.0\\n", "device/numa_node": "-?[0-9]+\\n",
    "device/local_cpulist": "[0-9,-]+\\n", "device/net/lo/dev_port": "0\\n", "device/class": "0x[0-9a-f]{6}\\n"}.items():
    need(f"{at}/{name}", pattern)
for name, pattern in {
    "state": "4: ACTIVE\\n", "phys_state": "5: LinkUp\\n", "link_layer": "Ethernet\\n", "rate": "[0-9.]+ Gb/sec .*\\n",
    "lid": "0x0\\n", "sm_lid": "0x0\\n", "lid_mask_count": "0\\n", "cap_mask": "0x[0-9a-f]{8}\\n", "pkeys/0": "0xffff\\n",
    "gids/0": gid, "gid_attrs/types/0": "RoCE v2\\n", "gid_attrs/ndevs/0": "lo\\n"}.items():
    need(f"{port}/{name}", pattern)
for folder in ("counters", "hw_counters", "cm_tx_msgs", "cm_tx_retries", "cm_rx_msgs", "cm_rx_duplicates"):
    names = glob.glob(f"{port}/{folder}/*")
    assert len(names) > 10, folder
    for name in names:
        need(name, "[0-9]+\\n")
for index in os.listdir(f"{port}/gid_attrs/types"):
    assert open(f"{port}/gids/{index}").read().strip("0:\\n"), index
for place, name in ((at, "infiniband"), (f"{at}/device", "pci"), ("/sys/class/infiniband_verbs/uverbs0", "infiniband_verbs")):
    assert os.path.basename(os.readlink(f"{place}/subsystem")) == name, place
    assert os.path.isdir(f"{place}/subsystem"), place
assert dev in os.listdir(f"{at}/subsystem")
assert os.path.basename(os.path.realpath(f"{at}/device")).startswith("5642:")
need("/sys/class/infiniband_verbs/abi_version", "6\\n")
need("/sys/class/infiniband_mad/abi_version", "5\\n")
need("/sys/class/misc/rdma_cm/dev", "10:122\\n")
need("/sys/class/infiniband_verbs/uverbs0/dev", "231:192\\n")
print("ok")
"""


def own(program):
    """A program of tests/system that ends with "ok"."""
    def run(context):
        path = os.path.join(context.build, "tests", "system", program)
        out = context.machine.a.run([*context.sanitizer, context.verbena, "run", "--", path], 30)
        if out.split()[-1:] != ["ok"]:
            raise Failure(out)
        # Their attempts at uverbs0 are answered by a word, too.
        if program.startswith("files_calls") and "the verbs are served by the calls of libibverbs" not in out:
            raise Failure(out)
    return run


for name in ("files_calls", "files_calls_fortified", "files_channel"):
    add(f"files.{name.removeprefix('files_')}", own(name))


@case("files.high_numbers")
def files_high_numbers(context):
    """A channel gets no number above the table's 65,536, and a stranger's file that has one is left alone."""
    out = context.machine.a.run([context.verbena, "run", "--", os.path.join(context.build, "tests", "system", "files_channel"),
                                 "high"])
    if "no descriptor of that number here" in out:
        raise Skip("the hard limit of descriptors is below 70,000 (RLIMIT_NOFILE)")
    if out.split()[-1:] != ["ok"]:
        raise Failure(out)


def run(context, *argv, **more):
    if not shutil.which(argv[0]):
        raise Skip(f"{argv[0]} is not installed")
    return context.machine.a.run([context.verbena, "run", "--", *argv], 30, **more)


@case("files.shell")
def files_shell(context):
    """A shell looks for names itself, changes its directory, and tests what is there."""
    for shell in ("sh", "bash"):
        out = run(context, shell, "-c", "cat /sys/class/infiniband/*/ports/1/state")
        if set(out.splitlines()) != {"4: ACTIVE"}:
            raise Failure(out)
        out = run(context, shell, "-c", "cd /sys/class/infiniband && cat */node_type && cd verbena0/ports/1 "
                  "&& cat link_layer && test -c /dev/infiniband/uverbs0 -a -w /dev/infiniband/uverbs0 && echo ok")
        if out.split()[-2:] != ["Ethernet", "ok"]:
            raise Failure(out)
        run(context, shell, "-c", "echo 0 > /sys/class/infiniband/verbena0/node_type", status=2 if shell == "sh" else 1)


@case("files.descriptors_have_room")
def files_descriptors_have_room(context):
    """A program's table of descriptors has room for the numbers of this library before its threads begin: to grow later takes 16 ms."""
    out = run(context, "grep", "FDSize", "/proc/self/status")
    if int(out.split()[1]) <= 900:
        raise Failure(out)


@case("files.python")
def files_python(context):
    out = run(context, "/usr/bin/python3", "-c", LISTING)
    if out != "ok\n":
        raise Failure(out)


@case("files.attributes")
def files_attributes(context):
    out = run(context, "/usr/bin/python3", "-c", ATTRIBUTES)
    if out != "ok\n":
        raise Failure(out)


@case("files.values_are_live")
def files_values_are_live(context):
    """A program that is there reads in sysfs that its port goes down, comes back, and gets another address."""
    with pair.spare(context) as place:
        c, d = place.client.host, place.server.host
        port = f"/sys/class/infiniband/{c.device(context.verbena, 'veth9')}/ports/1"
        reader = c.start([context.verbena, "run", "--", "sh", "-c",
                          f"while sleep 0.1; do cat {port}/state {port}/gids/* | sort -u; done"])
        reader.wait_output("4: ACTIVE")
        d.run(["ip", "link", "set", "veth9", "down"])
        reader.wait_output("1: DOWN", 15)
        d.run(["ip", "link", "set", "veth9", "up"])
        reader.wait_output("1: DOWN[^A]*4: ACTIVE", 15)
        c.run(["ip", "addr", "add", "10.8.0.77/24", "dev", "veth9"])
        reader.wait_output("0000:0000:0000:0000:0000:ffff:0a08:004d", 15)
        reader.end()


@case("files.diags")
def files_diags(context):
    """The tools of infiniband-diags that look at the devices alone."""
    out = run(context, "ibstat")
    if not re.search(r"CA 'verbena\d+'\n(?:.*\n)*\t\tState: Active\n(?:.*\n)*\t\tLink layer: Ethernet", out):
        raise Failure(out)
    out = run(context, "ibv_devinfo")
    if not re.search(r"hca_id:\tverbena\d+\n(?:.*\n)*\t\t\tstate:\t+PORT_ACTIVE", out):
        raise Failure(out)
    out = run(context, "ibstatus")
    if "phys state:\t 5: LinkUp" not in out:
        raise Failure(out)


@case("files.no_more_system_calls")
def files_no_more_system_calls(context):
    """A program that touches no RDMA file makes the system calls that it makes without us."""
    if not shutil.which("strace"):
        raise Skip("strace is not installed")

    def calls(times, *front):
        script = f"grep -c root {'/etc/passwd ' * times}; " + "cd /; exec 3</etc/passwd; exec 4<&3; exec 4<&-;" * times
        with tempfile.NamedTemporaryFile() as log:
            context.machine.a.run([*front, "strace", "-f", "-o", log.name, "sh", "-c", script], 30)
            return collections.Counter(re.findall(r"^\d+ +(\w+)\(", log.read().decode(), re.M))
    # The cost of loading one library more is the same for both numbers of times.
    without = calls(21) - calls(1)
    with_us = calls(21, context.verbena, "run", "--") - calls(1, context.verbena, "run", "--")
    if without != with_us or without["read"] < 20 or without["openat"] < 40:
        raise Failure(f"without: {without}\nwith: {with_us}")


@case("files.preload_of_the_users")
def files_preload_of_the_users(context):
    """Another library stands before the same calls, before ours and behind."""
    theirs = os.path.join(context.build, "tests", "system", "libfiles_preload.so")
    program = os.path.join(context.build, "tests", "system", "files_channel")
    behind = context.machine.a.run(["env", f"LD_PRELOAD={theirs}", context.verbena, "run", "--", program], 30)
    before = context.machine.a.run([context.verbena, "run", "--", "sh", "-c",
                                    f"LD_PRELOAD={theirs}:$LD_PRELOAD exec {program}"], 30)
    for out in (behind, before):
        if "ok\n" not in out or "opens some writes some" not in out:
            raise Failure(out)


def sanitized(sanitizer, options):
    @case(f"files.{sanitizer}_sanitizer")
    def _(context):
        """A program with a sanitizer, whose runtime stands before the same calls."""
        program = os.path.join(context.build, "tests", "system", f"files_channel_{sanitizer}")
        out = context.machine.a.run(["env", options, context.verbena, "run", "--", program], 60)
        if out.split()[-1:] != ["ok"]:
            raise Failure(out)


sanitized("address", "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0")
sanitized("thread", "TSAN_OPTIONS=halt_on_error=1")


@case("files.rping")
def files_rping(context):
    """The connection manager by its device file: librdmacm linked, on one host."""
    if not shutil.which("rping"):
        raise Skip("rping is not installed")
    server = context.machine.a.start([context.verbena, "run", "--", "rping", "-s", "-a", "127.0.0.1", "-C", "10",
                                      "-V"])
    for _ in range(40):
        client = context.machine.a.start([context.verbena, "run", "--", "rping", "-c", "-a", "127.0.0.1", "-C", "10",
                                          "-V"])
        if client.wait(20) == 0:
            break
        if server.status() is not None or "REJECTED" not in client.output():
            raise Failure(client.story() + server.story())
    if server.wait(20) != 0:
        raise Failure(server.story())


@case("files.dlopen")
def files_dlopen(context):
    """librdmacm opened while the program runs."""
    out = run(context, "/usr/bin/python3", "-c", """
import ctypes
lib = ctypes.CDLL("librdmacm.so.1", use_errno=True)
lib.rdma_create_event_channel.restype = ctypes.c_void_p
lib.rdma_create_id.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
channel = lib.rdma_create_event_channel()
assert channel, ctypes.get_errno()
id = ctypes.c_void_p()
assert lib.rdma_create_id(channel, ctypes.byref(id), None, 0x0106) == 0, ctypes.get_errno()
lib.rdma_destroy_id.argtypes = [ctypes.c_void_p]
assert lib.rdma_destroy_id(id) == 0
print("ok")
""")
    if out != "ok\n":
        raise Failure(out)


UMAD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "umad_roce.py")


@case("files.umad", seconds=120)
def mads_of_roce(context):
    """A RoCE device has a umad file, whose agents send and receive MADs by QP1. MAD-01, MAD-06, MAD-07, MAD-08, MAD-12"""
    a, b = context.machine.a, context.machine.b
    if not b:
        raise Skip(context.machine.why)

    def at(host, *words):
        return [context.verbena, "run", "--", "/usr/bin/python3", UMAD, words[0], host.device(context.verbena, "veth0"), *words[1:]]
    server = b.start(at(b, "serve"), name="umad server")
    server.wait_output("^ready$")
    text = a.run(at(a, "ask", "10.9.0.1", "10.9.0.2"), seconds=60)
    if text.splitlines() != ["file False EPROTONOSUPPORT EINVAL ok ENOENT", "write EINVAL EINVAL EIO", "answer (129, 0, 7, 'HELLO!')",
                             "refused (129, 12, 8)", "connections (129, 12, 11)", "own (129, 12, 9)", "nobody ETIMEDOUT"]:
        raise Failure(text + server.story())
    server.wait_output("^request from 10.9.0.1 status 0 grh 1$")
    # The library of infiniband-diags finds the port; nothing of it is a subnet's.
    if shutil.which("ibstat"):
        text = a.run([context.verbena, "run", "--", "ibstat", a.device(context.verbena, "veth0")])
        if not re.search(r"State: Active[\s\S]*Link layer: Ethernet", text):
            raise Failure(text)


@case("files.umad.gone", seconds=120)
def device_is_removed(context):
    """When a network device goes, an open umad file of its RDMA device has an error and nothing else. MAD-01, MAD-16"""
    with pair.spare(context) as place:
        c = place.client.host
        device = c.device(context.verbena, "veth9")
        p = c.start([context.verbena, "run", "--", "/usr/bin/python3", UMAD, "gone", device], name="umad file")
        p.wait_output("^ready$")
        c.run(["ip", "link", "del", "veth9"])
        p.wait_output("^gone True EIO EIO EPIPE$", 30)
