/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports as functions: settings of their own, counters of timers, and ports that share addresses. */
#include "rc_env.h"

#include "core/recover/settings.h"

static const struct vb_recovery adaptive = {
    .roce_adp_retrans_en = true,
    .adp_retx_profile_id = 1,
    .profile = {.range_num = 1,
		.time_unit = VB_ADP_TIME_USEC,
		.time_base = 4,
		.retx_total_timeout = 20,
		.timeout_init_low_bound = 3,
		.timeout_init_range_size = 1,
		.timeout_range = {{0, VB_ADP_DEC_DIV_2, 5, 3, 1}}},
};

static struct vb_adp_fired fired[4];

static void setup_ports(void)
{
	env_config(&env);
	env.cfg.port_cnt = 3;
	for (int i = 1; i <= 3; i++) {
		env.cfg.port[i] = env.cfg.port[1];
		env.cfg.port[i].adp_fired = &fired[i];
	}
	env.cfg.port[3].parent = 1;
	memset(fired, 0, sizeof fired);
	env_open(&env, 256);
}

static struct vb_qp *rts_on(uint8_t port)
{
	struct vb_qp *qp = env_qp(&env, VB_QPT_RC, NULL);
	struct vb_qp_attr a = env_attr(2, 0x21);

	a.port = a.path.port = port;
	env_up(&env, qp, &a, VB_QPS_RTS);
	return qp;
}

/* Until the first timer of @qp ends after a send. */
static vb_dur first_timer(struct vb_qp *qp)
{
	assert_int_equal(env_send(&env, qp, 1, VB_WR_SEND, 8), 0);
	assert_int_equal(env_tx(&env, &b), 1);
	return vb_hca_poll_timeout(env.hca) - env.now;
}

/* ADP-26, REG-34: what is set on one port is followed there, and counted there. */
static void set_port_recovery__one_port(void **state)
{
	struct vb_recovery wrong = adaptive;
	struct vb_qp *qp;

	(void)state;
	setup_ports();
	wrong.profile.range_num = 0;
	assert_int_equal(vb_hca_set_port_recovery(env.hca, 0, &adaptive), -EINVAL);
	assert_int_equal(vb_hca_set_port_recovery(env.hca, VB_HCA_PORTS_MAX + 1, &adaptive),
			 -EINVAL);
	assert_int_equal(vb_hca_set_port_recovery(env.hca, 2, &wrong), -EINVAL);
	assert_false(vb_hca_recovery(env.hca, 2)->roce_adp_retrans_en);
	assert_int_equal(vb_hca_set_port_recovery(env.hca, 2, &adaptive), 0);
	assert_true(vb_hca_recovery(env.hca, 2)->roce_adp_retrans_en);
	assert_false(vb_hca_recovery(env.hca, 1)->roce_adp_retrans_en);
	qp = rts_on(1);
	assert_true(first_timer(qp) == vb_ack_timeout_ns(14));
	assert_int_equal(vb_qp_destroy(qp), 0);
	qp = rts_on(2);
	assert_true(first_timer(qp) == UINT64_C(4000) << 3);
	env.now = vb_hca_poll_timeout(env.hca);
	vb_hca_handle_timeout(env.hca, env.now);
	assert_int_equal(fired[2].slot[2 + 3], 1);
	assert_int_equal(fired[1].slot[2 + 3], 0);
	env_close(&env);
}

/* A virtual function has its parent's addresses: packets for its QPs arrive there. The other way
 * they do not, and not from any other port. */
static void packet__for_a_virtual_function(void **state)
{
	struct vb_qp *vf, *pf, *other;

	(void)state;
	setup_ports();
	vf = rts_on(3);
	pf = rts_on(1);
	other = rts_on(2);
	/* env_rx() lets packets arrive on port 1. */
	assert_int_equal(request(vf, VB_OP_WRITE_ONLY, 0, 8), VB_VERDICT_OK);
	assert_int_equal(request(pf, VB_OP_WRITE_ONLY, 0, 8), VB_VERDICT_OK);
	assert_int_equal(request(other, VB_OP_WRITE_ONLY, 0, 8), VB_VERDICT_SOURCE);
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(set_port_recovery__one_port),
	    cmocka_unit_test(packet__for_a_virtual_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
