/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine of programs' connections outlives the process that runs it: it is thrown away at any
 * moment, and another one goes on from what was kept. CMP-51
 */
#include "base/rng.h"
#include "ucma/keep/keep.h"
#include "ucma_env.h"

struct region {
	struct vb_journal journal;
	struct vb_ucma_kept kept;
};

#define FILES 2

static struct ucma_net net;
static struct region *region[2];
static struct vb_ucma_file *file[2][FILES]; /* of each host */
static uint64_t seed;

static void host_keep(int i)
{
	struct vb_ucma_region r = {region[i], &region[i]->journal, &region[i]->kept};

	for (uint32_t k = 0; k < FILES; k++) {
		file[i][k] = ucma_file(&net.host[i]);
		vb_ucma_file_set_number(file[i][k], k + 5);
	}
	vb_ucma_set_region(net.host[i].u, &r);
}

static int setup(void **state)
{
	(void)state;
	ucma_open(&net);
	seed = 100;
	for (int i = 0; i < 2; i++) {
		region[i] = calloc(1, sizeof *region[i]);
		assert_non_null(region[i]);
		host_keep(i);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ucma_close(&net);
	for (int i = 0; i < 2; i++)
		free(region[i]);
	return 0;
}

/* The process of host @i is killed after what it did last, and another one goes on. */
static void host_restart(int i)
{
	struct ucma_host *h = &net.host[i];

	vb_ucma_set_region(h->u, NULL);
	vb_ucma_destroy(h->u);
	h->groups = 0;
	ucma_host_open(h, seed++);
	assert_int_equal(vb_journal_recover(&region[i]->journal, region[i], sizeof *region[i]), 0);
	host_keep(i);
	vb_ucma_restore(h->u, net.now);
	ucma_settle(&net);
}

#define CLIENT file[0][0]
#define SERVER file[1][0]

struct pair {
	uint32_t listener, active, passive;
};

static struct pair pair_listens(uint8_t qp_type)
{
	uint16_t ps = qp_type == 4 ? VB_UCMA_PS_UDP : VB_UCMA_PS_TCP;

	return (struct pair){.listener = ucma_listener(&net, SERVER, ps, qp_type, true),
			     .active = ucma_routed(&net, CLIENT, 0x200, ps, qp_type, true)};
}

static struct pair pair_requested(void)
{
	struct pair p = pair_listens(2);

	assert_int_equal(ucma_connect(&net, CLIENT, p.active, 0x41, ""), 0);
	p.passive = ucma_event(&net, SERVER, VB_UCMA_EV_CONNECT_REQUEST).id;
	return p;
}

static struct pair pair_established(void)
{
	struct pair p = pair_requested();

	assert_int_equal(ucma_accept(&net, SERVER, p.passive, 0x300, 0x42, ""), 0);
	(void)ucma_event(&net, CLIENT, VB_UCMA_EV_CONNECT_RESPONSE);
	assert_int_equal(ucma_ready(&net, CLIENT, p.active), 0);
	assert_int_equal(ucma_event(&net, SERVER, VB_UCMA_EV_ESTABLISHED).uid, 0x300);
	return p;
}

/* Nobody hears of it; the connection ends later as if nothing had been. */
static void ends_as_ever(const struct pair *p)
{
	ucma_no_event(&net, CLIENT);
	ucma_no_event(&net, SERVER);
	assert_int_equal(ucma_disconnect(&net, CLIENT, p->active), 0);
	assert_int_equal(ucma_event(&net, SERVER, VB_UCMA_EV_DISCONNECTED).uid, 0x300);
	assert_int_equal(ucma_disconnect(&net, SERVER, p->passive), 0);
	assert_int_equal(ucma_event(&net, CLIENT, VB_UCMA_EV_DISCONNECTED).status, 0);
	/* CMP-34: the accounts of events are those of before. */
	assert_int_equal(ucma_destroy(&net, CLIENT, p->active), 4);
	assert_int_equal(ucma_destroy(&net, SERVER, p->passive), 2);
	assert_int_equal(ucma_destroy(&net, SERVER, p->listener), 1);
}

static void restart__established_lives(void **state)
{
	(void)state;
	for (int which = 1; which < 4; which++) {
		struct pair p = pair_established();

		for (int i = 0; i < 2; i++)
			if (which & 1 << i)
				host_restart(i);
		ends_as_ever(&p);
		ucma_advance(&net, 10 * VB_SEC);
	}
}

/* A second restart finds what the first one has found. */
static void restart__twice(void **state)
{
	struct pair p = pair_established();

	(void)state;
	for (int n = 0; n < 3; n++) {
		host_restart(0);
		host_restart(1);
	}
	ends_as_ever(&p);
}

/* The answers of the QP's attributes are those of before. */
static void restart__attributes_stay(void **state)
{
	struct pair p = pair_established();
	struct vb_ucma_init_qp_attr b = {.id = p.passive, .qp_state = 2};
	struct vb_ucma_qp_attr before = {0}, after = {0};

	(void)state;
	for (uint32_t s = 1; s <= 3; s++) {
		b.qp_state = s;
		assert_int_equal(UCMA_ASK(&net, SERVER, VB_UCMA_INIT_QP_ATTR, b, before), 0);
		host_restart(1);
		assert_int_equal(UCMA_ASK(&net, SERVER, VB_UCMA_INIT_QP_ATTR, b, after), 0);
		assert_memory_equal(&before, &after, sizeof before);
	}
	ends_as_ever(&p);
}

static void restart__listener_listens(void **state)
{
	struct pair p = pair_listens(2);
	uint32_t second = ucma_id(&net, SERVER, 0x101, VB_UCMA_PS_TCP, 2);
	struct vb_ucma_addr a = ucma_addr(2, true, UCMA_PORT);

	(void)state;
	host_restart(1);
	assert_int_equal(ucma_bind(&net, SERVER, second, &a), -EADDRINUSE);
	assert_int_equal(ucma_connect(&net, CLIENT, p.active, 0x41, ""), 0);
	assert_int_equal(ucma_event(&net, SERVER, VB_UCMA_EV_CONNECT_REQUEST).uid, 0x100);
	/* The port is free when it goes. */
	(void)ucma_destroy(&net, SERVER, p.listener);
	assert_int_equal(ucma_bind(&net, SERVER, second, &a), 0);
}

/* An id goes on from where it was: resolved, then connected. */
static void restart__before_connecting(void **state)
{
	struct pair p = pair_listens(2);

	(void)state;
	host_restart(0);
	assert_int_equal(ucma_connect(&net, CLIENT, p.active, 0x41, ""), 0);
	(void)ucma_event(&net, SERVER, VB_UCMA_EV_CONNECT_REQUEST);
}

/* Events that nobody has taken come in their order, once. */
static void restart__events_wait(void **state)
{
	struct pair p = pair_established(), q;
	struct vb_ucma_addr to = ucma_addr(2, true, UCMA_PORT);

	(void)state;
	q.active = ucma_id(&net, CLIENT, 0x201, VB_UCMA_PS_TCP, 2);
	assert_int_equal(ucma_resolve(&net, CLIENT, q.active, &to), 0);
	assert_int_equal(ucma_disconnect(&net, SERVER, p.passive), 0);
	assert_int_equal(vb_ucma_file_events(CLIENT), 2);
	host_restart(0);
	assert_int_equal(vb_ucma_file_events(CLIENT), 2);
	assert_int_equal(ucma_event(&net, CLIENT, VB_UCMA_EV_ADDR_RESOLVED).uid, 0x201);
	/* An event that happens now is the last. */
	assert_int_equal(ucma_resolve_route(&net, CLIENT, q.active), 0);
	host_restart(0);
	assert_int_equal(ucma_event(&net, CLIENT, VB_UCMA_EV_DISCONNECTED).uid, 0x200);
	host_restart(0);
	assert_int_equal(ucma_event(&net, CLIENT, VB_UCMA_EV_ROUTE_RESOLVED).uid, 0x201);
	ucma_no_event(&net, CLIENT);
	assert_int_equal(ucma_destroy(&net, CLIENT, q.active), 2);
}

/* A client that waits for an answer hears that there is none. */
static void restart__request_was_sent(void **state)
{
	struct pair p = pair_listens(2);
	struct vb_ucma_event_reply ev;

	(void)state;
	net.lose = 1; /* the REQ */
	assert_int_equal(ucma_connect(&net, CLIENT, p.active, 0x41, ""), 0);
	net.lose = 0;
	host_restart(0);
	ev = ucma_event(&net, CLIENT, VB_UCMA_EV_UNREACHABLE);
	assert_int_equal(ev.uid, 0x200);
	assert_int_equal(ev.status, -110);
	ucma_advance(&net, 100 * VB_SEC);
	ucma_no_event(&net, SERVER);
	assert_int_equal(ucma_destroy(&net, CLIENT, p.active), 3);
}

/* The same when the request had come: its id is told that it was given up. */
static void restart__request_had_come(void **state)
{
	struct pair p = pair_requested();
	uint64_t tid = net.last.tid;

	(void)state;
	host_restart(0);
	(void)ucma_event(&net, CLIENT, VB_UCMA_EV_UNREACHABLE);
	assert_int_equal(net.last.attr, VB_CM_REJ);
	assert_int_equal(net.last.tid, tid);
	assert_int_equal(net.last.rej.reason, VB_CM_REJ_TIMEOUT);
	assert_int_equal(ucma_accept(&net, SERVER, p.passive, 0x300, 0x42, ""), -EINVAL);
}

/* Requests that nobody had taken are the peers' to repeat, and new ones then; the backlog has room
 * for all of them. */
static void restart__request_waits(void **state)
{
	struct pair p = pair_listens(2);
	uint32_t more[2];

	(void)state;
	assert_int_equal(ucma_connect(&net, CLIENT, p.active, 0x41, ""), 0);
	for (uint32_t i = 0; i < 2; i++) {
		more[i] = ucma_routed(&net, CLIENT, 0x201 + i, VB_UCMA_PS_TCP, 2, true);
		assert_int_equal(ucma_connect(&net, CLIENT, more[i], 0x51 + i, ""), 0);
	}
	assert_int_equal(vb_ucma_file_events(SERVER), 3);
	host_restart(1);
	ucma_no_event(&net, SERVER);
	assert_int_equal(vb_ucma_id_cnt(net.host[1].u), 1);
	ucma_advance(&net, 10 * VB_SEC);
	assert_int_equal(vb_ucma_file_events(SERVER), 3);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t id = ucma_event(&net, SERVER, VB_UCMA_EV_CONNECT_REQUEST).id;

		assert_int_equal(ucma_accept(&net, SERVER, id, 0x300 + i, 0x42 + i, ""), 0);
		(void)ucma_event(&net, CLIENT, VB_UCMA_EV_CONNECT_RESPONSE);
	}
}

