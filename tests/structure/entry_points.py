# SPDX-License-Identifier: BSD-2-Clause
"""Checks of libverbena.so's entry points: why they refuse, who shows them, what is exported and forwarded."""
import os
import re
import subprocess

from tree import c_files, read, without_comments

# Errnos by which a verb of src/verbs refuses: each is noted with its reason, verbs/refuse.h. ENOMEM and EIO say all.
REFUSING = re.compile(r"(?<![=!]= )(?<![=!]= -)(?<!case )\b(EINVAL|EOPNOTSUPP|ENOTSUP|ENOENT|EBUSY|EPERM|EACCES|EFAULT|ERANGE|ENODEV"
                      r"|ENODATA|EAGAIN|EBADF)\b")
NOTES_REASON = re.compile(r"\b(VB_IBV_WHY|vb_ibv_note_why|vb_ibv_why_as)\(")
QUIET_EXIT = re.compile(r"\bvb_ibv_(null|result|fail)\((?!ENOMEM\))")
# (file below src/verbs, function): why it gives an errno without a reason.
WITHOUT_REASON = {
    ("device/context.c", "vb_ibv_file_new"): "ibv_open_device(3) says it on standard error",
    ("device/context.c", "vb_ibv_context_open"): "ibv_open_device(3) says it on standard error",
    ("device/context.c", "ibv_open_device"): "it says on standard error why it fails",
    ("device/device.c", "ibv_get_device_list"): "it says on standard error why it fails",
    ("device/gid.c", "gid_get"): "ENODATA: an empty entry, which programs find that look through the table",
    ("device/gid.c", "_ibv_query_gid_ex"): "ENODATA, the same",
    ("memory/import.c", "import_own"): "ENOENT: the device may be another process's, which is looked for next",
    ("memory/import.c", "ibv_import_device"): "without an adapter: that is said on standard error",
    ("memory/import.c", "mr_import_check"): "ENODATA: the region may be another process's, which is looked for next",
    ("memory/mw.c", "vb_ibv_bind_mw"): "ENOMEM: a full queue tells a program to wait",
    ("provider/adopt.c", "adopt_context"): "ibv_open_device(3) of a copy says on standard error that it fails",
    ("provider/calls.c", "create_cq"): "vb_provider_find_channel() has noted it",
    ("provider/calls.c", "create_cq_ex"): "vb_provider_find_channel() has noted it",
    ("provider/events.c", "enter_file"): "part of a system call of the application",
    ("provider/events.c", "create_channel"): "a system call of the application",
    ("provider/events.c", "vb_provider_command"): "a system call of the application",
    ("provider/events.c", "read_completion"): "a system call of the application",
    ("provider/events.c", "read_async"): "a system call of the application",
    ("provider/events.c", "vb_provider_read_event"): "a system call of the application",
    ("qp/post.c", "refuse_post"): "ENOMEM, the same",
    ("qp/post.c", "vb_ibv_post_srq_recv"): "ENOMEM, the same",
    ("qp/wr.c", "refuse_batch"): "ENOMEM, the same",
    ("qp/wr.c", "batch_refuse"): "the batch keeps its words until ibv_wr_complete()",
    ("queue/channel.c", "ibv_get_cq_event"): "EAGAIN: there is no event yet, or a signal came",
    ("queue/event.c", "ibv_get_async_event"): "EAGAIN, the same",
    ("queue/evq.c", "vb_evq_may_wait"): "EAGAIN, the same",
    ("queue/evq.c", "vb_evq_take"): "EAGAIN, the same",
    ("queue/cq.c", "vb_ibv_poll_one"): "ENOENT: there is no completion, ibv_start_poll(3)",
    ("signals.c", "set_handler"): "a system call of the application",
}


def functions_of(text):
    """Name, line and body of each function in @text, which has neither comments nor strings."""
    for m in re.finditer(r"^[A-Za-z_][^;={}#]*?\b(\w+)\([^;{}]*\)\s*?\n\{\n(.*?)^\}", text, re.M | re.S):
        yield m.group(1), text.count("\n", 0, m.start(2)) + 1, m.group(2)


def call_end(text, start):
    """Behind the parenthesis that closes the one before @start."""
    depth = 1
    while depth and start < len(text):
        depth += {"(": 1, ")": -1}.get(text[start], 0)
        start += 1
    return start


