/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a case from a seed: first what the case is about, then steps of that mood. */
#include "steps.h"

#include "base/rng.h"
#include "core/types.h"
#include "fault/fault.h"

#include <string.h>

static uint32_t range(struct vb_rng *r, uint32_t lo, uint32_t hi)
{
	return lo + vb_rng_below(r, hi - lo + 1);
}

static bool chance(struct vb_rng *r, uint32_t percent)
{
	return vb_rng_below(r, 100) < percent;
}

/* The preferences of a case: weights of the steps, and percentages. */
struct mood {
	uint32_t weight[STEP_KINDS];
	uint32_t defects, recv_defects, wild; /* percent */
	uint32_t gap;                         /* ns between steps, at most */
	uint32_t conns, dcis, dcts;
	bool groups;  /* is about multicast groups */
	bool windows; /* is about memory windows */
	bool xrc;     /* is about SRQs of XRC domains that go */
	bool sleepy;  /* does not look at its completions for a while; small queues */
};

uint32_t sequence_hosts(const struct sequence *s)
{
	uint32_t n = s->world[WORLD_SIZE];

	switch ((enum world_shape)s->world[WORLD_SHAPE]) {
	case SHAPE_PAIR:
		return 2;
	case SHAPE_STAR:
		return n;
	case SHAPE_FAT_TREE:
		return 16;
	case SHAPE_DUMBBELL:
		return 2 * n;
	default: /* two at each switch of the row, or at each of two leaves */
		return s->world[WORLD_SHAPE] == SHAPE_CLOS ? 4 : 2 * n;
	}
}

static void make_world(struct sequence *s, struct vb_rng *r)
{
	static const uint32_t gbps[] = {10, 25, 100, 400};
	static const uint32_t window[] = {0, 6000, 20000, 131072};
	static const uint32_t piece[] = {0, 4096, 10000};
	uint32_t *w = s->world;

	w[WORLD_SEED] = (uint32_t)vb_rng_next(r);
	w[WORLD_SHAPE] = vb_rng_below(r, SHAPE_CNT);
	w[WORLD_SIZE] = range(r, 2, 4);
	w[WORLD_GBPS] = gbps[vb_rng_below(r, 4)];
	w[WORLD_DELAY] = range(r, 10, 3000);
	w[WORLD_WINDOW] = window[vb_rng_below(r, 4)];
	w[WORLD_PIECE] = piece[vb_rng_below(r, 3)];
	w[WORLD_EVENT] = chance(r, 40);
	w[WORLD_SRQ] = chance(r, 40);
	w[WORLD_TIDY] = chance(r, 50);
	w[WORLD_RECOVERY] = chance(r, 50) ? vb_rng_below(r, 16) : 0;
	w[WORLD_SWITCH] = chance(r, 40) ? range(r, SWITCH_LOSSLESS, SWITCH_CNT - 1) : SWITCH_ROOMY;
	w[WORLD_CC] = chance(r, 25) ? CC_PAPER : CC_OFF;
	w[WORLD_SLOW] = chance(r, 50) ? range(r, 2, 20) : 1;
}

