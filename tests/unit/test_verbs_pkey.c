/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * P_Keys as programs meet them: the port's table, which the register PKEY_TABLE sets, who talks to
 * whom, and what becomes of QPs whose entry changes. IBA 10.9; IBT-31, IBT-51, IBT-63, IBT-81
 */
#include "verbs_env.h"

#include <endian.h>
#include <fcntl.h>
#include <string.h>

#define QKEY 0x11111111

/* Does as an operator with `verbena reg --reg_name PKEY_TABLE`. Returns the broker's answer. */
static int set_pkey(unsigned index, uint16_t pkey)
{
	struct vb_broker_reg r = {.method = VB_BROKER_REG_GET,
				  .id = vb_reg_pkey_table.id,
				  .len = vb_reg_pkey_table.len,
				  .device = "verbena0"};
	struct vb_broker_observer o;
	char why[512];

	assert_int_equal(vb_broker_observe(&o, false, why, sizeof why), 0);
	assert_int_equal(vb_broker_access(&o, &r, why, sizeof why), 0);
	r.method = VB_BROKER_REG_SET;
	vb_reg_field_put(&vb_reg_pkey_table, &vb_reg_pkey_table.field[index], r.image, pkey);

	int rc = vb_broker_access(&o, &r, why, sizeof why);

	vb_broker_observe_end(&o);
	return rc;
}

static uint16_t pkey_at(int index)
{
	__be16 pkey;

	assert_int_equal(ibv_query_pkey(ctx, 1, index, &pkey), 0);
	return be16toh(pkey);
}

static void await_pkey_change(void)
{
	struct ibv_async_event e;

	do {
		assert_int_equal(ibv_get_async_event(ctx, &e), 0);
		ibv_ack_async_event(&e);
	} while (e.event_type != IBV_EVENT_PKEY_CHANGE);
	assert_int_equal(e.element.port_num, 1);
}

static void table__as_it_was_set(void **state)
{
	struct ibv_port_attr port;
	struct ibv_device_attr device;
	__be16 pkey;

	(void)state;
	assert_int_equal(ibv_query_port(ctx, 1, &port), 0);
	assert_int_equal(ibv_query_device(ctx, &device), 0);
	assert_int_equal(port.pkey_tbl_len, 16);
	assert_int_equal(device.max_pkeys, 16);
	assert_int_equal(pkey_at(0), 0xffff);
	for (int i = 1; i < port.pkey_tbl_len; i++)
		assert_int_equal(pkey_at(i), 0);
	assert_int_equal(set_pkey(3, 0x8005), 0);
	assert_int_equal(set_pkey(15, 0x0005), 0);
	assert_int_equal(pkey_at(3), 0x8005);
	assert_int_equal(pkey_at(15), 0x0005);
	assert_int_equal(ibv_get_pkey_index(ctx, 1, htobe16(0xffff)), 0);
	assert_int_equal(ibv_get_pkey_index(ctx, 1, htobe16(0x8005)), 3);
	assert_int_equal(ibv_get_pkey_index(ctx, 1, htobe16(0x0005)), 15);
	assert_int_equal(ibv_get_pkey_index(ctx, 1, htobe16(0x1234)), -1);
	errno = 0;
	assert_int_equal(ibv_query_pkey(ctx, 1, 16, &pkey), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_query_pkey(ctx, 1, -1, &pkey), -1);
	assert_int_equal(ibv_query_pkey(ctx, 2, 0, &pkey), -1);
	/* No partition: refused, and nothing has changed. */
	assert_int_equal(set_pkey(3, 0x8000), -EINVAL);
	assert_int_equal(pkey_at(3), 0x8005);
}

