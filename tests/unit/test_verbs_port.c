/* SPDX-License-Identifier: BSD-2-Clause */
/* The events of a port and of a device, as network interfaces change, come and go.
 * ibv_get_async_event(3) */
#include "verbs_env.h"

#include <fcntl.h>
#include <stdio.h>

static void set_nonblocking(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/* Waits for an event of the port or device; GIDs may change meanwhile. */
static void await_port_event(struct ibv_context *of, enum ibv_event_type type)
{
	struct ibv_async_event e;

	do {
		assert_int_equal(ibv_get_async_event(of, &e), 0);
		assert_true(e.event_type == type || e.event_type == IBV_EVENT_GID_CHANGE);
		assert_int_equal(e.element.port_num, 1);
		ibv_ack_async_event(&e);
	} while (e.event_type != type);
}

static void async__port_and_gids(void **state)
{
	(void)state;
	assert_int_equal(system("ip addr add 10.77.0.1/24 dev lo"), 0);
	await_port_event(ctx, IBV_EVENT_GID_CHANGE);
	assert_int_equal(system("ip link set lo down"), 0);
	await_port_event(ctx, IBV_EVENT_PORT_ERR);
	assert_int_equal(system("ip link set lo up"), 0);
	await_port_event(ctx, IBV_EVENT_PORT_ACTIVE);
	assert_int_equal(system("ip addr del 10.77.0.1/24 dev lo"), 0);
	await_port_event(ctx, IBV_EVENT_GID_CHANGE);
}

/* Waits until the port is in @state, without a look at the events. */
static void await_port_state(enum ibv_port_state state)
{
	struct ibv_port_attr port;

	do {
		assert_int_equal(ibv_query_port(ctx, 1, &port), 0);
		assert_true(patience_left());
	} while (port.state != state);
}

/* Of a port that went down and came up before anybody looked, the last is told. */
static void async__down_and_up_unseen(void **state)
{
	struct ibv_async_event e;
	struct ibv_port_attr port;
	int ups = 0;

	(void)state;
	assert_int_equal(system("ip link set lo down"), 0);
	await_port_state(IBV_PORT_DOWN);
	assert_int_equal(ibv_query_port(ctx, 1, &port), 0);
	assert_int_equal(port.phys_state, 3); /* Disabled. IBA 14.2.5.6 */
	assert_int_equal(system("ip link set lo up"), 0);
	await_port_state(IBV_PORT_ACTIVE);
	assert_int_equal(ibv_query_port(ctx, 1, &port), 0);
	assert_int_equal(port.phys_state, 5); /* LinkUp */
	set_nonblocking(ctx->async_fd);
	while (ibv_get_async_event(ctx, &e) == 0) {
		assert_int_not_equal(e.event_type, IBV_EVENT_PORT_ERR);
		ups += e.event_type == IBV_EVENT_PORT_ACTIVE;
		ibv_ack_async_event(&e);
	}
	assert_int_equal(ups, 1);
}

/* Opens the second device as soon as there is one. */
static struct ibv_context *open_second(void)
{
	struct ibv_context *c = NULL;
	int cnt = 0;

	while (!c) {
		struct ibv_device **list = ibv_get_device_list(&cnt);

		assert_non_null(list);
		if (cnt == 2)
			c = ibv_open_device(list[1]);
		ibv_free_device_list(list);
		assert_true(patience_left());
	}
	return c;
}

/* A network interface comes and goes, and with it a device. */
static void async__device_comes_and_goes(void **state)
{
	struct ibv_context *second;
	struct ibv_async_event e;
	struct ibv_port_attr port;
	struct ibv_device **list;
	int cnt;

	(void)state;
	if (system("ip link add vb0 type veth peer name vb1 2>/dev/null && ip link set vb1 up && "
		   "ip link set vb0 up && ip addr add 10.78.0.1/24 dev vb0"))
		skip(); /* a kernel without such interfaces */
	second = open_second();
	assert_int_equal(system("ip link del vb0"), 0);
	for (;;) {
		assert_int_equal(ibv_get_async_event(second, &e), 0);
		ibv_ack_async_event(&e);
		if (e.event_type == IBV_EVENT_DEVICE_FATAL)
			break;
	}
	assert_int_equal(ibv_query_port(second, 1, &port), 0);
	assert_int_equal(port.state, IBV_PORT_DOWN);
	list = ibv_get_device_list(&cnt);
	assert_int_equal(cnt, 1);
	ibv_free_device_list(list);
	/* It has gone once, whatever else changes. */
	assert_int_equal(system("ip addr add 10.77.0.1/24 dev lo"), 0);
	await_port_event(ctx, IBV_EVENT_GID_CHANGE);
	assert_int_equal(ibv_query_port(second, 1, &port), 0);
	set_nonblocking(second->async_fd);
	while (ibv_get_async_event(second, &e) == 0) {
		assert_int_not_equal(e.event_type, IBV_EVENT_DEVICE_FATAL);
		ibv_ack_async_event(&e);
	}
	assert_int_equal(ibv_close_device(second), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(async__port_and_gids),
	    VERBS_TEST(async__down_and_up_unseen),
	    VERBS_TEST(async__device_comes_and_goes),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
