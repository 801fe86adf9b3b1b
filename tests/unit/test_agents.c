/* SPDX-License-Identifier: BSD-2-Clause */
/* Agents of programs: registration, the MADs that they are given, requests and their answers. */
#include "agents_env.h"

#define VENDOR 0x32
#define OUI 0x001405
#define METHODS_ALL UINT64_MAX

static struct vb_agent_request vendor_wanted(uint32_t oui)
{
	struct vb_agent_request r = wanted(1, VENDOR, 1, 2);

	r.oui = oui;
	return r;
}

/* MAD-04: the lowest free number; 32 agents a file. MAD-23: closing frees them all. */
static void agents__have_the_lowest_number(void **state)
{
	int a = vb_agents_file_open(agents), b = vb_agents_file_open(agents);

	(void)state;
	assert_int_equal(a, 0);
	assert_int_equal(b, 1);
	for (int i = 0; i < 32; i++)
		assert_int_equal(registered(a, wanted(1, 0, 0, 0)), i);
	assert_int_equal(registered(a, wanted(1, 0, 0, 0)), -ENOMEM);
	assert_int_equal(registered(a, wanted(2, 0, 0, 0)), -EINVAL);
	assert_int_equal(registered(b, wanted(1, 0, 0, 0)), 0);
	assert_int_equal(vb_agent_unregister(agents, a, 7), 0);
	assert_int_equal(vb_agent_unregister(agents, a, 7), -EINVAL);
	assert_int_equal(vb_agent_unregister(agents, a, 32), -EINVAL);
	assert_int_equal(registered(a, wanted(1, 4, 1, 2)), 7);
	assert_int_equal(registered(b, wanted(1, 4, 1, 2)), -EINVAL);
	vb_agents_file_close(agents, a);
	assert_int_equal(registered(b, wanted(1, 4, 1, 2)), 1);
	assert_int_equal(vb_agents_file_open(agents), 0);
}

/* MAD-06 */
static void agents__refuse_contradictions(void **state)
{
	int f = vb_agents_file_open(agents);
	struct vb_agent_request r;

	(void)state;
	assert_int_equal(registered(f, wanted(1, 4, 0x82, 2)), 0);
	assert_int_equal(registered(f, wanted(1, 4, 0x83, 2)), -EINVAL);
	assert_int_equal(registered(f, wanted(1, 0x50, 1, 2)), -EINVAL);
	assert_int_equal(registered(f, wanted(1, 0x82, 1, 2)), -EINVAL);
	assert_int_equal(registered(f, wanted(0, 0x81, 1, 2)), 1);
	assert_int_equal(registered(f, wanted(0, 0x01, 1, 2)), 2);
	assert_int_equal(registered(f, wanted(1, 0x81, 1, 2)), -EINVAL);
	assert_int_equal(registered(f, wanted(1, 0x01, 1, 2)), -EINVAL);
	assert_int_equal(registered(f, wanted(0, 0x04, 1, 2)), -EINVAL);
	assert_int_equal(registered(f, vendor_wanted(0)), -EINVAL);
	assert_int_equal(registered(f, vendor_wanted(OUI)), 3);
	r = wanted(1, 3, 2, 2);
	r.rmpp_version = 2;
	assert_int_equal(registered(f, r), -EINVAL);
	r.rmpp_version = 1;
	assert_int_equal(registered(f, r), 4);
	r.mgmt_class = 4;
	assert_int_equal(registered(f, r), -EINVAL);
	r = wanted(1, 0, 0, 0);
	r.user_rmpp = true;
	assert_int_equal(registered(f, r), -EINVAL);
	vb_agents_destroy(agents);
	agents = agents_make(false, 0); /* a port without QP 0 */
	f = vb_agents_file_open(agents);
	assert_int_equal(registered(f, wanted(0, 0x81, 1, 2)), -EPROTONOSUPPORT);
	assert_int_equal(registered(f, wanted(1, 4, 1, 2)), 0);
}

