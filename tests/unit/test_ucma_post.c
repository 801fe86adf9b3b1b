/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Commands that need no answer: which ones, when an event grants them, and that a failure is told
 * by an event. CMP-33, CMP-37
 */
#include "ucma/command/post.h"

#include "ucma_env.h"

#define GRANT(cmd) (1u << VB_UCMA_##cmd)

static struct ucma_net net;
static struct vb_ucma_file *client, *server;

static int setup(void **state)
{
	(void)state;
	ucma_open(&net);
	client = ucma_file(&net.host[0]);
	server = ucma_file(&net.host[1]);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ucma_close(&net);
	return 0;
}

/* The command @cmd with @in bytes of @body of which @has are there. */
static bool is_post(uint32_t cmd, const void *body, uint16_t in, uint32_t has,
		    struct vb_ucma_post *p)
{
	const struct vb_ucma_hdr h = {cmd, in, 0};
	uint8_t bytes[VB_UCMA_COMMAND_MAX] = {0};

	memcpy(bytes, &h, sizeof h);
	memcpy(bytes + sizeof h, body, has);
	return vb_ucma_post_parse(bytes, (uint32_t)sizeof h + has, p);
}

static void parse__whole_and_right(void **state)
{
	const uint16_t old_connect = offsetof(struct vb_ucma_connect, ece);
	const uint16_t old_accept = offsetof(struct vb_ucma_accept, ece);
	struct vb_ucma_resolve_route r = {7, 1000};
	struct vb_ucma_connect c = {.id = 8, .param = ucma_param(1, "")};
	struct vb_ucma_accept a = {.uid = 77, .id = 9, .param = ucma_param(1, "")};
	struct vb_ucma_disconnect d = {10};
	struct vb_ucma_destroy_id other = {.id = 11};
	struct vb_ucma_post p;

	(void)state;
	assert_true(is_post(VB_UCMA_RESOLVE_ROUTE, &r, sizeof r, sizeof r, &p));
	assert_int_equal(p.cmd, VB_UCMA_RESOLVE_ROUTE);
	assert_int_equal(p.id, 7);
	assert_false(is_post(VB_UCMA_RESOLVE_ROUTE, &r, sizeof r, sizeof r - 1, &p));
	assert_false(is_post(VB_UCMA_RESOLVE_ROUTE, &r, sizeof r - 1, sizeof r, &p));
	r.timeout_ms = 0;
	assert_false(is_post(VB_UCMA_RESOLVE_ROUTE, &r, sizeof r, sizeof r, &p));

	assert_true(is_post(VB_UCMA_CONNECT, &c, old_connect, old_connect, &p));
	assert_int_equal(p.id, 8);
	assert_false(is_post(VB_UCMA_CONNECT, &c, old_connect - 1, old_connect, &p));
	c.param.private_data_len = 56;
	assert_true(is_post(VB_UCMA_CONNECT, &c, sizeof c, sizeof c, &p));
	c.param.private_data_len = 57;
	assert_false(is_post(VB_UCMA_CONNECT, &c, sizeof c, sizeof c, &p));
	c.param.private_data_len = c.param.valid = 0;
	assert_false(is_post(VB_UCMA_CONNECT, &c, sizeof c, sizeof c, &p));

	assert_true(is_post(VB_UCMA_ACCEPT, &a, old_accept, old_accept, &p));
	assert_int_equal(p.id, 9);
	assert_true(p.has_uid && p.uid == 77);
	a.param.private_data_len = 136;
	assert_true(is_post(VB_UCMA_ACCEPT, &a, sizeof a, sizeof a, &p));
	a.param.private_data_len = 137;
	assert_false(is_post(VB_UCMA_ACCEPT, &a, sizeof a, sizeof a, &p));
	a.param.private_data_len = a.param.valid = 0;
	assert_true(is_post(VB_UCMA_ACCEPT, &a, sizeof a, sizeof a, &p));
	assert_false(p.has_uid);
	assert_false(is_post(VB_UCMA_ACCEPT, &a, old_accept - 1, old_accept, &p));

	assert_true(is_post(VB_UCMA_DISCONNECT, &d, sizeof d, sizeof d, &p));
	assert_int_equal(p.id, 10);
	assert_false(is_post(VB_UCMA_DISCONNECT, &d, sizeof d - 1, sizeof d, &p));
	assert_false(is_post(VB_UCMA_DESTROY_ID, &other, sizeof other, sizeof other, &p));
	assert_false(is_post(1000, &other, sizeof other, sizeof other, &p));
	assert_false(vb_ucma_post_parse(&d, 4, &p));
}

static uint32_t granted(struct vb_ucma_file *f, enum vb_ucma_event_kind kind,
			struct vb_ucma_event_reply *ev)
{
	*ev = ucma_event(&net, f, kind);
	return vb_ucma_post_grants(f, ev);
}

