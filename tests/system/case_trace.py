# SPDX-License-Identifier: BSD-2-Clause
"""`verbena trace`: the calls of real programs, as text and as JSON."""
import json
import os
import re
import tempfile

from cases import case
from hosts import Failure
import pair


def need(condition, text):
    if not condition:
        raise Failure(text)


def trace_client(context, program, *options):
    """Runs a program with itself on one host. Returns the calls of its client."""
    place = context.places["lo4"]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "calls")
        # The client is what `verbena run` starts with the variable set.
        pair.run(place, program, options, env={"VERBENA_TRACE": f"json,file={path}"}, server_env={"PATH": os.environ["PATH"]})
        with open(path, encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]


def times(calls, name, wanted=lambda call: True):
    return sum(call.get("times", 1) for call in calls if call["call"] == name and wanted(call))


def only(calls, name):
    found = [call for call in calls if call["call"] == name]
    need(len(found) == 1 and found[0].get("times", 1) == 1, f"{name}: {found}")
    return found[0]


@case("trace.pingpong")
def _(context):
    """Every call is there, with what was given and what came back."""
    calls = trace_client(context, "ibv_rc_pingpong", "-n", "50", "-r", "100")
    text = json.dumps(calls, indent=1)
    need(times(calls, "ibv_post_send") == 50, text)
    completions = [wc for call in calls if call["call"] == "ibv_poll_cq" and call["result"]
                   for wc in call["returned"]["wc"] * call.get("times", 1)]
    need(len(completions) == 100 and all(wc["status"] == "SUCCESS" for wc in completions), text)
    need({wc["opcode"] for wc in completions} == {"SEND", "RECV"}, text)
    need(times(calls, "ibv_poll_cq", lambda call: not call["result"]) > 0, text)
    need(times(calls, "ibv_post_recv") >= 100, text)
    again = [call for call in calls if call.get("times", 1) > 1]
    need(again and all(call["ns"] > 0 for call in again), text)
    states = [call["arguments"]["attr"]["qp_state"] for call in calls if call["call"] == "ibv_modify_qp"]
    need(states == ["INIT", "RTR", "RTS"], text)
    qp = only(calls, "ibv_create_qp")
    need(qp["arguments"]["qp_type"] == "RC" and qp["arguments"]["pd"] == "pd1" and
         qp["arguments"]["send_cq"] == "cq1" and qp["arguments"]["cap"]["max_recv_wr"] == 100, text)
    need(all(call["arguments"]["qp"] == qp["result"] for call in calls if "qp" in call["arguments"]), text)
    region = only(calls, "ibv_reg_mr")
    need(region["arguments"]["length"] == 4096 and region["result"] == "mr1" and
         region["arguments"]["access"] == "LOCAL_WRITE", text)
    sent = next(call for call in calls if call["call"] == "ibv_post_send")["arguments"]["wr"]
    need(len(sent) == 1 and sent[0]["opcode"] == "SEND" and sent[0]["send_flags"] == "SIGNALED" and
         sent[0]["sg_list"][0]["lkey"] == region["returned"]["lkey"] and
         sent[0]["sg_list"][0]["addr"] == region["arguments"]["addr"], text)
    for name in "destroy_qp", "destroy_cq", "dereg_mr", "dealloc_pd", "close_device":
        need(only(calls, "ibv_" + name)["result"] == 0, text)
    need(len({call["pid"] for call in calls}) == 1 and all(call["ns"] >= 0 for call in calls), text)
    begins = [call["time"] for call in calls]
    need(begins == sorted(begins) and begins[-1] - begins[0] < 25, text)


@case("trace.kinds")
def _(context):
    """Address handles, events, and what goes by pointers in the context: XRC, SRQs, extended calls."""
    calls = trace_client(context, "ibv_ud_pingpong", "-n", "10", "-e")
    handle = only(calls, "ibv_create_ah")
    need(handle["result"] == "ah1" and handle["arguments"]["attr"]["dgid"] == "::ffff:127.0.0.1", handle)
    need(all(wr["ah"] == "ah1" for call in calls if call["call"] == "ibv_post_send"
             for wr in call["arguments"]["wr"]), calls)
    need(times(calls, "ibv_get_cq_event") > 0 and times(calls, "ibv_req_notify_cq") > 0 and
         only(calls, "ibv_create_comp_channel")["result"] == "channel1", calls)
    calls = trace_client(context, "ibv_xsrq_pingpong", "-n", "10")
    names = {call["call"] for call in calls}
    need({"ibv_open_xrcd", "ibv_close_xrcd", "ibv_create_srq_ex", "ibv_create_qp_ex", "ibv_post_srq_recv",
          "ibv_destroy_srq"} <= names, names)
    need(only(calls, "ibv_create_srq_ex")["arguments"]["xrcd"] == "xrcd1", calls)


