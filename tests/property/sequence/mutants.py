#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Shows that the sequence tests find what they are for: breaks the core in one line, links
`sequence` with it, and demands that it fails by the invariant that the line violates, that the
case shrinks to a few steps, and that what is printed fails in the same way when it is run again.

    tests/property/sequence/mutants.py --build build/release [-k NAME]
    tests/property/sequence/mutants.py --check      whether each line that is to be broken is there
"""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
STEPS = 16  # a shrunk case has at most so many

# Name, file, what is broken, by what, the invariants that may tell.
MUTANTS = (
    ("completion_lost", "core/qp/complete.c", "if (status == VB_WC_SUCCESS && !(w->flags & VB_SEND_SIGNALED))",
     "if (status == VB_WC_SUCCESS && (!(w->flags & VB_SEND_SIGNALED) || w->length == 4))",
     "order stuck"),
    ("completion_twice", "core/qp/complete.c", "cqe_push(qp, qp->send_cq, &wc, false);",
     "cqe_push(qp, qp->send_cq, &wc, false); cqe_push(qp, qp->send_cq, &wc, false);", "once"),
    ("completions_in_disorder", "core/obj/cq.c", "wc[n++] = cq->ring[cq->head++ & cq->mask];",
     "{ wc[n++] = cq->ring[(cq->head ^ (cq->tail - cq->head > 1)) & cq->mask]; cq->head++; }",
     "order once"),
    ("flush_is_success", "core/qp/complete.c", "vb_send_complete(channel, VB_WC_WR_FLUSH_ERR, 0, now);",
     "vb_send_complete(channel, VB_WC_SUCCESS, 0, now);", "status bytes once"),
    ("any_key_will_do", "core/obj/mem.c", "!vb_range_within(*va, len, mr->iova, mr->length)",
     "!vb_range_within(*va, len - 1, mr->iova, mr->length)", "guard status"),
    ("wrong_bytes", "core/obj/mem.c", "memcpy(c->to, c->from, c->len);",
     "memcpy(c->to, c->from, c->len - (c->len > 700));", "bytes once"),
    ("psn_gap", "core/qp/sq.c", "req->psn_post = vb_psn_add(req->psn_post, w->pkts);",
     "req->psn_post = vb_psn_add(req->psn_post, w->pkts + (w->pkts == 3));", "psn crash"),
    ("ack_of_the_next", "core/rc/ack.c", "vb_psn_prev(resp->epsn)", "resp->epsn", "psn"),
    ("msn_ahead", "core/rc/resp.c", "if (flags & VB_OP_LAST)\n\t\tresp->msn++;",
     "if (flags & VB_OP_LAST)\n\t\tresp->msn += 2;", "msn"),
    ("too_much_credit", "core/rc/ack.c", "(2 * log2 + (wqe_cnt >> (log2 - 1) & 1));",
     "(2 * log2 + 1 + (wqe_cnt >> (log2 - 1) & 1));", "credit"),
    ("rnr_timer_off", "core/rc/comp.c", "vb_timer_set(qp, VB_TIMER_RNR,", "(void)(",
     "stuck"),
    ("queue_not_freed", "core/qp/sq.c", "vb_free(qp->hca, qp->sq.slots);", ";", "leak"),
    ("repeated_atomic", "core/rc/resp_read.c", "p && vb_mem_guarded(qp->hca, atomic_execute, &o)",
     "p && (vb_mem_guarded(qp->hca, atomic_execute, &o), "
     "vb_mem_guarded(qp->hca, atomic_execute, &o))", "bytes"),
    ("window_without_rights", "core/obj/mem.c", "if ((mw->access & access) != access)", "if (false)", "status"),
    ("window_too_long", "core/obj/mem.c", "vb_range_within(*va, len, mw->iova, mw->length)",
     "vb_range_within(*va, len, mw->iova, mw->length + 1024)", "status"),
    ("window_of_any_qp", "core/obj/mem.c", "if (mw->type == 2 && mw->qpn != r->qpn)", "if (false)", "status"),
    ("window_bound_twice", "core/obj/mw.c", "mw->type == 2 ? mw->mr || !len :", "mw->type == 2 ? !len :", "status"),
    ("window_bound_beyond", "core/obj/mw.c", "return vb_range_within(va, len, mr->iova, mr->length);", "return true;",
     "status guard crash"),
    ("window_not_invalidated", "core/obj/mw.c", "\t\treturn -EACCES;\n\tmw_unbind(mw);", "\t\treturn -EACCES;", "status"),
    ("any_window_invalidated", "core/obj/mw.c", "mw->type != 2 || !mw->mr || mw->qpn != qpn", "!mw->mr",
     "status"),
    ("overrun_unseen", "core/obj/cq.c", "if (cq->tail - cq->head > cq->mask) {\n\t\tcq->overrun = true;",
     "if (cq->tail - cq->head > cq->mask) {\n\t\treturn 0;", "stuck order status once"),
    ("overrun_early", "core/obj/cq.c", "if (cq->tail - cq->head > cq->mask) {", "if (cq->tail - cq->head + 1 > cq->mask) {",
     "overrun"),
    ("overrun_not_told", "core/qp/complete.c", "vb_qp_raise(qp, VB_ASYNC_QP_FATAL);", "", "overrun"),
    ("overrun_spares_qps", "core/qp/complete.c", "\t\t\tvb_qp_fatal(qp, now);", "\t\t\t;", "overrun status"),
    ("limit_early", "core/obj/rq.c", "vb_rq_cnt(rq) < srq->limit", "vb_rq_cnt(rq) <= srq->limit", "limit"),
    ("limit_late", "core/obj/rq.c", "vb_rq_cnt(rq) < srq->limit", "vb_rq_cnt(rq) + 1 < srq->limit", "limit"),
    ("limit_stays", "core/obj/rq.c", "srq->limit = 0; /*", "/*", "limit"),
    ("no_last_wqe", "core/qp/complete.c", "if (enters && qp->srq", "if (false && qp->srq",
     "stuck"),
    ("drained_too_soon", "core/rc/req.c", "if (qp->state != VB_QPS_SQD || !qp->sq_draining || !vb_psn_eq(req->psn_una, "
     "req->psn_max))", "if (qp->state != VB_QPS_SQD || !qp->sq_draining)", "order"),
    ("never_drained", "core/qp/attr.c", "\t\tchannel->ops->on_sqd(channel, now);", "\t\t;", "stuck"),
    ("rights_stay", "core/obj/mem.c", "\tmr->access = access;\n\treturn 0;", "\treturn 0;", "status call"),
    ("xrc_any_domain", "core/xrc/domain.c", "if (!srq || srq->xrcd != qp->xrcd)", "if (!srq)", "status"),
    ("xrc_srq_stays", "core/xrc/domain.c", "qp->srq = srq;", "qp->srq = qp->srq ? qp->srq : srq;", "once"),
    ("xrc_domain_of_keys_stays", "core/xrc/domain.c", "qp->pd = srq->pd;", "qp->pd = qp->pd ? qp->pd : srq->pd;",
     "status"),
    ("flush_without_rights", "core/rc/resp_read.c", "hdr->reth.rkey, hdr->reth.va, hdr->reth.len, access);",
     "hdr->reth.rkey, hdr->reth.va, hdr->reth.len, 0);", "status"),
    ("dc_any_key", "core/dc/dct.c", "if (hdr->dc.key != dct->key)", "if (false)", "status"),
    ("dc_late_connect_counts", "core/dc/dct.c", "if (i < VB_DCT_CONTEXTS && !is_newer(", "if (false && !is_newer(",
     "once status bytes"),
    ("dc_stream_goes_on", "core/dc/streams.c", "\t\tstream_doom(qp, stream);", "\t\t(void)stream_doom;", "status"),
    ("dc_stream_stays_bad", "core/dc/streams.c", "s->bad[i] = s->bad[--s->bad_cnt];", ";", "status call"),
    ("dc_stream_in_two_channels", "core/dc/streams.c", "\t\tif (is_owner(channel, stream))\n\t\t\treturn channel;\n", "",
     "order once status"),
    ("dc_channels_are_one", "core/dc/dct.c", "e->channel == hdr->dc.channel &&", "", "once status stuck bytes"),
    ("dc_foreign_address", "core/qp/sq.c", "if (!qp->ops->is_connected && wr->ah->pd != qp->pd)", "if (false)", "status"),
    ("group_forgets_one", "core/ud/mcast.c", "for (uint32_t i = 0; g && i < g->cnt; i++) {\n\t\tenum",
     "for (uint32_t i = 0; g && i < g->cnt - (g->cnt > 1); i++) {\n\t\tenum", "once"),
    ("group_loses_another", "core/ud/mcast.c", "\t\tg->qp[i] = g->qp[i + 1];", "\t\t;", "once call crash"),
    ("sqe_is_rts", "core/qp/complete.c", "\tvb_qp_set_state(qp, VB_QPS_SQE, now);\n\tflush_send", "\tflush_send", "status"),
    ("domain_stays", "core/obj/mem.c", "mr->key.pd = pd;", "(void)0;", "status leak call crash"),
    ("null_is_not_zero", "core/obj/mem.c", "static const uint8_t zeros[VB_PAYLOAD_MAX];",
     "static const uint8_t zeros[VB_PAYLOAD_MAX] = {[7] = 1};", "bytes once"),
    ("null_has_rights", "core/obj/mem.c", "\tmr->access = attr->access;",
     "\tmr->access = attr->access | (attr->kind == VB_MR_NULL ? ~0u : 0);", "status"),
    ("null_keeps_bytes", "core/obj/mem.c", "\tmr->kind = attr->kind;",
     "\tmr->kind = attr->kind == VB_MR_NULL ? VB_MR_IMPLICIT : attr->kind;", "crash status guard"),
    ("implicit_is_not_paged", "core/obj/mem.c", "if (!(mr->access & VB_ACCESS_ON_DEMAND) || !len)",
     "if (!(mr->access & VB_ACCESS_ON_DEMAND) || !len || mr->kind == VB_MR_IMPLICIT)", "guard status bytes"),
    ("page_not_looked_at", "core/obj/mem.c", "if (!(mr->access & VB_ACCESS_ON_DEMAND) || !len)", "if (true)",
     "guard status bytes"),
    ("zero_based_start_lost", "core/obj/mem.c", "*va = mw->start + (*va - mw->iova);", "*va = mw->mr->iova + (*va - mw->iova);",
     "bytes status"),
    ("zero_based_ignored", "core/obj/mw.c", "mw->iova = access & VB_ACCESS_ZERO_BASED ? 0 : bind->addr;",
     "mw->iova = bind->addr;", "status"),
    ("zero_based_type_1", "core/obj/mw.c", ": (access & VB_ACCESS_ZERO_BASED) != 0)", ": false)", "status"),
    ("zero_based_region_bound", "core/obj/mw.c", "mr->access & VB_ACCESS_ZERO_BASED ||", "", "status"),
    ("lost_is_located", "core/obj/mem.c", "if (vb_mr_is_lost(mr))\n\t\treturn VB_REFUSE(", "if (false)\n\t\treturn VB_REFUSE(", "call"),
    ("located_elsewhere", "core/obj/mem.c", "*p = mr_host_at(mr, sge->addr);", "*p = mr->host;", "call"),
    ("located_for_any", "core/obj/mem.c", "if (k->pd != pd)\n\t\treturn VB_REFUSE(", "if (false)\n\t\treturn VB_REFUSE(", "call"),
    ("page_read_for_written", "core/obj/mem.c", "(size_t)(len < most ? len : most), write);",
     "(size_t)(len < most ? len : most), false);", "guard status"),
    ("xrc_srq_destroyed_held", "core/xrc/domain.c", "\t\t\tvb_xrc_let_go(qp);", "\t\t\t;", "crash status once stuck call"),
    ("xrc_srq_destroyed_found", "core/xrc/domain.c", "*srq_slot(h, srq->number) = NULL;", ";", "crash status once call endless"),
    ("srq_destroyed_in_use", "core/obj/rq.c", "if (srq->refs)\n\t\treturn -EBUSY;", "", "call crash"),
    ("domain_destroyed_in_use", "core/share/domain.c", "if (!is_abandoned(x))\n\t\treturn -EBUSY;", "", "call crash"),
)


def replace_one(text, old, new):
    """The last occurrence: a clean-up path of the same text may stand before it."""
    at = text.rfind(old)
    return None if at < 0 else text[:at] + new + text[at + len(old):]


def text_of(mutant):
    """(the text of the broken file, why there is none)."""
    _, path, old, new, _ = mutant
    with open(os.path.join(ROOT, "src", path), encoding="utf-8") as f:
        text = replace_one(f.read(), old, new)
    return text, None if text else f"src/{path} has no line '{old}' any more: give the mutant another"


def build(folder, commands, link, tree, mutant):
    text, why = text_of(mutant)
    if why:
        return why
    path = mutant[1]
    source = os.path.join(ROOT, "src", path)
    broken = os.path.join(folder, os.path.basename(path))
    with open(broken, "w", encoding="utf-8") as f:
        f.write(text)
    entry = commands[source]
    argv = shlex.split(entry["command"])
    argv[argv.index("-o") + 1] = broken + ".o"
    argv = [broken if a == source or os.path.join(entry["directory"], a) == source else a
            for a in argv if a not in ("-Werror",)]
    subprocess.run(argv + ["-w", f"-I{os.path.dirname(source)}"], check=True, cwd=entry["directory"])
    # The broken object stands before the archives, and is taken in place of theirs.
    at = link.index("-o")
    subprocess.run([*link[:at], "-o", os.path.join(folder, "sequence"), broken + ".o", *link[at + 2:]], check=True,
                   cwd=tree)
    return None


def judge(folder, mutant):
    name, _, _, _, kinds = mutant
    program = os.path.join(folder, "sequence")
    p = subprocess.run([program, "--seed", "1", "--runs", "20000"], capture_output=True, text=True,
                       timeout=600)
    said = re.search(r"^# (\w+): (.*)$", p.stdout, re.M)
    if p.returncode != 1 or not said:
        return f"is not found\n{p.stdout}{p.stderr}"
    if said[1] not in kinds.split():
        return f"is found as '{said[1]}', not {kinds}: {said[2]}"
    steps = re.findall(r"^\+.*$", p.stdout, re.M)
    if len(steps) > STEPS:
        return f"{len(steps)} steps are left\n{p.stdout}"
    case = p.stdout[p.stdout.index("# "):]
    again = subprocess.run([program, "--case", "/dev/stdin", "--no-shrink"], input=case,
                           capture_output=True, text=True, timeout=120)
    if again.returncode != 1 or f"fails: {said[1]}:" not in again.stdout:
        return f"what is printed does not fail again\n{p.stdout}{again.stdout}"
    print(f"ok   {name}: {said[1]}, {len(steps)} steps: {said[2]}", flush=True)
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("-k", default="")
    args = parser.parse_args()
    if args.check or not args.build:
        stale = [f"{m[0]}: {text_of(m)[1]}" for m in MUTANTS if text_of(m)[1]]
        print("\n".join(stale) or f"{len(MUTANTS)} mutants have their line")
        return 1 if stale else 0
    tree = os.path.abspath(args.build)
    with open(os.path.join(tree, "compile_commands.json"), encoding="utf-8") as f:
        commands = {os.path.abspath(os.path.join(e["directory"], e["file"])): e for e in json.load(f)}
    # As the build links it: ": && cc FLAGS OBJECTS -o sequence ARCHIVES && :".
    link = subprocess.run(["ninja", "-C", tree, "-t", "commands", "tests/property/sequence/sequence"], check=True,
                          capture_output=True, text=True).stdout.splitlines()[-1]
    link = shlex.split(link.removeprefix(": && ").removesuffix(" && :"))
    failed = 0
    for mutant in MUTANTS:
        if args.k not in mutant[0]:
            continue
        with tempfile.TemporaryDirectory(prefix="verbena-mutant-") as folder:
            why = build(folder, commands, link, tree, mutant) or judge(folder, mutant)
        if why:
            failed += 1
            print(f"FAIL {mutant[0]} {why}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