/* A request that was taken is lost: its acceptor hears so. The backlog has its place back. */
static void restart__request_was_taken(void **state)
{
	struct pair p = pair_requested();
	struct vb_ucma_init_qp_attr b = {.id = p.passive, .qp_state = 2};
	struct vb_ucma_qp_attr a = {0};
	struct vb_ucma_event_reply ev;

	(void)state;
	host_restart(1);
	host_restart(1);
	ucma_no_event(&net, SERVER);
	assert_int_equal(UCMA_ASK(&net, SERVER, VB_UCMA_INIT_QP_ATTR, b, a), 0);
	assert_int_equal(a.dest_qp_num, 0x41);
	assert_int_equal(ucma_accept(&net, SERVER, p.passive, 0x300, 0x42, ""), 0);
	ev = ucma_event(&net, SERVER, VB_UCMA_EV_UNREACHABLE);
	assert_int_equal(ev.uid, 0x300);
	assert_int_equal(ev.status, -110);
	assert_int_equal(ucma_destroy(&net, SERVER, p.passive), 1);
	/* The peer has repeated its REQ: this time it goes well. */
	ucma_advance(&net, 10 * VB_SEC);
	ev = ucma_event(&net, SERVER, VB_UCMA_EV_CONNECT_REQUEST);
	assert_int_equal(ucma_accept(&net, SERVER, ev.id, 0x301, 0x42, ""), 0);
	(void)ucma_event(&net, CLIENT, VB_UCMA_EV_CONNECT_RESPONSE);
}