/* A command that is granted with an event is carried out; elsewhere none is. */
static void grants__what_comes_next(void **state)
{
	struct vb_ucma_addr dst = ucma_addr(2, true, UCMA_PORT);
	uint32_t id = ucma_id(&net, client, 0x200, VB_UCMA_PS_TCP, 2), passive;
	struct vb_ucma_event_reply ev, old;

	(void)state;
	(void)ucma_listener(&net, server, VB_UCMA_PS_TCP, 2, true);
	assert_int_equal(ucma_resolve(&net, client, id, &dst), 0);
	assert_int_equal(granted(client, VB_UCMA_EV_ADDR_RESOLVED, &old), GRANT(RESOLVE_ROUTE));
	assert_int_equal(ucma_resolve_route(&net, client, id), 0);
	/* It is not any more what comes next. */
	assert_int_equal(vb_ucma_post_grants(client, &old), 0);
	assert_int_equal(granted(client, VB_UCMA_EV_ROUTE_RESOLVED, &ev), GRANT(CONNECT));
	assert_int_equal(vb_ucma_post_grants(ucma_file(&net.host[0]), &ev), 0); /* not its */
	assert_int_equal(ucma_connect(&net, client, id, 0x41, ""), 0);
	assert_int_equal(vb_ucma_post_grants(client, &ev), 0);
	assert_int_equal(granted(server, VB_UCMA_EV_CONNECT_REQUEST, &ev), GRANT(ACCEPT));
	passive = ev.id;
	assert_int_equal(ucma_accept(&net, server, passive, 0x300, 0x42, ""), 0);
	assert_int_equal(granted(client, VB_UCMA_EV_CONNECT_RESPONSE, &ev),
			 GRANT(ACCEPT) | GRANT(DISCONNECT));
	assert_int_equal(ucma_ready(&net, client, id), 0);
	assert_int_equal(granted(server, VB_UCMA_EV_ESTABLISHED, &ev), GRANT(DISCONNECT));
	assert_int_equal(ucma_disconnect(&net, client, id), 0);
	assert_int_equal(granted(server, VB_UCMA_EV_DISCONNECTED, &ev), GRANT(DISCONNECT));
	assert_int_equal(ucma_disconnect(&net, server, passive), 0);
	assert_int_equal(granted(client, VB_UCMA_EV_DISCONNECTED, &ev), GRANT(DISCONNECT));
	ucma_advance(&net, 10 * VB_SEC);
	assert_int_equal(granted(client, VB_UCMA_EV_TIMEWAIT_EXIT, &ev), 0);
}

static int failed_status(struct vb_ucma_file *f, uint32_t cmd, uint32_t id,
			 enum vb_ucma_event_kind kind)
{
	const struct vb_ucma_post p = {.cmd = cmd, .id = id};

	vb_ucma_post_failed(f, &p, -ENOMEM);
	return ucma_event(&net, f, kind).status;
}

static void failure__is_an_event(void **state)
{
	struct vb_ucma_addr dst = ucma_addr(2, true, UCMA_PORT);
	uint32_t id = ucma_id(&net, client, 0x200, VB_UCMA_PS_TCP, 2);
	struct vb_ucma_post accept = {.cmd = VB_UCMA_ACCEPT, .uid = 0x300, .has_uid = true};
	struct vb_ucma_post end = {.cmd = VB_UCMA_DISCONNECT, .id = id};
	struct vb_ucma_file *other = ucma_file(&net.host[0]);
	struct vb_ucma_event_reply ev;

	(void)state;
	(void)ucma_listener(&net, server, VB_UCMA_PS_TCP, 2, true);
	assert_int_equal(ucma_resolve(&net, client, id, &dst), 0);
	(void)ucma_event(&net, client, VB_UCMA_EV_ADDR_RESOLVED);
	assert_int_equal(failed_status(client, VB_UCMA_RESOLVE_ROUTE, id, VB_UCMA_EV_ROUTE_ERROR),
			 -ENOMEM);
	assert_int_equal(ucma_resolve_route(&net, client, id), 0);
	(void)ucma_event(&net, client, VB_UCMA_EV_ROUTE_RESOLVED);
	assert_int_equal(failed_status(client, VB_UCMA_CONNECT, id, VB_UCMA_EV_CONNECT_ERROR),
			 -ENOMEM);
	assert_int_equal(ucma_connect(&net, client, id, 0x41, ""), 0);
	accept.id = ucma_event(&net, server, VB_UCMA_EV_CONNECT_REQUEST).id;
	/* The program knows it by the name that it gave when it accepted. CMP-35 */
	vb_ucma_post_failed(server, &accept, -EINVAL);
	ev = ucma_event(&net, server, VB_UCMA_EV_CONNECT_ERROR);
	assert_int_equal(ev.status, -EINVAL);
	assert_int_equal(ev.uid, 0x300);
	assert_int_equal(ucma_destroy(&net, server, accept.id), 1);
	/* An end is one anyway; and nobody is told of an id that is gone, or another file's. */
	ucma_settle(&net);
	(void)ucma_event(&net, client, VB_UCMA_EV_REJECTED);
	vb_ucma_post_failed(client, &end, -EINVAL);
	vb_ucma_post_failed(server, &accept, -EINVAL);
	end.cmd = VB_UCMA_CONNECT;
	vb_ucma_post_failed(other, &end, -EINVAL);
	ucma_no_event(&net, other);
	ucma_no_event(&net, client);
	ucma_no_event(&net, server);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	    T(parse__whole_and_right),
	    T(grants__what_comes_next),
	    T(failure__is_an_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
