/* SPDX-License-Identifier: BSD-2-Clause */
/* One adapter with a port of InfiniBand and its congestion control, for tests of core/cc/cct.h. */
#ifndef VB_TESTS_UNIT_CCT_ENV_H
#define VB_TESTS_UNIT_CCT_ENV_H

#include "core_env.h"

#define RATE UINT64_C(8000000000) /* a byte takes 1 ns */
#define OWN_LID 1u
/* On the line: LRH, BTH, ICRC, VCRC, start and end of a packet. */
#define FRAME (8 + 12 + 4 + 2 + 2)
#define MTU 1024
#define STEP VB_MSEC
#define QPN_PEER 0x21u

static struct env env;
static struct vb_tx_batch b;

/* At index n a packet waits n times the time of the one before. */
static inline struct vb_cct_rules rules_of(bool by_qp)
{
	struct vb_cct_rules r = {.table = {.by_qp = by_qp, .limit = 8}, .rate_bps = RATE};

	for (uint16_t i = 0; i < VB_CCT_LEN; i++)
		r.table.entry[i] = i;
	for (uint32_t sl = 0; sl < VB_CCT_LEVELS; sl++)
		r.table.level[sl] =
		    (struct vb_cct_level){.timer = STEP, .increase = 2, .trigger = 5};
	return r;
}

static inline void set_rules(bool by_qp)
{
	struct vb_cct_rules r = rules_of(by_qp);

	assert_int_equal(vb_hca_set_port_cct(env.hca, 1, &r), 0);
}

static inline void open_port(bool by_qp)
{
	env_config(&env);
	env.cfg.cc.np_en = true;
	env_open(&env, 256);
	set_rules(by_qp);
	env.now = 1000;
}

static inline struct vb_path path_to(uint16_t lid)
{
	return (struct vb_path){.port = 1, .slid = OWN_LID, .dlid = lid};
}

static inline struct vb_qp *qp_to(enum vb_qp_type type, uint16_t lid)
{
	struct vb_qp *qp = env_qp(&env, type, NULL);
	struct vb_qp_attr a = env_attr(2, QPN_PEER);

	a.path = path_to(lid);
	env_up(&env, qp, &a, VB_QPS_RTS);
	return qp;
}

/* A packet that came by @path, as a port of InfiniBand hands it over. */
static inline enum vb_verdict arrives_by(struct vb_path path, struct vb_hdr h, uint32_t len)
{
	uint8_t pkt[VB_HDR_MAX + MTU] = {0};
	struct vb_rx rx = {.pkt = pkt, .path = &path};
	uint8_t transport = h.opcode & VB_TRANSPORT_MASK;

	h.pkey = VB_PKEY_DEFAULT;
	rx.len = rx.avail = (uint32_t)vb_hdr_emit(&h, pkt) + len;
	if (transport != VB_TRANSPORT_UD && (h.fecn || (h.becn && transport != VB_TRANSPORT_CNP)))
		path.traffic_class = VB_ECN_CE;
	return vb_hca_handle_packet(env.hca, &rx, env.now);
}

/* A packet from @lid. */
static inline enum vb_verdict arrives(uint16_t lid, struct vb_hdr h, uint32_t len)
{
	return arrives_by((struct vb_path){.port = 1, .slid = lid, .dlid = OWN_LID}, h, len);
}

static inline enum vb_verdict cnp(uint32_t qpn, uint16_t lid)
{
	return arrives(lid, (struct vb_hdr){.opcode = VB_OPCODE_CNP_IB, .becn = true, .dqpn = qpn},
		       0);
}

/* Nothing leaves until @at, and then @cnt packets do. */
static inline void leave_at(vb_time at, uint32_t cnt)
{
	assert_int_equal(env_tx(&env, &b), 0);
	env.now = at - 1;
	vb_hca_handle_timeout(env.hca, env.now);
	assert_int_equal(env_tx(&env, &b), 0);
	assert_true(vb_hca_poll_timeout(env.hca) <= at);
	env.now = at;
	vb_hca_handle_timeout(env.hca, env.now);
	assert_int_equal(env_tx(&env, &b), cnt);
}

#endif
