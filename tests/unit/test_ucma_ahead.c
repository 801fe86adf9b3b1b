/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Answers that come along with others, and the versions of ids that tell for how long they count:
 * each is what the command itself would draw. CMP-32, CMP-41 to CMP-43
 */
#include "ucma/command/ahead.h"

#include "ucma_env.h"

static struct ucma_net net;
static struct vb_ucma_file *client, *server;
static uint32_t version[128];

static int setup(void **state)
{
	(void)state;
	ucma_open(&net);
	client = ucma_file(&net.host[0]);
	server = ucma_file(&net.host[1]);
	vb_ucma_set_versions(net.host[0].u, version);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ucma_close(&net);
	return 0;
}

struct ahead {
	uint32_t id, len;
	uint8_t bytes[VB_UCMA_AHEAD_MAX];
};

/* The bytes that come along with the reply @reply to a command of @f. */
static bool ahead_of(struct vb_ucma_file *f, uint32_t cmd, const void *body, uint16_t len,
		     const void *reply, struct ahead *a)
{
	const struct vb_ucma_hdr h = {cmd, len, 0};
	uint8_t bytes[VB_UCMA_COMMAND_MAX];
	const struct vb_ucma_command c = {.bytes = bytes, .len = (uint32_t)sizeof h + len};

	memcpy(bytes, &h, sizeof h);
	memcpy(bytes + sizeof h, body, len);
	return vb_ucma_ahead(f, &c, reply, &a->id, a->bytes, sizeof a->bytes, &a->len);
}

static bool ahead_of_query(struct vb_ucma_file *f, uint32_t id, struct ahead *a)
{
	const struct vb_ucma_query q = {.id = id, .option = VB_UCMA_QUERY_GID};

	return ahead_of(f, VB_UCMA_QUERY, &q, sizeof q, NULL, a);
}

/* The event that comes next, and what comes along with it. */
static bool ahead_of_event(enum vb_ucma_event_kind kind, uint32_t *id, struct ahead *a)
{
	const struct vb_ucma_get_event b = {0};
	struct vb_ucma_event_reply r = ucma_event(&net, client, kind);

	*id = r.id;
	return ahead_of(client, VB_UCMA_GET_EVENT, &b, sizeof b, &r, a);
}

/* Asks for each answer of @a; returns how many there are. */
static int answers_agree(struct vb_ucma_file *f, const struct ahead *a)
{
	struct vb_ucma_ahead h;
	int cnt = 0;

	for (uint32_t at = 0; at < a->len; at += (uint32_t)sizeof h + h.len, cnt++) {
		struct vb_ucma_query q = {.id = a->id};
		uint8_t reply[VB_UCMA_AHEAD_REPLY_MAX];

		memcpy(&h, a->bytes + at, sizeof h);
		assert_true(h.len <= sizeof reply);
		q.option = h.option;
		assert_int_equal(ucma_write(&net, f, h.cmd, &q, sizeof q, reply, (uint16_t)h.len),
				 0);
		assert_memory_equal(a->bytes + at + sizeof h, reply, h.len);
	}
	return cnt;
}

/* From state to state more of the questions have an answer, and each step is another version. */
static void ahead__follows_the_states(void **state)
{
	struct vb_ucma_addr dst = ucma_addr(2, true, UCMA_PORT);
	uint32_t id = ucma_id(&net, client, 7, VB_UCMA_PS_TCP, 2), was = version[id], of;
	struct ahead a;

	(void)state;
	(void)ucma_listener(&net, server, VB_UCMA_PS_TCP, 2, true);
	assert_true(ahead_of_query(client, id, &a));
	assert_int_equal(answers_agree(client, &a), 3); /* no device: no attributes */
	assert_int_equal(version[id], was);             /* questions change nothing */
	assert_int_equal(ucma_resolve(&net, client, id, &dst), 0);
	assert_true(version[id] != was);
	assert_true(ahead_of_event(VB_UCMA_EV_ADDR_RESOLVED, &of, &a));
	assert_int_equal(of, id);
	assert_int_equal(a.id, id);
	assert_int_equal(answers_agree(client, &a), 6);
	was = version[id];
	assert_int_equal(ucma_resolve_route(&net, client, id), 0);
	assert_true(version[id] != was);
	assert_true(ahead_of_event(VB_UCMA_EV_ROUTE_RESOLVED, &of, &a));
	assert_int_equal(answers_agree(client, &a), 6);
	was = version[id];
	assert_int_equal(ucma_connect(&net, client, id, 0x41, ""), 0);
	assert_true(version[id] != was);
	assert_true(ahead_of_query(client, id, &a));
	assert_int_equal(answers_agree(client, &a), 4); /* the peer's QP is not known */
	was = version[id];
	/* The peer's answer is an event that nobody has taken, and a change. */
	of = ucma_event(&net, server, VB_UCMA_EV_CONNECT_REQUEST).id;
	assert_int_equal(ucma_accept(&net, server, of, 0x300, 0x42, ""), 0);
	assert_true(version[id] != was);
	assert_true(ahead_of_event(VB_UCMA_EV_CONNECT_RESPONSE, &of, &a));
	assert_int_equal(answers_agree(client, &a), 6);
	was = version[id];
	(void)ucma_destroy(&net, client, id);
	assert_true(version[id] != was);
	assert_false(ahead_of_query(client, id, &a));
}

