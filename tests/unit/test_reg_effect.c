/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The effects of registers on packets and times: each register is set by its image, as the tool
 * does, and the settings that come of it are handed to an adapter, as the engine does.
 * REG-07, REG-09, REG-18, ADP-08, ADP-31
 */
#include "core_env.h"
#include "reg/csr/csr.h"
#include "reg/file.h"

#include <errno.h>
#include <string.h>

static const struct vb_reg_env reg_env;
static struct vb_reg_fault fault;
static struct vb_reg_file file;
static struct env env;
static struct vb_tx_batch batch;

/* Reads the register, changes one field and writes it back. */
static int set_field(const struct vb_reg *reg, const char *name, uint64_t value)
{
	uint8_t image[VB_REG_BYTES_MAX] = {0};
	unsigned others;

	assert_int_equal(vb_reg_get(&file, &reg_env, reg->id, image, reg->len, &fault), 0);
	vb_reg_field_put(reg, vb_reg_find(reg, name, strlen(name), &others), image, value);
	return vb_reg_set(&file, &reg_env, reg->id, image, reg->len, &fault);
}

static void must_set(const struct vb_reg *reg, const char *name, uint64_t value)
{
	assert_int_equal(set_field(reg, name, value), 0);
}

static void adapter_open(void)
{
	vb_reg_file_reset(&file, UINT64_C(10000000000));
	env_config(&env);
	env_open(&env, 64);
}

static void adopt_settings(void)
{
	assert_int_equal(vb_hca_set_port_recovery(env.hca, 1, &file.recovery), 0);
	assert_int_equal(vb_hca_set_port_cc(env.hca, 1, &file.cc, env.now), 0);
}

/* A QP with timeout 14 and 7 retries; by UDP source port 0xc123. */
static struct vb_qp *qp_ready(enum vb_qp_type type)
{
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_qp *qp = env_qp(&env, type, NULL);

	a.path.udp_sport = 0xc123;
	a.path_mtu = VB_MTU_256;
	env_up(&env, qp, &a, VB_QPS_RTS);
	return qp;
}

static void write_bytes(struct vb_qp *qp, uint32_t bytes)
{
	struct vb_sge sge = env_sge(&env, 0, bytes);
	struct vb_send_wr wr = {.wr_id = 1,
				.opcode = VB_WR_RDMA_WRITE,
				.flags = VB_SEND_SIGNALED,
				.sge = &sge,
				.sge_cnt = 1,
				.remote_addr = 0x1000,
				.rkey = 1};

	assert_int_equal(vb_qp_post_send(qp, &wr, env.now), 0);
}

/* Nobody answers: how long until the QP gives up, and after how many timers. */
static vb_dur silence(struct vb_qp *qp, unsigned *timers)
{
	vb_time begin = env.now;

	*timers = 0;
	write_bytes(qp, 8);
	while (vb_cq_is_empty(env.cq)) {
		assert_true(*timers < 100000);
		(void)env_tx(&env, &batch);
		env.now = vb_hca_poll_timeout(env.hca);
		assert_true(env.now != VB_NEVER);
		vb_hca_handle_timeout(env.hca, env.now);
		++*timers;
	}
	(void)env_wc(&env, 1, VB_WC_RETRY_EXC_ERR);
	return env.now - begin;
}

/* One timeout of 1.024 ms, 67 ms in all. */
static void one_timeout(void)
{
	static const struct {
		const char *name;
		uint64_t value;
	} profile[] = {{"adp_retx_profile_id", 1},
		       {"time_unit", 1},
		       {"time_base", 4},
		       {"range_num", 1},
		       {"retx_total_timeout", 14},
		       {"timeout_init_low_bound", 8},
		       {"timeout_range[0].range_low_bound", 8}};
	const struct vb_reg *reg = &vb_reg_roce_accl;
	uint8_t image[VB_REG_BYTES_MAX] = {0};
	unsigned others;

	assert_int_equal(vb_reg_get(&file, &reg_env, reg->id, image, reg->len, &fault), 0);
	for (size_t i = 0; i < sizeof profile / sizeof profile[0]; i++)
		vb_reg_field_put(
		    reg, vb_reg_find(reg, profile[i].name, strlen(profile[i].name), &others), image,
		    profile[i].value);
	assert_int_equal(vb_reg_set(&file, &reg_env, reg->id, image, reg->len, &fault), 0);
}

