/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast and P_Keys in the switches of a simulated InfiniBand: one copy on each link, none where
 * nobody has joined, and no copy is ever lost for want of credits. FAB-02, LNK-37
 */
#include "base/rng.h"
#include "sim_net.h"

#include <errno.h>

#define HOSTS_MAX 128
#define SENT 200 /* packets of a sender */

struct world {
	struct net net;
	struct vb_qp *qp[HOSTS_MAX];
	bool joined[HOSTS_MAX];
	uint32_t sent; /* messages: the immediate data of the last one */
};

static struct world world;

static struct vb_sim_config ib_config(uint32_t lanes, uint32_t lane_bytes)
{
	struct vb_sim_config c = net_config();

	c.hca.port[1].active_mtu = VB_MTU_2048;
	c.ib = (struct vb_sim_ib_config){.is_used = true,
					 .lanes = lanes,
					 .lane_bytes = lane_bytes,
					 .routing = VB_SIM_UP_DOWN,
					 .hoq_life = 20,
					 .lifetime = 20};
	return c;
}

/* Each host has a QP that is attached to the group, whether the host has joined it or not. */
static void qp_open(struct world *w, uint32_t host, uint32_t group)
{
	struct vb_cq *cq = vb_sim_cq(w->net.sim, host);
	struct vb_qp_init init = {
	    .type = VB_QPT_UD,
	    .send_cq = cq,
	    .recv_cq = cq,
	    .cap = {.max_send_wr = SENT, .max_recv_wr = 1024, .max_send_sge = 1, .max_recv_sge = 1},
	};
	struct vb_sge sge = {0, 2048 + VB_GRH_LEN, vb_mr_lkey(w->net.mr[host])};
	struct vb_recv_wr wr = {.wr_id = host, .sge = &sge, .sge_cnt = 1};
	struct vb_gid gid = vb_sim_group_gid(w->net.sim, group);
	struct vb_qp_attr a = {.qp_state = VB_QPS_INIT, .port = 1, .qkey = 7};
	struct vb_qp *qp;

	assert_int_equal(vb_qp_create(vb_sim_pd(w->net.sim, host), &init, &qp), 0);
	assert_int_equal(
	    vb_qp_modify(qp, &a, VB_QP_STATE | VB_QP_PKEY_INDEX | VB_QP_PORT | VB_QP_QKEY, 0), 0);
	a.qp_state = VB_QPS_RTR;
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_STATE, 0), 0);
	a.qp_state = VB_QPS_RTS;
	assert_int_equal(vb_qp_modify(qp, &a, VB_QP_STATE | VB_QP_SQ_PSN, 0), 0);
	for (uint32_t i = 0; i < init.cap.max_recv_wr; i++)
		assert_int_equal(vb_qp_post_recv(qp, &wr, 0), 0);
	assert_int_equal(vb_qp_attach_mcast(qp, &gid, vb_sim_group_lid(w->net.sim, group)), 0);
	w->qp[host] = qp;
}

static void send_to_group(struct world *w, uint32_t host, uint32_t group, uint32_t bytes,
			  uint8_t sl)
{
	const struct vb_ah ah = {.pd = vb_sim_pd(w->net.sim, host),
				 .path = vb_sim_group_path(w->net.sim, host, group, sl)};
	struct vb_sge sge = {0, bytes, vb_mr_lkey(w->net.mr[host])};
	struct vb_send_wr wr = {.sge = &sge,
				.sge_cnt = 1,
				.opcode = VB_WR_SEND_IMM,
				.imm = ++w->sent,
				.flags = VB_SEND_SIGNALED,
				.ah = &ah,
				.dqpn = VB_QPN_MULTICAST,
				.qkey = 7};

	assert_int_equal(vb_qp_post_send(w->qp[host], &wr, vb_sim_now(w->net.sim)), 0);
	vb_sim_touch(w->net.sim, host);
}

static void host_join(struct world *w, uint32_t host, uint32_t group)
{
	assert_int_equal(vb_sim_join(w->net.sim, group, host), 0);
	w->joined[host] = true;
}

