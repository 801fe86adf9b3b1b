/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Groups of InfiniBand that a program has joined, after the subnet manager has asked to register
 * again: the port joins them again by itself, at a subnet administrator that this test is, and the
 * program hears of those alone that are not what they were. FAB-24, CMP-48, CMP-49
 */
#include "ucma_env.h"

#define ASKED_MAX 64
#define MLID 0xc005
#define PORT 2
#define JOIN_FULL 0
#define JOIN_SEND_ONLY 1

static struct ucma_net net;
static struct vb_ucma_file *file;

/* The questions to the administrator, and how it answers. */
static struct {
	struct vb_sa_msg msg[ASKED_MAX];
	struct vb_path path[ASKED_MAX];
	vb_time at[ASKED_MAX];
	uint32_t cnt;
	bool is_silent;
	uint16_t status;
	struct vb_sa_mcmember differs; /* is added to the record, field by field */
	struct vb_gid mgid;
} sa;

static void record_answer(struct vb_sa_mcmember *m)
{
	static const struct vb_gid none;

	m->mlid = (uint16_t)(MLID + sa.differs.mlid);
	m->mtu = (uint8_t)(4 + sa.differs.mtu);
	m->rate = (uint8_t)(3 + sa.differs.rate);
	m->sl = (uint8_t)(1 + sa.differs.sl);
	m->traffic_class = (uint8_t)(9 + sa.differs.traffic_class);
	m->flow_label = 0x54321 + sa.differs.flow_label;
	m->hop_limit = (uint8_t)(2 + sa.differs.hop_limit);
	m->qkey += sa.differs.qkey;
	m->pkey = (uint16_t)(m->pkey + sa.differs.pkey);
	m->join_state |= VB_SA_JOIN_FULL | VB_SA_JOIN_SEND_ONLY; /* of all at the port */
	if (!vb_gid_eq(&sa.mgid, &none))
		m->mgid = sa.mgid;
}

static void answer_give(const struct vb_sa_msg *asked)
{
	struct vb_sa_msg m = *asked;
	uint8_t mad[VB_MAD_LEN];

	/* A Set is answered as a Get is. IBA 15.2.2 */
	m.method = m.method == VB_SA_METHOD_DELETE ? VB_SA_METHOD_DELETE | VB_MAD_METHOD_RESPONSE
						   : VB_MAD_METHOD_GET_RESP;
	m.status = sa.status;
	record_answer(&m.member);
	vb_sa_emit(&m, mad);
	vb_ucma_handle_mad(net.host[0].u, &(struct vb_path){.port = PORT}, mad, net.now);
}

static void sa_ask(struct ucma_net *n, struct ucma_host *from, const struct vb_path *path,
		   const uint8_t mad[VB_MAD_LEN])
{
	struct vb_sa_msg m;

	(void)from;
	assert_int_equal(vb_sa_parse(&m, mad), 0);
	assert_uint_in_range(sa.cnt, 0, ASKED_MAX - 1);
	sa.path[sa.cnt] = *path;
	sa.at[sa.cnt] = n->now;
	sa.msg[sa.cnt++] = m;
	if (!sa.is_silent)
		answer_give(&m);
}

static int setup(void **state)
{
	(void)state;
	memset(&net, 0, sizeof net);
	memset(&sa, 0, sizeof sa);
	net.ask = sa_ask;
	ucma_hosts_open(&net);
	file = ucma_file(&net.host[0]);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ucma_close(&net);
	return 0;
}

/* A group that a new id has joined, as the program hears of it. */
static struct vb_ucma_event_reply group_joined(uint16_t flags, uint32_t *id)
{
	struct vb_ucma_join_mcast b = {.uid = 0x700, .addr_size = 16, .join_flags = flags};
	struct vb_ucma_addr own = ucma_addr(1, true, 0);
	struct vb_ucma_addr group = {.family = VB_UCMA_AF_INET,
				     .gid = {{[10] = 0xff, 0xff, 239, 1, 2, 3}}};
	struct vb_ucma_number_reply r = {0};
	struct vb_ucma_event_reply ev;

