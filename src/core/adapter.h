/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The HCA itself, and what all files of the core need of it: memory, counters, the tables. IBA 10.2
 */
#ifndef VB_CORE_ADAPTER_H
#define VB_CORE_ADAPTER_H

#include "base/list.h"
#include "core/hca.h"
#include "core/obj/key.h"
#include "core/recover/rto.h"
#include "core/refusal.h"

struct vb_deadline;
struct vb_transport_ops;
struct vb_peer;
struct vb_xrc_pool;

struct vb_repeat_hooks;

/* Things of one size for all QPs, core/selective/pool.h. Those never taken stay untouched. */
struct vb_sr_pool {
	uint8_t *mem; /* NULL: no QP has needed it yet */
	size_t stride;
	uint32_t cnt, free_cnt;
	uint32_t fresh; /* taken at least once: those before it */
	uint32_t *back; /* given back: the last of them is the next taken */
};

/* Of selective repeat: blocks of packets that are kept out of order, pages that say which, pages of
 * what is missing, and a place to put a packet together. */
struct vb_sr_pools {
	struct vb_sr_pool blocks, kept, holes;
	uint8_t *whole;
};

/* The state of a port. cfg.recovery and cfg.cc are only how it began. */
struct vb_port_state {
	struct vb_rto_rules rules;
	struct vb_cc_settings cc;
	struct vb_cct_port *cct;           /* NULL: there is none */
	const struct vb_cc_choice *choice; /* an algorithm in place of DCQCN; NULL: none */
	struct vb_qp *gsi;                 /* QP1, or NULL. IBT-99 */
	struct vb_counters counters;       /* where the configuration names none */
};

struct vb_hca {
	/* A line that every packet touches. */
	struct vb_qp **qp; /* by (qpn - base) / stride, modulo qp_cap */
	uint32_t qp_cap, heap_cnt;
	struct vb_deadline *heap; /* timer queue; entry 0 is unused */
	struct vb_list active, events;
	vb_time held_due; /* no later than any CQ that is held is due */
	vb_dur gaps;      /* in all, of vb_hca_add_gap() */
	struct vb_key_table keys;
	struct vb_hca_config cfg;
	struct vb_sr_pools sr;
	const struct vb_repeat_hooks *repeat; /* core/qp/repeat.h */
	uint32_t qp_cnt, qp_k_next, qp_k_cnt, heap_cap;
	uint32_t dci_cnt,
	    channel_cnt; /* made so far; QPs not in qp: further channels of DCIs, and gsi */
	uint32_t pd_cnt, cq_cnt, srq_cnt, xrcd_cnt, number_next;
	struct vb_srq **xsrq; /* XRC SRQs by number, as qp */
	uint32_t xsrq_cap, xsrq_cnt, xsrq_k_next;
	struct vb_peer **peer; /* buckets by GID, chained; as many as there are peers or more */
	uint32_t peer_cap, peer_cnt;
	struct vb_list pds, cqs, srqs, xrcds; /* all there are */
	struct vb_list held, mcast,
	    migrations;               /* CQs by vb_cq.held; groups; migrations with work to do */
	struct vb_xrc_pool *xrc_pool; /* NULL: no responder has migrated yet */
	struct vb_list openers, asks; /* core/share/open.h: to be told; that wait */
	uint32_t mcast_cnt, xrc_ask_serial;
	/* The transport of a QP type, or NULL. */
	const struct vb_transport_ops *(*transport_of)(enum vb_qp_type type);
	struct vb_refusal refusal;   /* the last one */
	struct vb_port_state port[]; /* cfg.port_cap of them behind one that is of no port */
};

/* Zeroed memory or NULL. */
static inline void *vb_alloc(struct vb_hca *h, size_t size)
{
	return h->cfg.alloc(h->cfg.alloc_ctx, size);
}

static inline void vb_free(struct vb_hca *h, void *p)
{
	if (p)
		h->cfg.free(h->cfg.alloc_ctx, p);
}

static inline uint32_t vb_round_up_pow2(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

static inline struct vb_counters *vb_port_counters(struct vb_hca *h, uint8_t port)
{
	struct vb_counters *c = port <= h->cfg.port_cnt ? h->cfg.port[port].counters : NULL;

	return c ? c : &h->port[port <= h->cfg.port_cap ? port : 0].counters;
}

#endif