def check_reasons(_):
    """A verb that refuses has its reason: what src/verbs gives as an errno is noted, or stands in WITHOUT_REASON."""
    bad, met = [], set()
    for path in c_files("src/verbs"):
        if not path.endswith(".c"):
            continue
        place = os.path.relpath(path, "src/verbs")
        for name, first, body in functions_of(without_comments(read(path))):
            noted = [(m.start(), call_end(body, m.end())) for m in NOTES_REASON.finditer(body)]
            found = [m for m in REFUSING.finditer(body)
                     if not any(a <= m.start() < b for a, b in noted)
                     # vb_ibv_check() notes that the object is not there.
                     and not (m.group() == "ENOENT" and "vb_ibv_check" in body)]
            found += list(QUIET_EXIT.finditer(body))
            if found and (place, name) in WITHOUT_REASON:
                met.add((place, name))
                continue
            bad += [f"{path}:{first + body.count(chr(10), 0, m.start())}: {name}() refuses by {m.group()} "
                    f"without a reason: VB_IBV_WHY(), vb_ibv_refuse()" for m in found]
    return bad + [f"src/verbs/{place}: {name}() has its reasons: take it out of WITHOUT_REASON"
                  for place, name in sorted(WITHOUT_REASON.keys() - met)]


# Entry points that `verbena trace` does not show: they tell what the device list says, or they call others.
NOT_TRACED = {
    "ibv_get_device_name", "ibv_get_device_guid", "ibv_get_device_index", "ibv_get_sysfs_path", "ibv_free_device_list",
    "ibv_fork_init", "ibv_is_fork_initialized", "ibv_get_pkey_index", "ibv_query_gid_type", "ibv_init_ah_from_wc",
    "ibv_resolve_eth_l2_from_gid", "ibv_query_qp_data_in_order",
}


def check_calls(_):
    """Each entry point of libverbena.so is shown by `verbena trace`, or stands among those that are not."""
    verbs = set(re.findall(r"^ (_?ibv_\w+)@", read("debian/libverbena0.symbols"), re.M))
    shown = set(re.findall(r"X\((\w+)\)", read("src/calls/next.h")))
    return [f"{verb}: src/calls/next.h does not have it" for verb in sorted(verbs - shown - NOT_TRACED)] + \
        [f"{verb}: it is shown, or no entry point" for verb in sorted(NOT_TRACED & shown | NOT_TRACED - verbs)]


def check_exports(args):
    """Each library exports the symbols of its file in debian/: docs/releases.md says what may change."""
    bad = []
    for library, package in (("libverbena.so", "libverbena0"), ("libverbena-sim.so", "libverbena-sim0")):
        promised = set(re.findall(r"^ (\w+)@", read(f"debian/{package}.symbols"), re.M))
        r = subprocess.run(["nm", "-D", "--defined-only", os.path.join(args.build, library)],
                           capture_output=True, text=True)
        there = set(re.findall(r" [A-Zi] (\w+)(?:@@\w+)?$", r.stdout, re.M))
        bad += [f"{symbol}: {library} does not have it: {r.stderr}" for symbol in sorted(promised - there)] + \
            [f"{symbol} of {library}: the symbol file does not have it" for symbol in sorted(there - promised)]
    return bad


# Entry points of rdma-core's library that work without a device and are left to it.
NEEDS_NO_DEVICE = {
    "ibv_copy_ah_attr_from_kern", "ibv_copy_path_rec_from_kern", "ibv_copy_path_rec_to_kern",
    "ibv_copy_qp_attr_from_kern", "ibv_dofork_range", "ibv_dontfork_range", "ibv_event_type_str", "ibv_node_type_str",
    "ibv_port_state_str", "ibv_rate_to_mbps", "ibv_rate_to_mult", "ibv_read_sysfs_file", "ibv_wc_status_str",
    "ibv_wr_opcode_str",
}


def symbols_of(library, mark):
    """The symbols of a library: {name: version} of those with "@@", which linkers take, with "@", or with neither."""
    r = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", library], capture_output=True, text=True)
    return dict(re.findall(rf" [TWi] (\w+){mark}((?:\b[\w.]+)?)$", r.stdout, re.M))


def check_forward(args):
    """By a look-up with a version a program finds in libverbena.d what it would find in rdma-core's library, and no
    release of that has public entry points that nobody here has looked at."""
    soname = os.path.join(args.build, "libverbena.d", "libibverbs.so.1")
    if not os.path.exists(soname):
        return []
    r = subprocess.run([args.cc, "-print-file-name=libibverbs.so.1"], capture_output=True, text=True)
    theirs, mine = symbols_of(r.stdout.strip(), "@@"), symbols_of(os.path.join(args.build, "libverbena.so"), "")
    forwarded = symbols_of(soname, "@")
    if len(theirs) < 100:
        return [f"{r.stdout.strip()} has {len(theirs)} symbols"]
    verbs = {name for name in mine if re.match("_?ibv_", name)}
    return [f"{name}@{theirs[name]} leads to {forwarded.get(name)}" for name in sorted(verbs & set(theirs))
            if forwarded.get(name) != theirs[name]] + \
        [f"{name} is not forwarded" for name in sorted(verbs - set(forwarded))] + \
        [f"{name}: rdma-core has it, and libverbena.so has not" for name, version in sorted(theirs.items())
         if re.match("_?ibv_", name) and "PRIVATE" not in version and name not in verbs | NEEDS_NO_DEVICE]