	*id = b.id = ucma_id(&net, file, 0x600, VB_UCMA_PS_UDP, 4);
	assert_int_equal(ucma_bind(&net, file, b.id, &own), 0);
	ucma_sockaddr(&group, b.addr);
	assert_int_equal(UCMA_ASK(&net, file, VB_UCMA_JOIN_MCAST, b, r), 0);
	ev = ucma_event(&net, file, VB_UCMA_EV_MULTICAST_JOIN);
	assert_int_equal(ev.id, r.n);
	sa.cnt = 0;
	return ev;
}

static void group_leave(uint32_t number)
{
	struct vb_ucma_destroy_id b = {.id = number};
	struct vb_ucma_number_reply r = {0};

	assert_int_equal(UCMA_ASK(&net, file, VB_UCMA_LEAVE_MCAST, b, r), 0);
}

static void manager_asks(uint8_t port)
{
	vb_ucma_groups_rejoin(net.host[0].u, port, net.now);
	ucma_settle(&net);
}

/* The record is the group's, so that the administrator makes it as it was. */
static void rejoin__asks_for_the_group_as_it_was(void **state)
{
	uint32_t id;
	struct vb_ucma_event_reply ev = group_joined(JOIN_FULL, &id);
	struct vb_gid own = ucma_ib_gid(1);
	const struct vb_sa_msg *m = &sa.msg[0];

	(void)state;
	manager_asks(1); /* of another port */
	ucma_advance(&net, 100 * VB_SEC);
	assert_int_equal(sa.cnt, 0);
	/* The manager has another LID now, and the subnet another prefix. */
	net.host[0].sm_lid = 0x77;
	net.host[0].prefix = own.b[7] = 5;
	manager_asks(PORT);
	ucma_advance(&net, 100 * VB_MSEC - 1);
	assert_int_equal(sa.cnt, 0);
	ucma_advance(&net, 1);
	assert_int_equal(sa.cnt, 1);
	assert_int_equal(sa.path[0].dlid, 0x77);
	assert_int_equal(sa.path[0].port, PORT);
	assert_int_equal(m->method, VB_MAD_METHOD_SET);
	assert_int_equal(m->attr_id, 0x38);
	assert_int_equal(m->mask, 0x1 | 0x2 | 0x4 | 0x30 | 1 << 6 | 1 << 7 | 0x300 | 1 << 12 |
				      1 << 13 | 1 << 14 | 1 << 16);
	assert_memory_equal(m->member.mgid.b, ev.ud.ah.dgid, 16);
	assert_memory_equal(m->member.port_gid.b, own.b, 16);
	assert_int_equal(m->member.mlid, MLID);
	assert_int_equal(m->member.qkey, 0x01234567);
	assert_int_equal(m->member.pkey, 0xffff);
	assert_true(m->member.mtu == 4 && m->member.mtu_selector == 2);
	assert_true(m->member.rate == 3 && m->member.rate_selector == 2);
	assert_int_equal(m->member.sl, 1);
	assert_int_equal(m->member.traffic_class, 9);
	assert_int_equal(m->member.flow_label, 0x54321);
	assert_int_equal(m->member.hop_limit, 2);
	assert_int_equal(m->member.join_state, 1); /* not the state of others at the port */
	/* Nobody hears of it, and nothing is repeated. */
	ucma_advance(&net, 100 * VB_SEC);
	assert_int_equal(sa.cnt, 1);
	ucma_no_event(&net, file);
	/* The port leaves by the GID that it has joined with. */
	group_leave(ev.id);
	assert_int_equal(sa.cnt, 2);
	assert_int_equal(sa.msg[1].method, VB_SA_METHOD_DELETE);
	assert_memory_equal(sa.msg[1].member.port_gid.b, own.b, 16);
}

/* Each member asks for itself: one that only sends, and ids with the same group. */
static void rejoin__of_all_groups_of_the_port(void **state)
{
	uint32_t id[3];

	(void)state;
	group_joined(JOIN_FULL, &id[0]);
	group_joined(JOIN_FULL, &id[1]);
	group_joined(JOIN_SEND_ONLY, &id[2]);
	manager_asks(PORT);
	ucma_advance(&net, 100 * VB_MSEC);
	assert_int_equal(sa.cnt, 3);
	assert_int_equal(sa.msg[0].member.join_state, VB_SA_JOIN_FULL);
	assert_int_equal(sa.msg[1].member.join_state, VB_SA_JOIN_FULL);
	assert_int_equal(sa.msg[2].member.join_state, VB_SA_JOIN_SEND_ONLY);
	assert_true(sa.msg[0].tid != sa.msg[1].tid);
	ucma_advance(&net, 100 * VB_SEC);
	assert_int_equal(sa.cnt, 3);
	ucma_no_event(&net, file);
}

