/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queues as hardware has them: the memory that mlx5dv_init_obj() shows, and what happens to it. A
 * send queue is read when its doorbell has rung; a receive queue when a message needs a receive; a
 * completion queue is written beside the core's own, entry by entry. Verbs that post write the same
 * bytes. There only where the user wants it, `verbena run --mlx5dv`; docs/mlx5dv.md
 *
 * The memory is the program's to write at any time: WQEs that are read are copied first, and
 * everything that the adapter itself relies on is elsewhere. All under the engine's lock.
 */
#ifndef VB_VERBS_RING_RING_H
#define VB_VERBS_RING_RING_H

#include "node/bell/bell.h"
#include "node/shared/queues.h"
#include "verbs/priv.h"
#include "wqe/wqe.h"

/* Beyond what a program asks for, every queue takes WQEs with so much. */
#define VB_RING_SGES 32u
#define VB_RING_INLINE 512u
/* The longest receive WQE, also of an SRQ. */
#define VB_RING_RECEIVE_BYTES 1024u

struct vb_ring_srq;
struct vb_ring_block;

/* The facts about its WQE that a completion needs; the core's wr_id is a pointer to them. */
struct vb_ring_slot {
	uint64_t wr_id; /* the program's, where verbs posted it */
	uint16_t counter;
	uint8_t work; /* opcode of a send WQE */
	bool is_send;
	bool is_datagram;
	bool is_custom;          /* posted by mlx5dv_wr_raw_wqe() */
	struct vb_ring_srq *srq; /* whose WQE it is; NULL: no SRQ's */
};

struct vb_ring_qp {
	struct vb_bell bell;
	struct vb_rq_source source;
	struct vb_ibv_qp *qp;
	struct vb_wqe_queue queue;
	uint8_t *mem; /* receive queue, send queue, doorbell records */
	size_t mem_size;
	uint8_t *rq, *sq;
	uint8_t *record; /* two numbers of 4 bytes: receives, blocks of sends */
	uint32_t sq_cnt, rq_cnt, rq_stride, rq_sges;
	uint32_t wr_max;  /* that verbs may post */
	uint32_t wr_deep; /* of the core's send queue */
	uint16_t sq_seen, rq_seen;
	bool is_raw; /* the program writes into it */
	bool sig_all;
	bool scatters_receives, scatters_reads; /* entries have the payload, if it is short */
	struct vb_qp_cap cap;                   /* as the program is told */
	struct vb_queue_entry *shown; /* for a reader outside; NULL: it has no place there */
	struct vb_ring_slot *sq_slot; /* sq_cnt of them, by block */
	struct vb_ring_slot *rq_slot; /* twice rq_cnt: one may be in use by a message */
};

struct vb_ring_cq {
	struct vb_bell bell;
	struct vb_cq_mirror mirror;
	struct vb_ibv_cq *cq;
	uint8_t *mem;
	size_t mem_size;
	uint8_t *record; /* entries read, and how it was armed */
	uint32_t cnt, entry_bytes;
	bool is_raw;
	bool compresses;             /* as soon as it is_raw */
	struct vb_ring_block *block; /* NULL: entries are not compressed */
};

struct vb_ring_srq {
	struct vb_rq_source source;
	struct vb_ibv_srq *srq;
	uint8_t *mem;
	size_t mem_size;
	uint8_t *record;
	uint32_t cnt, stride;
	uint32_t next;       /* WQE that the adapter takes next */
	uint32_t head, tail; /* of the free ones, for verbs that post */
	uint16_t seen;
	bool is_raw;
	struct vb_ring_slot *slot;
};

/* memory.c: zeroed memory that other processes of the user can look at, in whole pages; NULL. */
void *vb_ring_memory_get(size_t size);
void vb_ring_memory_put(void *p, size_t size);
/* Copies @blocks of the send queue from place @index on: it goes round. */
void vb_ring_copy_blocks(const struct vb_ring_qp *r, uint16_t index, uint32_t blocks, uint8_t *to);

/* show.c: tells where the queues are, or that they are somewhere else now; they go; a CQ has moved.
 */
void vb_ring_show(struct vb_ring_qp *r);
void vb_ring_hide(struct vb_ring_qp *r);
void vb_ring_show_cq(const struct vb_ring_cq *r);

/* The mode is on. */
bool vb_ring_is_on(void);

/* send.c */
/* Sets what of @core the queues need, before the core's QP is made. 0; or EINVAL: the send queue is
 * too long. */
int vb_ring_qp_plan(struct vb_ring_qp *r, struct vb_qp_init *core, struct ibv_qp_init_attr *init);
/* After it was made. 0 or an errno. */
int vb_ring_qp_make(struct vb_ring_qp *r, struct vb_ibv_qp *qp);
void vb_ring_qp_free(struct vb_ring_qp *r, struct vb_engine *e);
/* The QP is in another state: in RESET everything begins again, in others what waited goes on. */
void vb_ring_qp_modified(struct vb_ring_qp *r, vb_time now);
/* As vb_qp_post_send(), of which it is the way for verbs that post. */
int vb_ring_post_send(struct vb_ring_qp *r, const struct vb_send_wr *wr, vb_time now);
/* As vb_ring_post_send() of a WQE as bytes, as many as its DS says; index, QPN and signature are
 * written here. mlx5dv_wr_post(3) */
