/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The CSR space through a real broker: global registers, which it changes itself, and those of QPs,
 * for which it asks their process, whatever that does then. CC-31, CC-43
 */
#include "broker_env.h"
#include "reg/csr/cc_names.h"

#include <string.h>

#define OF_QP(index) (VB_CSR_QP_STATE + ((index)-1) * VB_CSR_STRIDE)

static struct vb_broker_observer o;
static struct vb_broker_csr req;

static void begin(enum vb_broker_csr_method method)
{
	memset(&req, 0, sizeof req);
	req.method = method;
	strcpy(req.device, "lo");
}

static void add(uint32_t at, uint64_t word)
{
	req.access[req.cnt].at = at;
	req.access[req.cnt].word = word;
	req.access[req.cnt++].mask = UINT64_MAX;
}

static int send_request(void)
{
	return vb_broker_csr_access(&o, &req, broker_why, sizeof broker_why);
}

static uint64_t get(uint32_t at)
{
	begin(VB_BROKER_CSR_READ);
	add(at, 0);
	assert_int_equal(send_request(), 0);
	return req.access[0].word;
}

static int observe(void **state)
{
	(void)state;
	return vb_broker_observe(&o, true, broker_why, sizeof broker_why);
}

static int observe_end(void **state)
{
	(void)state;
	vb_broker_observe_end(&o);
	return 0;
}

static void globals__change_together_or_not_at_all(void **state)
{
	(void)state;
	begin(VB_BROKER_CSR_WRITE);
	add(0x200218, 77);
	add(0x200250, 88);
	assert_int_equal(send_request(), 0);
	assert_int_equal(get(0x200218), 77);
	begin(VB_BROKER_CSR_WRITE);
	add(0x200218, 1);
	add(0x200260, 0); /* no clock */
	assert_int_equal(send_request(), -EINVAL);
	assert_int_equal(req.failed, 1);
	assert_non_null(strstr(broker_why, "cc_clk_hz"));
	assert_int_equal(get(0x200218), 77);
	/* Bits outside of the mask stay. */
	begin(VB_BROKER_CSR_WRITE);
	add(0x200250, UINT64_MAX);
	req.access[0].mask = 0xffff0000;
	assert_int_equal(send_request(), 0);
	assert_int_equal(get(0x200250), 0xffff0058);
	begin(VB_BROKER_CSR_NAME);
	add((uint32_t)(vb_cc_name_find("rp_dce_tcp_rtt", 14) - vb_cc_names), 123);
	assert_int_equal(send_request(), 0);
	assert_int_equal(get(0x200218), 123);
}

/* Any wrong request of a program with the socket is answered, and changes nothing. */
static void request__that_is_wrong_is_refused(void **state)
{
	uint64_t before = get(0x200218);

	(void)state;
	begin(VB_BROKER_CSR_WRITE);
	assert_int_equal(send_request(), -EPROTO); /* nothing */
	begin(VB_BROKER_CSR_WRITE);
	req.cnt = UINT32_MAX;
	assert_int_equal(send_request(), -EPROTO);
	begin((enum vb_broker_csr_method)9);
	add(0x200218, 1);
	assert_int_equal(send_request(), -EPROTO);
	begin(VB_BROKER_CSR_WRITE);
	add(0x200218, 1);
	memset(req.device, 'x', sizeof req.device);
	assert_int_equal(send_request(), -ENODEV);
	begin(VB_BROKER_CSR_WRITE);
	add(0x200218, 1);
	add(OF_QP(1), 1); /* not with global ones */
	assert_int_equal(send_request(), -EINVAL);
	assert_int_equal(req.failed, 1);
	begin(VB_BROKER_CSR_WRITE);
	add(0x200218, 1);
	add(0x200219, 1);
	assert_int_equal(send_request(), -EINVAL);
	begin(VB_BROKER_CSR_NAME);
	add(vb_cc_name_cnt, 1);
	assert_int_equal(send_request(), -EINVAL);
	begin(VB_BROKER_CSR_READ);
	add(OF_QP(VB_CSR_QPS), 0);
	assert_int_equal(send_request(), -ENXIO);
	assert_int_equal(get(0x200218), before);
}

/* The table of indexes, as a client may write it. */
static uint32_t *table_of(const struct vb_broker_client *c)
{
	return ((struct vb_host_memory *)(void *)((uint8_t *)c->flow -
						  offsetof(struct vb_host_memory, flow)))
	    ->qp_index;
}

static void serve(void *ctx, struct vb_broker_msg *m)
{
	struct vb_broker_client *c = ctx;
	struct vb_broker_msg stray = *m;

	/* Answers to what nobody asked. */
	stray.csr.tag = m->csr.tag + 1;
	stray.csr.access[0].word = 666;
	(void)vb_fds_send(c->sock, &stray, sizeof stray, NULL);
	for (uint32_t i = 0; i < m->csr.cnt; i++)
		m->csr.access[i].word = (uint64_t)m->csr.qpn << 32 | m->csr.access[i].at;
}