/* A request that its peer has taken back is not one that was lost. */
static void restart__request_was_given_up(void **state)
{
	struct pair p = pair_requested();

	(void)state;
	(void)ucma_destroy(&net, CLIENT, p.active);
	host_restart(1);
	assert_int_equal(ucma_accept(&net, SERVER, p.passive, 0x300, 0x42, ""), -EINVAL);
}

/* A number that was given is not given again soon. */
static void restart__numbers_go_on(void **state)
{
	uint32_t id = ucma_id(&net, CLIENT, 0x200, VB_UCMA_PS_TCP, 2);

	(void)state;
	(void)ucma_destroy(&net, CLIENT, id);
	host_restart(0);
	assert_int_equal(ucma_id(&net, CLIENT, 0x200, VB_UCMA_PS_TCP, 2), id + 1);
}

/* Rejecting it says nothing to a peer that has begun anew. */
static void restart__request_is_rejected(void **state)
{
	struct pair p = pair_requested();
	struct vb_ucma_reject b = {.id = p.passive};
	uint32_t sent;

	(void)state;
	host_restart(1);
	sent = net.sent_cnt;
	assert_int_equal(UCMA_CALL(&net, SERVER, VB_UCMA_REJECT, b), 0);
	assert_int_equal(net.sent_cnt, sent);
	ucma_no_event(&net, CLIENT);
}

