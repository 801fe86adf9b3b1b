/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * READs, atomics and FLUSHes at the responder: a ring of max_dest_rd_atomic resources remembers the
 * last of them, so that a repeated READ is answered from memory again and a repeated atomic from
 * its stored result. IBA 9.7.5.1.3, 9.7.4.5 (C9-150); IBT-68...70
 */
#include "base/assert.h"
#include "core/rc/rc.h"

#include <errno.h>
#include <string.h>

/* The resource taken @i-th of those there are, the oldest first. */
static struct vb_resource *res_at(struct vb_responder *resp, uint32_t i)
{
	return &resp->res[(resp->res_tail + resp->res_cap - resp->res_cnt + i) % resp->res_cap];
}

/*
 * The next free resource, or NULL while the oldest is still being answered. That it is answered
 * again does not count: a requester that asks for something new has had the answer, and what is
 * left of the repetition would be ignored there.
 */
static struct vb_resource *res_take(struct vb_responder *resp)
{
	if (resp->res_cap == 0)
		return NULL;

	struct vb_resource *r = &resp->res[resp->res_tail];

	if (r->state == VB_RESOURCE_ANSWERING)
		return NULL;
	if (r->state == VB_RESOURCE_REPEATING)
		resp->res_pending--;
	resp->res_tail = (resp->res_tail + 1) % resp->res_cap;
	if (resp->res_cnt < resp->res_cap)
		resp->res_cnt++;
	VB_ASSERT(resp->res_tail < resp->res_cap && resp->res_pending < resp->res_cap);
	*r = (struct vb_resource){0};
	return r;
}

struct vb_resource *vb_resp_pending(struct vb_qp *qp)
{
	struct vb_responder *resp = &qp->resp;

	if (resp->res_pending == 0)
		return NULL;
	for (uint32_t i = 0; i < resp->res_cnt; i++) {
		if (vb_resource_is_pending(res_at(resp, i)))
			return res_at(resp, i);
	}
	return NULL;
}

static void res_answer(struct vb_qp *qp, struct vb_resource *r, struct vb_psn start,
		       struct vb_psn end)
{
	if (!vb_resource_is_pending(r)) {
		qp->resp.res_pending++;
		r->state = r->state == VB_RESOURCE_ANSWERED ? VB_RESOURCE_REPEATING
							    : VB_RESOURCE_ANSWERING;
	}
	VB_ASSERT_ALL(qp->resp.res_pending <= qp->resp.res_cnt);
	VB_ASSERT_ALL(vb_psn_span(r->first, end) <= r->pkts && !vb_psn_eq(start, end));
	r->run = (struct vb_run){start, start, end};
	vb_sched_activate(qp);
}

uint32_t vb_resp_read_pkts(const struct vb_qp *qp, uint32_t len)
{
	return len <= qp->mtu ? 1 : (uint32_t)(((uint64_t)len + qp->mtu - 1) / qp->mtu);
}

enum vb_verdict vb_resp_read(struct vb_qp *qp, const struct vb_hdr *hdr, uint8_t *syndrome)
{
	struct vb_responder *resp = &qp->resp;
	uint8_t *p;

	vb_qp_count(qp, VB_COUNTER_rx_read_requests);
	*syndrome = VB_NAK_INVALID_REQUEST;
	if (!(qp->attr.access & VB_ACCESS_REMOTE_READ) ||
	    hdr->reth.len > qp->hca->cfg.limits.msg_size)
		return VB_VERDICT_INVALID_REQUEST;

	struct vb_remote from =
	    vb_qp_remote(qp, hdr->reth.rkey, hdr->reth.va, hdr->reth.len, VB_ACCESS_REMOTE_READ);

	if (hdr->reth.len && vb_mem_remote(&from, &p)) {
		*syndrome = VB_NAK_REMOTE_ACCESS; /* a length of 0 needs no key, C9-88 */
		return VB_VERDICT_ACCESS;
	}

	struct vb_resource *r = res_take(resp);

