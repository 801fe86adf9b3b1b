/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One direction of a captured RC connection, and an adapter that takes the place of one of its two
 * ends. QPNs and keys are translated to the adapter's own; addresses are the captured ones.
 */
#ifndef VB_TESTS_REPLAY_H
#define VB_TESTS_REPLAY_H

#include "capture_file.h"

#include "core/hca.h"

#include "cmocka_env.h"

#define REPLAY_KEYS 8
#define REPLAY_LOCAL (4 << 20)
#define REPLAY_PSNS 4096 /* more than any connection uses */

/* The facts about its two ends that a capture does not show. */
struct replay_case {
	const char *name; /* of the capture */
	uint32_t access;  /* of the responder's QP; 0: everything */
	uint32_t recv_len;
	bool wrong_key;    /* its keys are not the responder's */
	bool beyond_end;   /* its address is 65530 bytes into a region of 65536 */
	uint8_t rnr_retry; /* of the requester; 0: 7 */
	uint8_t retry_cnt; /* 0: 7 */
	bool is_lossy, is_duplicated, is_reordered; /* by the network between the two */
	bool no_responder;      /* its requests are for a QP that is not there */
	enum vb_wc_status last; /* the status of the requester's last request */
};

static const struct replay_case replay_cases[] = {
    {.name = "rc"},
    {.name = "rc_atomic_write"},
    {.name = "rc_flow"},
    {.name = "rc_mtu4096"},
    {.name = "rc_mw", .last = VB_WC_REM_ACCESS_ERR},
    {.name = "rc_nak_access", .access = VB_ACCESS_LOCAL_WRITE, .last = VB_WC_REM_INV_REQ_ERR},
    {.name = "rc_nak_bounds", .beyond_end = true, .last = VB_WC_REM_ACCESS_ERR},
    {.name = "rc_nak_length", .recv_len = 10, .last = VB_WC_REM_OP_ERR},
    {.name = "rc_nak_rkey", .wrong_key = true, .last = VB_WC_REM_ACCESS_ERR},
    {.name = "rc_pipeline"},
    {.name = "rc_psn_wrap"},
    {.name = "rc_retry_exceeded",
     .retry_cnt = 2,
     .no_responder = true,
     .last = VB_WC_RETRY_EXC_ERR},
    {.name = "rc_rnr"},
    {.name = "rc_rnr_exceeded", .rnr_retry = 2, .last = VB_WC_RNR_RETRY_EXC_ERR},
    {.name = "rc_srq"},
    {.name = "rc_v6"},
    {.name = "rc_duplicate", .is_duplicated = true},
    {.name = "rc_loss", .is_lossy = true},
    {.name = "rc_reorder", .is_reordered = true},
    {.name = "pingpong_rc"},
    {.name = "pingpong_srq"},
    {.name = "ib_atomic_bw"},
    {.name = "ib_atomic_lat"},
    {.name = "ib_read_bw"},
    {.name = "ib_send_bw"},
    {.name = "ib_send_lat"},
    {.name = "ib_write_bw"},
    {.name = "ib_write_lat"},
};
#define REPLAY_CASES (sizeof replay_cases / sizeof replay_cases[0])

struct replay {
	const struct capture *c;
	const struct replay_case *how;
	struct vb_gid src, dst; /* of the requests */
	uint32_t dqpn;
	struct vb_psn first_psn;
	uint32_t mtu;
	uint64_t lowest, highest; /* addresses in use */
	struct {
		uint32_t theirs, ours;
	} key[REPLAY_KEYS];
	uint32_t key_cnt;
	uint8_t rnr_code;

	struct vb_hca *h;
	struct vb_pd *pd;
	struct vb_cq *cq;
	struct vb_mr *mr, *local;
	struct vb_srq *srq; /* so that answers name no credits, as rdma_rxe's never do */
	struct vb_qp *qp;
	uint8_t *bytes, local_bytes[REPLAY_LOCAL];
	struct vb_path path;
	vb_time now;
};

static inline enum vb_verdict replay_parse(const struct captured *p, struct vb_hdr *h)
{
	uint32_t len = packet_udp_payload(&p->p) - VB_ICRC_LEN;

	return vb_hdr_parse(h, packet_bth(&p->p), len, len);
}