/* A REP is sent again: a peer that has established the connection repeats the RTU that was lost,
 * and whoever hears of no RTU has not reached its peer. CMP-51 */
static void restart__reply_was_sent(void **state)
{
	static const enum vb_ucma_event_kind server_hears[] = {
	    VB_UCMA_EV_REJECTED, VB_UCMA_EV_ESTABLISHED, VB_UCMA_EV_UNREACHABLE};

	for (int i = 0; i < 3; i++) {
		struct pair p = pair_requested();

		assert_int_equal(ucma_accept(&net, SERVER, p.passive, 0x300, 0x42, ""), 0);
		if (i == 1) {
			(void)ucma_event(&net, CLIENT, VB_UCMA_EV_CONNECT_RESPONSE);
			net.lose = 1u << (VB_CM_RTU - VB_CM_ATTR_FIRST);
			assert_int_equal(ucma_ready(&net, CLIENT, p.active), 0);
			net.lose = 0;
		}
		for (int k = i ? 2 : 1; k-- > 0;)
			host_restart(k);
		(void)ucma_event(&net, SERVER, server_hears[i]);
		if (i == 1)
			ends_as_ever(&p);
		else
			(void)ucma_event(&net, CLIENT, VB_UCMA_EV_UNREACHABLE);
		(void)teardown(state);
		(void)setup(state);
	}
}

/* A DREQ that may be lost is sent again, as often as the first; one that came is answered. */
static void restart__while_it_ends(void **state)
{
	struct pair p = pair_established();
	uint32_t sent;
	uint64_t tid;

	(void)state;
	net.lose = 1u << (VB_CM_DREQ - VB_CM_ATTR_FIRST);
	assert_int_equal(ucma_disconnect(&net, CLIENT, p.active), 0);
	host_restart(0);
	sent = net.sent_cnt;
	ucma_advance(&net, 20 * VB_SEC);
	assert_uint_in_range(net.sent_cnt - sent, 2, 8);
	net.lose = 0;
	ucma_advance(&net, 10 * VB_SEC);
	tid = net.last.tid;
	(void)ucma_event(&net, SERVER, VB_UCMA_EV_DISCONNECTED);
	host_restart(1);
	assert_int_equal(ucma_disconnect(&net, SERVER, p.passive), 0);
	assert_int_equal(net.last.attr, VB_CM_DREP);
	assert_int_equal(net.last.tid, tid);
	(void)ucma_event(&net, CLIENT, VB_UCMA_EV_DISCONNECTED);
	host_restart(0);
	host_restart(1);
	ucma_advance(&net, 10 * VB_SEC);
	(void)ucma_event(&net, CLIENT, VB_UCMA_EV_TIMEWAIT_EXIT);
	(void)ucma_event(&net, SERVER, VB_UCMA_EV_TIMEWAIT_EXIT);
}