static void world_open(struct world *w, struct vb_sim_config *c, uint32_t group)
{
	net_open(&w->net, c);
	assert_uint_in_range(w->net.topo.host_cnt, 2, HOSTS_MAX);
	for (uint32_t i = 0; i < w->net.topo.host_cnt; i++) {
		w->joined[i] = false;
		qp_open(w, i, group);
	}
}

static uint32_t received(const struct world *w, uint32_t host)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < w->net.wc_cnt && i < NET_WC_MAX; i++)
		cnt += w->net.wc_host[i] == host && w->net.wc[i].opcode == VB_WC_RECV;
	return cnt;
}

/* No message passes another one of its source and service level on the way to a member. */
static void assert_is_in_order(const struct world *w)
{
	static uint32_t last[HOSTS_MAX][HOSTS_MAX + 1][VB_SL_CNT];

	memset(last, 0, sizeof last);
	for (uint32_t i = 0; i < w->net.wc_cnt && i < NET_WC_MAX; i++) {
		const struct vb_wc *wc = &w->net.wc[i];
		uint32_t *before;

		if (wc->opcode != VB_WC_RECV)
			continue;
		assert_uint_in_range(wc->slid, 1, HOSTS_MAX);
		before = &last[w->net.wc_host[i]][wc->slid][wc->sl];
		assert_true(wc->imm > *before);
		*before = wc->imm;
	}
}

static uint64_t packets_sent(const struct world *w, uint32_t port)
{
	struct vb_sim_ib_stats st;
	uint64_t sum = 0;

	assert_true(vb_sim_ib_port_stats(w->net.sim, port, &st));
	assert_true(st.counters.xmit_discards == 0 && st.counters.buffer_overruns == 0);
	for (uint32_t vl = 0; vl < st.lane_cnt; vl++)
		sum += st.lane[vl].tx_pkts;
	return sum;
}

/* FAB-02: 64 of 128 hosts are members; one of them sends a packet. Each has one copy, no link has
 * two, and no link to a host that has not joined has any, though a QP there listens. */
static void group__takes_each_link_once(void **state)
{
	struct world *w = &world;
	struct vb_cable cable = net_cable(100, 100);

	(void)state;
	for (uint32_t group = 0; group < 4; group++) {
		struct vb_sim_config c = ib_config(2, 16384);
		uint64_t hops = 0;

		assert_int_equal(vb_sim_topo_fat_tree(&w->net.topo, &net_memory, 8, &cable, &cable),
				 0);
		world_open(w, &c, group);
		/* Two at each of the 32 switches with hosts. */
		for (uint32_t i = 0; i < 128; i++)
			if (i % 4 < 2)
				host_join(w, i, group);
		send_to_group(w, 4, group, 1000, 1);
		assert_int_equal(vb_sim_run(w->net.sim, VB_NEVER), 0);
		for (uint32_t i = 0; i < 128; i++)
			assert_int_equal(received(w, i), w->joined[i] && i != 4);
		for (uint32_t p = 0; p < vb_sim_port_cnt(w->net.sim); p++) {
			assert_true(packets_sent(w, p) <= 1);
			hops += packets_sent(w, p);
		}
		/* The tree has 64 hosts, 32 switches above them, one in each of 8 pods, one root:
		 * a link less than nodes, each in one direction. */
		assert_int_equal(hops, 64 + 32 + 8 + 1 - 1);
		net_close(&w->net);
	}
}

/* Members at one switch alone: nothing goes up. A group without members at all, and a host that no
 * group may have. */
