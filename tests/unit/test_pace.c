/* SPDX-License-Identifier: BSD-2-Clause */
/* The send rate that the consumer sets for a QP. ibv_modify_qp_rate_limit(3) */
#include "core_env.h"

#define START VB_SEC
#define WRITES 16
#define RATE_KBPS 8000 /* a byte takes a microsecond */

static struct env env;
static struct vb_tx_batch b;

static struct vb_qp *open_configured(enum vb_qp_type type)
{
	env_open(&env, 256);
	env.now = START;
	return env_rts(&env, type, 2, 0x21);
}

static struct vb_qp *open_qp(enum vb_qp_type type)
{
	env_config(&env);
	return open_configured(type);
}

/* Congestion control, whose rate is the port's. */
static struct vb_qp *open_reaction_point(enum vb_qp_type type)
{
	env_config(&env);
	vb_cc_settings_paper(&env.cfg.cc, UINT64_C(40000000000));
	return open_configured(type);
}

/* The bytes that leave now. */
static uint32_t sent_now(void)
{
	uint32_t bytes = 0;

	env_tx(&env, &b);
	for (uint32_t i = 0; i < b.cnt; i++)
		bytes += vb_tx_wire_len(&b.pkt[i]);
	return bytes;
}

static bool wait_timer(void)
{
	vb_time due = vb_hca_poll_timeout(env.hca);

	if (due == VB_NEVER)
		return false;
	env.now = due > env.now ? due : env.now;
	vb_hca_handle_timeout(env.hca, env.now);
	return true;
}

static void post_writes(struct vb_qp *qp)
{
	for (uint64_t i = 0; i < WRITES; i++)
		assert_int_equal(env_send(&env, qp, i, VB_WR_RDMA_WRITE, 4096), 0);
}

/* Also where congestion control would let the QP send faster. */
static void rate__is_kept(void **state)
{
	static const uint32_t bursts[] = {1, 3000, 20000, 3000};

	(void)state;
	for (size_t k = 0; k < sizeof bursts / sizeof bursts[0]; k++) {
		struct vb_qp *qp = k == 3 ? open_reaction_point(VB_QPT_UC) : open_qp(VB_QPT_UC);
		uint64_t total = 0, want = 0, last = 0;

		assert_int_equal(vb_qp_set_rate(qp, RATE_KBPS, bursts[k], env.now), 0);
		assert_int_equal(vb_qp_rate(qp), RATE_KBPS);
		post_writes(qp);
		want = /* with an RETH each */
		    WRITES * (4096 + 4 * (VB_BTH_LEN + VB_ICRC_LEN) + 16);
		do {
			uint32_t bytes = sent_now();

			if (b.cnt)
				last = vb_tx_wire_len(&b.pkt[b.cnt - 1]);
			total += bytes;
			/* Never more than the time allows and a burst; one packet overdraws. */
			assert_true((total - last) * VB_USEC <= env.now - START);
			assert_true(bytes <= bursts[k] || b.cnt == 1);
		} while (total < want && wait_timer());
		assert_int_equal(total, want);
		/* Nor less, but for the wait for half a burst. */
		assert_true(env.now - START <= (total - last + bursts[k] / 2) * VB_USEC);
		env_close(&env);
	}
}

/* The part of a nanosecond in a packet's time is carried to the next one: the mean is exact. */
static void rate__to_the_nanosecond(void **state)
{
	const uint32_t kbps = 7001;
	struct vb_qp *qp = open_qp(VB_QPT_UC);
	uint64_t before = 0;
	uint32_t cnt = 0;

	(void)state;
	assert_int_equal(vb_qp_set_rate(qp, kbps, 1, env.now), 0);
	post_writes(qp);
	do {
		uint32_t bytes = sent_now();

		if (!bytes)
			continue;
		assert_int_equal(b.cnt, 1);
		assert_int_equal(env.now - START, before * 8000000 / kbps);
		before += bytes;
		cnt++;
	} while (wait_timer());
	assert_int_equal(cnt, 4 * WRITES);
	env_close(&env);
}

