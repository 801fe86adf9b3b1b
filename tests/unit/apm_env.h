/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two adapters with two ports each on an InfiniBand subnet, a QP in each, and cables that can be
 * cut, in virtual time: for tests of automatic path migration.
 */
#ifndef VB_TESTS_UNIT_APM_ENV_H
#define VB_TESTS_UNIT_APM_ENV_H

#include "core_env.h"

enum { A, B };

static struct env end[2];
static struct vb_qp *qp[2];
static bool is_cut[3];        /* by port */
static bool said_migrated[2]; /* MigReq of the last packet of each */
static enum vb_verdict verdict[2];

static inline uint16_t lid_of(int who, uint8_t port)
{
	return (uint16_t)(10 * port + who);
}

/* From @who to the other by the ports with this number. */
static inline struct vb_path lid_path(int who, uint8_t port)
{
	return (struct vb_path){
	    .slid = lid_of(who, port), .dlid = lid_of(!who, port), .port = port, .sl = 3};
}

static inline struct vb_alt_path alternate(int who, uint8_t port)
{
	return (struct vb_alt_path){
	    .path = lid_path(who, port), .kbps = 0, .av = {0xa0, port}, .timeout = 9};
}

static inline void open_end(int who)
{
	env_config(&end[who]);
	end[who].cfg.port_cnt = 2;
	end[who].cfg.port[2] =
	    (struct vb_hca_port){.active_mtu = VB_MTU_2048, .pkey = {0x8001, VB_PKEY_DEFAULT}};
	env_open(&end[who], 64);
}

/* Attributes of a QP of @who that goes by port 1. */
static inline struct vb_qp_attr attr_of(int who)
{
	struct vb_qp_attr a = env_attr(2, qp[!who]->qpn);

	a.path = lid_path(who, 1);
	a.av[0] = 0x50;
	a.timeout = 12;
	a.alt = alternate(who, 2);
	a.alt.pkey_index = 1;
	a.path_mig_state = VB_MIG_REARM;
	return a;
}

static inline void open_ends(enum vb_qp_type type)
{
	memset(is_cut, 0, sizeof is_cut);
	for (int who = A; who <= B; who++) {
		open_end(who);
		qp[who] = env_qp(&end[who], type, NULL);
	}
	for (int who = A; who <= B; who++) {
		struct vb_qp_attr a = attr_of(who);

		env_up(&end[who], qp[who], &a, VB_QPS_RTS);
	}
}

static inline void close_ends(void)
{
	env_close(&end[A]);
	env_close(&end[B]);
}

static inline int modify(int who, const struct vb_qp_attr *a, uint32_t mask)
{
	return vb_qp_modify(qp[who], a, mask, end[who].now);
}

static inline void load_and_rearm(int who)
{
	struct vb_qp_attr a = attr_of(who);

	assert_int_equal(modify(who, &a, VB_QP_ALT_PATH | VB_QP_PATH_MIG_STATE), 0);
}

static inline enum vb_mig_state mig_state(int who)
{
	struct vb_qp_attr a;

	vb_qp_query(qp[who], &a);
	return a.path_mig_state;
}

static inline void deliver(int from, const struct vb_tx *tx)
{
	struct env *to = &end[!from];
	struct vb_path path = *tx->path;
	uint8_t pkt[VB_HDR_MAX + 4096 + 3] = {0};
	uint32_t len = tx->hdr_len;

	said_migrated[from] = env_hdr(tx).migrated;
	if (is_cut[path.port])
		return;
	memcpy(pkt, tx->hdr, tx->hdr_len);
	for (uint32_t k = 0; k < tx->seg_cnt; k++) {
		memcpy(pkt + len, tx->seg[k].p, tx->seg[k].len);
		len += tx->seg[k].len;
	}
	len += tx->pad;

	struct vb_rx rx = {.pkt = pkt, .len = len, .avail = len, .path = &path};

	verdict[!from] = vb_hca_handle_packet(to->hca, &rx, to->now);
}

/* Until neither has anything to send at this instant. */
static inline void settle(void)
{
	static struct vb_tx_batch b;
	bool any = true;

	while (any) {
		any = false;
		for (int who = A; who <= B; who++) {
			while (env_tx(&end[who], &b)) {
				any = true;
				for (uint32_t i = 0; i < b.cnt; i++)
					deliver(who, &b.pkt[i]);
			}
		}
	}
}

/* Lets @span pass, with everything that happens in it. */
static inline void pass(vb_dur span)
{
	vb_time until = end[A].now + span;

	for (;;) {
		settle();

		vb_time due =
		    vb_time_min(vb_hca_poll_timeout(end[A].hca), vb_hca_poll_timeout(end[B].hca));

		if (due > until)
			break;
		end[A].now = end[B].now = due;
		vb_hca_handle_timeout(end[A].hca, due);
		vb_hca_handle_timeout(end[B].hca, due);
	}
	end[A].now = end[B].now = until;
}

/* One message from @from to the other, which the peer has a receive for. */
static inline void post(int from, uint64_t wr_id, uint32_t len)
{
	assert_int_equal(env_recv(&end[!from], qp[!from], wr_id, ENV_MEM / 2), 0);
	assert_int_equal(env_send(&end[from], qp[from], wr_id, VB_WR_SEND, len), 0);
}

static inline void expect_message(int from, uint64_t wr_id)
{
	(void)env_wc(&end[from], wr_id, VB_WC_SUCCESS);
	(void)env_wc(&end[!from], wr_id, VB_WC_SUCCESS);
}

static inline void message(int from, uint64_t wr_id)
{
	post(from, wr_id, 3000);
	settle();
	expect_message(from, wr_id);
}

/* Both ends have an alternate path and are armed. */
static inline void arm(void)
{
	load_and_rearm(A);
	load_and_rearm(B);
	message(A, 1);
	assert_int_equal(mig_state(A), VB_MIG_ARMED);
	assert_int_equal(mig_state(B), VB_MIG_ARMED);
	assert_false(said_migrated[A] || said_migrated[B]);
}

static inline void open_armed(enum vb_qp_type type)
{
	open_ends(type);
	arm();
}

#endif