static void group__has_only_branches_with_members(void **state)
{
	struct world *w = &world;
	struct vb_cable cable = net_cable(100, 100);
	struct vb_sim_config c = ib_config(1, 16384);
	struct vb_sim_ib_stats st;
	uint64_t hops = 0;

	(void)state;
	assert_int_equal(vb_sim_topo_clos(&w->net.topo, &net_memory, 4, 2, 3, &cable, &cable), 0);
	world_open(w, &c, 5);
	assert_int_equal(vb_sim_join(w->net.sim, VB_SIM_GROUPS, 0), -EINVAL);
	assert_int_equal(vb_sim_join(w->net.sim, 0, 12), -EINVAL);
	/* A member of another group is none of this one. */
	assert_int_equal(vb_sim_join(w->net.sim, 7, 8), 0);
	host_join(w, 3, 5);
	host_join(w, 5, 5);
	send_to_group(w, 3, 5, 100, 0);
	assert_int_equal(vb_sim_run(w->net.sim, VB_NEVER), 0);
	assert_int_equal(received(w, 5), 1);
	for (uint32_t p = 0; p < vb_sim_port_cnt(w->net.sim); p++)
		hops += packets_sent(w, p);
	assert_int_equal(hops, 2);

	/* Nobody has joined this one: the first switch has no way for it. */
	send_to_group(w, 3, 6, 100, 0);
	assert_int_equal(vb_sim_run(w->net.sim, VB_NEVER), 0);
	assert_true(vb_sim_ib_port_stats(w->net.sim,
					 vb_sim_port_peer(vb_sim_host_port(w->net.sim, 3)), &st));
	assert_int_equal(st.relay_errors, 1);
	net_close(&w->net);
}

static void make_topology(struct vb_rng *r, struct vb_sim_topo *t)
{
	struct vb_cable host = net_cable(25 + vb_rng_below(r, 4) * 25, vb_rng_below(r, 2000)),
			fabric = net_cable(50 + vb_rng_below(r, 4) * 50, vb_rng_below(r, 5000));
	uint32_t n = 2 + vb_rng_below(r, 3);

	switch (vb_rng_below(r, 4)) {
	case 0:
		assert_int_equal(vb_sim_topo_star(t, &net_memory, 4 + n, &host), 0);
		break;
	case 1:
		assert_int_equal(vb_sim_topo_ring(t, &net_memory, 2 + n, 2, &host, &fabric), 0);
		break;
	case 2:
		assert_int_equal(vb_sim_topo_clos(t, &net_memory, n, 2, 3, &host, &fabric), 0);
		break;
	default:
		assert_int_equal(vb_sim_topo_dumbbell(t, &net_memory, n, n, &host, &fabric), 0);
	}
}

/* Blocks that lie in buffers anywhere. */
static uint32_t blocks_used(const struct world *w)
{
	uint32_t sum = 0;

	for (uint32_t p = 0; p < vb_sim_port_cnt(w->net.sim); p++)
		for (uint8_t vl = 0; vl < VB_VL_DATA_MAX; vl++)
			sum += vb_sim_lane_used(w->net.sim, p, vl);
	return sum;
}

/* In any shape several members send at once, more than links and buffers have room for: each member
 * has each packet of the others, nothing is lost, and all room is free in the end. */
static void group__loses_nothing_to_congestion(void **state)
{
	struct world *w = &world;

	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct vb_rng r = vb_rng_stream(seed, "group", 0);
		struct vb_sim_config c = ib_config(1 + seed % 2, 4096 + vb_rng_below(&r, 20000));
		uint32_t group = vb_rng_below(&r, VB_SIM_GROUPS), hosts;
		uint32_t sent[HOSTS_MAX] = {0}, all = 0;

		make_topology(&r, &w->net.topo);
		hosts = w->net.topo.host_cnt;
		world_open(w, &c, group);
		for (uint32_t i = 0; i < hosts; i++)
			if (i < 2 || vb_rng_below(&r, 3))
				host_join(w, i, group);
		for (uint32_t i = 0; i < hosts; i++) {
			sent[i] =
			    w->joined[i] ? vb_rng_below(&r, NET_WC_MAX / 4 / hosts / hosts) : 0;
			all += sent[i];
			for (uint32_t k = 0; k < sent[i]; k++)
				send_to_group(w, i, group, 1 + vb_rng_below(&r, 2000),
					      (uint8_t)vb_rng_below(&r, 4));
		}
		assert_int_equal(vb_sim_run(w->net.sim, VB_NEVER), 0);
		assert_uint_in_range(w->net.wc_cnt, all + 1, NET_WC_MAX);
		for (uint32_t i = 0; i < hosts; i++)
			assert_int_equal(received(w, i), w->joined[i] ? all - sent[i] : 0);
		assert_is_in_order(w);
		for (uint32_t p = 0; p < vb_sim_port_cnt(w->net.sim); p++)
			assert_true(packets_sent(w, p) <= all);
		assert_int_equal(blocks_used(w), 0);
		net_close(&w->net);
	}
}