/* Fields that no machine writes: the device is looked up, numbers keep to their ranges. */
static void restart__wild_fields(void **state)
{
	struct pair p = pair_established();
	struct vb_ucma_init_qp_attr b = {.id = p.active, .qp_state = 2};
	struct vb_ucma_qp_attr a = {0};

	(void)state;
	p.listener = ucma_routed(&net, CLIENT, 0x201, VB_UCMA_PS_TCP, 2, true);
	assert_int_equal(ucma_connect(&net, CLIENT, p.listener, 0x51, ""), 0);
	region[1]->kept.id[0].backlog = INT32_MAX;
	host_restart(1);
	region[0]->kept.id[p.active].at.gid_index = 99;
	region[0]->kept.id[p.active].conn.qp.ack_timeout = 255;
	host_restart(0);
	assert_int_equal(UCMA_ASK(&net, CLIENT, VB_UCMA_INIT_QP_ATTR, b, a), 0);
	assert_int_equal(a.ah.sgid_index, 1);
	assert_int_equal(ucma_disconnect(&net, CLIENT, p.active), 0);
	(void)ucma_event(&net, SERVER, VB_UCMA_EV_DISCONNECTED);
	assert_int_equal(ucma_disconnect(&net, SERVER, p.passive), 0);
}

/* A peer that ends while nobody is here is answered by who comes then. */
static void restart__peer_ends_meanwhile(void **state)
{
	struct pair p = pair_established();

	(void)state;
	net.lose = 1u << (VB_CM_DREQ - VB_CM_ATTR_FIRST);
	assert_int_equal(ucma_disconnect(&net, CLIENT, p.active), 0);
	net.lose = 0;
	host_restart(1);
	ucma_advance(&net, 10 * VB_SEC);
	(void)ucma_event(&net, SERVER, VB_UCMA_EV_DISCONNECTED);
}

static void restart__services_of_datagrams(void **state)
{
	struct pair p = pair_listens(4);
	struct vb_ucma_event_reply ev;

	(void)state;
	assert_int_equal(ucma_connect(&net, CLIENT, p.active, 0x41, ""), 0);
	ev = ucma_event(&net, SERVER, VB_UCMA_EV_CONNECT_REQUEST);
	host_restart(0);
	(void)ucma_event(&net, CLIENT, VB_UCMA_EV_UNREACHABLE);
	host_restart(1);
	assert_int_equal(ucma_accept(&net, SERVER, ev.id, 0x300, 0x42, ""), 0);
	(void)ucma_event(&net, SERVER, VB_UCMA_EV_UNREACHABLE);
}

static uint32_t group_join(uint32_t id)
{
	struct vb_ucma_join_mcast b = {.uid = 0x700, .id = id, .addr_size = 16};
	struct vb_ucma_addr a = {.family = VB_UCMA_AF_INET,
				 .gid = {{[10] = 0xff, 0xff, 239, 0, 0, 7}}};
	struct vb_ucma_number_reply r = {0};

	ucma_sockaddr(&a, b.addr);
	assert_int_equal(UCMA_ASK(&net, CLIENT, VB_UCMA_JOIN_MCAST, b, r), 0);
	return r.n;
}

/* Groups are joined again, under their numbers. */
static void restart__groups(void **state)
{
	uint32_t id = ucma_id(&net, CLIENT, 0x600, VB_UCMA_PS_UDP, 4);
	struct vb_ucma_addr a = ucma_addr(1, true, 0);
	struct vb_ucma_destroy_id leave = {0};
	struct vb_ucma_number_reply r = {0};

	(void)state;
	assert_int_equal(ucma_bind(&net, CLIENT, id, &a), 0);
	leave.id = group_join(id);
	host_restart(0);
	assert_int_equal(net.host[0].groups, 1);
	assert_int_equal(ucma_event(&net, CLIENT, VB_UCMA_EV_MULTICAST_JOIN).id, leave.id);
	host_restart(0);
	assert_int_not_equal(group_join(id), leave.id);
	assert_int_equal(UCMA_ASK(&net, CLIENT, VB_UCMA_LEAVE_MCAST, leave, r), 0);
	assert_int_equal(r.n, 1);
	assert_int_equal(net.host[0].groups, 1);
	host_restart(0);
	assert_int_equal(net.host[0].groups, 1);
}

