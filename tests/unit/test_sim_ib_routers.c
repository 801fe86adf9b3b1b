/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random fabrics of several subnets in the simulator: subnets of one or two switches, or a host
 * alone, joined by routers. Nothing is lost or passed on its way from end to end, and nothing comes
 * to a wrong host. FAB-06, FAB-07, LNK-06, LNK-21
 */
#include "sim_ib_env.h"

#define SUBNETS_MAX 6u
#define LINKS_MAX 128u
#define QPNS 65536u
#define HOP_LIMIT 64u

/* A subnet while its topology is made: its switches by number, and a host without one. */
struct part {
	uint32_t sw[2], sw_cnt;
	uint32_t lone; /* the host, where sw_cnt is 0 */
	bool is_used;  /* that has its cable */
};

struct world {
	struct vb_sim_topo topo;
	struct part part[SUBNETS_MAX];
	uint32_t part_cnt;
	struct vb_sim *sim;
	struct vb_load *load;
	uint32_t psn[QPNS][BACKLOG / 16], first[QPNS], cnt[QPNS]; /* by destination QPN */
	uint64_t arrived, crossed;
};

static struct world w;

static void link_add(uint32_t a, uint32_t b, uint32_t subnet)
{
	struct vb_sim_topo *t = &w.topo;
	struct vb_cable c = net_cable(100, 300);

	assert_true(t->link_cnt < LINKS_MAX);
	t->subnet[t->link_cnt] = subnet;
	t->link[t->link_cnt++] = (struct vb_sim_topo_link){a, b, c};
}

/* Hosts and switches of all subnets are counted first, since their numbers come before those of
 * routers. */
static void parts_count(struct vb_rng *r, uint32_t hosts[SUBNETS_MAX])
{
	for (uint32_t i = 0; i < w.part_cnt; i++) {
		struct part *p = &w.part[i];

		*p = (struct part){.sw_cnt = vb_rng_below(r, 4) ? 1 + vb_rng_below(r, 2) : 0};
		hosts[i] = p->sw_cnt ? 1 + vb_rng_below(r, 3) : 1;
		/* The first one is what others hang at. */
		if (i == 0 && p->sw_cnt == 0)
			p->sw_cnt = 1;
		w.topo.host_cnt += hosts[i];
		for (uint32_t k = 0; k < p->sw_cnt; k++)
			p->sw[k] = w.topo.switch_cnt++;
	}
}

static void parts_join(struct vb_rng *r, const uint32_t hosts[SUBNETS_MAX])
{
	uint32_t host = 0;

	for (uint32_t i = 0; i < w.part_cnt; i++) {
		struct part *p = &w.part[i];

		for (uint32_t k = 0; k < hosts[i]; k++, host++) {
			p->lone = host;
			if (p->sw_cnt)
				link_add(host, w.topo.host_cnt + p->sw[vb_rng_below(r, p->sw_cnt)],
					 i);
		}
		if (p->sw_cnt == 2)
			link_add(w.topo.host_cnt + p->sw[0], w.topo.host_cnt + p->sw[1], i);
	}
}

/* A port of the router into subnet @i. */
static void router_join(struct vb_rng *r, uint32_t router, uint32_t i)
{
	struct part *p = &w.part[i];
	uint32_t node = w.topo.host_cnt + router;

	if (p->sw_cnt)
		link_add(w.topo.host_cnt + p->sw[vb_rng_below(r, p->sw_cnt)], node, i);
	else
		link_add(p->lone, node, i);
	p->is_used = true;
}

/* Subnets are a tree, so that no ways wait for each other in a ring: each but the first one hangs
 * at one before it that has a switch, by a router of its own or by that of the one before. */
static void world_make(struct vb_rng *r)
{
	uint32_t hosts[SUBNETS_MAX], at = 0;

	w.topo = (struct vb_sim_topo){.memory = net_memory};
	w.topo.link = calloc(LINKS_MAX, sizeof *w.topo.link);
	w.topo.subnet = calloc(LINKS_MAX, sizeof *w.topo.subnet);
	assert_true(w.topo.link && w.topo.subnet);
	w.part_cnt = 2 + vb_rng_below(r, SUBNETS_MAX - 1);
	parts_count(r, hosts);
	parts_join(r, hosts);
	for (uint32_t i = 1; i < w.part_cnt; i++) {
		if (i == 1 || vb_rng_below(r, 2)) {
			do
				at = vb_rng_below(r, i);
			while (w.part[at].sw_cnt == 0);
			w.topo.router_cnt++;
			router_join(r, w.topo.switch_cnt++, at);
		}
		router_join(r, w.topo.switch_cnt - 1, i);
	}
}

static void packet_sent(uint32_t host, const struct vb_frame *f, uint32_t qpn)
{
	uint32_t to = vb_sim_receiver(w.sim, host, &f->path);

	assert_true(to < w.topo.host_cnt);
	assert_int_equal(vb_path_has_grh(&f->path),
			 vb_sim_subnet(w.sim, host) != vb_sim_subnet(w.sim, to));
	assert_true(w.cnt[qpn] < BACKLOG / 16);
	w.psn[qpn][(w.first[qpn] + w.cnt[qpn]++) % (BACKLOG / 16)] = be24(f->bytes + 9);
}