static void make_mood(struct mood *m, struct vb_rng *r)
{
	static const uint32_t gaps[] = {0, 300, 5000, 100000, 4000000};
	bool breaks = chance(r, 50), faulty = chance(r, 60), keys = chance(r, 40);

	*m = (struct mood){.gap = gaps[vb_rng_below(r, 5)], .conns = range(r, 1, CONNS_MAX)};
	m->windows = keys && chance(r, 50);
	m->weight[STEP_POST] = 60;
	m->weight[STEP_RECV] = range(r, 10, 40);
	m->weight[STEP_SRQ] = 10;
	m->weight[STEP_REFUSED] = 3;
	m->weight[STEP_CQ] = 2;
	m->weight[STEP_LIMIT] = 3;
	m->weight[STEP_TUNE] = chance(r, 30) ? range(r, 1, 12) : 0;
	m->sleepy = chance(r, 20);
	if (m->sleepy)
		m->weight[STEP_NAP] = range(r, 2, 10);
	if (breaks) {
		m->weight[STEP_STATE] = range(r, 1, 6);
		m->weight[STEP_RECONNECT] = range(r, 1, 10);
		m->weight[STEP_DESTROY] = range(r, 0, 3);
		m->weight[STEP_UNSRQ] = range(r, 0, 4);
		m->defects = range(r, 0, 8);
		m->recv_defects = range(r, 0, 6);
	}
	if (faulty) {
		m->weight[STEP_FAULT] = range(r, 1, 8);
		m->weight[STEP_HEAL] = 3;
		m->wild = chance(r, 40) ? 50 : 0;
	}
	if (keys) {
		m->weight[STEP_MR] = m->weight[STEP_MW] = m->weight[STEP_BIND] = 6;
		m->weight[STEP_UNMR] = m->weight[STEP_UNMW] = range(r, 0, 3);
		m->weight[STEP_REREG] = range(r, 0, 3);
		m->weight[STEP_PAGE] = range(r, 0, 3);
		m->weight[STEP_LOCATE] = 1;
	}
	m->groups = chance(r, 15);
	if (m->groups)
		m->weight[STEP_GROUP] = range(r, 5, 30);
	else if (chance(r, 30)) {
		m->dcis = range(r, 1, DCIS_MAX);
		m->dcts = range(r, 1, DCTS_MAX);
		m->conns = range(r, 1, 2);
		m->weight[STEP_DCPOST] = 80;
		m->weight[STEP_DCRECV] = 20;
		m->weight[STEP_DCSTATE] = breaks ? range(r, 1, 8) : 0;
		m->weight[STEP_DCSTREAM] = range(r, 1, 10);
	}
	m->xrc = !m->groups && !m->windows && !m->dcis && chance(r, 15);
	if (m->xrc) {
		m->conns = range(r, 1, 2);
		m->gap = gaps[range(r, 1, 2)];
		m->weight[STEP_UNSRQ] = range(r, 5, 20);
		m->weight[STEP_SRQ] = 40;
		m->weight[STEP_RECONNECT] += 20;
	}
	if (m->windows) {
		m->conns = range(r, 1, 2);
		m->gap = gaps[range(r, 2, 3)];
		m->weight[STEP_RECONNECT] += 40;
		m->weight[STEP_BIND] = 40;
		m->weight[STEP_PAGE] = range(r, 0, 6);
		m->weight[STEP_MW] = 20;
		m->weight[STEP_UNMW] = 10;
	}
}

/* Many short ones, and the neighbourhood of multiples of every MTU. */
static uint32_t random_len(struct vb_rng *r)
{
	switch (vb_rng_below(r, 4)) {
	case 0:
		return vb_rng_below(r, 9);
	case 1:
		return vb_rng_below(r, 600);
	case 2:
		return range(r, 1, 16) * 256 + vb_rng_below(r, 3) - 1;
	default:
		return vb_rng_below(r, 9001);
	}
}

static void make_connect(uint32_t *a, uint32_t conn, const struct sequence *s, struct vb_rng *r)
{
	static const uint32_t types[] = {VB_QPT_RC, VB_QPT_RC, VB_QPT_RC,      VB_QPT_RC,
					 VB_QPT_UC, VB_QPT_UD, VB_QPT_XRC_INI, VB_QPT_XRC_INI};
	uint32_t hosts = sequence_hosts(s);

	a[ARG_CONN] = conn;
	a[CONNECT_TYPE] = types[vb_rng_below(r, 8)];
	a[CONNECT_A] = vb_rng_below(r, hosts);
	a[CONNECT_B] = (a[CONNECT_A] + range(r, 1, hosts - 1)) % hosts;
	a[CONNECT_MTU] = range(r, VB_MTU_256, VB_MTU_4096);
	a[CONNECT_DEPTH] = range(r, 2, 40);
	a[CONNECT_RECVS] = range(r, 1, 40);
	a[CONNECT_TIMEOUT] = range(r, 11, 13);
	a[CONNECT_RNR] = chance(r, 80) ? 7 : vb_rng_below(r, 4);
	a[CONNECT_ATOMICS] = range(r, 1, 16);
	a[CONNECT_SRQ] = chance(r, 50);
	a[CONNECT_SALT] = (uint32_t)vb_rng_next(r);
}

