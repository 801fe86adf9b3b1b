/* SPDX-License-Identifier: BSD-2-Clause */
/* The events of a port and of a device, as network interfaces change, come and go.
 * ibv_get_async_event(3) */
#include "verbs/priv.h"
#include "verbs_env.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
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

/* How a port is when a context opens is no change of it; what comes after is one. */
static void async__none_of_what_was(void **state)
{
	struct ibv_context *other;
	struct ibv_async_event e;

	(void)state;
	for (int i = 0; i < 2; i++) {
		other = ibv_open_device(ctx->device);
		assert_non_null(other);
		set_nonblocking(other->async_fd);
		assert_int_equal(ibv_get_async_event(other, &e), -1);
		assert_int_equal(errno, EAGAIN);
		assert_int_equal(system(i ? "ip addr del 10.78.0.1/24 dev lo"
					  : "ip addr add 10.78.0.1/24 dev lo"),
				 0);
		while (ibv_get_async_event(other, &e))
			assert_true(patience_left());
		assert_int_equal(e.event_type, IBV_EVENT_GID_CHANGE);
		ibv_ack_async_event(&e);
		assert_int_equal(ibv_close_device(other), 0);
	}
}

static void *open_other(void *device)
{
	return ibv_open_device(device);
}

/* Nor is a change that comes while a context opens an event that is none. */
static void async__change_while_a_context_opens(void **state)
{
	struct vb_engine *e = vb_ibv_ctx(ctx)->engine;
	const struct vb_host_shm *host = vb_engine_host(e);
	struct ibv_async_event event;
	struct ibv_context *other;
	uint32_t was;
	pthread_t t;
	void *p;

	(void)state;
	vb_engine_lock(e); /* which the thread waits for */
	assert_int_equal(pthread_create(&t, NULL, open_other, ctx->device), 0);
	(void)poll(NULL, 0, 100);
	was = __atomic_load_n(&host->generation, __ATOMIC_ACQUIRE);
	assert_int_equal(system("ip addr add 10.79.0.1/24 dev lo"), 0);
	while (__atomic_load_n(&host->generation, __ATOMIC_ACQUIRE) == was)
		assert_true(patience_left());
	vb_engine_unlock(e);
	assert_int_equal(pthread_join(t, &p), 0);
	other = p;
	assert_non_null(other);
	set_nonblocking(other->async_fd);
	if (ibv_get_async_event(other, &event) == 0)
		assert_int_equal(event.event_type, IBV_EVENT_GID_CHANGE);
	assert_int_equal(ibv_close_device(other), 0);
	assert_int_equal(system("ip addr del 10.79.0.1/24 dev lo"), 0);
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

/* Each device has a GUID and names of its own, and both contexts say which. IBT-98 */
static void assert_second(struct ibv_context *second)
{
	struct ibv_device_attr a;

	assert_true(ibv_get_device_guid(second->device) != ibv_get_device_guid(ctx->device));
	assert_int_equal(ibv_query_device(second, &a), 0);
	assert_true(a.node_guid == ibv_get_device_guid(second->device));
	assert_true(a.sys_image_guid == a.node_guid);
	assert_string_equal(ibv_get_device_name(second->device), "verbena1");
	assert_string_equal(second->device->dev_name, "uverbs1");
	assert_non_null(strstr(second->device->dev_path, "/infiniband_verbs/uverbs1"));
	assert_non_null(strstr(second->device->ibdev_path, "/infiniband/verbena1"));
	assert_int_equal(ibv_get_device_index(second->device), 1);
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
	assert_second(second);
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

/* Each field of a port of InfiniBand where verbs have it; what is faster than they can say is the
 * fastest that they can. IBA 14.2.5.6 */
static void query_port__of_infiniband(void **state)
{
	struct vb_device d = {.active_mtu = 4,
			      .ib = {.number = 1,
				     .state = 2,
				     .phys_state = 5,
				     .lmc = 2,
				     .sm_sl = 6,
				     .vl_cap = 7,
				     .mtu_cap = 5,
				     .init_reply = 8,
				     .subnet_timeout = 18,
				     .width = 9,
				     .gid_cnt = 10,
				     .pkey_cnt = 11,
				     .lid = 0x1234,
				     .sm_lid = 0x2345,
				     .speed = 32,
				     .cap_mask = 0x3456789a}};
	struct ibv_port_attr a = {0}, want = {.state = IBV_PORT_INIT,
					      .max_mtu = IBV_MTU_4096,
					      .active_mtu = IBV_MTU_2048,
					      .gid_tbl_len = 10,
					      .port_cap_flags = 0x3456789a,
					      .pkey_tbl_len = 11,
					      .lid = 0x1234,
					      .sm_lid = 0x2345,
					      .lmc = 2,
					      .max_vl_num = 7,
					      .sm_sl = 6,
					      .subnet_timeout = 18,
					      .init_type_reply = 8,
					      .active_width = 9,
					      .active_speed = 32,
					      .phys_state = 5,
					      .link_layer = IBV_LINK_LAYER_INFINIBAND};

	(void)state;
	vb_ibv_ib_port_show(&d, &a);
	assert_memory_equal(&a, &want, sizeof a);
	d.ib.speed = 256;
	vb_ibv_ib_port_show(&d, &a);
	assert_int_equal(a.active_speed, 128);
	/* The fabric has ended, and with it what it said. */
	d = (struct vb_device){0};
	vb_ibv_ib_port_show(&d, &a);
	assert_int_equal(a.state, IBV_PORT_DOWN);
	assert_int_equal(a.max_mtu, IBV_MTU_4096);
	assert_int_equal(a.active_mtu, IBV_MTU_256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(async__port_and_gids),
	    VERBS_TEST(async__none_of_what_was),
	    VERBS_TEST(async__change_while_a_context_opens),
	    VERBS_TEST(async__down_and_up_unseen),
	    VERBS_TEST(async__device_comes_and_goes),
	    cmocka_unit_test(query_port__of_infiniband),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