static void rate__after_a_pause(void **state)
{
	struct vb_qp *qp = open_qp(VB_QPT_UC);
	uint32_t bytes;

	(void)state;
	assert_int_equal(vb_qp_set_rate(qp, RATE_KBPS, 5000, env.now), 0);
	env.now += VB_SEC;
	post_writes(qp);
	bytes = sent_now();
	assert_true(bytes <= 5000 && bytes > 3000);
	assert_int_equal(sent_now(), 0);
	/* No limit any more: the rest goes at once. */
	assert_int_equal(vb_qp_set_rate(qp, 0, 0, env.now), 0);
	while (sent_now())
		;
	for (uint64_t i = 0; i < WRITES; i++)
		(void)env_wc(&env, i, VB_WC_SUCCESS);
	env_close(&env);
}

/* Setting a rate again and again gains nothing: a debt stays owed. */
static void rate__set_again(void **state)
{
	struct vb_qp *qp = open_qp(VB_QPT_UC);
	uint64_t total = 0, last = 0;

	(void)state;
	assert_int_equal(vb_qp_set_rate(qp, RATE_KBPS, 1, env.now), 0);
	post_writes(qp);
	for (int i = 0; i < 40; i++) {
		uint32_t bytes = sent_now();

		last = b.cnt ? bytes : last;
		total += bytes;
		assert_true((total - last) * VB_USEC <= env.now - START);
		env.now = vb_time_after(env.now, 10 * VB_USEC);
		assert_int_equal(vb_qp_set_rate(qp, RATE_KBPS, 1, env.now), 0);
		vb_hca_handle_timeout(env.hca, env.now);
	}
	assert_true(total > 0);
	env_close(&env);
}

/* A view says the rate that holds up, in bits a second. */
static void view__of_a_paced_qp(void **state)
{
	struct vb_qp *qp = open_qp(VB_QPT_UC);
	struct vb_qp_view v;

	(void)state;
	assert_int_equal(vb_qp_set_rate(qp, RATE_KBPS, 20000, env.now), 0);
	env.now += VB_SEC;
	post_writes(qp);
	assert_true(sent_now() > 2 * 4096);
	assert_true(vb_hca_view(env.hca, vb_qp_number(qp), env.now, &v));
	assert_int_equal(v.block, VB_BLOCK_PACE);
	assert_int_equal(v.rate_bps, RATE_KBPS * UINT64_C(1000));
	env_close(&env);
}

/* A peer is answered at once, however slow the QP's own requests are. */
static void rate__not_of_responses(void **state)
{
	struct vb_qp *qp[2];

	(void)state;
	env_config(&env);
	env_open(&env, 64);
	env_pair(&env, VB_QPT_RC, qp);
	assert_int_equal(vb_qp_set_rate(qp[1], VB_RATE_KBPS_MIN, 0, env.now), 0);
	assert_int_equal(env_send(&env, qp[0], 1, VB_WR_RDMA_READ, 4096), 0);
	env_loop(&env);
	(void)env_wc(&env, 1, VB_WC_SUCCESS);
	env_close(&env);
}

/* Otherwise its ACK timer would fire while it waits to send the packet that asks. */
static void rate__slow_packets_ask_for_acks(void **state)
{
	struct vb_qp *qp = open_qp(VB_QPT_RC);

	(void)state;
	assert_int_equal(vb_qp_set_rate(qp, VB_RATE_KBPS_MIN, 1, env.now), 0);
	post_writes(qp);
	assert_true(sent_now() > 0);
	assert_int_equal(b.cnt, 1);
	assert_true(env_hdr(&b.pkt[0]).ack_req);
	env_close(&env);
}