/* All members of two groups send, in a ring of six switches. */
static void ring_play(struct world *w, const uint32_t group[2], uint32_t hoq_life)
{
	struct vb_cable cable = net_cable(100, 100);
	struct vb_sim_config c = ib_config(1, 8192);

	c.ib.hoq_life = (uint8_t)hoq_life;
	assert_int_equal(vb_sim_topo_ring(&w->net.topo, &net_memory, 6, 1, &cable, &cable), 0);
	world_open(w, &c, group[0]);
	for (uint32_t i = 0; i < 6; i++) {
		const struct vb_gid gid = vb_sim_group_gid(w->net.sim, group[1]);

		assert_int_equal(
		    vb_qp_attach_mcast(w->qp[i], &gid, vb_sim_group_lid(w->net.sim, group[1])), 0);
		host_join(w, i, group[0]);
		host_join(w, i, group[1]);
	}
	for (uint32_t k = 0; k < 80; k++)
		for (uint32_t i = 0; i < 6; i++)
			send_to_group(w, i, group[k % 2], 2000, 0);
	assert_int_equal(vb_sim_run(w->net.sim, 100 * VB_MSEC), 0);
}

/*
 * The trees of two groups are cut at different cables of a ring, so that copies of both together
 * wait for each other all around it: each has its room until the last copy has left. The cycle is
 * found and named. Where both take the same tree there is none. FAB-02
 */
static void groups__deadlock_in_a_ring(void **state)
{
	static const uint32_t apart[] = {0, 2}, alike[] = {0, 4};
	const struct vb_deadlock *d;
	struct world *w = &world;
	uint32_t before;
	vb_time at;

	(void)state;
	ring_play(w, alike, 20);
	assert_null(vb_sim_deadlock(w->net.sim, &at));
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(received(w, i), 5 * 80);
	assert_int_equal(blocks_used(w), 0);
	net_close(&w->net);

	ring_play(w, apart, 20);
	d = vb_sim_deadlock(w->net.sim, &at);
	assert_non_null(d);
	assert_int_equal(d->cnt, 6);
	for (uint32_t i = 0; i < d->cnt; i++) {
		uint32_t far = vb_sim_port_peer(d->lane[i].hop),
			 next = d->lane[(i + 1) % d->cnt].hop;
		const struct vb_sim_topo_link *a = &w->net.topo.link[far / 2],
					      *b = &w->net.topo.link[next / 2];

		assert_int_equal(far & 1 ? a->b : a->a, next & 1 ? b->b : b->a);
	}
	assert_true(blocks_used(w) > 0);
	net_close(&w->net);

	/* It is one: with lives that end after 2 s nothing moves any more before. */
	ring_play(w, apart, 19);
	assert_non_null(vb_sim_deadlock(w->net.sim, &at));
	assert_true(at < VB_MSEC);
	before = w->net.wc_cnt;
	assert_int_equal(vb_sim_run(w->net.sim, VB_SEC), 0);
	assert_int_equal(w->net.wc_cnt, before);
	net_close(&w->net);

	/* LNK-27: where packets have a life the first that is dropped lets the others go. */
	ring_play(w, apart, 5);
	assert_non_null(vb_sim_deadlock(w->net.sim, &at));
	assert_int_equal(blocks_used(w), 0);
	net_close(&w->net);
}