/* MAD-07: a method of a class, version and OUI has one agent, whoever has it. */
static void agents__do_not_overlap(void **state)
{
	int a = vb_agents_file_open(agents), b = vb_agents_file_open(agents);

	(void)state;
	assert_int_equal(registered(a, wanted(0, 0x81, 1, 6)), 0);
	assert_int_equal(registered(a, wanted(0, 0x01, 1, 6)), 1);
	assert_int_equal(registered(b, wanted(0, 0x81, 1, 4)), -EINVAL);
	assert_int_equal(registered(b, wanted(0, 0x81, 1, 8)), 0);
	assert_int_equal(registered(b, wanted(0, 0x81, 2, 4)), 1);
	assert_int_equal(registered(a, vendor_wanted(OUI)), 2);
	assert_int_equal(registered(b, vendor_wanted(OUI)), -EINVAL);
	assert_int_equal(registered(b, vendor_wanted(OUI + 1)), 2);
	assert_int_equal(registered(a, wanted(1, 4, 1, 0)), 3);
	assert_int_equal(registered(b, wanted(1, 4, 1, METHODS_ALL)), 3);
	assert_int_equal(vb_agent_unregister(agents, a, 0), 0);
	assert_int_equal(registered(b, wanted(0, 0x81, 1, 4)), 4);
}

/* MAD-08 */
static void requests__go_to_the_agent_of_their_method(void **state)
{
	int a = vb_agents_file_open(agents), b = vb_agents_file_open(agents);
	struct vb_agent_request cm = wanted(1, VB_MAD_CLASS_CM, 2, 1 << VB_MAD_METHOD_SEND);
	uint8_t mad[VB_MAD_LEN];
	struct vb_mad_addr from = {.qpn = 1, .lid = 9, .sl = 3};

	(void)state;
	assert_int_equal(registered(a, wanted(1, 3, 2, 1 << GET)), 0);
	assert_int_equal(registered(b, wanted(1, 3, 2, 1 << SET)), 0);
	assert_int_equal(registered(b, wanted(1, 3, 1, 1 << GET)), 1);
	assert_int_equal(registered(a, vendor_wanted(OUI)), 1);
	assert_true(came(false, header(3, 2, GET, 0x35, 5)));
	assert_true(came(false, header(3, 2, SET, 0x35, 5)));
	assert_true(came(false, header(3, 1, GET, 0x35, 5)));
	assert_false(came(false, header(3, 2, 0x05, 0x35, 5)));
	assert_false(came(false, header(4, 1, GET, 0x12, 5)));
	assert_int_equal(read_agent(a), 0);
	assert_int_equal(read_agent(a), -1);
	assert_int_equal(read_agent(b), 0);
	assert_int_equal(read_agent(b), 1);
	/* By OUI. */
	mad_make(mad, header(VENDOR, 1, GET, 1, 5));
	assert_false(vb_agents_handle(agents, false, &from, mad, now));
	memcpy(mad + 37, ((uint8_t[]){0x00, 0x14, 0x05}), 3);
	assert_true(vb_agents_handle(agents, false, &from, mad, now));
	assert_memory_equal(vb_agents_peek(agents, a)->mad, mad, VB_MAD_LEN);
	assert_int_equal(vb_agents_peek(agents, a)->len, VB_MAD_LEN);
	assert_int_equal(vb_agents_peek(agents, a)->status, 0);
	assert_int_equal(vb_agents_peek(agents, a)->addr.lid, 9);
	assert_int_equal(vb_agents_peek(agents, a)->addr.sl, 3);
	assert_int_equal(read_agent(a), 1);
	/* Methods that the node serves are neither registered nor given away. */
	assert_int_equal(vb_agents_reserve(agents, &cm), 0);
	assert_int_equal(registered(a, cm), -EINVAL);
	assert_false(came(false, header(VB_MAD_CLASS_CM, 2, VB_MAD_METHOD_SEND, 0x10, 5)));
	/* A MAD on the wrong QP, of another base version, a CM message that is none: nobody's. */
	assert_true(came(true, header(3, 2, GET, 0x35, 5)));
	assert_true(came(false, header(0x81, 1, GET, 0x20, 5)));
	assert_true(came(false, header(VB_MAD_CLASS_CM, 2, GET, 0x10, 5)));
	mad_make(mad, header(3, 2, GET, 1, 5));
	mad[0] = 2;
	assert_true(vb_agents_handle(agents, false, &from, mad, now));
	assert_int_equal(read_agent(a), -1);
	assert_int_equal(vb_agents_counters(agents)->rx_bad, 4);
}

