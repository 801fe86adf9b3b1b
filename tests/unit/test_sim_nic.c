/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An adapter as a machine, alone: two of them are joined by hand, frame by frame, with neither
 * switch, cable nor clock. A SEND goes over, its ACK comes back, and what a held priority keeps
 * waiting is put aside.
 */
#include "fabric_env.h"
#include "sim/nic.h"
#include "sim_net.h"

struct world {
	struct vb_nic_group group;
	struct vb_frame_pool pool;
	struct vb_ready_list ready;
	struct vb_port port[2];
	struct vb_nic nic[2];
	struct vb_qp *qp[2];
};

static struct vb_qp *qp_up(struct vb_nic *nic, uint32_t from, uint32_t to)
{
	struct vb_qp_init init = {
	    .type = VB_QPT_RC,
	    .send_cq = nic->cq,
	    .recv_cq = nic->cq,
	    .cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1},
	};
	struct vb_qp_attr a = {
	    .qp_state = VB_QPS_INIT,
	    .port = 1,
	    .path = {.sgid = fabric_gid(from), .dgid = fabric_gid(to), .port = 1, .hop_limit = 1},
	    .path_mtu = VB_MTU_1024,
	    .dest_qpn = 0x11,
	};
	struct vb_qp *qp;

	assert_int_equal(vb_qp_create(nic->pd, &init, &qp), 0);
	assert_int_equal(vb_qp_number(qp), 0x11);
	assert_int_equal(
	    vb_qp_modify(qp, &a, VB_QP_STATE | VB_QP_PKEY_INDEX | VB_QP_PORT | VB_QP_ACCESS_FLAGS,
			 0),
	    0);
	a.qp_state = VB_QPS_RTR;
	assert_int_equal(vb_qp_modify(qp, &a,
				      VB_QP_STATE | VB_QP_AV | VB_QP_PATH_MTU | VB_QP_DEST_QPN |
					  VB_QP_RQ_PSN | VB_QP_MAX_DEST_RD_ATOMIC |
					  VB_QP_MIN_RNR_TIMER,
				      0),
			 0);
	a.qp_state = VB_QPS_RTS;
	a.timeout = 14;
	assert_int_equal(vb_qp_modify(qp, &a,
				      VB_QP_STATE | VB_QP_SQ_PSN | VB_QP_TIMEOUT | VB_QP_RETRY_CNT |
					  VB_QP_RNR_RETRY | VB_QP_MAX_QP_RD_ATOMIC,
				      0),
			 0);
	return qp;
}

static void world_open(struct world *w)
{
	struct vb_hca_config c = net_config().hca;

	memset(w, 0, sizeof *w);
	fabric_pool(&w->pool, false);
	w->group.pool = &w->pool;
	w->group.address = VB_FLOW_ADDRESS;
	w->group.cnt = 2;
	c.alloc = net_alloc;
	c.free = net_free;
	for (uint32_t i = 0; i < 2; i++) {
		vb_port_init(&w->port[i], UINT64_C(100000000000), &w->ready);
		assert_int_equal(
		    vb_nic_init(&w->nic[i], &c, &w->port[i], &w->group, VB_FLOW_ADDRESS + i, 64),
		    0);
		w->qp[i] = qp_up(&w->nic[i], i, !i);
	}
}

static void world_close(struct world *w)
{
	vb_nic_destroy(&w->nic[0]);
	vb_nic_destroy(&w->nic[1]);
	vb_frame_pool_destroy(&w->pool);
}

static void send_post(struct world *w, uint32_t host)
{
	struct vb_send_wr wr = {.opcode = VB_WR_SEND, .flags = VB_SEND_SIGNALED};
	struct vb_recv_wr recv = {.wr_id = 7};

	assert_int_equal(vb_qp_post_recv(w->qp[!host], &recv, 0), 0);
	assert_int_equal(vb_qp_post_send(w->qp[host], &wr, 0), 0);
}

static struct vb_frame *fetch(struct world *w, uint32_t host)
{
	struct vb_machine *m = &w->nic[host].machine;

	return m->ops->poll_transmit(m, 0, 0);
}

static void hand_over(struct world *w, uint32_t host, struct vb_frame *f)
{
	struct vb_machine *m = &w->nic[host].machine;

	assert_non_null(f);
	m->ops->handle_packet(m, 0, f, 0);
}

static void send__goes_over_and_is_acknowledged(void **state)
{
	static struct world w;
	struct vb_machine *m = &w.nic[0].machine;
	struct vb_wc wc[2];

	(void)state;
	world_open(&w);
	assert_null(fetch(&w, 0));
	assert_true(m->ops->poll_timeout(m) == VB_NEVER);
	send_post(&w, 0);
	hand_over(&w, 1, fetch(&w, 0));
	assert_true(m->ops->poll_timeout(m) != VB_NEVER); /* for the ACK */
	assert_int_equal(vb_cq_poll(w.nic[1].cq, wc, 2), 1);
	assert_int_equal(wc[0].wr_id, 7);
	hand_over(&w, 0, fetch(&w, 1));
	assert_int_equal(vb_cq_poll(w.nic[0].cq, wc, 2), 1);
	assert_int_equal(wc[0].status, VB_WC_SUCCESS);
	/* Its time comes, and there is nothing to do. */
	m->ops->handle_timeout(m, m->ops->poll_timeout(m));
	assert_null(fetch(&w, 0));
	assert_true(m->ops->poll_timeout(m) == VB_NEVER);
	assert_int_equal(w.pool.used, 0);
	world_close(&w);
}