/* A cable of the tree is pulled: the group's tree follows, as other ways do. */
static void group__follows_when_a_cable_is_pulled(void **state)
{
	struct world *w = &world;
	struct vb_cable cable = net_cable(100, 100);
	struct vb_sim_config c = ib_config(1, 16384);

	(void)state;
	assert_int_equal(vb_sim_topo_clos(&w->net.topo, &net_memory, 2, 2, 2, &cable, &cable), 0);
	world_open(w, &c, 0);
	for (uint32_t i = 0; i < 4; i++)
		host_join(w, i, 0);
	for (uint32_t cut = 4; cut < 8; cut++) { /* those behind the cables of hosts */
		vb_time now = vb_sim_now(w->net.sim);

		w->net.wc_cnt = 0;
		assert_int_equal(vb_sim_plan_link(w->net.sim, cut, false, now), 0);
		assert_int_equal(vb_sim_run(w->net.sim, now + VB_USEC), 0);
		send_to_group(w, 0, 0, 100, 0);
		assert_int_equal(vb_sim_run(w->net.sim, now + 100 * VB_USEC), 0);
		for (uint32_t i = 1; i < 4; i++)
			assert_int_equal(received(w, i), 1);
		assert_int_equal(vb_sim_plan_link(w->net.sim, cut, true, vb_sim_now(w->net.sim)),
				 0);
		assert_int_equal(vb_sim_run(w->net.sim, now + 200 * VB_USEC), 0);
	}
	net_close(&w->net);
}

/* LNK-37: host 0 is in partition 1, host 1 in 2, host 2 in both. A switch that enforces lets no key
 * in that its host does not have, nor out where the other end does not have it. */
static void gate__bars_and_counts(void **state)
{
	static const uint16_t pkey[3][VB_SIM_PKEYS] = {{0x8001}, {0x8002}, {0x8001, 0x8002}};
	static const struct {
		uint32_t enforce, from, to;
		uint64_t out, at_host; /* packets that are counted there */
	} t[] = {
	    {VB_SIM_ENFORCE_OFF, 0, 1, 0, 3},  {VB_SIM_ENFORCE_IN, 0, 1, 0, 3},
	    {VB_SIM_ENFORCE_OUT, 0, 1, 3, 0},  {VB_SIM_ENFORCE_BOTH, 0, 1, 3, 0},
	    {VB_SIM_ENFORCE_BOTH, 0, 2, 0, 0},
	};
	struct vb_cable cable = net_cable(100, 100);
	struct net n;

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		static const struct net_link uc = {
		    .type = VB_QPT_UC, .mtu = VB_MTU_2048, .send_wr = 8};
		struct vb_sim_config c = ib_config(1, 16384);
		struct vb_sim_ib_stats st;
		struct net_qp q;

		c.ib.pkey = pkey[0];
		c.ib.enforce = t[i].enforce;
		assert_int_equal(vb_sim_topo_star(&n.topo, &net_memory, 3, &cable), 0);
		net_open(&n, &c);
		q = net_connect(&n, t[i].from, t[i].to, &uc);
		for (int k = 0; k < 3; k++)
			net_post(&n, q.a, t[i].from, t[i].to, VB_WR_RDMA_WRITE, 100);
		assert_int_equal(vb_sim_run(n.sim, VB_NEVER), 0);
		assert_true(vb_sim_ib_port_stats(
		    n.sim, vb_sim_port_peer(vb_sim_host_port(n.sim, t[i].to)), &st));
		assert_int_equal(st.xmit_constraint_errors, t[i].out);
		assert_int_equal(st.rcv_constraint_errors, 0);
		assert_int_equal(
		    vb_sim_counters(n.sim, t[i].to)->v[VB_COUNTER_port_rcv_constraint_errors],
		    t[i].at_host);
		net_close(&n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(group__takes_each_link_once),
	    cmocka_unit_test(group__has_only_branches_with_members),
	    cmocka_unit_test(group__loses_nothing_to_congestion),
	    cmocka_unit_test(groups__deadlock_in_a_ring),
	    cmocka_unit_test(group__follows_when_a_cable_is_pulled),
	    cmocka_unit_test(gate__bars_and_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