static void rate__refused(void **state)
{
	struct vb_qp *qp = open_qp(VB_QPT_UD), *fresh = env_qp(&env, VB_QPT_RC, NULL);

	(void)state;
	assert_int_equal(vb_qp_set_rate(qp, VB_RATE_KBPS_MIN - 1, 0, 0), -EINVAL);
	assert_int_equal(vb_qp_set_rate(qp, VB_RATE_KBPS_MAX + 1, 0, 0), -EINVAL);
	assert_int_equal(vb_qp_set_rate(qp, VB_RATE_KBPS_MAX, UINT32_MAX, 0), 0);
	assert_int_equal(vb_qp_set_rate(qp, VB_RATE_KBPS_MIN, UINT32_MAX, 0), 0);
	assert_int_equal(vb_qp_set_rate(fresh, VB_RATE_KBPS_MIN, 0, 0), -EINVAL);
	assert_int_equal(env_modify(&env, qp, &(struct vb_qp_attr){0}, VB_QPS_RESET), 0);
	assert_int_equal(vb_qp_rate(qp), 0);
	env_close(&env);
}

/* The static rate of a connection's path, and the lower one of both. IBA 9.11.1 */
static void path_rate__of_a_connection(void **state)
{
	struct vb_qp *qp = open_qp(VB_QPT_RC);
	struct vb_qp_attr a;
	uint64_t total = 0, last = 0;

	(void)state;
	vb_qp_query(qp, &a);
	a.path_kbps = RATE_KBPS;
	assert_int_equal(env_modify(&env, qp, &a, VB_QPS_SQD), 0);
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_AV, env.now), 0);
	a.qp_state = VB_QPS_RTS;
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_STATE, env.now), 0);
	/* That is not what the consumer has set, which may be lower, or higher. */
	assert_int_equal(vb_qp_rate(qp), 0);
	assert_int_equal(qp->pace.kbps, RATE_KBPS);
	assert_int_equal(vb_qp_set_rate(qp, RATE_KBPS / 2, 1, env.now), 0);
	assert_int_equal(qp->pace.kbps, RATE_KBPS / 2);
	assert_int_equal(vb_qp_set_rate(qp, RATE_KBPS * 2, 1, env.now), 0);
	assert_int_equal(qp->pace.kbps, RATE_KBPS);
	assert_int_equal(vb_qp_rate(qp), RATE_KBPS * 2);
	post_writes(qp);
	for (int i = 0; i < 40; i++) {
		uint32_t bytes = sent_now();

		last = b.cnt ? bytes : last;
		total += bytes;
		assert_true((total - last) * VB_USEC <= env.now - START);
		env.now = vb_time_after(env.now, 10 * VB_USEC);
		vb_hca_handle_timeout(env.hca, env.now);
	}
	assert_true(total > 0);
	assert_int_equal(env_modify(&env, qp, &(struct vb_qp_attr){0}, VB_QPS_RESET), 0);
	assert_int_equal(qp->pace.kbps, 0);
	env_close(&env);
}

/* Of UD it is each message's, by its address handle: others of the QP do not wait for long. */
static void path_rate__of_an_address_handle(void **state)
{
	struct vb_qp *qp = open_qp(VB_QPT_UD);
	const struct vb_ah fast = {.pd = env.pd, .path = {.port = 1}},
			   slow = {.pd = env.pd, .path = {.port = 1}, .kbps = RATE_KBPS};
	struct vb_sge sge = env_sge(&env, 0, 1024);
	struct vb_send_wr wr = {.sge = &sge,
				.sge_cnt = 1,
				.opcode = VB_WR_SEND,
				.flags = VB_SEND_SIGNALED,
				.dqpn = 5,
				.qkey = ENV_QKEY};
	uint32_t cnt = 0, pkts;

	(void)state;
	assert_int_equal(vb_qp_set_rate(qp, 0, 1, env.now), 0); /* no burst */
	for (wr.wr_id = 0; wr.wr_id < WRITES; wr.wr_id++) {
		wr.ah = wr.wr_id < WRITES / 2 ? &fast : &slow;
		assert_int_equal(vb_qp_post_send(qp, &wr, env.now), 0);
	}
	/* Those without a rate leave at once, and the first with one. */
	do {
		(void)sent_now();
		pkts = b.cnt;
		cnt += pkts;
	} while (pkts);
	assert_int_equal(cnt, WRITES / 2 + 1);
	while (cnt < WRITES) {
		assert_true(wait_timer());
		(void)sent_now();
		assert_true(b.cnt <= 1);
		cnt += b.cnt;
	}
	assert_true(env.now - START >= (WRITES / 2 - 1) * 1024 * VB_USEC);
	/* And one without a rate behind them does not wait. */
	wr.ah = &fast;
	assert_int_equal(vb_qp_post_send(qp, &wr, env.now), 0);
	assert_true(sent_now() > 0);
	env_close(&env);
}