static void priority__that_is_held_is_put_aside(void **state)
{
	static struct world w;

	(void)state;
	world_open(&w);
	assert_true(vb_port_hold(&w.port[0], 0, true, 0));
	for (uint32_t i = 0; i < VB_NIC_STAGED_MAX + 2; i++)
		send_post(&w, 0);
	assert_null(fetch(&w, 0));
	assert_int_equal(w.nic[0].staged, VB_NIC_STAGED_MAX);
	assert_true(vb_port_hold(&w.port[0], 0, false, 0));
	assert_ptr_equal(vb_ready_take(&w.ready), &w.port[0]);
	for (uint32_t i = 0; i < VB_NIC_STAGED_MAX + 2; i++)
		hand_over(&w, 1, fetch(&w, 0));
	assert_null(fetch(&w, 0));
	world_close(&w);
}

static void frame__that_is_damaged_is_counted(void **state)
{
	static struct world w;
	struct vb_frame *f;

	(void)state;
	world_open(&w);
	send_post(&w, 0);
	f = fetch(&w, 0);
	assert_non_null(f);
	vb_frame_damage(f, 1);
	hand_over(&w, 1, f);
	assert_int_equal(w.nic[1].counters.v[VB_COUNTER_rx_icrc_encapsulated], 1);
	assert_true(vb_cq_is_empty(w.nic[1].cq));
	world_close(&w);
}

/* A notification for QP @qpn comes to host 0, which has a port of InfiniBand. */
static void notification_hand_over(struct world *w, uint32_t qpn)
{
	struct vb_path path = {.port = 1, .slid = 2, .dlid = 1};
	struct vb_hdr h = {
	    .opcode = VB_OPCODE_CNP_IB, .becn = true, .pkey = VB_PKEY_DEFAULT, .dqpn = qpn};
	struct vb_tx tx = {.path = &path};
	struct vb_frame *f = vb_frame_pool_take(&w->pool);

	assert_non_null(f);
	tx.hdr_len = (uint8_t)vb_hdr_emit(&h, tx.hdr);
	vb_frame_fill(f, &tx, false);
	hand_over(w, 0, f);
}

/* FAB-47: a notification for a QP that is not there slows no service level down; one for a QP that
 * takes it does. */
static void notification__for_a_qp_that_is_there(void **state)
{
	static const struct vb_cct table = {.limit = 9, .level[0] = {.increase = 3}};
	struct vb_ib_port_config c = {
	    .mtu = 1024, .data_cnt = 1, .symbol_ps = 1000, .capacity = {64}, .hoq_life = 20};
	struct vb_qp_attr a = {.qp_state = VB_QPS_INIT, .port = 1};
	static struct vb_ib_source source;
	static struct vb_ib_end end;
	static struct world w;
	struct vb_qp_init init = {.type = VB_QPT_UD};
	struct vb_qp *qp;

	(void)state;
	memset(&source, 0, sizeof source);
	world_open(&w);
	vb_ib_end_init(&end, &c, &w.port[0], &w.pool);
	vb_ib_end_set_link(&end, true, 0);
	end.source = &source;
	end.cct = &table;
	vb_nic_set_infiniband(&w.nic[0], &end);
	init.send_cq = init.recv_cq = w.nic[0].cq;
	assert_int_equal(vb_qp_create(w.nic[0].pd, &init, &qp), 0);
	assert_int_equal(
	    vb_qp_modify(qp, &a, VB_QP_STATE | VB_QP_PKEY_INDEX | VB_QP_PORT | VB_QP_QKEY, 0), 0);
	a.qp_state = VB_QPS_RTR;
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_STATE, 0), 0);
	for (uint32_t i = 0; i < 100; i++)
		notification_hand_over(&w, 0x1000 + i);
	assert_int_equal(source.strays, 100);
	assert_int_equal(source.becns | source.index_max, 0);
	assert_int_equal(w.nic[0].counters.v[VB_COUNTER_rx_qpn_miss], 100);
	notification_hand_over(&w, vb_qp_number(qp));
	assert_int_equal(source.becns, 1);
	assert_int_equal(source.index_max, 3);
	assert_int_equal(source.strays, 100);
	assert_int_equal(w.pool.used, 0);
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(send__goes_over_and_is_acknowledged),
	    cmocka_unit_test(priority__that_is_held_is_put_aside),
	    cmocka_unit_test(frame__that_is_damaged_is_counted),
	    cmocka_unit_test(notification__for_a_qp_that_is_there),
	};

	return cmocka_run_group_tests_name("sim_nic", tests, NULL, NULL);
}
