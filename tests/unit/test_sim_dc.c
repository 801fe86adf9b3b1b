/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DC over a simulated network that loses, doubles and overtakes: random work of many initiators for
 * the targets of all hosts. Each message arrives once and in the order of its initiator, each
 * atomic is done once, whatever the way of the connects and disconnects. docs/dc.md; IBT-25
 */
#include "base/rng.h"
#include "sim_net.h"

#define HOSTS 3
#define DCIS_MAX 96
#define STREAMS 4
#define SRQ_WRS 256
#define KEY UINT64_C(0xfeed)

struct dci {
	struct vb_qp *qp;
	uint32_t host, posted, done;
	uint32_t sent[STREAMS], rcvd[STREAMS]; /* messages */
};

struct world {
	struct net net;
	struct vb_rng rng;
	struct vb_qp *dct[HOSTS];
	struct vb_srq *srq[HOSTS];
	struct dci dci[DCIS_MAX];
	uint32_t dci_cnt, work;     /* of each initiator */
	uint64_t cell[HOSTS], adds; /* FETCH_ADD goes to cell */
	struct vb_mr *cell_mr[HOSTS];
	uint32_t refused; /* work that was posted with a wrong key */
};

static void post_srq(struct world *w, uint32_t host)
{
	struct vb_sge sge = {0, 8192, vb_mr_lkey(w->net.mr[host])};
	struct vb_recv_wr wr = {.wr_id = UINT64_MAX, .sge = &sge, .sge_cnt = 1};

	assert_int_equal(vb_srq_post(w->srq[host], &wr), 0);
}

/* The next piece of work of the initiator: its number says what it was. */
static void post(struct world *w, struct dci *d)
{
	static const uint32_t lengths[] = {0, 1, 64, 1024, 1025, 5000};
	uint32_t to = (d->host + 1 + vb_rng_below(&w->rng, HOSTS - 1)) % HOSTS;
	uint32_t stream = vb_rng_below(&w->rng, STREAMS), kind = vb_rng_below(&w->rng, 8);
	bool wrong = w->refused && vb_rng_below(&w->rng, 16) == 0;
	struct vb_ah ah = {.pd = vb_sim_pd(w->net.sim, d->host),
			   .path = vb_sim_path(d->host, to, 0xc000, 0)};
	struct vb_sge sge = {0, lengths[vb_rng_below(&w->rng, 6)], vb_mr_lkey(w->net.mr[d->host])};
	struct vb_send_wr wr = {.wr_id = (uint64_t)stream << 32 | kind,
				.sge = &sge,
				.sge_cnt = 1,
				.flags = VB_SEND_SIGNALED,
				.ah = &ah,
				.rkey = vb_mr_rkey(w->net.mr[to]),
				.dqpn = vb_qp_number(w->dct[to]),
				.dc_key = wrong ? KEY + 1 : KEY,
				.dc_stream = (uint16_t)stream};

	if (kind < 4) {
		wr.opcode = VB_WR_SEND_IMM;
		wr.imm = (uint32_t)(d - w->dci) << 24 | stream << 16 | d->sent[stream]++;
	} else if (kind < 6) {
		wr.opcode = VB_WR_FETCH_ADD;
		wr.rkey = vb_mr_rkey(w->cell_mr[to]);
		wr.compare_add = 1;
		sge.length = 8;
	} else {
		wr.opcode = kind == 6 ? VB_WR_RDMA_WRITE : VB_WR_RDMA_READ;
	}
	d->posted++;
	assert_int_equal(vb_qp_post_send(d->qp, &wr, vb_sim_now(w->net.sim)), 0);
	vb_sim_touch(w->net.sim, d->host);
}

static struct dci *dci_of(struct world *w, uint32_t host, uint32_t qpn)
{
	for (uint32_t i = 0; i < w->dci_cnt; i++) {
		if (w->dci[i].host == host && vb_qp_number(w->dci[i].qp) == qpn)
			return &w->dci[i];
	}
	fail_msg("no initiator %#x at host %u", qpn, host);
	return NULL;
}