@case("trace.extended")
def _(context):
    """Calls that go by pointers in QPs and CQs: ibv_wr_*() and ibv_start_poll()."""
    calls = trace_client(context, "ibv_rc_pingpong", "-n", "10", "-N")
    for name in "start", "send", "set_sge", "complete":
        need(times(calls, "ibv_wr_" + name) == 10, calls)
    sent = next(call for call in calls if call["call"] == "ibv_wr_send")
    need(sent["arguments"] == {"qp": only(calls, "ibv_create_qp_ex")["result"], "wr_id": 2, "wr_flags": "SIGNALED"}, sent)
    calls = trace_client(context, "ibv_rc_pingpong", "-n", "10", "-t")
    got = [call["returned"] for call in calls if call["call"] in ("ibv_start_poll", "ibv_next_poll") and not call["result"]]
    need(sorted(wc["opcode"] for wc in got) == ["RECV"] * 10 + ["SEND"] * 10 and
         all(wc["status"] == "SUCCESS" for wc in got), calls)
    need(times(calls, "ibv_end_poll") == times(calls, "ibv_start_poll", lambda call: not call["result"]), calls)


@case("trace.story")
def _(context):
    """As text, calls and completions that equal those before them are counted."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "calls")
        pair.run(context.places["lo4"], "ib_write_bw", ["-n", "200", "-s", "65536"], env={"VERBENA_TRACE": f"text,file={path}"},
                 server_env={"PATH": os.environ["PATH"]})
        with open(path, encoding="utf-8") as f:
            lines = f.read().splitlines()
    posts = [line for line in lines if "ibv_post_send(" in line]
    # The first of a row of equal calls, and the number of the others.
    counts = [int(re.search(r" = 0(?:, (\d+) more times)? <", line)[1] or 1) for line in posts]
    need(sum(counts) == 200 and len(posts) < 100, "\n".join(lines))
    polls = [re.findall(r"\{wr_id=0, status=SUCCESS, [^}]*\}(?:, (\d+) more)?", line) for line in lines if "-> {wc=[" in line]
    need(all(len(poll) == 1 for poll in polls) and any(poll[0] for poll in polls), "\n".join(lines))
    need(sum(1 + int(poll[0] or 0) for poll in polls) <= 200, "\n".join(lines))


@case("trace.churn")
def _(context):
    """All kinds of calls, on many threads, for long: each line is JSON, and memory does not grow."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "calls")
        context.machine.a.run([*context.sanitizer, context.verbena, "run", "--", os.path.join(context.build, "tests", "system", "verbs_churn"),
                               "3000", "16"], env={"VERBENA_TRACE": f"json,file={path}"}, seconds=50)
        with open(path, encoding="utf-8") as lines:
            names = {json.loads(line)["call"] for line in lines}
    need({"ibv_alloc_mw", "ibv_alloc_dm", "ibv_reg_dm_mr", "ibv_alloc_td", "ibv_alloc_parent_domain", "ibv_resize_cq",
          "ibv_rereg_mr", "ibv_import_pd", "ibv_unimport_mr", "ibv_create_cq_ex"} <= names, sorted(names))


@case("trace.refused")
def _(context):
    """A call that is refused comes with its reason; -e shows it alone; the exit status is the program's."""
    argv = ["ibv_rc_pingpong", "-g", "0", "-i", "3", "127.0.0.1"]
    out = context.machine.a.run([*context.sanitizer, context.verbena, "trace", "-e", "modify_qp", "--", *argv], status=1)
    lines = [line for line in out.splitlines() if line.startswith("[")]
    need(len(lines) == 1 and
         re.fullmatch(r"\[\d+\] \d\d:\d\d:\d\d\.\d{6} ibv_modify_qp\(qp=0x[0-9a-f]{6}, attr=\{qp_state=INIT, "
                      r"qp_access_flags=0, pkey_index=0, port_num=3\}, attr_mask=STATE\|ACCESS_FLAGS\|PKEY_INDEX\|PORT\)"
                      r" = EINVAL \(port_num is no port of the device.*\) <\d+\.\d{3} us>", lines[0]), out)
    out = context.machine.a.run([*context.sanitizer, context.verbena, "trace", "-e", "!query_*,modify_qp", "--", *argv], status=1)
    need("ibv_open_device(device=verbena0) = ctx1 <" in out and "ibv_modify_qp" not in out and
         "ibv_query" not in out, out)


