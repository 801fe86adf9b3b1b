/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena explain --wqe`: the queues of a QP are copied from the memory of its program. The
 * program runs meanwhile, so what is shown may change while it is read; and all of it is the
 * program's word: every place is checked before it is looked at.
 */
#include "cmd/queues/queues.h"

#include "node/broker/broker.h"
#include "node/host/remote_memory.h"
#include "node/shared/queues.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of what is done, the last ones. */
#define DONE_MAX 8u
#define CNT_MAX (1u << 23)

struct viewer {
	pid_t pid;
	struct vb_queue_entry q; /* a copy */
	struct vb_queues_view to;
};

/* @len bytes of the process at @addr, copied; ends by free(). NULL: they cannot be read. */
static uint8_t *copy_of(const struct viewer *v, uint64_t addr, uint64_t len)
{
	struct vb_remote_memory m;
	uint8_t *to;

	if (!addr || !len || len > UINT32_MAX || vb_remote_memory_map(v->pid, addr, len, false, &m))
		return NULL;
	to = malloc(len);
	if (to)
		memcpy(to, m.at, len);
	vb_remote_memory_unmap(&m);
	return to;
}

/* Number @i of the doorbell record at @addr. */
static uint32_t record_at(const struct viewer *v, uint64_t addr, uint32_t i)
{
	uint8_t *r = copy_of(v, addr, 8);
	uint32_t n = r ? (uint32_t)vb_wqe_number(r + i * 4u, 4) : 0;

	free(r);
	return n;
}

static bool is_pow2(uint32_t n)
{
	return n && n <= CNT_MAX && (n & (n - 1)) == 0;
}

/* A WQE begins at block @index of @sq: its control segment says so. */
static bool begins_at(const struct viewer *v, const uint8_t *sq, uint16_t index)
{
	const uint8_t *c = sq + (size_t)(index & (v->q.sq_cnt - 1)) * VB_WQE_BLOCK;

	return vb_wqe_get(c, VB_CTRL_INDEX) == index && vb_wqe_get(c, VB_CTRL_QPN) == v->q.qpn;
}

static void add_send_wqe(const struct viewer *v, struct vb_queue_view *q, const uint8_t *sq,
			 uint16_t index, bool is_new)
{
	uint32_t mask = v->q.sq_cnt - 1;
	uint32_t blocks = vb_wqe_blocks(sq + (size_t)(index & mask) * VB_WQE_BLOCK);
	struct vb_queue_element *e = vb_queue_element_add(q, index, is_new, blocks * VB_WQE_BLOCK);

	for (uint32_t i = 0; e && i < blocks; i++)
		memcpy(e->bytes + (size_t)i * VB_WQE_BLOCK,
		       sq + (size_t)((index + i) & mask) * VB_WQE_BLOCK, VB_WQE_BLOCK);
}

static void gather_send(struct viewer *v)
{
	uint16_t posted = (uint16_t)record_at(v, v->q.record, 1), seen = v->q.sq_seen, first = seen;
	uint32_t pending = (uint16_t)(posted - seen), done = 0;
	struct vb_queue_view *q;
	uint8_t *sq;

	if (!v->q.sq)
		return;
	q = vb_queues_add(&v->to, VB_QUEUE_SEND, "Send queue");
	q->cnt = v->q.sq_cnt;
	q->stride = VB_WQE_BLOCK;
	q->record = posted;
	q->seen = seen;
	sq =
	    is_pow2(v->q.sq_cnt) ? copy_of(v, v->q.sq, (uint64_t)v->q.sq_cnt * VB_WQE_BLOCK) : NULL;
	q->is_copied = sq != NULL;
	if (!sq)
		return;
	for (uint32_t back = 1; back <= v->q.sq_cnt && back <= 0xffff && done < DONE_MAX; back++)
		if (begins_at(v, sq, (uint16_t)(seen - back))) {
			first = (uint16_t)(seen - back);
			done++;
		}
	for (uint16_t i = first; i != seen; i++)
		if (begins_at(v, sq, i))
			add_send_wqe(v, q, sq, i, false);
	for (uint32_t n = 0; n < pending && pending <= v->q.sq_cnt;) {
		uint16_t i = (uint16_t)(seen + n);

		add_send_wqe(v, q, sq, i, true);
		n += vb_wqe_blocks(sq + (size_t)(i & (v->q.sq_cnt - 1)) * VB_WQE_BLOCK);
	}
	free(sq);
}

/* Copies a queue of @cnt elements of @stride bytes at @addr; NULL: it is none. */
static uint8_t *copy_queue(const struct viewer *v, struct vb_queue_view *q, uint64_t addr,
			   uint32_t cnt, uint32_t stride)
{
	uint8_t *all =
	    is_pow2(cnt) && is_pow2(stride) ? copy_of(v, addr, (uint64_t)cnt * stride) : NULL;

	q->cnt = cnt;
	q->stride = stride;
	q->is_copied = all != NULL;
	return all;
}

static struct vb_queue_element *add_copy(struct vb_queue_view *q, uint32_t index, bool is_new,
					 const uint8_t *from, uint32_t len)
{
	struct vb_queue_element *e = vb_queue_element_add(q, index, is_new, len);

	if (e)
		memcpy(e->bytes, from, len);
	return e;
}

static void gather_receive(struct viewer *v)
{
	uint16_t posted = (uint16_t)record_at(v, v->q.record, 0), seen = v->q.rq_seen;
	uint32_t waits = (uint16_t)(posted - seen);
	struct vb_queue_view *q;
	uint8_t *rq;

	if (!v->q.rq)
		return;
	q = vb_queues_add(&v->to, VB_QUEUE_RECEIVE, "Receive queue");
	q->record = posted;
	q->seen = seen;
	rq = copy_queue(v, q, v->q.rq, v->q.rq_cnt, v->q.rq_stride);
	for (uint32_t i = 0; rq && i < waits + DONE_MAX && i < q->cnt; i++) {
		uint16_t index = (uint16_t)(posted - 1 - i);

		if (index == 0xffff)
			break;
		(void)add_copy(q, index, i < waits, rq + (size_t)(index & (q->cnt - 1)) * q->stride,
			       q->stride);
	}
	free(rq);
}

static void gather_srq(struct viewer *v)
{
	struct vb_queue_view *q;
	uint8_t *srq;

	if (!v->q.srq || !is_pow2(v->q.srq_cnt) || !is_pow2(v->q.srq_stride))
		return;
	q = vb_queues_add(&v->to, VB_QUEUE_SRQ, "Shared receive queue");
	q->record = record_at(v, v->q.srq_record, 0);
	srq = copy_queue(v, q, v->q.srq, v->q.srq_cnt, v->q.srq_stride);
	for (uint32_t i = 0; srq && i < q->cnt && i < 2 * DONE_MAX; i++)
		(void)add_copy(q, i, false, srq + (size_t)i * q->stride, q->stride);
	free(srq);
}

/* The completions of the compressed block whose title is @e, or 1: it is an entry. */
static uint32_t block_cnt(const struct vb_queue_cq *cq, const uint8_t *e)
{
	uint32_t cnt = (uint32_t)vb_wqe_get(e, VB_TITLE_CNT);

	if (!cq->compresses || vb_wqe_get(e, VB_CQE_SCATTER) != VB_CQE_COMPRESSED)
		return 1;
	return cnt >= 2 && cnt <= VB_CQE_BLOCK_MAX && cnt <= cq->cnt ? cnt : 1;
}

/* The arrays of the block of @cnt completions whose title @title is at @first. */
static void add_arrays(struct vb_queue_view *q, const uint8_t *entries, uint32_t first,
		       uint32_t cnt, const uint8_t *title)
{
	bool sends = vb_wqe_get(title, VB_CQE_OPCODE) == VB_CQE_REQUEST;

	for (uint32_t i = 0; i * VB_MINI_CNT < cnt; i++) {
		uint32_t at = first + vb_cqe_block_place(i), rest = cnt - i * VB_MINI_CNT;
		struct vb_queue_element *e = add_copy(
		    q, at, true, entries + (size_t)(at & (q->cnt - 1)) * q->stride, VB_CQE_BYTES);

		if (!e)
			return;
		e->mini_cnt = rest < VB_MINI_CNT ? rest : VB_MINI_CNT;
		e->has_sends = sends;
	}
}

/* How many entries are shown again that were read: of compressed ones none, since a block that was
 * read is the program's to overwrite. */
static uint32_t done_cnt(const struct vb_queue_cq *cq, uint32_t read)
{
	if (cq->compresses)
		return 0;
	return read > DONE_MAX ? DONE_MAX : read;
}

static void gather_entries(struct viewer *v, const struct vb_queue_cq *cq, const char *name)
{
	uint32_t read = record_at(v, cq->record, 0), cnt;
	struct vb_queue_view *q;
	uint8_t *entries;

	if (!cq->entries || !is_pow2(cq->cnt) || (cq->entry_bytes != 64 && cq->entry_bytes != 128))
		return;
	q = vb_queues_add(&v->to, VB_QUEUE_ENTRIES, name);
	q->record = read;
	entries = copy_queue(v, q, cq->entries, cq->cnt, cq->entry_bytes);
	for (uint32_t i = read - done_cnt(cq, read); entries && i < read + cq->cnt; i += cnt) {
		const uint8_t *entry = entries + (size_t)(i & (cq->cnt - 1)) * cq->entry_bytes;
		const uint8_t *e = entry + cq->entry_bytes - VB_CQE_BYTES;

		if (i >= read && (vb_wqe_get(e, VB_CQE_OPCODE) == VB_CQE_INVALID ||
				  vb_wqe_get(e, VB_CQE_OWNER) != (i & cq->cnt ? 1 : 0)))
			break;
		cnt = block_cnt(cq, e);
		(void)add_copy(q, i, i >= read, entry, cq->entry_bytes);
		if (cnt > 1)
			add_arrays(q, entries, i, cnt, e);
	}
	free(entries);
}

static void gather_all(struct viewer *v)
{
	v->to.qpn = v->q.qpn;
	v->to.pid = v->pid;
	v->to.is_raw = v->q.is_raw;
	v->to.type = (enum vb_qp_type)v->q.type;
	gather_send(v);
	gather_receive(v);
	gather_srq(v);
	gather_entries(v, &v->q.send_cq, "Completion queue of sends");
	if (v->q.recv_cq.entries != v->q.send_cq.entries)
		gather_entries(v, &v->q.recv_cq, "Completion queue of receives");
}

/* The queues of QP @qpn in the table at @addr. */
static bool find_queues(struct viewer *v, uint64_t addr, uint32_t qpn)
{
	struct vb_queues *t = (void *)copy_of(v, addr, sizeof *t);
	bool found = false;

	for (uint32_t i = 0; t && t->magic == VB_QUEUES_MAGIC && i < VB_QUEUES_MAX && !found; i++)
		if (t->entry[i].qpn == qpn) {
			v->q = t->entry[i];
			found = true;
		}
	free(t);
	return found;
}

/* As text, as JSON, or as the page @html. Returns an exit code. */
static int show_queues(const struct vb_cmd *cmd, const struct vb_queues_view *v, bool json,
		       const char *html)
{
	int err;

	if (!html) {
		(json ? vb_queues_show_json : vb_queues_show_text)(stdout, v);
		return vb_cmd_finish(cmd);
	}
	err = vb_queues_show_page(html, v);
	if (err) {
		vb_cmd_error(cmd, "cannot write %s: %s", html, strerror(-err));
		return 1;
	}
	return 0;
}

int vb_explain_queues(const struct vb_cmd *cmd, uint32_t qpn, bool json, const char *html)
{
	static struct vb_broker_observer o;
	static struct viewer v;
	char why[512];
	bool found = false;
	int rc;

	rc = vb_broker_observe(&o, false, why, sizeof why);
	if (rc || vb_broker_observe_slots(&o)) {
		vb_cmd_error(cmd, "%s",
			     rc && rc != -ECONNREFUSED ? why : "no program uses the adapter now");
		return 1;
	}
	for (uint32_t k = VB_SLOT_FIRST; k < VB_SLOT_CNT && !found; k++) {
		const struct vb_slot_shm *s = o.slot[k];

		if (!s || !s->pid || !s->queues)
			continue;
		v.pid = (pid_t)s->pid;
		found = find_queues(&v, s->queues, qpn);
	}
	vb_broker_observe_end(&o);
	if (!found) {
		vb_cmd_error(cmd,
			     "no QP 0x%06x has its queues in memory: that takes 'verbena run "
			     "--mlx5dv'",
			     qpn);
		return 1;
	}
	gather_all(&v);
	rc = show_queues(cmd, &v.to, json, html);
	vb_queues_free(&v.to);
	return rc;
}