/* Of DC it is each request's, too: packets by a slow path ask for ACKs, those before and behind
 * them by a fast one do not. */
static void path_rate__of_each_request_of_a_dci(void **state)
{
	const struct vb_ah fast = {.pd = NULL, .path = {.port = 1}};
	struct vb_qp_init init = {.type = VB_QPT_DCI, .cap = {.max_send_wr = 8, .max_send_sge = 1}};
	struct vb_ah ah[3];
	struct vb_send_wr wr = {
	    .sge_cnt = 1, .opcode = VB_WR_RDMA_WRITE, .dqpn = 5, .remote_addr = ENV_IOVA};
	struct vb_qp_attr a = env_attr(1, 0);
	uint32_t asked[3] = {0}, cnt[3] = {0};
	struct vb_sge sge;
	struct vb_qp *qp;

	(void)state;
	env_config(&env);
	env_open(&env, 256);
	env.now = START;
	init.send_cq = env.cq;
	assert_int_equal(vb_qp_create(env.pd, &init, &qp), 0);
	env_up(&env, qp, &a, VB_QPS_RTS);
	assert_int_equal(vb_qp_set_rate(qp, 0, 1, env.now), 0); /* no burst */
	sge = env_sge(&env, 0, 4096);
	wr.sge = &sge;
	wr.rkey = vb_mr_rkey(env.mr);
	for (uint32_t i = 0; i < 3; i++) {
		ah[i] = fast;
		ah[i].pd = env.pd;
		ah[i].kbps = i == 1 ? VB_RATE_KBPS_MIN : 0;
		wr.ah = &ah[i];
		wr.wr_id = i;
		assert_int_equal(vb_qp_post_send(qp, &wr, env.now), 0);
	}
	for (uint32_t psn = 0; psn < 12;) {
		(void)sent_now();
		for (uint32_t i = 0; i < b.cnt; i++) {
			struct vb_hdr h = env_hdr(&b.pkt[i]);

			if (h.opcode == VB_OPCODE_DC_CONNECT)
				continue;
			asked[psn / 4] += h.ack_req;
			cnt[psn / 4]++;
			psn++;
		}
		if (!b.cnt)
			assert_true(wait_timer());
	}
	/* The last one of a message asks in any case. */
	assert_int_equal(asked[0], 1);
	assert_int_equal(asked[1], 4);
	assert_int_equal(asked[2], 1);
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rate__is_kept),
	    cmocka_unit_test(rate__to_the_nanosecond),
	    cmocka_unit_test(rate__after_a_pause),
	    cmocka_unit_test(rate__set_again),
	    cmocka_unit_test(view__of_a_paced_qp),
	    cmocka_unit_test(rate__not_of_responses),
	    cmocka_unit_test(rate__slow_packets_ask_for_acks),
	    cmocka_unit_test(rate__refused),
	    cmocka_unit_test(path_rate__of_a_connection),
	    cmocka_unit_test(path_rate__of_an_address_handle),
	    cmocka_unit_test(path_rate__of_each_request_of_a_dci),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