static void make_post(uint32_t *a, const struct mood *m, struct vb_rng *r)
{
	static const uint32_t targets[] = {0, 0, 1};

	/* The numbers of operations have a gap. */
	a[POST_OP] = vb_rng_below(r, VB_WR_SEND_INV + 3);
	if (a[POST_OP] > VB_WR_SEND_INV)
		a[POST_OP] = a[POST_OP] == VB_WR_SEND_INV + 1 ? VB_WR_ATOMIC_WRITE : VB_WR_FLUSH;
	a[POST_LEN] = random_len(r);
	a[POST_CNT] = chance(r, 70) ? 1 : range(r, 2, 8);
	a[POST_FLAGS] = vb_rng_below(r, 16);
	a[POST_SGES] = range(r, 1, 4);
	a[POST_DEFECT] = chance(r, m->defects) ? range(r, 1, DEFECT_CNT - 1) : 0;
	if (m->weight[STEP_MR] && targets[vb_rng_below(r, 3)])
		a[POST_TARGET] = range(r, 1, TARGET_CNT - 1);
	if (m->windows && chance(r, 50))
		a[POST_LEN] %= 300;
	if (m->windows && chance(r, 50))
		a[POST_TARGET] = range(r, TARGET_MW, TARGET_CNT - 1);
	if (m->groups && chance(r, 70))
		a[POST_TARGET] = range(r, 1, GROUPS);
	a[POST_SALT] = (uint32_t)vb_rng_next(r);
}

/* Those with few hits leave every QP able to deliver; wild ones do not. */
static void make_fault(uint32_t *a, const struct mood *m, struct vb_rng *r)
{
	static const uint32_t ppm[] = {1000, 20000, 200000, 1000000};

	a[FAULT_CABLE] = vb_rng_below(r, 16);
	a[FAULT_KIND] = vb_rng_below(r, VB_FAULT_QUEUE);
	a[FAULT_PPM] = ppm[vb_rng_below(r, 4)];
	a[FAULT_FIRST] = chance(r, m->wild) ? 1000000 : range(r, 1, 2);
	a[FAULT_SKIP] = vb_rng_below(r, 20);
	a[FAULT_US] = range(r, 1, 30);
}

/* A host for a region or window: where it matters, mostly that of side 1 of every connection. */
static uint32_t key_host(const struct mood *m, const struct sequence *s, struct vb_rng *r)
{
	uint32_t hosts = sequence_hosts(s);

	if (m->windows)
		return s->step[0].arg[chance(r, 10) ? CONNECT_A : CONNECT_B];
	return vb_rng_below(r, hosts < 4 ? hosts : 4);
}

static void make_key(uint32_t kind, uint32_t *a, const struct mood *m, const struct sequence *s,
		     struct vb_rng *r)
{
	static const uint32_t access[] = {0x31f, 0x31f, 0x21f, 0x15, 0x13, 0x105, 0x4, 0x0};

