/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena explain --wqe`: the queues of a QP as they are in the memory of its program, as bytes
 * and as fields. The program runs meanwhile, so what is shown may change while it is read; and all
 * of it is the program's word: every place is checked before it is looked at.
 */
#include "node/shared/queues.h"
#include "cmd/explain/explain.h"
#include "node/host/remote_memory.h"
#include "wqe/wqe.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Of what is done, the last ones. */
#define DONE_MAX 8u
#define TEXT_MAX 16384u
#define CNT_MAX (1u << 23)

struct viewer {
	pid_t pid;
	struct vb_queue_entry q; /* a copy */
	char text[TEXT_MAX];
};

/* @len bytes of the process at @addr, copied; ends by free(). NULL: they are not to be had. */
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

static void show_send_wqe(struct viewer *v, const uint8_t *sq, uint16_t index, const char *where)
{
	uint8_t wqe[VB_WQE_BYTES_MAX];
	uint32_t mask = v->q.sq_cnt - 1, blocks = vb_wqe_blocks(sq + (size_t)(index & mask) * 64);

	for (uint32_t i = 0; i < blocks; i++)
		memcpy(wqe + (size_t)i * VB_WQE_BLOCK,
		       sq + (size_t)((index + i) & mask) * VB_WQE_BLOCK, VB_WQE_BLOCK);
	(void)vb_wqe_show_send((enum vb_qp_type)v->q.type, wqe, blocks, v->text, sizeof v->text);
	printf("  [%u] %s\n%s", index, where, v->text);
}

static void show_send(struct viewer *v)
{
	uint16_t posted = (uint16_t)record_at(v, v->q.record, 1), seen = v->q.sq_seen, first;
	uint32_t pending = (uint16_t)(posted - seen), done = 0;
	uint8_t *sq;

	if (!v->q.sq)
		return;
	sq =
	    is_pow2(v->q.sq_cnt) ? copy_of(v, v->q.sq, (uint64_t)v->q.sq_cnt * VB_WQE_BLOCK) : NULL;
	printf(
	    "Send queue: %u blocks of 64 bytes; the doorbell record says %u, the adapter has read "
	    "up to %u\n",
	    v->q.sq_cnt, posted, seen);
	if (!sq) {
		printf("  (its memory is not to be had)\n");
		return;
	}
	first = seen;
	for (uint32_t back = 1; back <= v->q.sq_cnt && back <= 0xffff && done < DONE_MAX; back++)
		if (begins_at(v, sq, (uint16_t)(seen - back))) {
			first = (uint16_t)(seen - back);
			done++;
		}
	for (uint16_t i = first; i != seen; i++)
		if (begins_at(v, sq, i))
			show_send_wqe(v, sq, i, "read by the adapter");
	printf("  ---- the adapter reads on at %u ----\n", seen);
	for (uint32_t n = 0; n < pending && pending <= v->q.sq_cnt;) {
		uint16_t i = (uint16_t)(seen + n);

		show_send_wqe(v, sq, i, "posted");
		n += vb_wqe_blocks(sq + (size_t)(i & (v->q.sq_cnt - 1)) * 64);
	}
	printf("  ---- doorbell: the program writes on at %u ----\n", posted);
	free(sq);
}

static void show_receive(struct viewer *v)
{
	uint16_t posted = (uint16_t)record_at(v, v->q.record, 0), seen = v->q.rq_seen;
	uint32_t waits = (uint16_t)(posted - seen);
	uint8_t *rq;

	if (!v->q.rq)
		return;
	rq = is_pow2(v->q.rq_cnt) && is_pow2(v->q.rq_stride)
		 ? copy_of(v, v->q.rq, (uint64_t)v->q.rq_cnt * v->q.rq_stride)
		 : NULL;
	printf(
	    "Receive queue: %u WQEs of %u bytes; the doorbell record says %u, the adapter has read "
	    "%u\n",
	    v->q.rq_cnt, v->q.rq_stride, posted, seen);
	for (uint32_t i = 0; rq && i < waits + DONE_MAX && i < v->q.rq_cnt; i++) {
		uint16_t index = (uint16_t)(posted - 1 - i);

		if (index == 0xffff)
			break;
		(void)vb_wqe_show_receive(rq + (size_t)(index & (v->q.rq_cnt - 1)) * v->q.rq_stride,
					  v->q.rq_stride, false, v->text, sizeof v->text);
		printf("  [%u] %s\n%s", index, i < waits ? "posted" : "read by the adapter",
		       v->text);
	}
	free(rq);
}

static void show_srq(struct viewer *v)
{
	uint8_t *srq;

	if (!v->q.srq || !is_pow2(v->q.srq_cnt) || !is_pow2(v->q.srq_stride))
		return;
	srq = copy_of(v, v->q.srq, (uint64_t)v->q.srq_cnt * v->q.srq_stride);
	printf("Shared receive queue: %u WQEs of %u bytes; the doorbell record says %u\n",
	       v->q.srq_cnt, v->q.srq_stride, record_at(v, v->q.srq_record, 0));
	for (uint32_t i = 0; srq && i < v->q.srq_cnt && i < 2 * DONE_MAX; i++) {
		(void)vb_wqe_show_receive(srq + (size_t)i * v->q.srq_stride, v->q.srq_stride, true,
					  v->text, sizeof v->text);
		printf("  [%u]\n%s", i, v->text);
	}
	free(srq);
}

static void show_entries(struct viewer *v, const struct vb_queue_cq *cq, const char *name)
{
	uint32_t read = record_at(v, cq->record, 0), from = read > DONE_MAX ? read - DONE_MAX : 0;
	uint8_t *entries;

	if (!cq->entries || !is_pow2(cq->cnt) || (cq->entry_bytes != 64 && cq->entry_bytes != 128))
		return;
	entries = copy_of(v, cq->entries, (uint64_t)cq->cnt * cq->entry_bytes);
	printf("%s: %u entries of %u bytes; the doorbell record says that %u were read\n", name,
	       cq->cnt, cq->entry_bytes, read);
	for (uint32_t i = from; entries && i - read < cq->cnt + DONE_MAX; i++) {
		const uint8_t *e = entries + (size_t)(i & (cq->cnt - 1)) * cq->entry_bytes +
				   cq->entry_bytes - VB_CQE_BYTES;

		if (i == read)
			printf("  ---- the program reads on at %u ----\n", read);
		if (i >= read && (vb_wqe_get(e, VB_CQE_OPCODE) == VB_CQE_INVALID ||
				  vb_wqe_get(e, VB_CQE_OWNER) != (i & cq->cnt ? 1 : 0)))
			break;
		(void)vb_cqe_show(e, v->text, sizeof v->text);
		printf("  [%u] %s\n%s", i, i < read ? "read" : "to be read", v->text);
	}
	free(entries);
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

int vb_explain_queues(const struct vb_cmd *cmd, uint32_t qpn)
{
	static struct vb_broker_observer o;
	static struct viewer v;
	char why[512];
	bool found = false;

	if (vb_broker_observe(&o, false, why, sizeof why) || vb_broker_observe_slots(&o)) {
		vb_cmd_error(cmd, "no program uses the adapter now");
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
	printf("QP 0x%06x of process %d: %s\n", qpn, (int)v.pid,
	       v.q.is_raw ? "the program writes into its queues by itself"
			  : "verbs write into its queues");
	show_send(&v);
	show_receive(&v);
	show_srq(&v);
	show_entries(&v, &v.q.send_cq, "Completion queue of sends");
	if (v.q.recv_cq.entries != v.q.send_cq.entries)
		show_entries(&v, &v.q.recv_cq, "Completion queue of receives");
	return vb_cmd_finish(cmd);
}
