/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Topologies of InfiniBand subnets as text: what ibnetdiscover prints, ibsim's short form, shapes,
 * and the way back to text. tests/data/topology has what the programs printed or came with.
 */
#include "topology_env.h"

#include "wire/ib/rate.h"

static void a_switch_and_two_adapters_are_joined_by_the_short_form(void **state)
{
	const struct vb_topo_node *s, *h;

	(void)state;
	parse(
	    "Switch 8 \"S-0\"\n[1] \"H-0\"[1]\n[4]\t\"H-1\" [2]\n\nHca 2 \"H-0\"\n[1] \"S-0\"[1]\n"
	    "Ca\t2 \"H-1\"\n[2] \"S-0\"[4]\n");
	assert_int_equal(topo.node_cnt, 3);
	assert_int_equal(topo.link_cnt, 2);
	s = node("S-0");
	h = node("H-1");
	assert_int_equal(s->type, VB_NODE_SWITCH);
	assert_int_equal(s->port_cnt, 8);
	assert_string_equal(s->desc, "S-0");
	assert_int_equal(h->type, VB_NODE_CA);
	assert_ptr_equal(&topo.node[s->port[4].peer], h);
	assert_int_equal(s->port[4].peer_port, 2);
	assert_ptr_equal(&topo.node[h->port[2].peer], s);
	assert_int_equal(h->port[2].peer_port, 4);
	assert_int_equal(h->port[2].width, VB_IB_4X);
	assert_int_equal(h->port[2].speed, VB_IB_EDR);
	assert_int_equal(h->port[1].peer, VB_TOPO_NO_PEER);
	assert_int_equal(h->port[1].width, 0);
	assert_int_equal(s->port[2].peer, VB_TOPO_NO_PEER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TOPOLOGY_TEST(a_switch_and_two_adapters_are_joined_by_the_short_form),
	};

	return cmocka_run_group_tests_name("topology", tests, NULL, NULL);
}
