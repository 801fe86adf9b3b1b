/* SPDX-License-Identifier: BSD-2-Clause */
/* Next hops in networks of random shape: those of shortest paths, all of them, in the order of
 * ports, next to a search that looks at one destination at a time. */
#include "sim/priv.h"
#include "sim_net.h"

#include <errno.h>

#define SWITCHES 150u /* more than two blocks of 64 destinations */
#define HOSTS 200u
#define LINKS (HOSTS + SWITCHES - 1 + 250u)

/* A tree of switches, links between any two of them, and hosts at some. */
static void random_topology(struct vb_sim_topo *t, struct vb_rng *r)
{
	const struct vb_cable cable = net_cable(100, 1000);

	*t = (struct vb_sim_topo){.host_cnt = HOSTS, .switch_cnt = SWITCHES, .memory = net_memory};
	t->link = calloc(LINKS, sizeof *t->link);
	for (uint32_t i = 0; i < HOSTS; i++)
		t->link[t->link_cnt++] = (struct vb_sim_topo_link){
		    i, HOSTS + vb_rng_below(r, SWITCHES - 3) / 2 * 2, cable};
	for (uint32_t i = 1; i < SWITCHES; i++)
		t->link[t->link_cnt++] =
		    (struct vb_sim_topo_link){HOSTS + i, HOSTS + vb_rng_below(r, i), cable};
	while (t->link_cnt < LINKS) {
		uint32_t a = vb_rng_below(r, SWITCHES), b = vb_rng_below(r, SWITCHES);

		if (a != b)
			t->link[t->link_cnt++] =
			    (struct vb_sim_topo_link){HOSTS + a, HOSTS + b, cable};
	}
}

/* Steps from each switch to @edge; UINT32_MAX: there is no way. */
static void distances(const struct vb_sim *s, uint32_t edge, uint32_t *dist)
{
	bool more = true;

	memset(dist, 0xff, SWITCHES * sizeof *dist);
	dist[edge] = 0;
	for (uint32_t d = 0; more; d++) {
		more = false;
		for (uint32_t i = 0; i < s->port_cnt; i++) {
			const struct vb_port *p = &s->port[i];
			uint32_t next = VB_SIM_NONE;

			if (!p->at_host && dist[s->switch_of[i]] == d)
				next = vb_sim_switch_behind(s, p);
			if (next == VB_SIM_NONE || dist[next] != UINT32_MAX)
				continue;
			dist[next] = d + 1;
			more = true;
		}
	}
}

static void expect_hops(const struct vb_sim *s, uint32_t host, const uint32_t *dist, uint32_t at)
{
	const struct vb_switch *sw = &s->sw[at];
	const uint32_t *hop = NULL;
	uint32_t cnt = vb_forward_hops(&sw->forward, VB_SIM_ADDRESS + host, &hop), seen = 0;

	for (uint32_t i = 0; i < sw->port_cnt; i++) {
		uint32_t next = vb_sim_switch_behind(s, sw->port[i]);

		if (dist[at] == UINT32_MAX || next == VB_SIM_NONE || dist[next] >= dist[at])
			continue;
		assert_true(seen < cnt);
		assert_int_equal(hop[seen], i);
		seen++;
	}
	assert_int_equal(seen, cnt);
}

/* Returns the pairs of a host and a switch with no way. */
static uint32_t expect_tables(const struct vb_sim *s)
{
	uint32_t dist[SWITCHES], parted = 0;

	for (uint32_t host = 0; host < HOSTS; host++) {
		uint32_t edge = s->map.site[host].subnet;

		distances(s, edge, dist);
		for (uint32_t at = 0; at < SWITCHES; at++) {
			if (at != edge)
				expect_hops(s, host, dist, at);
			parted += dist[at] == UINT32_MAX;
		}
	}
	return parted;
}

static void tables__have_all_ports_of_shortest_paths(void **state)
{
	uint32_t parted = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct vb_rng r = vb_rng_stream(seed, "hops", 0);
		struct vb_sim_config c = net_config();
		struct net n;

		random_topology(&n.topo, &r);
		net_open(&n, &c);
		assert_int_equal(expect_tables(n.sim), 0);
		/* Most links between switches go down: parts are without a way to each other. */
		for (uint32_t i = HOSTS; i < LINKS; i++) {
			if (vb_rng_below(&r, 8) < 5)
				assert_int_equal(vb_sim_plan_link(n.sim, i, false, VB_USEC), 0);
		}
		assert_int_equal(vb_sim_run(n.sim, VB_SEC), 0);
		parted += expect_tables(n.sim);
		net_close(&n);
	}
	assert_true(parted > 0);
}

static void networks__that_do_not_hang_together_are_refused(void **state)
{
	struct vb_sim_config c = net_config();
	struct vb_rng r = vb_rng_stream(7, "hops", 0);
	struct vb_sim_topo t;
	struct vb_sim *s;

	(void)state;
	random_topology(&t, &r);
	/* The last switch, which has no hosts, loses its links. */
	for (uint32_t i = 0; i < t.link_cnt; i++) {
		if (t.link[i].a == HOSTS + SWITCHES - 1 || t.link[i].b == HOSTS + SWITCHES - 1)
			t.link[i] = (struct vb_sim_topo_link){HOSTS, HOSTS + 1, t.link[i].cable};
	}
	c.topo = &t;
	c.memory = net_memory;
	assert_int_equal(vb_sim_create(&s, &c), -EINVAL);
	vb_sim_topo_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(tables__have_all_ports_of_shortest_paths),
	    cmocka_unit_test(networks__that_do_not_hang_together_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