static void become_server(struct vb_broker_client *c)
{
	c->serve_csr = serve;
	c->serve_ctx = c;
	table_of(c)[4] = 1u << 24 | 0x100 | c->slot;
	table_of(c)[5] = 0xff000000u | 0x100 | c->slot; /* of no device */
	table_of(c)[6] = 1u << 24 | 0x1fd;              /* of nobody */
	table_of(c)[7] = 2u << 24 | 0x100 | c->slot;    /* of another device */
	table_of(c)[VB_CSR_QPS - 1] = 1u << 24 | 0x200 | c->slot;
}

static void qp__is_asked_in_its_process(void **state)
{
	struct child ch = child_start(become_server);
	uint32_t qpn;

	(void)state;
	assert_int_equal(child_wait(&ch).rc, 0);
	begin(VB_BROKER_CSR_READ);
	add(OF_QP(5), 0);
	add(OF_QP(5) + 8, 0);
	assert_int_equal(send_request(), 0);
	assert_int_equal(req.access[0].word, (uint64_t)(0x100 | ch.slot) << 32 | OF_QP(5));
	assert_int_equal(req.access[1].word, (uint64_t)(0x100 | ch.slot) << 32 | (OF_QP(5) + 8));
	assert_int_equal(vb_broker_qp_index(&o, 0x100 | ch.slot), 5);
	assert_int_equal(vb_broker_qp_index(&o, 0x200 | ch.slot), VB_CSR_QPS); /* the last one */
	assert_int_equal(vb_broker_next_qp(&o, 0, 1, &qpn), 5);
	assert_int_equal(qpn, 0x100 | ch.slot);
	for (uint32_t i = 6; i <= 8; i++) {
		begin(VB_BROKER_CSR_READ);
		add(OF_QP(i), 0);
		assert_int_equal(send_request(), -ENXIO);
	}
	/* All that the client had is free when it has ended. */
	child_end(&ch, true);
	for (int ms = 0; vb_broker_qp_index(&o, 0x100 | ch.slot); ms += 10) {
		assert_true(ms < BROKER_PATIENCE_MS);
		(void)poll(NULL, 0, 10);
	}
	begin(VB_BROKER_CSR_READ);
	add(OF_QP(5), 0);
	assert_int_equal(send_request(), -ENXIO);
}

static void die(void *ctx, struct vb_broker_msg *m)
{
	(void)ctx, (void)m;
	_exit(0);
}

static void become_mortal(struct vb_broker_client *c)
{
	c->serve_csr = die;
	table_of(c)[0] = 1u << 24 | 0x100 | c->slot;
}

/* Takes requests and answers none. */
static void become_silent(struct vb_broker_client *c)
{
	table_of(c)[0] = 1u << 24 | 0x100 | c->slot;
}

/* A client with an observer's request in hand gets no second request: nobody could tell the answers
 * apart. Each request draws one answer. */
static void qp__one_request_at_once(void **state)
{
	struct child ch = child_start(become_silent);
	struct pollfd p = {.fd = o.sock, .events = POLLIN};
	struct vb_broker_msg m;
	struct vb_fds fds;

	(void)state;
	assert_int_equal(child_wait(&ch).rc, 0);
	begin(VB_BROKER_CSR_READ);
	add(OF_QP(1), 0);
	for (int i = 0; i < 2; i++) {
		vb_broker_msg_init(&m, VB_BROKER_CSR);
		m.csr = req;
		assert_int_equal(vb_fds_send(o.sock, &m, sizeof m, NULL), 0);
	}
	assert_int_equal(poll(&p, 1, BROKER_PATIENCE_MS), 1);
	assert_int_equal(vb_broker_msg_recv(o.sock, &m, &fds, 0), 1);
	assert_int_equal(m.status, -EPROTO);
	assert_int_equal(poll(&p, 1, 0), 0);
	child_end(&ch, true);
	assert_int_equal(poll(&p, 1, BROKER_PATIENCE_MS), 1);
	assert_int_equal(vb_broker_msg_recv(o.sock, &m, &fds, 0), 1);
	assert_int_equal(m.status, -ENXIO);
}

static void qp__ends_with_the_request_in_hand(void **state)
{
	struct child ch = child_start(become_mortal);

	(void)state;
	assert_int_equal(child_wait(&ch).rc, 0);
	begin(VB_BROKER_CSR_WRITE);
	add(OF_QP(1), 0);
	assert_int_equal(send_request(), -ENXIO);
	assert_non_null(strstr(broker_why, "has ended"));
	assert_int_equal(get(0x200200) >> 51 & 1, 0);
	child_end(&ch, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(globals__change_together_or_not_at_all, observe,
					    observe_end),
	    cmocka_unit_test_setup_teardown(request__that_is_wrong_is_refused, observe,
					    observe_end),
	    cmocka_unit_test_setup_teardown(qp__is_asked_in_its_process, observe, observe_end),
	    cmocka_unit_test_setup_teardown(qp__one_request_at_once, observe, observe_end),
	    cmocka_unit_test_setup_teardown(qp__ends_with_the_request_in_hand, observe,
					    observe_end),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace of our own here: tests not run\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