/* MAD-08: of the SMPs that ask, SMInfo is for a subnet manager, the rest for the node. */
static void requests__to_qp0(void **state)
{
	int f = vb_agents_file_open(agents);

	(void)state;
	assert_int_equal(registered(f, wanted(0, 0x81, 1, METHODS_ALL)), 0);
	assert_false(came(true, header(0x81, 1, GET, VB_SMP_NODE_INFO, 5)));
	assert_false(came(true, header(0x81, 1, SET, VB_SMP_PORT_INFO, 5)));
	assert_false(came(true, header(0x01, 1, GET, VB_SMP_SM_INFO, 5))); /* another class */
	assert_true(came(true, header(0x81, 1, GET, VB_SMP_SM_INFO, 5)));
	assert_true(came(true, header(0x81, 1, 0x05, VB_SMP_NOTICE, 5)));
	assert_int_equal(read_agent(f), 0);
	assert_int_equal(read_agent(f), 0);
}

/* MAD-09, MAD-10 */
static void answers__find_their_request(void **state)
{
	int a = vb_agents_file_open(agents), b = vb_agents_file_open(agents);
	struct vb_mad_hdr one, two;
	struct vb_mad_addr from = {.qpn = 1, .lid = 99};

	(void)state;
	registered(a, wanted(1, 3, 2, 0));
	registered(b, wanted(1, 0, 0, 0));
	assert_int_equal(written(a, 0, header(3, 2, GET, 0x35, 0x1111222200000005), 100, 0), 0);
	assert_int_equal(written(b, 0, header(3, 2, GET, 0x35, 5), 100, 0), 0);
	assert_true(transmitted());
	one = mad_header(out.mad);
	assert_int_equal(out.file, a);
	assert_false(out.on_qp0);
	assert_int_equal(out.addr.lid, PEER_LID);
	assert_int_equal(out.addr.qkey, 0x80010000); /* MAD-12 */
	assert_true(transmitted());
	two = mad_header(out.mad);
	assert_int_equal(out.file, b);
	assert_false(transmitted());
	/* Each agent has its own upper half of 24 bits; the lower one stays. */
	assert_int_equal((uint32_t)one.tid, 5);
	assert_int_equal((uint32_t)two.tid, 5);
	assert_int_not_equal(one.tid >> 32, two.tid >> 32);
	assert_int_equal(one.tid >> 56, 0);
	one.method = two.method = VB_MAD_METHOD_GET_RESP;
	/* From another LID: a port has several. */
	assert_true(came_from(false, two, &from));
	assert_int_equal(read_agent(a), -1);
	assert_true(mad_header(vb_agents_peek(agents, b)->mad).tid == two.tid);
	assert_int_equal(read_agent(b), 0);
	/* Once; neither another class, nor with a GRH, nor with another TID. */
	assert_false(came(false, two));
	one.mgmt_class = 4;
	assert_false(came(false, one));
	one.mgmt_class = 3;
	one.tid++;
	assert_false(came(false, one));
	one.tid--;
	from.has_grh = true;
	assert_false(came_from(false, one, &from));
	assert_int_equal(vb_agents_counters(agents)->rx_unmatched, 4);
	assert_true(came(false, one));
	assert_int_equal(read_agent(a), 0);
	one.tid += UINT64_C(77) << 32; /* no agent's */
	assert_false(came(false, one));
	assert_true(vb_agents_poll_timeout(agents) == VB_NEVER);
}