/* Each change is told to a program that runs; writing what is there is none. */
static void async__pkey_change(void **state)
{
	struct ibv_async_event e;

	(void)state;
	assert_int_equal(set_pkey(1, 0x8001), 0);
	await_pkey_change();
	assert_int_equal(pkey_at(1), 0x8001);
	assert_int_equal(set_pkey(1, 0x8001), 0);
	assert_int_equal(set_pkey(1, 0), 0);
	await_pkey_change();
	assert_int_equal(fcntl(ctx->async_fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(ibv_get_async_event(ctx, &e), -1);
	assert_int_equal(errno, EAGAIN);
}

static struct ibv_qp_attr init_attr(uint16_t pkey_index)
{
	return (struct ibv_qp_attr){
	    .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY, .pkey_index = pkey_index};
}

/* An entry that was set a moment ago can be used; none outside of the table or empty can. */
static void modify_qp__pkey_index(void **state)
{
	const int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
	struct verbs_end end = end_new(IBV_QPT_UD, NULL, NULL);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	(void)state;
	for (int index = 1; index < 18; index++) {
		a = init_attr((uint16_t)index);
		assert_int_equal(ibv_modify_qp(end.qp, &a, mask), EINVAL);
	}
	assert_int_equal(set_pkey(15, 0x8001), 0);
	a = init_attr(15);
	assert_int_equal(ibv_modify_qp(end.qp, &a, mask), 0);
	assert_int_equal(ibv_query_qp(end.qp, &a, IBV_QP_PKEY_INDEX, &init), 0);
	assert_int_equal(a.pkey_index, 15);
	end_free(&end);
}

static struct verbs_end ud_end(uint16_t pkey_index)
{
	struct verbs_end end = end_new(IBV_QPT_UD, NULL, NULL);
	struct ibv_qp_attr a = init_attr(pkey_index);

	assert_int_equal(
	    ibv_modify_qp(end.qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
	    0);
	to_rts(end.qp, 0, false);
	return end;
}

static uint32_t bad_pkeys(void)
{
	struct ibv_port_attr port;

	assert_int_equal(ibv_query_port(ctx, 1, &port), 0);
	return port.bad_pkey_cntr;
}

/* Sends one datagram; true when it arrives. */
static bool datagram_arrives(struct verbs_end *from, struct verbs_end *to, struct ibv_ah *ah,
			     uint32_t qkey, uint16_t pkey_index)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND,
				 .wr.ud = {.ah = ah, .remote_qpn = to->qp->qp_num, qkey}};
	struct ibv_port_attr before, now;
	struct ibv_wc wc;

	assert_int_equal(ibv_query_port(ctx, 1, &before), 0);
	post_send(from->qp, wr, 0, 8);
	assert_int_equal(wc_next(from->cq).status, IBV_WC_SUCCESS);
	do {
		if (ibv_poll_cq(to->cq, 1, &wc) == 1) {
			assert_int_equal(wc.status, IBV_WC_SUCCESS);
			assert_int_equal(wc.pkey_index, pkey_index);
			post_recv(to->qp, 1, 4096, 100);
			return true;
		}
		assert_int_equal(ibv_query_port(ctx, 1, &now), 0);
		assert_true(patience_left());
	} while (now.bad_pkey_cntr == before.bad_pkey_cntr &&
		 now.qkey_viol_cntr == before.qkey_viol_cntr);
	assert_int_equal(now.bad_pkey_cntr - before.bad_pkey_cntr, qkey == QKEY);
	assert_int_equal(now.qkey_viol_cntr - before.qkey_viol_cntr, qkey != QKEY);
	return false;
}

/* IBA 10.9.3: the low 15 bits are compared, and two limited members do not talk. */
static void datagrams__full_and_limited_members(void **state)
{
	static const uint16_t key[] = {0xffff, 0x8001, 0x0001, 0x7fff, 0x8002};
	struct ibv_ah_attr attr = verbs_ah_attr(false);
	struct verbs_end end[5];

	(void)state;
	for (unsigned i = 1; i < 5; i++)
		assert_int_equal(set_pkey(i, key[i]), 0);
	for (uint16_t i = 0; i < 5; i++) {
		end[i] = ud_end(i);
		post_recv(end[i].qp, 1, 4096, 100);
	}

	struct ibv_ah *ah = ibv_create_ah(pd, &attr);

	assert_non_null(ah);
	for (unsigned from = 0; from < 5; from++)
		for (uint16_t to = 0; to < 5; to++) {
			bool talk = (key[from] & 0x7fff) == (key[to] & 0x7fff) &&
				    ((key[from] | key[to]) & 0x8000);

			assert_int_equal(datagram_arrives(&end[from], &end[to], ah, QKEY, to),
					 talk);
		}
	assert_false(datagram_arrives(&end[1], &end[2], ah, QKEY + 1, 2));
	assert_true(bad_pkeys() > 0);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	for (unsigned i = 0; i < 5; i++)
		end_free(&end[i]);
}

static uint64_t not_sent(void)
{
	struct vb_broker_observer o;
	struct vb_counters total[VB_HCA_PORTS_MAX + 1];
	char why[512];

	assert_int_equal(vb_broker_observe(&o, false, why, sizeof why), 0);
	assert_int_equal(vb_broker_observe_slots(&o), 0);
	vb_broker_totals(&o, total);
	vb_broker_observe_end(&o);
	return total[1].v[VB_COUNTER_port_xmit_constraint_errors];
}

/* A connection whose P_Key leaves the table says nothing and stays; when the key is back, it goes
 * on where it was. */
static void connection__its_pkey_leaves_the_table(void **state)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct verbs_end a, b;
	struct ibv_wc wc;

	(void)state;
	verbs_timeout = 19; /* the broker takes its time on a busy machine */
	ends_new(&a, &b);
	assert_int_equal(set_pkey(0, 0), 0);
	await_pkey_change();
	post_recv(b.qp, 1, 4096, 100);
	post_send(a.qp, (struct ibv_send_wr){.opcode = IBV_WR_SEND}, 0, 8);
	while (not_sent() < 2) /* the message, and its retransmission */
		assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 0);
	assert_int_equal(ibv_poll_cq(b.cq, 1, &wc), 0);
	assert_int_equal(ibv_query_qp(a.qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(set_pkey(0, 0xffff), 0);
	assert_int_equal(wc_next(b.cq).status, IBV_WC_SUCCESS);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
	ends_free(&a, &b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(table__as_it_was_set),
	    VERBS_TEST(async__pkey_change),
	    VERBS_TEST(modify_qp__pkey_index),
	    VERBS_TEST(datagrams__full_and_limited_members),
	    VERBS_TEST(connection__its_pkey_leaves_the_table),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