static void packet_came(uint32_t host, const struct vb_frame *f, uint32_t qpn)
{
	bool has_grh = vb_path_has_grh(&f->path);
	struct vb_path own = f->path;

	/* A QPN is of one host: the remainder tells which. */
	assert_int_equal(qpn % w.topo.host_cnt, host);
	own.dgid = own.sgid = (struct vb_gid){{0}};
	assert_int_equal(vb_sim_receiver(w.sim, host, &own), host);
	assert_int_equal(vb_sim_receiver(w.sim, host, &f->path), host);
	assert_true(!has_grh || (f->path.hop_limit < HOP_LIMIT &&
				 f->path.hop_limit >= HOP_LIMIT - w.topo.router_cnt));
	assert_true(w.cnt[qpn] > 0);
	assert_int_equal(w.psn[qpn][w.first[qpn]], be24(f->bytes + 9));
	w.first[qpn] = (w.first[qpn] + 1) % (BACKLOG / 16);
	w.cnt[qpn]--;
	w.arrived++;
	w.crossed += has_grh;
}

static void packet_see(void *ctx, uint32_t port, enum vb_cable_tap_dir dir,
		       const struct vb_frame *f, vb_time now)
{
	const struct vb_sim_topo_link *l = &w.topo.link[port / 2];
	uint32_t node = port & 1 ? l->b : l->a, qpn = be24(f->bytes + 5);

	(void)ctx, (void)now;
	if (f->kind != VB_FRAME_DATA || node >= w.topo.host_cnt)
		return;
	assert_true(qpn < QPNS);
	if (dir == VB_CABLE_SENT)
		packet_sent(node, f, qpn);
	else
		packet_came(node, f, qpn);
}

static void world_run(struct vb_sim_config *c)
{
	struct vb_report r;

	assert_int_equal(vb_sim_run(w.sim, VB_NEVER), 0);
	assert_int_equal(vb_load_failure(w.load), 0);
	assert_int_equal(vb_report_make(&r, w.load, w.sim, &net_memory), 0);
	assert_int_equal(r.done, r.flows);
	assert_int_equal(vb_load_damaged(w.load), 0);
	assert_int_equal(r.drops, 0);
	assert_int_equal(r.counters.v[VB_COUNTER_retransmitted_packets], 0);
	for (uint32_t i = 0; i < vb_sim_port_cnt(w.sim); i++) {
		struct vb_sim_ib_stats st;

		assert_true(vb_sim_ib_port_stats(w.sim, i, &st));
		assert_true(st.counters.buffer_overruns == 0 && st.counters.xmit_discards == 0);
		assert_true(st.misrouted == 0 && st.not_routed == 0 && st.hops_ended == 0);
		assert_int_equal(st.relay_errors, 0);
		assert_true(st.lane_cnt == c->ib.lanes);
	}
}

static void fabrics__lose_and_reorder_nothing(void **state)
{
	static const uint32_t lanes[] = {1, 2, 4};
	uint64_t crossed = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct vb_rng r = vb_rng_stream(seed, "routers", 0);
		struct vb_sim_config c =
		    ib_config(lanes[vb_rng_below(&r, 3)], 4096 + vb_rng_below(&r, 60000),
			      vb_rng_below(&r, VB_SIM_LAYERS + 1));
		struct vb_load_pattern p = {.shape = VB_LOAD_ALL_TO_ALL,
					    .bytes = 1 + vb_rng_below(&r, 60000)};

		memset(&w, 0, sizeof w);
		world_make(&r);
		c.seed = seed;
		c.ib.hop_limit = HOP_LIMIT;
		c.carry_data = seed % 4 == 0;
		c.on_packet = packet_see;
		c.topo = &w.topo;
		c.memory = net_memory;
		assert_int_equal(vb_sim_create(&w.sim, &c), 0);
		assert_int_equal(vb_load_create(&w.load, w.sim, &load_config, &net_memory), 0);
		for (uint16_t sl = 0; sl < 2; sl++) {
			p.traffic_class = VB_LOAD_OWN_CLASS | sl;
			p.mix[sl] = 1;
			assert_int_equal(vb_load_add(w.load, &p), 0);
		}
		world_run(&c);
		assert_true(w.arrived > 0);
		crossed += w.crossed;
		vb_load_destroy(w.load);
		vb_sim_destroy(w.sim);
		vb_sim_topo_free(&w.topo);
	}
	assert_true(crossed > 1000);
}

/* A topology that does not say its subnets right, or where routers cannot be. */
static void create__refuses(void **state)
{
	struct vb_rng r = vb_rng_stream(1, "routers", 0);
	struct vb_sim_config c = ib_config(1, 65536, VB_SIM_MIN_HOP);
	struct vb_sim_ib_routes routes = {.out = NULL};

	(void)state;
	memset(&w, 0, sizeof w);
	world_make(&r);
	c.topo = &w.topo;
	c.memory = net_memory;
	c.ib.routes = &routes;
	assert_int_equal(vb_sim_create(&w.sim, &c), -EINVAL);
	c.ib.routes = NULL;
	c.ib.is_used = false;
	assert_int_equal(vb_sim_create(&w.sim, &c), -EINVAL);
	c.ib.is_used = true;
	w.topo.subnet[0]++; /* host 0 is at a switch with other cables */
	assert_int_equal(vb_sim_create(&w.sim, &c), -EINVAL);
	w.topo.subnet[0] = VB_HOP_SUBNETS_MAX;
	assert_int_equal(vb_sim_create(&w.sim, &c), -EINVAL);
	w.topo.subnet[0] = 0;
	assert_int_equal(vb_sim_create(&w.sim, &c), 0);
	assert_int_equal(vb_sim_join(w.sim, 0, 0), 0);
	assert_true(vb_sim_subnet(w.sim, 0) != vb_sim_subnet(w.sim, w.topo.host_cnt - 1));
	assert_int_equal(vb_sim_join(w.sim, 0, w.topo.host_cnt - 1), -EINVAL);
	vb_sim_destroy(w.sim);
	vb_sim_topo_free(&w.topo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(fabrics__lose_and_reorder_nothing),
	    cmocka_unit_test(create__refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