/* MAD-09: TrapRepress and the responses of baseboard management go by TID; their own TIDs stay as
 * they are. MAD-10 */
static void answers__of_all_kinds(void **state)
{
	int f = vb_agents_file_open(agents);
	struct vb_mad_hdr h;

	(void)state;
	registered(f, wanted(1, 0, 0, 0));
	registered(f, wanted(0, 0x01, 1, 0));
	assert_int_equal(written(f, 1, header(0x01, 1, 0x05, VB_SMP_NOTICE, 1), 100, 0), 0);
	transmitted();
	assert_true(out.on_qp0);
	h = mad_header(out.mad);
	h.method = VB_MAD_METHOD_TRAP_REPRESS;
	assert_true(came(true, h));
	assert_int_equal(read_agent(f), 1);
	assert_int_equal(written(f, 0, header(5, 1, VB_MAD_METHOD_SEND, 0x10, 1), 100, 0), 0);
	transmitted();
	h = mad_header(out.mad);
	h.attr_mod = 1;
	assert_true(came(false, h));
	assert_int_equal(read_agent(f), 0);
	h.tid = 0x1234567887654321;
	assert_int_equal(written(f, 0, h, 0, 0), 0);
	assert_true(transmitted());
	assert_true(mad_header(out.mad).tid == h.tid);
	h.attr_mod = 0;
	h.method = VB_MAD_METHOD_TRAP_REPRESS;
	assert_int_equal(written(f, 0, h, 0, 0), 0);
	assert_true(transmitted());
	assert_true(mad_header(out.mad).tid == h.tid);
	/* Directed routes are told by TID alone. */
	registered(f, wanted(0, 0x81, 1, 0));
	assert_int_equal(written(f, 2, header(0x81, 1, GET, VB_SMP_NODE_INFO, 1), 100, 0), 0);
	assert_true(transmitted());
	h = mad_header(out.mad);
	h.method = VB_MAD_METHOD_GET_RESP;
	h.status = 0x8000;
	assert_true(came_from(true, h, &(struct vb_mad_addr){.lid = 0xffff}));
	assert_int_equal(read_agent(f), 2);
}

/* MAD-10: numbers go round, past those in use. */
static void tids__go_round(void **state)
{
	struct vb_agents_config c = {
	    .alloc = env_alloc, .free = env_free, .first_tid = (1 << 24) - 1};
	uint32_t seen[3];
	int f;

	(void)state;
	vb_agents_destroy(agents);
	agents = vb_agents_create(&c);
	f = vb_agents_file_open(agents);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(registered(f, wanted(1, 0, 0, 0)), i);
		assert_int_equal(
		    written(f, (uint32_t)i, header(3, 2, GET, 0x35, (uint64_t)i), 0, 0), 0);
		assert_true(transmitted());
		seen[i] = (uint32_t)(mad_header(out.mad).tid >> 32);
	}
	assert_int_equal(seen[0], (1 << 24) - 1);
	assert_int_equal(seen[1], 1);
	assert_int_equal(seen[2], 2);
}

/* MAD-23: nothing of a closed file, or of an agent that is gone, goes on. */
static void ends__cancel_everything(void **state)
{
	int f = vb_agents_file_open(agents);
	struct vb_mad_hdr h;

	(void)state;
	registered(f, wanted(1, 4, 1, 2));
	written(f, 0, header(4, 1, GET, 0x12, 9), 100, 2);
	assert_true(transmitted());
	h = mad_header(out.mad);
	written(f, 0, header(4, 1, GET, 0x12, 10), 100, 2);
	assert_true(came(false, header(4, 1, GET, 0x12, 5)));
	assert_int_equal(vb_agent_unregister(agents, f, 0), 0);
	assert_false(transmitted());
	assert_true(vb_agents_poll_timeout(agents) == VB_NEVER);
	h.method = VB_MAD_METHOD_GET_RESP;
	assert_false(came(false, h));
	assert_false(came(false, header(4, 1, GET, 0x12, 5)));
	assert_non_null(vb_agents_peek(agents, f)); /* the MAD that had come can be read */
	registered(f, wanted(1, 4, 1, 2));
	written(f, 0, header(4, 1, GET, 0x12, 9), 100, 2);
	assert_true(came(false, header(4, 1, GET, 0x12, 5)));
	vb_agents_file_close(agents, f);
	assert_int_equal(vb_agents_poll_readable(agents), -1);
	assert_false(transmitted());
	assert_false(came(false, header(4, 1, GET, 0x12, 5)));
}

