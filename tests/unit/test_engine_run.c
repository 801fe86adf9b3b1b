/* SPDX-License-Identifier: BSD-2-Clause */
/* A step of the engine: the order of what is received and the timers that are due. */
#include "core_env.h"
#include "node/engine_priv.h"

static struct env env;
static struct vb_engine engine;
static struct vb_host_memory memory;
static uint32_t sent_cnt, rx_cnt;

static uint32_t link_send(struct vb_link *l, const struct vb_tx_batch *batch, uint32_t from,
			  vb_time now)
{
	(void)l, (void)now;
	sent_cnt += batch->cnt - from;
	return batch->cnt - from;
}

/* Packets that are none of anybody's. */
static uint32_t link_recv(struct vb_link *l, struct vb_rx *rx, uint32_t cnt, vb_time now)
{
	static const struct vb_path path = {.port = 1};
	uint32_t n = rx_cnt < cnt ? rx_cnt : cnt;

	(void)l, (void)now;
	for (uint32_t i = 0; i < n; i++)
		rx[i] = (struct vb_rx){.path = &path};
	rx_cnt -= n;
	return n;
}

static int setup(void **state)
{
	static const struct vb_link_ops ops = {
	    .name = "test", .send = link_send, .recv = link_recv};
	static struct vb_link link = {.ops = &ops};

	(void)state;
	env_config(&env);
	env_open(&env, 16);
	memset(&engine, 0, sizeof engine);
	sent_cnt = rx_cnt = 0;
	engine.hca = env.hca;
	engine.link = &link;
	engine.broker.host = &memory.host;
	engine.slow = 1;
	engine.adopts = true;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	env_close(&env);
	return 0;
}

/* The ACK may be what the next step receives; but packets that keep coming hold no timer up. */
static void step__timers_wait_once_for_what_was_late_too(void **state)
{
	struct vb_qp *qp = env_rts(&env, VB_QPT_RC, 2, 0x123);

	(void)state;
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, 8), 0);
	vb_engine_step(&engine, env.now);
	assert_int_equal(sent_cnt, 1);
	env.now += 100 * VB_SEC;
	for (uint32_t step = 1; step <= 2; step++) {
		rx_cnt = 1;
		vb_engine_step(&engine, env.now);
		assert_int_equal(sent_cnt, step);
	}
	env.now += 100 * VB_SEC;
	vb_engine_step(&engine, env.now);
	assert_int_equal(sent_cnt, 3);
}

/* Times grow on a slow machine, and not without a bound. */
static void slowness__within_bounds(void **state)
{
	uint32_t slow = vb_engine_slowness();

	(void)state;
	assert_in_range(slow, 1, 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(step__timers_wait_once_for_what_was_late_too, setup,
					    teardown),
	    cmocka_unit_test(slowness__within_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
