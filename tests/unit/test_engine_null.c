/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An engine on a link that has nothing but send, recv and close: no descriptor, nobody to join or
 * to wake, no room to ask for. Packets go nowhere, and none comes. The engine opens it by the table
 * of drivers, which is this file's here, and lives on its timers alone. With a real broker.
 */
#include "engine_peer.h"
#include "link/driver.h"
#include "node/engine/priv.h"
#include "verbs_env.h"

#include <errno.h>

static struct vb_link null_link;
static int null_fd = -1; /* of the adapter, which the link owns and does not need */
static uint32_t sent_cnt;
static bool is_closed;

static uint32_t null_send(struct vb_link *l, const struct vb_tx_batch *batch, uint32_t from,
			  vb_time now)
{
	(void)l, (void)now;
	__atomic_add_fetch(&sent_cnt, batch->cnt - from, __ATOMIC_RELAXED);
	return batch->cnt - from;
}

static uint32_t null_recv(struct vb_link *l, struct vb_rx *rx, uint32_t cnt, vb_time now)
{
	(void)l, (void)rx, (void)cnt, (void)now;
	return 0;
}

static void null_close(struct vb_link *l)
{
	(void)l;
	close(null_fd);
	is_closed = true;
}

static const struct vb_link_ops null_ops = {
    .name = "null", .send = null_send, .recv = null_recv, .close = null_close};

static int null_open(struct vb_link **out, const struct vb_link_config *cfg)
{
	null_link = vb_link_before(NULL, &null_ops);
	null_fd = cfg->rx_fd;
	*out = &null_link;
	return 0;
}

/* In place of link/driver.c. */
const struct vb_link_driver *vb_link_driver_find(const char *name)
{
	static const struct vb_link_driver driver = {"null", "the null link", null_open, NULL};

	return *name == 0 || strcmp(name, driver.name) == 0 ? &driver : NULL;
}

/* There is no shared broker. */
const struct vb_link_driver *vb_link_driver_carried(void)
{
	return NULL;
}

/* This host is at no node of a fabric. */
const struct vb_link_driver *vb_link_driver_fabric(void)
{
	return NULL;
}

void vb_link_driver_names(char *to, size_t size)
{
	snprintf(to, size, "null");
}

static int setup(void **state)
{
	(void)state;
	sent_cnt = 0;
	is_closed = false;
	verbs_start_broker();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	verbs_stop_broker();
	return 0;
}

static _Atomic uint32_t events;

static void count_event(void *unused, const struct vb_event *ev)
{
	(void)unused;
	atomic_fetch_add(&events, ev->kind == VB_EVENT_CQ_NOTIFY);
}

/* To itself: it does not answer, because nothing arrives. */
static void connect_alone(struct peer *p)
{
	struct peer_info mine = {vb_qp_number(p->qp), vb_mr_rkey(p->mr), (uintptr_t)p->mem};
	int sock[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
	p->sock = sock[0];
	p->timeout = p->retry_cnt = 1;
	assert_int_equal(write(sock[1], &mine, sizeof mine), sizeof mine);
	peer_connect(p);
	close(sock[0]);
	close(sock[1]);
}

static void reset_qp(struct peer *p)
{
	struct vb_qp_attr a = {.qp_state = VB_QPS_RESET};

	vb_engine_lock(p->e);
	assert_int_equal(vb_qp_modify(p->qp, &a, VB_QP_STATE, vb_clock_now()), 0);
	a = (struct vb_qp_attr){.qp_state = VB_QPS_INIT, .port = peer_path(p).port};
	assert_int_equal(
	    vb_qp_modify(p->qp, &a,
			 VB_QP_STATE | VB_QP_PKEY_INDEX | VB_QP_PORT | VB_QP_ACCESS_FLAGS,
			 vb_clock_now()),
	    0);
	vb_engine_unlock(p->e);
}

/* Each packet is lost, so a request fails when its retries are used up: first while the program
 * polls, then while it sleeps for the event, which a timer brings. */
static void null__opens_posts_polls_sleeps_and_closes(void **state)
{
	static const struct vb_gid group = {{0xff, 0x0e, [15] = 1}};
	static const struct vb_path far = {
	    .sgid = {{0x20, 0x01, 0x0d, 0xb8, [15] = 1}}, .port = 1, .traffic_class = VB_ECN_ECT0};
	uint32_t seen;
	struct peer p;

	(void)state;
	/* Faults stand before it, and look at the queue of a descriptor that is not there. */
	setenv("VERBENA_FAULT", "loss=1%:dir=rx", 1);
	peer_open(&p, -1);
	unsetenv("VERBENA_FAULT");
	assert_int_equal(vb_link_fd(p.e->link), -1);
	vb_engine_lock(p.e);
	vb_engine_mark(p.e, &(struct vb_rx){.path = &far}, 1, vb_clock_now());
	vb_engine_unlock(p.e);
	connect_alone(&p);
	peer_post(&p, VB_WR_RDMA_WRITE, 0, 8, 0, VB_SEND_SIGNALED);
	assert_int_equal(peer_poll(&p).status, VB_WC_RETRY_EXC_ERR);
	assert_uint_in_range(__atomic_load_n(&sent_cnt, __ATOMIC_RELAXED), 2, 100);

	vb_engine_lock(p.e);
	assert_int_equal(vb_engine_join(p.e, 1, &group, 0), -EOPNOTSUPP);
	vb_engine_leave(p.e, 1, &group, 0);
	vb_engine_set_sink(p.e, &(struct vb_engine_sink){.event = count_event});
	vb_engine_unlock(p.e);

	reset_qp(&p);
	connect_alone(&p);
	vb_engine_lock(p.e);
	vb_cq_arm(p.cq, false);
	seen = atomic_load(&events);
	vb_engine_unlock(p.e);
	peer_post(&p, VB_WR_RDMA_WRITE, 0, 8, 0, VB_SEND_SIGNALED);
	assert_int_equal(vb_engine_sleep(p.e, &events, seen, VB_NEVER), 0);
	assert_int_equal(peer_poll(&p).status, VB_WC_RETRY_EXC_ERR);
	p.sock = -1;
	peer_close(&p);
	assert_true(is_closed);
}

/* A name that the table does not have is refused with those that it has. */
static void null__names_the_drivers(void **state)
{
	struct vb_engine *e;
	char why[256] = "";

	(void)state;
	setenv("VERBENA_LINK", "tin", 1);
	assert_int_equal(vb_engine_acquire(&e, why, sizeof why), -EINVAL);
	unsetenv("VERBENA_LINK");
	assert_string_equal(why, "VERBENA_LINK is 'tin': it has to be null");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(null__opens_posts_polls_sleeps_and_closes, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(null__names_the_drivers, setup, teardown),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