/* ADP-31: timers are four times as long, or up to that, and the total stays what it is. */
static void stretch__makes_timers_longer(void **state)
{
	static const struct {
		unsigned stretch, least, most;
	} row[] = {{0, 64, 64}, {1, 17, 40}, {2, 16, 16}};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		unsigned timers;

		adapter_open();
		one_timeout();
		must_set(&vb_reg_roce_recovery, "adp_timeout_stretch", row[i].stretch);
		adopt_settings();
		assert_int_equal(silence(qp_ready(VB_QPT_RC), &timers), 65536 * VB_USEC);
		assert_uint_in_range(timers, row[i].least, row[i].most);
		env_close(&env);
	}
	adapter_open();
	assert_int_equal(set_field(&vb_reg_roce_recovery, "adp_timeout_stretch", 3), -EINVAL);
	assert_string_equal(fault.field->path, "adp_timeout_stretch");
	assert_int_equal(file.recovery.adp_timeout_stretch, 0);
	env_close(&env);
}

/* REG-18: the adapter's extended retry count stands in for retry_cnt, and the QP's own for both. */
static void extended_retry_count__of_adapter_and_qp(void **state)
{
	static const struct {
		uint8_t adapter, qp;
		unsigned times;
	} row[] = {{0, 0, 7}, {20, 0, 20}, {20, 3, 3}, {0, 200, 200}};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		struct vb_cc_access at;
		unsigned timers;

		adapter_open();
		must_set(&vb_reg_roce_recovery, "extended_retry_count", row[i].adapter);
		adopt_settings();

		struct vb_qp *qp = qp_ready(VB_QPT_RC);
		const struct vb_reg *word = vb_csr_by_name("QP_RETRY", 8);

		vb_qp_cc_open(qp, &at);
		assert_int_equal(vb_csr_qp_get(word, &at, env.now), 0);
		assert_int_equal(vb_csr_qp_set(word, &at, row[i].qp, env.now, &fault), 0);
		vb_qp_cc_close(qp, &at);
		vb_qp_cc_open(qp, &at);
		assert_int_equal(vb_csr_qp_get(word, &at, env.now), row[i].qp);
		vb_qp_cc_close(qp, &at);
		assert_int_equal(silence(qp, &timers), row[i].times * UINT64_C(67108864));
		env_close(&env);
	}
}

/* Bytes that a QP sends at one instant after it was idle. */
static uint32_t burst_bytes(struct vb_qp *qp)
{
	uint32_t bytes = 0;

	env.now += VB_SEC;
	for (int i = 0; i < 8; i++)
		write_bytes(qp, ENV_MEM);
	for (;;) {
		uint32_t cnt = env_tx(&env, &batch);

		for (uint32_t i = 0; i < cnt; i++)
			bytes += vb_tx_wire_len(&batch.pkt[i]);
		if (cnt == 0)
			return bytes;
	}
}

/* REG-09: a QP that was idle sends so much at once, and at most a packet more. */
static void cc_burst_size__bounds_what_leaves_at_once(void **state)
{
	static const struct {
		uint8_t code;
		uint32_t bytes;
	} row[] = {{0, 4096}, {1, 8192}, {2, 16384}, {7, 1536}};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		adapter_open();
		file.cc.hw_rate_throttle_en = file.cc.speed_limiter_en = true;
		must_set(&vb_reg_roce_accl, "cc_burst_size", row[i].code);
		adopt_settings();

		struct vb_qp *qp = qp_ready(VB_QPT_UC);

		vb_qp_set_cc_rate(qp, 100, env.now);

		uint32_t bytes = burst_bytes(qp);

		assert_uint_in_range(bytes, row[i].bytes, row[i].bytes + 256 + 64);
		/* A write back of what was read changes nothing. */
		must_set(&vb_reg_roce_accl, "ack_dscp", 3);
		assert_int_equal(file.cc.limiter_burst_bytes, row[i].bytes);
		must_set(&vb_reg_roce_accl, "cc_burst_size", VB_CC_BURST_BY_TIME);
		assert_int_equal(file.cc.limiter_burst_bytes, 0);
		env_close(&env);
	}
	for (unsigned code = 4; code < 7; code++)
		assert_int_equal(set_field(&vb_reg_roce_accl, "cc_burst_size", code), -EINVAL);
}

/* REG-07, bit 5: runs of 16 PSNs leave by one source port each, in turn by eight; a packet that is
 * sent again goes by its own. */