/* An id that was moved belongs to its new file. */
static void restart__moved_id(void **state)
{
	struct pair p = pair_established();
	uint8_t bytes[VB_UCMA_COMMAND_MAX], reply[VB_UCMA_REPLY_MAX];
	struct vb_ucma_migrate_id b = {.id = p.active};
	struct vb_ucma_hdr h = {VB_UCMA_MIGRATE_ID, sizeof b, sizeof(struct vb_ucma_number_reply)};
	struct vb_ucma_command c = {.bytes = bytes, .len = sizeof h + sizeof b, .other = CLIENT};
	uint32_t len;

	(void)state;
	memcpy(bytes, &h, sizeof h);
	memcpy(bytes + sizeof h, &b, sizeof b);
	assert_true(vb_ucma_command(file[0][1], &c, reply, &len, net.now) > 0);
	ucma_settle(&net);
	host_restart(0);
	assert_int_equal(ucma_disconnect(&net, CLIENT, p.active), -EINVAL);
	assert_int_equal(ucma_disconnect(&net, file[0][1], p.active), 0);
}

/* Files that nobody has any more take their ids along. */
static void restart__file_is_gone(void **state)
{
	struct pair p = pair_established();

	(void)state;
	for (uint32_t i = 0; i < 128; i++)
		region[1]->kept.id[i].file = 77;
	host_restart(1);
	assert_int_equal(vb_ucma_id_cnt(net.host[1].u), 0);
	assert_int_equal(ucma_disconnect(&net, SERVER, p.passive), -ENOENT);
	/* The peer is answered, so that its end can end. */
	assert_int_equal(ucma_disconnect(&net, CLIENT, p.active), 0);
	(void)ucma_event(&net, CLIENT, VB_UCMA_EV_DISCONNECTED);
}

/* The device is not there any more. */
static void restart__device_is_gone(void **state)
{
	struct pair p = pair_established();

	(void)state;
	region[0]->kept.id[p.active].at.hca_port = 9;
	host_restart(0);
	(void)ucma_event(&net, CLIENT, VB_UCMA_EV_DEVICE_REMOVAL);
	assert_int_equal(ucma_disconnect(&net, CLIENT, p.active), -EINVAL);
	assert_int_equal(ucma_destroy(&net, CLIENT, p.active), 4);
}

/* Other processes of the user can write the region: no content of it breaks anything. */
static void restart__wild_records(void **state)
{
	struct vb_rng rng = vb_rng_stream(5, "wild", 0);
	struct vb_ucma_kept *k = &region[0]->kept;

	(void)state;
	for (int round = 0; round < 200; round++) {
		(void)pair_established();
		for (int n = 0; n < 40; n++) {
			size_t area = vb_rng_below(&rng, 3);
			uint8_t *at = area == 0   ? (uint8_t *)k->id
				      : area == 1 ? (uint8_t *)k->event
						  : (uint8_t *)k->mc;
			size_t one = area == 0   ? sizeof k->id[0]
				     : area == 1 ? sizeof k->event[0]
						 : sizeof k->mc[0];

			at[vb_rng_below(&rng, (uint32_t)(6 * one))] = (uint8_t)vb_rng_next(&rng);
			at[one * vb_rng_below(&rng, 6)] = 1;
		}
		host_restart(0);
		ucma_advance(&net, VB_SEC);
		/* Nothing is carried into the next round but what is wild. */
		vb_ucma_file_close(CLIENT, net.now);
		vb_ucma_file_close(SERVER, net.now);
		ucma_settle(&net);
		CLIENT = ucma_file(&net.host[0]);
		SERVER = ucma_file(&net.host[1]);
		ucma_advance(&net, 100 * VB_SEC);
		host_restart(1);
		memset(k, 0, sizeof k->id[0] * 8);
		net.host[0].groups = 0;
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    TEST(restart__established_lives),
	    TEST(restart__twice),
	    TEST(restart__attributes_stay),
	    TEST(restart__listener_listens),
	    TEST(restart__before_connecting),
	    TEST(restart__events_wait),
	    TEST(restart__request_was_sent),
	    TEST(restart__request_had_come),
	    TEST(restart__request_waits),
	    TEST(restart__request_was_taken),
	    TEST(restart__request_was_given_up),
	    TEST(restart__numbers_go_on),
	    TEST(restart__request_is_rejected),
	    TEST(restart__reply_was_sent),
	    TEST(restart__while_it_ends),
	    TEST(restart__peer_ends_meanwhile),
	    TEST(restart__services_of_datagrams),
	    TEST(restart__groups),
	    TEST(restart__moved_id),
	    TEST(restart__file_is_gone),
	    TEST(restart__device_is_gone),
	    TEST(restart__wild_fields),
	    TEST(restart__wild_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