/* MAD-16: a file is named when there is something to read again; a full queue drops what comes, but
 * no timeout. */
static void queues__have_an_end(void **state)
{
	int f = vb_agents_file_open(agents), kept = 0;

	(void)state;
	registered(f, wanted(1, 4, 1, 2));
	written(f, 0, header(4, 1, GET, 0x12, 9), 100, 0);
	assert_true(transmitted());
	assert_int_equal(vb_agents_poll_readable(agents), -1);
	for (int i = 0; i < 200010; i++)
		assert_true(came(false, header(4, 1, GET, 0x12, 5)));
	assert_int_equal(vb_agents_counters(agents)->rx_no_room, 10);
	time_to(200);
	assert_int_equal(vb_agents_poll_readable(agents), f);
	assert_int_equal(vb_agents_poll_readable(agents), -1);
	while (vb_agents_peek(agents, f)->status == 0) {
		vb_agents_take(agents, f);
		kept++;
	}
	assert_int_equal(kept, 200000);
	vb_agents_take(agents, f);
	assert_null(vb_agents_peek(agents, f));
	assert_true(came(false, header(4, 1, GET, 0x12, 5)));
	assert_int_equal(vb_agents_poll_readable(agents), f);
}

/* Without memory a call fails, and nothing else. */
static void memory__has_an_end(void **state)
{
	int f, err;
	uint64_t n = 0;

	(void)state;
	vb_agents_destroy(agents);
	agents = agents_make(true, 60000);
	f = vb_agents_file_open(agents);
	registered(f, wanted(1, 4, 1, 2));
	do {
		err = written(f, 0, header(4, 1, GET, 0x12, n++), 100, 0);
	} while (err == 0);
	assert_int_equal(err, -ENOMEM);
	assert_true(n > 50);
	assert_true(came(false, header(4, 1, GET, 0x12, 5)));
	while (vb_agents_counters(agents)->rx_no_room == 0)
		assert_true(came(false, header(4, 1, GET, 0x12, 5)));
	while (vb_agents_file_open(agents) >= 0)
		;
	while (transmitted())
		;
	time_to(1000);
	assert_int_equal(vb_agents_counters(agents)->tx_timeouts, n - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(agents__have_the_lowest_number, agents_begin,
					    agents_end),
	    cmocka_unit_test_setup_teardown(agents__refuse_contradictions, agents_begin,
					    agents_end),
	    cmocka_unit_test_setup_teardown(agents__do_not_overlap, agents_begin, agents_end),
	    cmocka_unit_test_setup_teardown(requests__go_to_the_agent_of_their_method, agents_begin,
					    agents_end),
	    cmocka_unit_test_setup_teardown(requests__to_qp0, agents_begin, agents_end),
	    cmocka_unit_test_setup_teardown(answers__find_their_request, agents_begin, agents_end),
	    cmocka_unit_test_setup_teardown(answers__of_all_kinds, agents_begin, agents_end),
	    cmocka_unit_test_setup_teardown(tids__go_round, agents_begin, agents_end),
	    cmocka_unit_test_setup_teardown(ends__cancel_everything, agents_begin, agents_end),
	    cmocka_unit_test_setup_teardown(queues__have_an_end, agents_begin, agents_end),
	    cmocka_unit_test_setup_teardown(memory__has_an_end, agents_begin, agents_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