static inline uint32_t replay_payload(const struct captured *p, const struct vb_hdr *h)
{
	return packet_udp_payload(&p->p) - VB_ICRC_LEN - vb_hdr_opcode(h)->hdr_len - h->pad;
}

static inline bool replay_is_rc(const struct vb_hdr *h)
{
	return (h->opcode & VB_TRANSPORT_MASK) == VB_TRANSPORT_RC && h->dqpn > 1;
}

/* True when packet @i is a request of this connection; its headers are in @h then. */
static inline bool replay_is_request(const struct replay *r, size_t i, struct vb_hdr *h)
{
	const struct captured *p = &r->c->pkt[i];

	return replay_parse(p, h) == VB_VERDICT_OK && replay_is_rc(h) &&
	       vb_hdr_opcode(h)->flags & VB_OP_REQUEST && h->dqpn == r->dqpn &&
	       vb_gid_eq(&p->p.udp.src, &r->src) && vb_gid_eq(&p->p.udp.dst, &r->dst);
}

static inline bool replay_is_response(const struct replay *r, size_t i, struct vb_hdr *h)
{
	const struct captured *p = &r->c->pkt[i];

	/* Two hosts may have many connections; here the PSN tells them apart. */
	return replay_parse(p, h) == VB_VERDICT_OK && replay_is_rc(h) &&
	       vb_psn_span(vb_psn_prev(r->first_psn), h->psn) < REPLAY_PSNS &&
	       vb_hdr_opcode(h)->flags & VB_OP_RESPONSE && vb_gid_eq(&p->p.udp.src, &r->dst) &&
	       vb_gid_eq(&p->p.udp.dst, &r->src);
}

static inline void replay_see_address(struct replay *r, uint64_t va, uint64_t len, uint32_t rkey)
{
	if (va < r->lowest)
		r->lowest = va;
	if (va + len > r->highest)
		r->highest = va + len;
	for (uint32_t i = 0; i < r->key_cnt; i++)
		if (r->key[i].theirs == rkey)
			return;
	assert_true(r->key_cnt < REPLAY_KEYS);
	r->key[r->key_cnt++].theirs = rkey;
}

/* Reads off the packets what both ends had agreed upon. */
static inline void replay_survey(struct replay *r)
{
	struct vb_hdr h;

	r->mtu = 0;
	r->lowest = UINT64_MAX;
	r->rnr_code = 12;
	for (size_t i = 0; i < r->c->cnt; i++) {
		bool is_request = replay_is_request(r, i, &h);
		uint16_t ext;

		if (!is_request && !replay_is_response(r, i, &h))
			continue;
		ext = vb_hdr_opcode(&h)->ext;
		if (!(vb_hdr_opcode(&h)->flags & VB_OP_LAST) && replay_payload(&r->c->pkt[i], &h))
			r->mtu = replay_payload(&r->c->pkt[i], &h);
		if (ext & VB_EXT_RETH && h.reth.len)
			replay_see_address(r, h.reth.va, h.reth.len, h.reth.rkey);
		else if (ext & VB_EXT_RETH)
			replay_see_address(r, h.reth.va, 1, h.reth.rkey);
		if (ext & VB_EXT_ATOMICETH)
			replay_see_address(r, h.atomic.va, 8, h.atomic.rkey);
		if (ext & VB_EXT_AETH && (h.aeth.syndrome & VB_SYNDROME_CLASS) == VB_SYNDROME_RNR)
			r->rnr_code = h.aeth.syndrome & VB_SYNDROME_VALUE;
	}
	if (r->mtu == 0)
		r->mtu = 1024;
	if (r->lowest == UINT64_MAX)
		r->lowest = r->highest = 0x1000;
	if (r->how->beyond_end) {
		r->lowest -= 65530;
		r->highest = r->lowest + 65536;
	}
}

/*
 * The next connection of the capture: each destination QPN is one direction. @from is where to look
 * on, and is moved. False: there are no more.
 */