/* A manager answers when its sweep has ended; one that never does has no members. */
static void rejoin__is_repeated(void **state)
{
	static const vb_dur at[] = {100 * VB_MSEC,  1100 * VB_MSEC,  3100 * VB_MSEC,
				    7100 * VB_MSEC, 15100 * VB_MSEC, 31100 * VB_MSEC,
				    47100 * VB_MSEC};
	const uint32_t times = sizeof at / sizeof at[0];
	struct vb_ucma_event_reply ev;
	uint32_t id;
	vb_time begin;

	(void)state;
	group_joined(JOIN_FULL, &id);
	sa.is_silent = true;
	begin = net.now;
	manager_asks(PORT);
	ucma_advance(&net, 60 * VB_SEC - 1);
	assert_int_equal(sa.cnt, times);
	for (uint32_t i = 0; i < times; i++) {
		assert_int_equal(sa.at[i] - begin, at[i]);
		assert_true(sa.msg[i].tid == sa.msg[0].tid);
	}
	ucma_no_event(&net, file);
	ucma_advance(&net, 1);
	ev = ucma_event(&net, file, VB_UCMA_EV_MULTICAST_ERROR);
	assert_int_equal(ev.status, -ENETRESET);
	assert_int_equal(ev.uid, 0x700);
	ucma_advance(&net, 100 * VB_SEC);
	manager_asks(PORT); /* the port is no member any more */
	ucma_advance(&net, 100 * VB_SEC);
	assert_int_equal(sa.cnt, times);
	ucma_no_event(&net, file);
	assert_int_equal(ucma_destroy(&net, file, id), 2);
	assert_int_equal(sa.cnt, times);
}

/* An answer to an earlier repetition counts; one to a question that was not asked yet does not. */
static void rejoin__takes_late_answers(void **state)
{
	struct vb_sa_msg m;
	uint32_t id;

	(void)state;
	group_joined(JOIN_FULL, &id);
	sa.is_silent = true;
	manager_asks(PORT);
	ucma_advance(&net, 2 * VB_SEC);
	assert_int_equal(sa.cnt, 2);
	m = sa.msg[0];
	m.tid++; /* the TID of the next question */
	manager_asks(PORT);
	answer_give(&sa.msg[0]);
	manager_asks(PORT);
	answer_give(&m);
	ucma_advance(&net, 100 * VB_MSEC);
	assert_int_equal(sa.cnt, 3);
	assert_true(sa.msg[2].tid == m.tid);
	answer_give(&m);
	ucma_advance(&net, 100 * VB_SEC);
	assert_int_equal(sa.cnt, 3);
	ucma_no_event(&net, file);
}

/* The manager asks again while its first words have no effect yet: it all begins again, once. */
static void rejoin__begins_again(void **state)
{
	uint32_t id;

	(void)state;
	group_joined(JOIN_FULL, &id);
	manager_asks(PORT);
	ucma_advance(&net, 50 * VB_MSEC);
	manager_asks(PORT);
	ucma_advance(&net, 99 * VB_MSEC);
	assert_int_equal(sa.cnt, 0);
	ucma_advance(&net, VB_MSEC);
	assert_int_equal(sa.cnt, 1);
	sa.is_silent = true;
	manager_asks(PORT);
	ucma_advance(&net, 59 * VB_SEC);
	manager_asks(PORT);
	ucma_advance(&net, 59 * VB_SEC);
	ucma_no_event(&net, file);
	assert_int_equal(sa.cnt, 1 + 7 + 7);
}

/* The program learns of a group that it has to join anew, as from a kernel; its port leaves the one
 * that it does not know. */