int vb_ring_post_custom(struct vb_ring_qp *r, const uint8_t *wqe, uint64_t wr_id, vb_time now);
/* Whether the queue has room for it at all; if not, -EINVAL and why. */
int vb_ring_check_custom(const struct vb_ring_qp *r, const uint8_t *wqe);
/* Whether it is within what the QP was made with; if not, -EINVAL and why. */
int vb_ring_check_send(const struct vb_ring_qp *r, const struct vb_send_wr *wr);
uint32_t vb_ring_send_room(const struct vb_ring_qp *r);
/* Executes what the doorbell record says is posted. */
void vb_ring_run_send(struct vb_ring_qp *r, vb_time now);
/* A path as a datagram segment has it. */
struct vb_av vb_ring_av(struct vb_ibv_context *c, const struct vb_path *path);

/* receive.c */
uint8_t *vb_ring_receive_wqe(const struct vb_ring_qp *r, uint32_t index);
void vb_ring_source_init(struct vb_ring_qp *r);
int vb_ring_post_recv(struct vb_ring_qp *r, const struct vb_recv_wr *wr, vb_time now);
uint8_t *vb_ring_srq_wqe(const struct vb_ring_srq *r, uint32_t index);
int vb_ring_srq_make(struct vb_ibv_srq *srq, uint32_t sge_max);
void vb_ring_srq_free(struct vb_ring_srq *r);
int vb_ring_post_srq(struct vb_ring_srq *r, const struct vb_recv_wr *wr);
/* WQE @index is done, and verbs may have it again. */
void vb_ring_srq_put(struct vb_ring_srq *r, uint16_t index);

/* scatter.c */
/* Which entries have payload, by the create_flags of mlx5dv_create_qp(3). */
void vb_ring_scatter_plan(struct vb_ring_qp *r, uint32_t create_flags);
/* Copies the payload of @wc, of the WQE of @s, to @to if it is for an entry that has room for @max
 * bytes. False: the entry has none. */
bool vb_ring_scatter_get(const struct vb_ring_slot *s, const struct vb_wc *wc, uint8_t *to,
			 uint32_t max);

/* completion.c */
/* Entries are of 64 bytes; or, before there are any, of 128. 0 or an errno. */
int vb_ring_cq_make(struct vb_ibv_cq *cq);
int vb_ring_cq_widen(struct vb_ring_cq *r, uint32_t entry_bytes);
/* The program reads it by itself from now on; its bell is open. 0 or an errno. */
int vb_ring_cq_show(struct vb_ring_cq *r);
void vb_ring_cq_free(struct vb_ring_cq *r, struct vb_engine *e);
/* It has been given room for another number of entries. 0 or an errno. */
int vb_ring_cq_resize(struct vb_ring_cq *r, uint32_t cqe);

static inline uint8_t *vb_ring_entry_begin(const struct vb_ring_cq *r, uint32_t place)
{
	return r->mem + (size_t)(place & (r->cnt - 1)) * r->entry_bytes;
}

/* The 64 bytes of an entry that are the same in both sizes. */
static inline uint8_t *vb_ring_entry(const struct vb_ring_cq *r, uint32_t place)
{
	return vb_ring_entry_begin(r, place) + r->entry_bytes - VB_CQE_BYTES;
}

/* The last byte says whose the entry is: a reader that sees it turned has all of the entry. */
static inline void vb_ring_entry_release(uint8_t *entry, uint8_t last)
{
	__atomic_store_n(entry + VB_CQE_BYTES - 1, last, __ATOMIC_RELEASE);
}

/* block.c: entries that differ in little are written as one compressed block, for those who have
 * asked for it by mlx5dv_create_cq(3). */
/* @r, whose bell is open and whose entries are of 64 bytes, compresses from now on. 0 or an errno.
 */
int vb_ring_block_make(struct vb_ring_cq *r);
void vb_ring_block_free(struct vb_ring_block *k);
/* The completion at @place, as the 64 bytes of its @entry. It is held back, until there is one that
 * goes into no block with it or the engine's step ends. */
void vb_ring_block_take(struct vb_ring_cq *r, uint32_t place, const uint8_t *entry, bool solicited);
/* Writes what was held back. */
void vb_ring_block_settle(struct vb_ring_cq *r);
/* Whether the completion at @place is one that a CQ that is armed for solicited ones waits for; and
 * it is noted. */
void vb_ring_block_note(struct vb_ring_cq *r, uint32_t place, bool solicited);
bool vb_ring_block_is_solicited(const struct vb_ring_cq *r, uint32_t place);

static inline uint32_t vb_record_get(const uint8_t *record, uint32_t i)
{
	uint32_t v = __atomic_load_n((const uint32_t *)(const void *)record + i, __ATOMIC_ACQUIRE);

	return be32toh(v);
}

static inline void vb_record_put(uint8_t *record, uint32_t i, uint32_t v)
{
	__atomic_store_n((uint32_t *)(void *)record + i, htobe32(v), __ATOMIC_RELEASE);
}

#define VB_RECORD_RECEIVE 0u /* MLX5_RCV_DBR */
#define VB_RECORD_SEND 1u    /* MLX5_SND_DBR */
#define VB_RECORD_READ 0u    /* of a CQ: MLX5_CQ_SET_CI */
#define VB_RECORD_ARM 1u     /* MLX5_CQ_ARM_DB */
#define VB_RECORD_BYTES 64u  /* a cache line for each object's */

static inline uint32_t vb_ring_pow2(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

#endif
