/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Subscriptions to reports (InformInfo) that programs leave behind: their port ends them at the
 * manager when the file closes. IBA 13.4.8.3; FAB-54
 */
#include "agents_env.h"
#include "wire/mad/subnet/sa.h"

#define SUBSCRIBE_AT (VB_SA_DATA_AT + 23)
#define TRAP_AT (VB_SA_DATA_AT + 26)
#define LAST_AT (VB_SA_DATA_AT + 35)

static uint64_t tid = 1;

/* A file with an agent for the class of the administrator. */
static int file_new(void)
{
	int f = vb_agents_file_open(agents);

	assert_int_equal(registered(f, wanted(1, VB_MAD_CLASS_SUBN_ADM, 2, 0)), 0);
	return f;
}

/* The file writes an InformInfo about trap @trap, which leaves. */
static void inform_with(int file, uint8_t method, uint16_t attr, uint8_t trap, uint8_t subscribe)
{
	uint8_t mad[VB_MAD_LEN];
	struct vb_mad_message m = {
	    .len = VB_MAD_LEN, .addr = {.qpn = 1, .qkey = 5, .lid = PEER_LID, .sl = 3}, .mad = mad};

	mad_make(mad, header(VB_MAD_CLASS_SUBN_ADM, 2, method, attr, tid++));
	mad[SUBSCRIBE_AT] = subscribe;
	mad[TRAP_AT + 1] = trap;
	mad[LAST_AT] = 0x77;
	assert_int_equal(vb_agents_write(agents, file, &m), 0);
	assert_true(transmitted());
	assert_int_equal(out.file, file);
	assert_false(transmitted());
}

static void inform(int file, uint8_t trap, uint8_t subscribe)
{
	inform_with(file, SET, VB_SA_INFORM_INFO, trap, subscribe);
}

/* The port ends a subscription to @trap. The answer is for no agent. */
static void assert_ended(uint8_t trap)
{
	const struct vb_mad_addr from = {.qpn = 1, .lid = PEER_LID};
	struct vb_mad_hdr h;

	assert_true(transmitted());
	h = mad_header(out.mad);
	assert_int_equal(out.file, -1);
	assert_false(out.on_qp0);
	assert_int_equal(out.addr.lid, PEER_LID);
	assert_int_equal(out.addr.sl, 3);
	assert_int_equal(out.addr.qkey, VB_MAD_QKEY);
	assert_int_equal(h.method, SET);
	assert_int_equal(h.attr_id, VB_SA_INFORM_INFO);
	assert_true(h.tid >> 32 != 0);
	assert_int_equal(out.mad[SUBSCRIBE_AT], 0);
	assert_int_equal(out.mad[TRAP_AT + 1], trap);
	assert_int_equal(out.mad[LAST_AT], 0x77);
	h.method = VB_MAD_METHOD_GET_RESP;
	assert_false(came_from(false, h, &from));
}

/* FAB-54: each that is left, once, however often it was made. */
static void close__ends_what_is_left(void **state)
{
	int f = file_new();

	(void)state;
	inform(f, 64, 1);
	inform(f, 65, 1);
	inform(f, 66, 1);
	inform(f, 64, 1);
	inform(f, 65, 0);
	assert_false(transmitted());
	vb_agents_file_close(agents, f);
	assert_ended(64);
	assert_ended(66);
	assert_false(transmitted());
}

/* One that another file of the port has as well stays until that closes. */
static void close__leaves_those_of_others(void **state)
{
	int a = file_new(), b = file_new();

	(void)state;
	inform(a, 64, 1);
	inform(a, 65, 1);
	inform(b, 64, 1);
	vb_agents_file_close(agents, a);
	assert_ended(65);
	assert_false(transmitted());
	vb_agents_file_close(agents, b);
	assert_ended(64);
	assert_false(transmitted());
}

/* Nothing else is taken for a subscription. */
static void close__without_any(void **state)
{
	int f = file_new();

	(void)state;
	inform_with(f, GET, VB_SA_INFORM_INFO, 70, 1);
	inform_with(f, SET, VB_SA_PATH_RECORD, 71, 1);
	inform(f, 64, 0);
	inform(f, 64, 2);
	vb_agents_file_close(agents, f);
	assert_false(transmitted());
}

/* A program takes no more memory by them than for 64, and can end those and make others. */
static void informs__are_bounded(void **state)
{
	int f = file_new();

	(void)state;
	for (uint8_t i = 0; i < 70; i++)
		inform(f, i, 1);
	inform(f, 0, 0);
	inform(f, 69, 1);
	vb_agents_file_close(agents, f);
	for (uint8_t i = 1; i < 64; i++)
		assert_ended(i);
	assert_ended(69);
	assert_false(transmitted());
}

/* A port that ends with subscriptions to be ended keeps no memory. */
static void destroy__with_some_left(void **state)
{
	(void)state;
	for (uint8_t i = 0; i < 2; i++) {
		int f = file_new();

		inform(f, i, 1);
		if (i)
			vb_agents_file_close(agents, f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(close__ends_what_is_left, agents_begin, agents_end),
	    cmocka_unit_test_setup_teardown(close__leaves_those_of_others, agents_begin,
					    agents_end),
	    cmocka_unit_test_setup_teardown(close__without_any, agents_begin, agents_end),
	    cmocka_unit_test_setup_teardown(informs__are_bounded, agents_begin, agents_end),
	    cmocka_unit_test_setup_teardown(destroy__with_some_left, agents_begin, agents_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