static void rejoin__another_group(void **state)
{
	static const struct vb_sa_mcmember differs[] = {
	    {.mlid = 1},       {.mtu = 1},       {.rate = 1}, {.sl = 1},   {.traffic_class = 1},
	    {.flow_label = 1}, {.hop_limit = 1}, {.qkey = 1}, {.pkey = 1},
	};
	const uint32_t cnt = sizeof differs / sizeof differs[0];

	(void)state;
	for (uint32_t i = 0; i <= cnt; i++) {
		struct vb_ucma_event_reply ev;
		uint32_t id;

		memset(&sa, 0, sizeof sa);
		group_joined(JOIN_FULL, &id);
		if (i < cnt)
			sa.differs = differs[i];
		else
			sa.mgid = (struct vb_gid){{0xff, 0x12, [15] = 1}};
		manager_asks(PORT);
		ucma_advance(&net, 100 * VB_MSEC);
		ev = ucma_event(&net, file, VB_UCMA_EV_MULTICAST_ERROR);
		assert_int_equal(ev.status, -ENETRESET);
		assert_int_equal(sa.cnt, 2);
		assert_int_equal(sa.msg[1].method, VB_SA_METHOD_DELETE);
		group_leave(ev.id);
		assert_int_equal(sa.cnt, 2); /* it has left already */
		(void)ucma_destroy(&net, file, id);
	}
}

/* A refusal is an answer; a manager that is busy has not answered. */
static void rejoin__refused(void **state)
{
	uint32_t id;

	(void)state;
	group_joined(JOIN_FULL, &id);
	sa.status = VB_MAD_STATUS_BUSY;
	manager_asks(PORT);
	ucma_advance(&net, VB_SEC);
	ucma_no_event(&net, file);
	sa.status = 0x0200; /* ERR_REQ_INVALID */
	ucma_advance(&net, VB_SEC);
	assert_int_equal(ucma_event(&net, file, VB_UCMA_EV_MULTICAST_ERROR).status, -ENETRESET);
	assert_int_equal(sa.cnt, 2);
	(void)ucma_destroy(&net, file, id);
	assert_int_equal(sa.cnt, 2);
}

/* A port that only sends makes no group: it waits until a member has made it. */
static void rejoin__only_to_send(void **state)
{
	uint32_t id;

	(void)state;
	group_joined(JOIN_SEND_ONLY, &id);
	sa.status = 0x0200;
	manager_asks(PORT);
	ucma_advance(&net, 10 * VB_SEC);
	assert_int_equal(sa.cnt, 4);
	ucma_no_event(&net, file);
	sa.status = 0;
	ucma_advance(&net, 100 * VB_SEC);
	assert_int_equal(sa.cnt, 5);
	ucma_no_event(&net, file);
	sa.status = 0x0200;
	manager_asks(PORT);
	ucma_advance(&net, 60 * VB_SEC);
	assert_int_equal(ucma_event(&net, file, VB_UCMA_EV_MULTICAST_ERROR).status, -ENETRESET);
}

/* The program leaves, destroys its id or ends while nobody has answered: nothing is asked any more
 * but to leave. */
static void rejoin__ends_with_its_group(void **state)
{
	(void)state;
	for (int how = 0; how < 3; how++) {
		uint32_t id;
		struct vb_ucma_event_reply ev;

		sa.is_silent = false;
		ev = group_joined(JOIN_FULL, &id);
		sa.is_silent = true;
		manager_asks(PORT);
		ucma_advance(&net, VB_SEC);
		assert_int_equal(sa.cnt, 1);
		if (how == 0) {
			group_leave(ev.id);
			(void)ucma_destroy(&net, file, id);
		} else if (how == 1) {
			(void)ucma_destroy(&net, file, id);
		} else {
			vb_ucma_file_close(file, net.now);
			ucma_settle(&net);
			file = ucma_file(&net.host[0]);
		}
		assert_int_equal(sa.cnt, 2);
		assert_int_equal(sa.msg[1].method, VB_SA_METHOD_DELETE);
		answer_give(&sa.msg[0]); /* for nobody */
		ucma_advance(&net, 100 * VB_SEC);
		assert_int_equal(sa.cnt, 2);
		ucma_no_event(&net, file);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(rejoin__asks_for_the_group_as_it_was),
	    TEST(rejoin__of_all_groups_of_the_port),
	    TEST(rejoin__is_repeated),
	    TEST(rejoin__takes_late_answers),
	    TEST(rejoin__begins_again),
	    TEST(rejoin__another_group),
	    TEST(rejoin__refused),
	    TEST(rejoin__only_to_send),
	    TEST(rejoin__ends_with_its_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