static void on_recv(struct world *w, uint32_t host, const struct vb_wc *wc)
{
	struct dci *d = &w->dci[wc->imm >> 24];
	uint32_t *next = &d->rcvd[wc->imm >> 16 & 0xff], n = wc->imm & 0xffff;

	post_srq(w, host);
	/* A message whose receive was taken may end with its connection, and come again. */
	if (wc->status == VB_WC_WR_FLUSH_ERR)
		return;
	assert_int_equal(wc->status, VB_WC_SUCCESS);
	assert_int_equal(wc->src_qpn, vb_qp_number(d->qp));
	/* A message that failed at the initiator before it had arrived is left out. */
	assert_true(w->refused ? n >= *next : n == *next);
	*next = n + 1;
}

static void on_completion(void *ctx, uint32_t host, const struct vb_wc *wc, vb_time now)
{
	struct world *w = ctx;

	(void)now;
	if (wc->wr_id == UINT64_MAX) {
		on_recv(w, host, wc);
		return;
	}

	struct dci *d = dci_of(w, host, wc->qpn);
	uint32_t kind = (uint32_t)wc->wr_id;

	d->done++;
	if (wc->status == VB_WC_SUCCESS) {
		w->adds += kind == 4 || kind == 5;
	} else {
		if (!w->refused)
			fail_msg("initiator %#x of host %u: status %d", wc->qpn, host, wc->status);
		if (wc->status == VB_WC_REM_ACCESS_ERR)
			w->refused++;
		else
			assert_int_equal(wc->status, VB_WC_WR_FLUSH_ERR);
		(void)vb_dci_reset_stream(d->qp, (uint16_t)(wc->wr_id >> 32));
	}
	while (d->posted < w->work && d->posted - d->done < 8)
		post(w, d);
}

static void up(struct world *w, struct vb_qp *qp, uint32_t host, enum vb_qp_state to)
{
	vb_time now = vb_sim_now(w->net.sim);
	bool dct = to == VB_QPS_RTR;
	struct vb_qp_attr a = {
	    .port = 1,
	    .access = VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_READ | VB_ACCESS_REMOTE_ATOMIC,
	    .path = vb_sim_path(host, (host + 1) % HOSTS, 0xc000, 0),
	    .path_mtu = VB_MTU_1024,
	    .max_rd_atomic = 16,
	    .min_rnr_timer = 8,
	    .timeout = 8,
	    .retry_cnt = 7,
	    .rnr_retry = 7,
	};

	a.qp_state = VB_QPS_INIT;
	assert_int_equal(
	    vb_qp_modify(qp, &a, VB_QP_STATE | VB_QP_PKEY_INDEX | VB_QP_PORT | VB_QP_ACCESS_FLAGS,
			 now),
	    0);
	a.qp_state = VB_QPS_RTR;
	assert_int_equal(
	    vb_qp_modify(qp, &a,
			 VB_QP_STATE | VB_QP_PATH_MTU | (dct ? VB_QP_AV | VB_QP_MIN_RNR_TIMER : 0),
			 now),
	    0);
	a.qp_state = VB_QPS_RTS;
	if (!dct)
		assert_int_equal(vb_qp_modify(qp, &a,
					      VB_QP_STATE | VB_QP_SQ_PSN | VB_QP_TIMEOUT |
						  VB_QP_RETRY_CNT | VB_QP_RNR_RETRY |
						  VB_QP_MAX_QP_RD_ATOMIC,
					      now),
				 0);
}

static void open_host(struct world *w, uint32_t host, uint32_t dci_cnt)
{
	struct vb_pd *pd = vb_sim_pd(w->net.sim, host);
	struct vb_cq *cq = vb_sim_cq(w->net.sim, host);
	struct vb_qp_init dct = {.type = VB_QPT_DCT, .send_cq = cq, .recv_cq = cq, .dc.key = KEY};
	struct vb_mr_attr cell = {.length = 8,
				  .host = (uint8_t *)&w->cell[host],
				  .access = VB_ACCESS_LOCAL_WRITE | VB_ACCESS_REMOTE_ATOMIC};

	assert_int_equal(vb_srq_create(pd, SRQ_WRS, 1, 0, NULL, &w->srq[host]), 0);
	dct.srq = w->srq[host];
	assert_int_equal(vb_qp_create(pd, &dct, &w->dct[host]), 0);
	up(w, w->dct[host], host, VB_QPS_RTR);
	assert_int_equal(vb_mr_create(pd, &cell, &w->cell_mr[host]), 0);
	for (uint32_t i = 0; i < SRQ_WRS; i++)
		post_srq(w, host);
	for (uint32_t i = 0; i < dci_cnt; i++) {
		struct dci *d = &w->dci[w->dci_cnt++];
		struct vb_qp_init init = {
		    .type = VB_QPT_DCI,
		    .send_cq = cq,
		    .cap = {.max_send_wr = 16, .max_send_sge = 1},
		    .dc = {.full_handshake = i & 1, .log_streams = 2, .log_errored = 3}};

		d->host = host;
		assert_int_equal(vb_qp_create(pd, &init, &d->qp), 0);
		up(w, d->qp, host, VB_QPS_RTS);
	}
}