	switch (kind) {
	case STEP_MR:
		a[MR_SLOT] = vb_rng_below(r, MRS_MAX);
		a[MR_HOST] = key_host(m, s, r);
		a[MR_ACCESS] = m->windows && chance(r, 80) ? 0x31f : access[vb_rng_below(r, 8)];
		a[MR_LEN] = range(r, 1, 10000);
		/* Of a zero-based region there are no windows. */
		a[MR_KIND] = chance(r, 50) ? (m->windows ? 2 : 0) : vb_rng_below(r, 6);
		break;
	case STEP_PAGE:
		a[PAGE_SLOT] = vb_rng_below(r, MRS_MAX);
		a[PAGE_AT] = vb_rng_below(r, chance(r, 50) ? 600 : 10000);
		a[PAGE_LEN] = chance(r, 50) ? vb_rng_below(r, 20) : vb_rng_below(r, 4000);
		a[PAGE_KIND] = chance(r, 50) ? 2 : vb_rng_below(r, 3);
		break;
	case STEP_LOCATE:
		a[LOCATE_SLOT] = vb_rng_below(r, MRS_MAX);
		a[LOCATE_HOST] = key_host(m, s, r);
		a[LOCATE_AT] = vb_rng_below(r, 6000);
		a[LOCATE_LEN] = vb_rng_below(r, 6000);
		a[LOCATE_WRITE] = vb_rng_below(r, 2);
		break;
	case STEP_UNMR:
		a[MR_SLOT] = vb_rng_below(r, MRS_MAX);
		break;
	case STEP_REREG:
		a[REREG_SLOT] = vb_rng_below(r, MRS_MAX);
		a[REREG_ACCESS] = access[vb_rng_below(r, 8)] & (chance(r, 10) ? 0x31e : 0x31f);
		a[REREG_AWAY] = chance(r, 20);
		break;
	case STEP_MW:
		a[MW_SLOT] = vb_rng_below(r, MWS_MAX);
		a[MW_TYPE] = range(r, 1, 2);
		a[MW_HOST] = key_host(m, s, r);
		break;
	case STEP_UNMW:
		a[MW_SLOT] = vb_rng_below(r, MWS_MAX);
		break;
	default:
		a[BIND_MW] = vb_rng_below(r, MWS_MAX);
		/* That with the address at which requests aim is best. */
		a[BIND_MR] = chance(r, 70) ? a[BIND_MW] : vb_rng_below(r, MRS_MAX);
		a[BIND_ACCESS] = access[vb_rng_below(r, m->windows ? 5 : 8)] & 0xe;
		if (chance(r, 30))
			a[BIND_ACCESS] |= VB_ACCESS_ZERO_BASED;
		a[BIND_LEN] = chance(r, 20) ? 0 : range(r, 1, 16) * 256;
		a[BIND_OFF] = chance(r, 50) ? 0 : vb_rng_below(r, 200) * 8;
		break;
	}
}

static void make_dc_open(uint32_t kind, uint32_t *a, const struct sequence *s, struct vb_rng *r)
{
	a[DCT_HOST] = vb_rng_below(r, sequence_hosts(s));
	if (kind == STEP_DCT)
		return;
	a[DCI_DEPTH] = vb_rng_below(r, 40);
	a[DCI_STREAMS] = vb_rng_below(r, 4);
	a[DCI_ERRORED] = vb_rng_below(r, 4);
	a[DCI_FULL] = vb_rng_below(r, 2);
	a[DCI_TIMEOUT] = vb_rng_below(r, 3);
	a[DCI_RNR] = chance(r, 80) ? 7 : vb_rng_below(r, 4);
	a[DCI_ATOMICS] = vb_rng_below(r, 16);
	a[DCI_SALT] = (uint32_t)vb_rng_next(r);
}

static void make_dc(uint32_t kind, uint32_t *a, const struct mood *m, struct vb_rng *r)
{
	static const uint32_t ops[] = {VB_WR_RDMA_WRITE, VB_WR_RDMA_WRITE_IMM, VB_WR_SEND,
				       VB_WR_SEND_IMM,   VB_WR_RDMA_READ,      VB_WR_COMPARE_SWAP,
				       VB_WR_FETCH_ADD,  VB_WR_ATOMIC_WRITE};
	static const uint32_t to[] = {VB_QPS_ERR, VB_QPS_RESET, VB_QPS_RESET,
				      VB_QPS_SQD, VB_QPS_RTS,   VB_QPS_CNT};

	a[DCPOST_DCI] = vb_rng_below(r, m->dcis);
	switch (kind) {
	case STEP_DCPOST:
		a[DCPOST_DCT] = vb_rng_below(r, m->dcts);
		a[DCPOST_OP] = ops[vb_rng_below(r, 8)];
		if (chance(r, m->defects))
			a[DCPOST_OP] = vb_rng_below(r, VB_WR_NOP);
		a[DCPOST_LEN] = random_len(r);
		a[DCPOST_CNT] = chance(r, 70) ? 1 : range(r, 2, 8);
		a[DCPOST_FLAGS] = vb_rng_below(r, 16);
		a[DCPOST_SGES] = range(r, 1, 4);
		a[DCPOST_DEFECT] = chance(r, m->defects) ? range(r, 1, DEFECT_CNT - 1) : 0;
		a[DCPOST_STREAM] = vb_rng_below(r, 8);
		a[DCPOST_SALT] = (uint32_t)vb_rng_next(r);
		if (m->weight[STEP_MR] && chance(r, 40))
			a[DCPOST_TARGET] = range(r, 1, TARGET_CNT - 1);
		break;
	case STEP_DCSTATE:
		a[DCSTATE_TARGET] = vb_rng_below(r, 2);
		a[DCSTATE_SLOT] = vb_rng_below(r, a[DCSTATE_TARGET] ? m->dcts : m->dcis);
		a[DCSTATE_TO] = to[vb_rng_below(r, 6)];
		break;
	case STEP_DCSTREAM:
		a[DCSTREAM_STREAM] = vb_rng_below(r, 8);
		break;
	default:
		a[DCRECV_DCT] = vb_rng_below(r, m->dcts);
		a[DCRECV_CNT] = range(r, 1, 16);
		a[DCRECV_SALT] = (uint32_t)vb_rng_next(r);
		break;
	}
}