@case("trace.mlx5dv")
def _(context):
    """The calls of mlx5dv that are answered: DC, by a program that makes every kind of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "calls")
        pair.run(context.places["lo4"], "ib_write_bw", ["-c", "DC", "-n", "50", "-s", "4096"],
                 env={"VERBENA_TRACE": f"json,file={path}", "VERBENA_DC": "half"},
                 server_env={"PATH": os.environ["PATH"], "VERBENA_DC": "half"})
        with open(path, encoding="utf-8") as lines:
            calls = [json.loads(line) for line in lines]
    made = [call for call in calls if call["call"] == "mlx5dv_create_qp"]
    need(any(call["arguments"]["dc_type"] == "DCI" and call["arguments"]["qp_type"] == "DRIVER" for call in made), made)
    qps = {call["result"] for call in made}
    addressed = [call["arguments"] for call in calls if call["call"].startswith("mlx5dv_wr_set_dc_addr")]
    need(addressed and all(a["qp"] in qps and a["ah"].startswith("ah") for a in addressed), calls)
    need(times(calls, "ibv_wr_start") > 0 and times(calls, "mlx5dv_wr_set_dc_addr_stream") > 0, {call["call"] for call in calls})


@case("trace.later")
def _(context):
    """The calls that rdma-core has since version 59, whatever the headers of the build have."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "calls")
        context.machine.a.run([*context.sanitizer, context.verbena, "run", "--", "/usr/bin/python3",
                               os.path.join(context.source, "tests", "system", "later_calls.py")],
                              env={"VERBENA_TRACE": f"json,file={path}"})
        with open(path, encoding="utf-8") as lines:
            calls = [json.loads(line) for line in lines]
    shown = {call["call"]: call for call in calls}
    given = {name: call["arguments"] for name, call in shown.items()}
    region, attached = given["ibv_reg_mr_ex"], given["ibv_qp_attach_comp_cntr"]
    need(shown["ibv_alloc_dmah"]["result"] == "dmah1" and given["ibv_alloc_dmah"]["cpu_id"] == 0, calls)
    need(region["dmah"] == "dmah1" and region["length"] == 4096 and "REMOTE_WRITE" in str(region["access"]) and "fd" not in region, calls)
    need(given["ibv_reg_buf_mr"]["buf"] == shown["ibv_alloc_buf"]["result"] == "buf1", calls)
    need(shown["ibv_reg_mr_ex"]["returned"]["rkey"] and shown["ibv_alloc_buf"]["returned"]["addr"], calls)
    need(shown["ibv_query_port_speed"]["returned"]["port_speed"] > 0, calls)
    need(shown["ibv_export_buf_dmabuf_fd"]["errno"] == "ENODATA", calls)
    need(given["ibv_create_comp_cntr"]["type"] == "BYTES" and shown["ibv_create_comp_cntr"]["result"] == "cntr1", calls)
    need(given["ibv_inc_comp_cntr"] == {"cntr": "cntr1", "amount": 2} and given["ibv_set_err_comp_cntr"] == {"cntr": "cntr1", "value": 6}, calls)
    need(shown["ibv_read_comp_cntr"]["returned"]["value"] == 42 and shown["ibv_read_err_comp_cntr"]["returned"]["value"] == 7, calls)
    need("SEND" in str(attached["op_mask"]) and "RDMA_WRITE" in str(attached["op_mask"]), calls)
    need(shown["ibv_query_comp_cntr_caps"]["returned"]["max_counters"] > 0, calls)
    need({"ibv_free_buf", "ibv_dealloc_dmah", "ibv_destroy_comp_cntr"} <= set(shown), set(shown))


@case("trace.errno")
def _(context):
    """The program finds errno as the verb left it."""
    script = """
import ctypes
verbs, pointer = ctypes.CDLL(None, use_errno=True), ctypes.c_void_p
for name in "get_device_list", "open_device", "create_cq":
    getattr(verbs, "ibv_" + name).restype = pointer
devices = ctypes.cast(verbs.ibv_get_device_list(None), ctypes.POINTER(pointer))
context = pointer(verbs.ibv_open_device(pointer(devices[0])))
print("made", verbs.ibv_create_cq(context, 1 << 30, None, None, 0), "errno", ctypes.get_errno())
"""
    out = context.machine.a.run([*context.sanitizer, context.verbena, "trace", "-e", "ibv_create_cq", "--", "python3", "-c", script])
    need(re.search(r"ibv_create_cq\(context=ctx1, cqe=1073741824, channel=NULL, comp_vector=0\) = NULL EINVAL \(cqe ", out) and
         "made None errno 22" in out, out)


@case("trace.children")
def _(context):
    """A file is emptied first; children, and programs one after the other, add to it."""
    a = context.machine.a
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "calls")
        for _ in range(2):
            out = a.run([*context.sanitizer, context.verbena, "trace", "-o", path, "--", "sh", "-c", "ibv_devinfo; ibv_devinfo"])
            need("hca_id" in out and "ibv_open_device" not in out, out)
        with open(path, encoding="utf-8") as lines:
            opened = re.findall(r"^\[(\d+)\] .*ibv_open_device", lines.read(), re.M)
        need(len(opened) >= 2 and len(set(opened)) == 2, opened)


@case("trace.wrong")
def _(context):
    a = context.machine.a
    out = a.run([*context.sanitizer, context.verbena, "trace", "-o", "/nowhere/calls", "--", "echo", "ran"], status=125)
    need("cannot write '/nowhere/calls': No such file or directory" in out and "ran" not in out, out)
    need("no command to run" in a.run([*context.sanitizer, context.verbena, "trace", "-j"], status=2), "usage")
    a.run([*context.sanitizer, context.verbena, "trace", "--", "no-such-program"], status=127)
    need(a.run([*context.sanitizer, context.verbena, "trace", "--", "echo", "-j"]) == "-j\n", "echo")