static inline bool replay_next(struct replay *r, const struct capture *c,
			       const struct replay_case *how, size_t *from)
{
	for (; *from < c->cnt; ++*from) {
		const struct captured *p = &c->pkt[*from];
		struct vb_hdr h, seen;
		bool is_new = true;

		memset(r, 0, sizeof *r);
		r->c = c;
		r->how = how;
		r->src = p->p.udp.src;
		r->dst = p->p.udp.dst;
		if (replay_parse(p, &h) != VB_VERDICT_OK || !replay_is_rc(&h) ||
		    !(vb_hdr_opcode(&h)->flags & VB_OP_REQUEST))
			continue;
		r->dqpn = h.dqpn;
		r->first_psn = h.psn;
		for (size_t i = 0; i < *from && is_new; i++)
			is_new = !replay_is_request(r, i, &seen);
		if (!is_new)
			continue;
		++*from;
		replay_survey(r);
		return true;
	}
	return false;
}

static inline void *replay_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static inline void replay_release(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static inline enum vb_mtu replay_mtu_code(uint32_t bytes)
{
	for (int code = VB_MTU_256; code < VB_MTU_4096; code++)
		if (vb_mtu_bytes((enum vb_mtu)code) >= bytes)
			return (enum vb_mtu)code;
	return VB_MTU_4096;
}

/* The QP of the end that we play, at RTS. */
static inline void replay_connect(struct replay *r, bool is_responder)
{
	const struct replay_case *how = r->how;
	uint32_t all = VB_ACCESS_LOCAL_WRITE | VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_READ |
		       VB_ACCESS_REMOTE_ATOMIC;
	struct vb_qp_attr a = {
	    .qp_state = VB_QPS_INIT,
	    .port = 1,
	    .access = is_responder && how->access ? how->access : all,
	    .path_mtu = replay_mtu_code(r->mtu),
	    .dest_qpn = 0x777,
	    .rq_psn = r->first_psn.v,
	    .sq_psn = r->first_psn.v,
	    .max_rd_atomic = 16,
	    .max_dest_rd_atomic = 16,
	    .min_rnr_timer = r->rnr_code,
	    .timeout = 14,
	    .retry_cnt = how->retry_cnt ? how->retry_cnt : 7,
	    .rnr_retry = how->rnr_retry ? how->rnr_retry : 7,
	    .path = r->path,
	};

	assert_int_equal(
	    vb_qp_modify(r->qp, &a,
			 VB_QP_STATE | VB_QP_PKEY_INDEX | VB_QP_PORT | VB_QP_ACCESS_FLAGS, r->now),
	    0);
	a.qp_state = VB_QPS_RTR;
	assert_int_equal(vb_qp_modify(r->qp, &a,
				      VB_QP_STATE | VB_QP_AV | VB_QP_PATH_MTU | VB_QP_DEST_QPN |
					  VB_QP_RQ_PSN | VB_QP_MAX_DEST_RD_ATOMIC |
					  VB_QP_MIN_RNR_TIMER,
				      r->now),
			 0);
	a.qp_state = VB_QPS_RTS;
	assert_int_equal(vb_qp_modify(r->qp, &a,
				      VB_QP_STATE | VB_QP_SQ_PSN | VB_QP_TIMEOUT | VB_QP_RETRY_CNT |
					  VB_QP_RNR_RETRY | VB_QP_MAX_QP_RD_ATOMIC,
				      r->now),
			 0);
}

static inline void replay_open(struct replay *r, bool is_responder)
{
	struct vb_hca_config cfg = {.limits = vb_limits_default,
				    .qpn_base = 0,
				    .qpn_stride = 1,
				    .qpn_first = 0x555,
				    .port_cnt = 1,
				    .alloc = replay_alloc,
				    .free = replay_release};
	struct vb_qp_init init = {.type = VB_QPT_RC, .cap = {256, 256, 1, 1, 0}};
	uint32_t rights = VB_ACCESS_LOCAL_WRITE | VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_READ |
			  VB_ACCESS_REMOTE_ATOMIC | VB_ACCESS_MW_BIND;
	struct vb_mr_attr region = {
	    .iova = r->lowest, .length = r->highest - r->lowest, .access = rights};
	struct vb_mr_attr local = {
	    .length = REPLAY_LOCAL, .host = r->local_bytes, .access = VB_ACCESS_LOCAL_WRITE};

	/* Atomics are aligned; so is what backs them. */
	region.iova &= ~(uint64_t)7;
	region.length = r->highest - region.iova;
	assert_true(region.length <= 16 << 20);
	region.host = r->bytes = aligned_alloc(8, (region.length + 7) & ~(uint64_t)7);
	memset(r->bytes, 0, region.length);
	r->path = (struct vb_path){.sgid = is_responder ? r->dst : r->src,
				   .dgid = is_responder ? r->src : r->dst,
				   .port = 1};
	cfg.port[1] = (struct vb_hca_port){.active_mtu = VB_MTU_4096, .pkey = {VB_PKEY_DEFAULT}};
	r->now = VB_SEC;
	assert_int_equal(vb_hca_create(&r->h, &cfg, r->now), 0);
	assert_int_equal(vb_pd_create(r->h, &r->pd), 0);
	assert_int_equal(vb_cq_create(r->h, 1024, NULL, &r->cq), 0);
	init.send_cq = init.recv_cq = r->cq;
	assert_int_equal(vb_mr_create(r->pd, &region, &r->mr), 0);
	assert_int_equal(vb_mr_create(r->pd, &local, &r->local), 0);
	assert_int_equal(vb_srq_create(r->pd, 256, 1, 0, NULL, &r->srq), 0);
	init.srq = r->srq;
	assert_int_equal(vb_qp_create(r->pd, &init, &r->qp), 0);
	replay_connect(r, is_responder);
	for (uint32_t i = 0; i < r->key_cnt; i++)
		r->key[i].ours = vb_mr_rkey(r->mr) ^ (r->how->wrong_key ? 0xff : 0);
}

static inline void replay_close(struct replay *r)
{
	vb_hca_destroy(r->h);
	free(r->bytes);
}

static inline uint32_t replay_key(const struct replay *r, uint32_t theirs)
{
	for (uint32_t i = 0; i < r->key_cnt; i++)
		if (r->key[i].theirs == theirs)
			return r->key[i].ours;
	return theirs;
}

/* Gives packet @i to the adapter, with its QPN and keys in place of the captured ones. */
static inline void replay_feed(struct replay *r, size_t i)
{
	static uint8_t pkt[PACKET_MAX + VB_HDR_MAX];
	const struct captured *p = &r->c->pkt[i];
	uint32_t len = packet_udp_payload(&p->p) - VB_ICRC_LEN;
	struct vb_path path = {.sgid = p->p.udp.src, .dgid = p->p.udp.dst, .port = 1};
	struct vb_rx rx = {.pkt = pkt, .len = len, .avail = len, .path = &path};
	struct vb_hdr h;
	size_t n;

	assert_int_equal(replay_parse(p, &h), VB_VERDICT_OK);
	h.dqpn = vb_qp_number(r->qp);
	h.reth.rkey = replay_key(r, h.reth.rkey);
	h.atomic.rkey = replay_key(r, h.atomic.rkey);
	h.inv_rkey = replay_key(r, h.inv_rkey);
	n = vb_hdr_emit(&h, pkt);
	memcpy(pkt + n, packet_bth(&p->p) + n, len - n);
	r->now += VB_USEC;
	(void)vb_hca_handle_packet(r->h, &rx, r->now);
}

/* Takes what the adapter sends; @take gets each packet's headers and length of payload. */
static inline void replay_drain(struct replay *r,
				void (*take)(void *ctx, const struct vb_hdr *h, uint32_t len),
				void *ctx)
{
	static struct vb_tx_batch b;

	for (;;) {
		b.cnt = b.seg_cnt = 0;
		if (!vb_hca_poll_transmit(r->h, &b, r->now))
			return;
		for (uint32_t i = 0; i < b.cnt; i++) {
			const struct vb_tx *tx = &b.pkt[i];
			uint32_t len = tx->hdr_len + tx->payload_len + tx->pad;
			struct vb_hdr h;

			assert_int_equal(vb_hdr_parse(&h, tx->hdr, tx->hdr_len, len),
					 VB_VERDICT_OK);
			take(ctx, &h, tx->payload_len);
		}
	}
}

#endif
