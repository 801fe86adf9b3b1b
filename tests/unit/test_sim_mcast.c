/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast in simulated networks: one packet of the sender becomes one at every other host, and at
 * its own members. IBA 10.5; IBT-20
 */
#include "sim_net.h"

#define HOSTS_MAX 16

struct world {
	struct net net;
	struct vb_qp *qp[HOSTS_MAX];
};

static struct vb_gid group = {{[10] = 0xff, 0xff, 239, 1, 2, 3}};

static struct vb_qp *member(struct world *w, uint32_t host, bool joins)
{
	static const struct net_link ud = {.type = VB_QPT_UD, .send_wr = 4};
	struct vb_sge sge = {0, 4096 + VB_GRH_LEN, vb_mr_lkey(w->net.mr[host])};
	struct vb_recv_wr wr = {.wr_id = host, .sge = &sge, .sge_cnt = 1};
	struct vb_qp_attr a = {.port = 1, .qkey = 7};
	struct vb_qp *qp = net_qp_create(&w->net, host, &ud);

	a.qp_state = VB_QPS_INIT;
	assert_int_equal(
	    vb_qp_modify(qp, &a, VB_QP_STATE | VB_QP_PKEY_INDEX | VB_QP_PORT | VB_QP_QKEY, 0), 0);
	a.qp_state = VB_QPS_RTR;
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_STATE, 0), 0);
	a.qp_state = VB_QPS_RTS;
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_STATE | VB_QP_SQ_PSN, 0), 0);
	assert_int_equal(vb_qp_post_recv(qp, &wr, 0), 0);
	if (joins)
		assert_int_equal(vb_qp_attach_mcast(qp, &group, 0), 0);
	return qp;
}

/* How many completions there are of @qp, and how many are receives. */
static uint32_t received(const struct net *n, const struct vb_qp *qp)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < n->wc_cnt; i++)
		cnt += n->wc[i].qp == qp && n->wc[i].opcode == VB_WC_RECV;
	return cnt;
}

/* All hosts are members, the first one sends, the last one is another QP of the first one's host;
 * and one on each host is none. */
static void play_open(struct world *w)
{
	struct vb_qp *own, *none[HOSTS_MAX];
	struct vb_sim_config c = net_config();
	uint32_t hosts = w->net.topo.host_cnt;
	struct vb_sge sge = {0, 100, 0};
	struct vb_ah ah = {.path = vb_sim_path(0, 1, 0xc000, 0)};
	struct vb_send_wr wr = {.sge = &sge,
				.sge_cnt = 1,
				.opcode = VB_WR_SEND,
				.flags = VB_SEND_SIGNALED,
				.ah = &ah,
				.dqpn = VB_QPN_MULTICAST,
				.qkey = 7};

	net_open(&w->net, &c);
	for (uint32_t i = 0; i < hosts; i++) {
		w->qp[i] = member(w, i, true);
		none[i] = member(w, i, false);
	}
	own = member(w, 0, true);
	ah.pd = vb_sim_pd(w->net.sim, 0);
	ah.path.dgid = group;
	sge.lkey = vb_mr_lkey(w->net.mr[0]);
	assert_int_equal(vb_qp_post_send(w->qp[0], &wr, 0), 0);
	vb_sim_touch(w->net.sim, 0);
	assert_int_equal(vb_sim_run(w->net.sim, VB_NEVER), 0);
	for (uint32_t i = 0; i < hosts; i++) {
		assert_int_equal(received(&w->net, w->qp[i]), 1);
		assert_int_equal(received(&w->net, none[i]), 0);
	}
	assert_int_equal(received(&w->net, own), 1);
	assert_int_equal(w->net.wc_cnt, hosts + 2); /* and the send's own */
}

static void play(struct world *w)
{
	play_open(w);
	net_close(&w->net);
}

/* Ways part in the switches: no cable carries a packet twice, and one that leads to nobody none. */
static void multicast__takes_each_cable_once(void **state)
{
	static struct world w;
	struct vb_cable cable = net_cable(100, 100);

	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		struct vb_port_stats st;
		uint32_t hops = 0;

		assert_int_equal(vb_sim_topo_fat_tree(&w.net.topo, &net_memory, 4, &cable, &cable),
				 0);
		group.b[15] = (uint8_t)(3 + i);
		play_open(&w);
		for (uint32_t p = 0; p < vb_sim_port_cnt(w.net.sim); p++) {
			vb_sim_port_stats(w.net.sim, p, &st);
			assert_uint_in_range(st.tx_pkts, 0, 1);
			hops += (uint32_t)st.tx_pkts;
		}
		/* 16 hosts, their 8 switches, one above in each of 4 pods, and one root. Up to the
		 * root it is a way, then a tree. */
		assert_int_equal(hops, 16 + 8 + 4);
		net_close(&w.net);
	}
	group.b[15] = 3;
}

static void multicast__reaches_every_member(void **state)
{
	static struct world w;
	struct vb_cable cable = net_cable(100, 100);

	(void)state;
	assert_int_equal(vb_sim_topo_pair(&w.net.topo, &net_memory, &cable), 0);
	play(&w);
	assert_int_equal(vb_sim_topo_star(&w.net.topo, &net_memory, 5, &cable), 0);
	play(&w);
	assert_int_equal(vb_sim_topo_fat_tree(&w.net.topo, &net_memory, 4, &cable, &cable), 0);
	play(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(multicast__reaches_every_member),
	    cmocka_unit_test(multicast__takes_each_cable_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