	if (!r)
		return VB_VERDICT_RESOURCE;
	resp->msn++;
	r->first = hdr->psn;
	r->srqn = resp->srqn;
	r->pkts = vb_resp_read_pkts(qp, hdr->reth.len);
	r->va = hdr->reth.va;
	r->rkey = hdr->reth.rkey;
	r->len = hdr->reth.len;
	r->msn = resp->msn;
	resp->epsn = vb_psn_add(hdr->psn, r->pkts);
	res_answer(qp, r, r->first, resp->epsn);
	return VB_VERDICT_OK;
}

/* An operation on 8 bytes of registered memory. */
struct operation {
	uint64_t *at;
	const struct vb_hdr *hdr;
	uint64_t value; /* the value of an ATOMIC WRITE, or the one before an atomic */
};

/* Memory may be shared with the application's own atomics: C11 atomics make it one order. IBT-70 */
static void atomic_execute(void *arg)
{
	struct operation *o = arg;
	const struct vb_hdr *hdr = o->hdr;

	if ((hdr->opcode & VB_OP_MASK) == VB_OP_FETCH_ADD) {
		o->value = __atomic_fetch_add(o->at, hdr->atomic.swap_add, __ATOMIC_SEQ_CST);
		return;
	}
	o->value = hdr->atomic.compare;
	__atomic_compare_exchange_n(o->at, &o->value, hdr->atomic.swap_add, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
}

static void value_store(void *arg)
{
	const struct operation *o = arg;

	__atomic_store_n(o->at, o->value, __ATOMIC_SEQ_CST);
}

/* Finds the 8 bytes at @at, which have to be aligned in this host's memory too, and a resource for
 * the answer about them. */
static enum vb_verdict word_take(struct vb_qp *qp, const struct vb_remote *at, uint8_t **p,
				 struct vb_resource **r, uint8_t *syndrome)
{
	if (vb_mem_remote(at, p) || (uintptr_t)*p % 8) {
		*syndrome = VB_NAK_REMOTE_ACCESS;
		return VB_VERDICT_ACCESS;
	}
	*r = res_take(&qp->resp);
	return *r ? VB_VERDICT_OK : VB_VERDICT_RESOURCE;
}

enum vb_verdict vb_resp_atomic(struct vb_qp *qp, const struct vb_hdr *hdr, uint8_t *syndrome)
{
	struct vb_responder *resp = &qp->resp;
	uint8_t *p;

	vb_qp_count(qp, VB_COUNTER_rx_atomic_requests);
	*syndrome = VB_NAK_INVALID_REQUEST;
	if (!(qp->attr.access & VB_ACCESS_REMOTE_ATOMIC) || hdr->atomic.va % 8)
		return VB_VERDICT_INVALID_REQUEST;

	struct vb_remote at =
	    vb_qp_remote(qp, hdr->atomic.rkey, hdr->atomic.va, 8, VB_ACCESS_REMOTE_ATOMIC);
	struct vb_resource *r;
	enum vb_verdict verdict = word_take(qp, &at, &p, &r, syndrome);

	if (verdict != VB_VERDICT_OK)
		return verdict;

	struct operation o = {.at = (uint64_t *)(void *)p, .hdr = hdr};

	if (p && vb_mem_guarded(qp->hca, atomic_execute, &o)) {
		*syndrome = VB_NAK_REMOTE_OP;
		return VB_VERDICT_OPERATION;
	}
	resp->msn++;
	r->first = hdr->psn;
	r->pkts = 1;
	r->kind = VB_RESOURCE_ATOMIC;
	r->msn = resp->msn;
	r->orig = o.value;
	resp->epsn = vb_psn_add(hdr->psn, 1);
	res_answer(qp, r, r->first, resp->epsn);
	return VB_VERDICT_OK;
}

/*
 * 8 bytes at an aligned address become visible at once. The answer is an empty READ response, and
 * the request takes a resource, so that it is not done twice. IBA A19.4.2; facts B.2
 */
enum vb_verdict vb_resp_atomic_write(struct vb_qp *qp, const struct vb_hdr *hdr,
				     const struct vb_rx *rx, uint8_t *syndrome)
{
	struct vb_responder *resp = &qp->resp;
	uint32_t len;
	const uint8_t *payload = vb_rx_payload(hdr, rx, &len);
	struct operation o = {0};
	uint8_t *p;

	vb_qp_count(qp, VB_COUNTER_rx_write_requests);
	*syndrome = VB_NAK_INVALID_REQUEST;
	if (!(qp->attr.access & VB_ACCESS_REMOTE_WRITE) || hdr->reth.va % 8)
		return VB_VERDICT_INVALID_REQUEST;
	if (len != 8 || hdr->reth.len != 8)
		return VB_VERDICT_LENGTH;

	struct vb_remote to =
	    vb_qp_remote(qp, hdr->reth.rkey, hdr->reth.va, 8, VB_ACCESS_REMOTE_WRITE);
	struct vb_resource *r;
	enum vb_verdict verdict = word_take(qp, &to, &p, &r, syndrome);

	if (verdict != VB_VERDICT_OK)
		return verdict;
	if (p && payload) {
		o.at = (uint64_t *)(void *)p;
		memcpy(&o.value, payload, sizeof o.value);
		if (vb_mem_guarded(qp->hca, value_store, &o)) {
			*syndrome = VB_NAK_REMOTE_OP;
			return VB_VERDICT_OPERATION;
		}
	}
	resp->msn++;
	r->first = hdr->psn;
	r->pkts = 1;
	r->kind = VB_RESOURCE_WRITE;
	r->msn = resp->msn;
	resp->epsn = vb_psn_add(hdr->psn, 1);
	res_answer(qp, r, r->first, resp->epsn);
	return VB_VERDICT_OK;
}

uint32_t vb_flush_access(uint32_t flush)
{
	return (flush & VB_FLUSH_GLOBAL ? VB_ACCESS_FLUSH_GLOBAL : 0u) |
	       (flush & VB_FLUSH_PERSISTENT ? VB_ACCESS_FLUSH_PERSISTENT : 0u);
}

static bool flush_is_valid(uint32_t flush)
{
	return (flush & (VB_FLUSH_GLOBAL | VB_FLUSH_PERSISTENT)) &&
	       !(flush & ~(uint32_t)(VB_FLUSH_GLOBAL | VB_FLUSH_PERSISTENT | VB_FLUSH_MR));
}

/*
 * Data written before it in PSN order is in the memory of the host already, so nothing is left
 * to do but to say so; that a region is persistent is the promise of the program that registered
 * it. The answer is that of an ATOMIC WRITE. IBA A19.4.1; facts B.2
 */
enum vb_verdict vb_resp_flush(struct vb_qp *qp, const struct vb_hdr *hdr, uint8_t *syndrome)
{
	struct vb_responder *resp = &qp->resp;
	uint32_t access = vb_flush_access(hdr->flush);

	*syndrome = VB_NAK_INVALID_REQUEST;
	if (!flush_is_valid(hdr->flush) || (qp->attr.access & access) != access)
		return VB_VERDICT_INVALID_REQUEST;

	struct vb_remote range =
	    vb_qp_remote(qp, hdr->reth.rkey, hdr->reth.va, hdr->reth.len, access);

	if (!vb_mem_is_remote(&range, hdr->flush & VB_FLUSH_MR)) {
		*syndrome = VB_NAK_REMOTE_ACCESS;
		return VB_VERDICT_ACCESS;
	}

	struct vb_resource *r = res_take(resp);

	if (!r)
		return VB_VERDICT_RESOURCE;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	resp->msn++;
	r->first = hdr->psn;
	r->pkts = 1;
	r->kind = VB_RESOURCE_WRITE;
	r->msn = resp->msn;
	resp->epsn = vb_psn_add(hdr->psn, 1);
	res_answer(qp, r, r->first, resp->epsn);
	return VB_VERDICT_OK;
}

struct vb_resource *vb_resp_resource(struct vb_responder *resp, struct vb_psn psn)
{
	/* The newest first: a resource that is 2^24 packets older may have the same PSN. */
	for (uint32_t i = resp->res_cnt; i-- > 0;) {
		struct vb_resource *r = res_at(resp, i);

		if (vb_psn_span(r->first, psn) < r->pkts)
			return r;
	}
	return NULL;
}

static void res_repeat(struct vb_qp *qp, struct vb_resource *r, const struct vb_hdr *hdr,
		       struct vb_psn end)
{
	if (!hdr->selective || !qp->sr || !qp->hca->repeat->repeat(qp, r, hdr->psn, end))
		res_answer(qp, r, hdr->psn, end);
}

/*
 * A small request draws a large answer, so who repeats one is not answered without bound: a READ is
 * repeated so many times at once, and so many times again in each second. Only what leaves counts:
 * a requester that asks for all the rest after each loss has little of each answer.
 */
#define READ_REPEATS 64

/* How long @pkts packets of the answer of @r use up what may be repeated, rounded up. */
static vb_dur repeat_cost(const struct vb_resource *r, uint32_t pkts)
{
	uint64_t most = (uint64_t)r->pkts * READ_REPEATS;

	return (pkts * VB_SEC + most - 1) / most;
}

/* False: not now. */
static bool repeat_pay(struct vb_qp *qp, struct vb_resource *r, const struct vb_hdr *hdr,
		       uint32_t pkts, vb_time now)
{
	bool replaces = vb_resource_is_pending(r) && !(qp->sr && hdr->selective);
	vb_dur cost = repeat_cost(r, pkts);
	/* The rest of the answer that this one replaces is never sent; rounded down. */
	vb_dur saved = replaces ? repeat_cost(r, vb_psn_span(r->run.nxt, r->run.end)) - 1 : 0;
	vb_time paid = r->repeats_paid > now ? r->repeats_paid : now;

	paid = paid - now > saved ? paid - saved : now;
	if (vb_time_since(now, paid) + cost > VB_SEC)
		return false;
	r->repeats_paid = vb_time_after(paid, cost);
	return true;
}

/*
 * A READ that comes again may ask for the rest of it only; its range must lie where the first
 * request said. A READ older than all resources, or a different one, is dropped. IBA 9.7.5.1.3
 */
static void repeat_read(struct vb_qp *qp, struct vb_resource *r, const struct vb_hdr *hdr,
			vb_time now)
{
	uint32_t k = vb_psn_span(r->first, hdr->psn);
	uint64_t off = (uint64_t)k * qp->mtu;

	if (r->kind != VB_RESOURCE_READ || hdr->reth.va != r->va + off ||
	    hdr->reth.rkey != r->rkey || hdr->reth.len > r->len - off || hdr->xrc_srqn != r->srqn)
		return;

	uint32_t pkts = vb_resp_read_pkts(qp, hdr->reth.len);
	bool to_end = k + pkts == r->pkts;

	if (to_end ? hdr->reth.len != r->len - off : hdr->reth.len % qp->mtu != 0)
		return;
	if (!repeat_pay(qp, r, hdr, pkts, now)) {
		vb_qp_count(qp, VB_COUNTER_rx_read_refused);
		return;
	}
	res_repeat(qp, r, hdr, vb_psn_add(hdr->psn, pkts));
}

enum vb_verdict vb_resp_duplicate(struct vb_qp *qp, const struct vb_hdr *hdr, vb_time now)
{
	struct vb_responder *resp = &qp->resp;
	uint16_t flags = vb_hdr_opcode(hdr)->flags;

	vb_qp_count(qp, VB_COUNTER_duplicate_request);
	if (vb_op_is_answered(hdr)) {
		struct vb_resource *r = vb_resp_resource(resp, hdr->psn);

		if (r && (flags & VB_OP_READ))
			repeat_read(qp, r, hdr, now);
		else if (r && (r->kind ==
			       (flags & VB_OP_ATOMIC ? VB_RESOURCE_ATOMIC : VB_RESOURCE_WRITE)))
			res_repeat(qp, r, hdr, vb_psn_add(r->first, 1));
	} else {
		/* Acknowledged again with the newest PSN, not executed. C9-105 */
		resp->ack_due = true;
		resp->ack_psn = vb_psn_prev(resp->epsn);
		vb_sched_activate(qp);
	}
	return VB_VERDICT_DUPLICATE;
}