static void adaptive_routing__spreads_requests(void **state)
{
	uint16_t port[32];
	unsigned sent;

	(void)state;
	adapter_open();
	must_set(&vb_reg_roce_accl, "adaptive_routing_forced_en", 1);
	adopt_settings();
	write_bytes(qp_ready(VB_QPT_RC), ENV_MEM);
	for (int pass = 0; pass < 2; pass++) {
		for (sent = 0; env_tx(&env, &batch) != 0;)
			for (uint32_t i = 0; i < batch.cnt; i++, sent++) {
				uint16_t sport = batch.pkt[i].path->udp_sport;

				assert_true(sent < 32);
				assert_int_equal(env_hdr(&batch.pkt[i]).psn.v, sent);
				if (pass == 0)
					port[sent] = sport;
				assert_int_equal(sport, port[sent]);
			}
		assert_int_equal(sent, 32);
		env.now = vb_hca_poll_timeout(env.hca);
		vb_hca_handle_timeout(env.hca, env.now);
	}
	assert_int_equal(port[0], 0xc123);
	for (unsigned i = 0; i < 32; i++) {
		assert_true(port[i] >= 0xc000);
		assert_int_equal(port[i] == port[0], i < 16);
		assert_int_equal(port[i], port[i & 16]);
	}
	env_close(&env);
}

static void adaptive_routing__not_of_qps_that_were_ready(void **state)
{
	struct vb_qp *qp;

	(void)state;
	adapter_open();
	adopt_settings();
	qp = qp_ready(VB_QPT_RC);
	must_set(&vb_reg_roce_accl, "adaptive_routing_forced_en", 1);
	adopt_settings();
	write_bytes(qp, ENV_MEM);
	while (env_tx(&env, &batch) != 0)
		for (uint32_t i = 0; i < batch.cnt; i++)
			assert_int_equal(batch.pkt[i].path->udp_sport, 0xc123);
	env_close(&env);
}

/* Packets that leave at once for the first work of an initiator: its connect, and with half a
 * handshake the request behind it. REG-07, bit 7 */
static uint32_t first_packets(bool half)
{
	struct vb_qp_init init = {.type = VB_QPT_DCI,
				  .send_cq = env.cq,
				  .cap = {.max_send_wr = 4, .max_send_sge = 1},
				  .dc = {.by_adapter = true}};
	struct vb_sge sge = env_sge(&env, 0, 8);
	struct vb_ah ah = {.pd = env.pd, .path = env_path(2)};
	struct vb_send_wr wr = {
	    .opcode = VB_WR_SEND, .sge = &sge, .sge_cnt = 1, .ah = &ah, .dqpn = 0x21};
	struct vb_qp_attr a = env_attr(2, 0);
	struct vb_qp *qp;

	must_set(&vb_reg_roce_accl, "dc_half_handshake_en", half);
	adopt_settings();
	assert_int_equal(vb_qp_create(env.pd, &init, &qp), 0);
	env_up(&env, qp, &a, VB_QPS_RTS);
	assert_int_equal(vb_qp_post_send(qp, &wr, env.now), 0);

	uint32_t cnt = env_tx(&env, &batch);

	assert_int_equal(batch.pkt[0].hdr[0], VB_OPCODE_DC_CONNECT);
	return cnt;
}

static void dc_half_handshake__requests_follow_at_once(void **state)
{
	(void)state;
	adapter_open();
	assert_true(file.recovery.dc_half_handshake_en);
	assert_int_equal(first_packets(true), 2);
	assert_int_equal(first_packets(false), 1);
	env_close(&env);
}

/* ADP-08: a first value outside of every range is a warning that names the field; ADP-06 says what
 * becomes of it. */
static void profile__warning(void **state)
{
	const struct vb_reg *reg = &vb_reg_roce_accl;
	uint8_t image[VB_REG_BYTES_MAX] = {0};
	struct vb_reg_fault warning = {0};
	unsigned others;

	(void)state;
	vb_reg_file_reset(&file, 0);
	one_timeout();
	assert_int_equal(vb_reg_get(&file, &reg_env, reg->id, image, reg->len, &fault), 0);
	assert_false(vb_reg_profile_warn(image, &warning));
	vb_reg_field_put(reg, vb_reg_find(reg, "timeout_init_low_bound", 22, &others), image, 7);
	assert_true(vb_reg_profile_warn(image, &warning));
	assert_string_equal(warning.field->path, "adp_retx_profile.timeout_init_low_bound");
	assert_int_equal(warning.value, 7);
	/* Not of a profile that the image does not set. */
	vb_reg_field_put(reg, vb_reg_find(reg, "adp_retx_profile_select", 23, &others), image, 0);
	assert_false(vb_reg_profile_warn(image, &warning));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(stretch__makes_timers_longer),
	    cmocka_unit_test(extended_retry_count__of_adapter_and_qp),
	    cmocka_unit_test(cc_burst_size__bounds_what_leaves_at_once),
	    cmocka_unit_test(adaptive_routing__spreads_requests),
	    cmocka_unit_test(adaptive_routing__not_of_qps_that_were_ready),
	    cmocka_unit_test(dc_half_handshake__requests_follow_at_once),
	    cmocka_unit_test(profile__warning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