/* @each initiators on each host do @work pieces each. */
static void play(uint64_t seed, const char *fault, uint32_t each, uint32_t work, bool wrong_keys)
{
	static struct world w;
	struct vb_sim_config c = net_config();
	struct vb_cable cable = net_cable(100, 1000);
	struct vb_sim_app app = {.ctx = &w, .on_completion = on_completion};
	uint64_t cells = 0;

	w = (struct world){.work = work, .refused = wrong_keys};
	c.seed = seed;
	w.rng = vb_rng_stream(seed, "work", 0);
	assert_int_equal(vb_sim_topo_star(&w.net.topo, &net_memory, HOSTS, &cable), 0);
	net_open(&w.net, &c);
	vb_sim_set_app(w.net.sim, &app);
	if (fault) {
		struct vb_fault_spec spec;
		struct vb_fault_error err;

		if (vb_fault_parse(fault, &spec, &err))
			fail_msg("%s: %s", fault, err.text);
		for (uint32_t i = 0; i < HOSTS; i++)
			assert_int_equal(vb_sim_set_cable_fault(w.net.sim, i, &spec), 0);
	}
	for (uint32_t i = 0; i < HOSTS; i++)
		open_host(&w, i, each);
	for (uint32_t i = 0; i < w.dci_cnt; i++)
		post(&w, &w.dci[i]);
	assert_int_equal(vb_sim_run(w.net.sim, VB_NEVER), 0);
	for (uint32_t i = 0; i < w.dci_cnt; i++) {
		struct dci *d = &w.dci[i];

		if (d->done != work)
			fail_msg("seed %llu: initiator %u has done %u of %u",
				 (unsigned long long)seed, i, d->done, work);
		assert_int_equal(vb_qp_get_state(d->qp), VB_QPS_RTS);
		for (uint32_t s = 0; !wrong_keys && s < STREAMS; s++)
			assert_int_equal(d->rcvd[s], d->sent[s]);
	}
	for (uint32_t i = 0; i < HOSTS; i++) {
		assert_int_equal(vb_qp_get_state(w.dct[i]), VB_QPS_RTR);
		cells += w.cell[i];
	}
	assert_int_equal(cells, w.adds);
	assert_true(!wrong_keys || w.refused > 10);
	net_close(&w.net);
}

static const char *const faults[] = {
    NULL,
    "loss=2e-2",
    "dup=5e-2",
    "reorder=5%/20us",
    "loss=1e-2,dup=2e-2,reorder=5%/50us",
    "loss=5e-2:op=DC_CONNECT,dup=3e-1:op=DC_CONNECT",
};

static void dc__arrives_once_and_in_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
		for (uint64_t seed = 1; seed <= 8; seed++)
			play(seed, faults[i], 4, 100, false);
	}
}

/* Streams fail and are reset all the time. */
static void dc__streams_fail(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
		for (uint64_t seed = 1; seed <= 8; seed++)
			play(seed, faults[i], 4, 100, true);
	}
}

/* More initiators than a target has contexts: all of them get their turn. */
static void dc__more_initiators_than_contexts(void **state)
{
	(void)state;
	play(1, NULL, 32, 10, false);
	play(2, "loss=5e-3", 32, 10, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(dc__arrives_once_and_in_order),
	    cmocka_unit_test(dc__streams_fail),
	    cmocka_unit_test(dc__more_initiators_than_contexts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