/* A host for an SRQ: where it matters, one of those of the connections. */
static uint32_t srq_host(const struct mood *m, const struct sequence *s, struct vb_rng *r)
{
	if (m->xrc)
		return s->step[0].arg[range(r, CONNECT_A, CONNECT_B)];
	return vb_rng_below(r, sequence_hosts(s));
}

static void make_srq(uint32_t *a, const struct mood *m, const struct sequence *s, struct vb_rng *r)
{
	a[SRQ_HOST] = srq_host(m, s, r);
	a[SRQ_CNT_] = range(r, 1, 16);
	a[SRQ_LEN] = 9001;
	a[SRQ_SALT] = (uint32_t)vb_rng_next(r);
	a[SRQ_WHICH] = vb_rng_below(r, 4);
}

/* Steps that are no work and make none. */
static void make_setting(uint32_t kind, uint32_t *a, const struct mood *m, const struct sequence *s,
			 struct vb_rng *r)
{
	switch (kind) {
	case STEP_CQ:
		a[CQ_HOST] = vb_rng_below(r, sequence_hosts(s));
		a[CQ_SIZE] = 1u << (m->sleepy ? range(r, 4, 9) : range(r, 11, 13));
		break;
	case STEP_NAP:
		a[NAP_HOST] = vb_rng_below(r, sequence_hosts(s));
		a[NAP_US] = chance(r, 90) ? range(r, 1, 200) : 100000;
		break;
	case STEP_LIMIT:
		a[LIMIT_HOST] = vb_rng_below(r, sequence_hosts(s));
		a[LIMIT_CNT] = vb_rng_below(r, 70);
		a[LIMIT_WHICH] = vb_rng_below(r, 4);
		break;
	case STEP_UNSRQ:
		a[UNSRQ_HOST] = srq_host(m, s, r);
		a[UNSRQ_WHICH] = m->xrc ? range(r, 1, 3) : vb_rng_below(r, 4);
		break;
	case STEP_TUNE:
		a[TUNE_WHAT] = vb_rng_below(r, TUNE_CNT);
		a[TUNE_HOST] = vb_rng_below(r, sequence_hosts(s));
		a[TUNE_VALUE] = (uint32_t)vb_rng_next(r);
		break;
	case STEP_GROUP:
		a[GROUP_NUMBER] = vb_rng_below(r, GROUPS);
		a[GROUP_LEAVE] = chance(r, 35);
		break;
	default:
		break;
	}
}

static void make_step(struct step *st, const struct mood *m, const struct sequence *s,
		      struct vb_rng *r)
{
	uint32_t sum = 0, at, *a = st->arg;