/* The id's new file asks anew, and the old one in vain. */
static void ahead__of_an_id_that_moves(void **state)
{
	struct vb_ucma_file *other = ucma_file(&net.host[0]);
	uint32_t id = ucma_id(&net, client, 7, VB_UCMA_PS_TCP, 2), was = version[id];
	struct vb_ucma_migrate_id m = {.id = id};
	struct vb_ucma_hdr h = {VB_UCMA_MIGRATE_ID, sizeof m, 4};
	uint8_t bytes[sizeof h + sizeof m], reply[VB_UCMA_REPLY_MAX];
	struct vb_ucma_command c = {.bytes = bytes, .len = sizeof bytes, .other = client};
	struct ahead a;
	uint32_t len;

	(void)state;
	memcpy(bytes, &h, sizeof h);
	memcpy(bytes + sizeof h, &m, sizeof m);
	assert_int_equal(vb_ucma_command(other, &c, reply, &len, net.now), sizeof bytes);
	assert_true(version[id] != was);
	assert_true(vb_ucma_ahead(other, &c, reply, &a.id, a.bytes, sizeof a.bytes, &a.len));
	assert_int_equal(a.id, id);
	assert_int_equal(answers_agree(other, &a), 3);
	assert_false(ahead_of_query(client, id, &a));
}

/* After which commands and events nobody asks, and where there is no room. */
static void ahead__not_always(void **state)
{
	struct vb_ucma_addr dst = ucma_addr(2, true, UCMA_PORT);
	uint32_t id = ucma_id(&net, client, 7, VB_UCMA_PS_TCP, 2), of;
	struct vb_ucma_query q = {.id = id};
	struct vb_ucma_hdr h = {VB_UCMA_QUERY, sizeof q, 0};
	struct vb_ucma_set_option o = {.id = id};
	struct ahead a, little;
	uint8_t bytes[sizeof h + sizeof q];
	struct vb_ucma_command c = {.bytes = bytes, .len = sizeof bytes};

	(void)state;
	assert_false(ahead_of(client, VB_UCMA_SET_OPTION, &o, sizeof o, NULL, &a));
	assert_int_equal(a.len, 0);
	assert_int_equal(ucma_resolve(&net, client, id, &dst), 0);
	assert_true(ahead_of_event(VB_UCMA_EV_ADDR_RESOLVED, &of, &a));
	assert_int_equal(ucma_resolve_route(&net, client, id), 0);
	assert_true(ahead_of_event(VB_UCMA_EV_ROUTE_RESOLVED, &of, &a));
	assert_int_equal(ucma_connect(&net, client, id, 0x41, ""), 0);
	assert_false(ahead_of_event(VB_UCMA_EV_REJECTED, &of, &a)); /* nobody listens */

	/* As many as there is room for. */
	memcpy(bytes, &h, sizeof h);
	memcpy(bytes + sizeof h, &q, sizeof q);
	memset(&little, 0xee, sizeof little);
	assert_true(vb_ucma_ahead(client, &c, NULL, &little.id, little.bytes, 300, &little.len));
	assert_true(little.len && little.len <= 300);
	assert_int_equal(little.bytes[300], 0xee);
	(void)answers_agree(client, &little);

	/* An id whose device is gone tells nothing; and nobody, when nobody wants to know. */
	vb_ucma_device_removed(net.host[0].u, 1);
	assert_false(ahead_of_query(client, id, &a));
	vb_ucma_set_versions(net.host[0].u, NULL);
	of = ucma_id(&net, client, 8, VB_UCMA_PS_TCP, 2);
	assert_false(ahead_of_query(client, of, &a));
}

/* Other commands, and such as are cut short, are no questions. */
static void read__parse(void **state)
{
	struct vb_ucma_hdr h = {VB_UCMA_INIT_QP_ATTR, sizeof(struct vb_ucma_init_qp_attr), 144};
	struct vb_ucma_init_qp_attr b = {.id = 5, .qp_state = 3};
	uint8_t bytes[sizeof h + sizeof b];
	struct vb_ucma_read r;

	(void)state;
	memcpy(bytes + sizeof h, &b, sizeof b);
	memcpy(bytes, &h, sizeof h);
	assert_true(vb_ucma_read_parse(bytes, sizeof bytes, &r));
	assert_int_equal(r.cmd, VB_UCMA_INIT_QP_ATTR);
	assert_int_equal(r.id, 5);
	assert_int_equal(r.option, 3);
	assert_int_equal(r.room, 144);
	assert_false(vb_ucma_read_parse(bytes, sizeof bytes - 1, &r));
	h.in = sizeof b - 1;
	memcpy(bytes, &h, sizeof h);
	assert_false(vb_ucma_read_parse(bytes, sizeof bytes, &r));
	h = (struct vb_ucma_hdr){VB_UCMA_QUERY_ROUTE, sizeof b, 0};
	memcpy(bytes, &h, sizeof h);
	assert_false(vb_ucma_read_parse(bytes, sizeof bytes, &r));
	h.cmd = VB_UCMA_QUERY;
	b.qp_state = 0x10000;
	memcpy(bytes, &h, sizeof h);
	memcpy(bytes + sizeof h, &b, sizeof b);
	assert_false(vb_ucma_read_parse(bytes, sizeof bytes, &r));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(ahead__follows_the_states, setup, teardown),
	    cmocka_unit_test_setup_teardown(ahead__of_an_id_that_moves, setup, teardown),
	    cmocka_unit_test_setup_teardown(ahead__not_always, setup, teardown),
	    cmocka_unit_test(read__parse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