	for (int i = 0; i < STEP_KINDS; i++)
		sum += m->weight[i];
	at = vb_rng_below(r, sum);
	for (st->kind = 0; at >= m->weight[st->kind]; st->kind++)
		at -= m->weight[st->kind];
	st->after = vb_rng_below(r, m->gap + 1);
	a[ARG_CONN] = vb_rng_below(r, m->conns);
	a[ARG_SIDE] = vb_rng_below(r, 2);
	if (m->windows && chance(r, 80))
		a[ARG_SIDE] = st->kind == STEP_BIND || st->kind == STEP_RECV;
	switch (st->kind) {
	case STEP_POST:
		make_post(a, m, r);
		break;
	case STEP_RECV:
		a[RECV_CNT] = range(r, 1, 16);
		a[RECV_LEN] = chance(r, m->recv_defects) ? vb_rng_below(r, 4000) : 9001;
		a[RECV_SGES] = range(r, 1, 4);
		a[RECV_DEFECT] =
		    chance(r, m->recv_defects) ? range(r, RECV_BAD_LKEY, RECV_AWAY) : RECV_GOOD;
		a[RECV_SALT] = (uint32_t)vb_rng_next(r);
		break;
	case STEP_STATE: {
		static const uint32_t to[] = {VB_QPS_ERR, VB_QPS_RESET, VB_QPS_SQD, VB_QPS_RTS};

		a[STATE_TO] = to[vb_rng_below(r, 4)];
		a[STATE_SALT] = (uint32_t)vb_rng_next(r);
		break;
	}
	case STEP_RECONNECT:
		a[RECONNECT_SALT] = (uint32_t)vb_rng_next(r);
		break;
	case STEP_FAULT:
		make_fault(a, m, r);
		break;
	case STEP_HEAL:
		a[FAULT_CABLE] = vb_rng_below(r, 16);
		break;
	case STEP_SRQ:
		make_srq(a, m, s, r);
		break;
	case STEP_REFUSED:
		a[REFUSED_WHY] = vb_rng_below(r, REFUSED_CNT);
		break;
	case STEP_DESTROY:
		break;
	case STEP_GROUP:
	case STEP_TUNE:
	case STEP_CQ:
	case STEP_NAP:
	case STEP_LIMIT:
	case STEP_UNSRQ:
		make_setting(st->kind, a, m, s, r);
		break;
	case STEP_DCPOST:
	case STEP_DCSTATE:
	case STEP_DCSTREAM:
	case STEP_DCRECV:
		make_dc(st->kind, a, m, r);
		break;
	default:
		make_key(st->kind, a, m, s, r);
		break;
	}
}

void sequence_make(struct sequence *s, uint64_t seed)
{
	struct vb_rng rng = vb_rng_stream(seed, "sequence", 0);
	struct mood m;

	*s = (struct sequence){0};
	make_world(s, &rng);
	make_mood(&m, &rng);
	for (uint32_t c = 0; c < m.conns; c++) {
		struct step *st = &s->step[s->cnt++];

		st->kind = STEP_CONNECT;
		make_connect(st->arg, c, s, &rng);
		if (m.groups && chance(&rng, 80))
			st->arg[CONNECT_TYPE] = VB_QPT_UD;
		if (!m.windows && !m.xrc)
			continue;
		st->arg[CONNECT_TYPE] = m.xrc ? VB_QPT_XRC_INI : VB_QPT_RC;
		st->arg[CONNECT_A] = s->step[0].arg[CONNECT_A];
		st->arg[CONNECT_B] = s->step[0].arg[CONNECT_B];
	}
	for (uint32_t i = 0; m.windows && i < MRS_MAX + MWS_MAX; i++) {
		struct step *st = &s->step[s->cnt++];

		st->kind = i < MRS_MAX ? STEP_MR : STEP_MW;
		make_key(st->kind, st->arg, &m, s, &rng);
		st->arg[MR_SLOT] = i < MRS_MAX ? i : i - MRS_MAX;
	}
	for (uint32_t i = 0; i < m.dcts + m.dcis; i++) {
		struct step *st = &s->step[s->cnt++];

		st->kind = i < m.dcts ? STEP_DCT : STEP_DCI;
		st->arg[DCT_SLOT] = i < m.dcts ? i : i - m.dcts;
		make_dc_open(st->kind, st->arg, s, &rng);
	}
	for (uint32_t n = range(&rng, s->cnt + 1, STEPS_MAX); s->cnt < n;)
		make_step(&s->step[s->cnt++], &m, s, &rng);
}
