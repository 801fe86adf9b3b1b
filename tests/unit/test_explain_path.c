/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths of a fabric: each cause is found from the facts, and is said with its place and its
 * counters. */
#include "explain/path/path.h"

#include "fabric/ib/link_state.h"
#include "wire/mad/smp.h"

#include "cmocka_env.h"

#include <stdio.h>
#include <string.h>

static struct vb_path_view view;
static struct vb_explanation why;
static struct vb_path_verdict is;

static struct vb_path_port port(const char *node, uint8_t type, uint8_t number, uint16_t lid)
{
	struct vb_path_port p = {.type = type,
				 .number = number,
				 .state = VB_LINK_ACTIVE,
				 .phys = VB_PHYS_LINK_UP,
				 .has_cable = true,
				 .is_plugged = true,
				 .lid = lid,
				 .mtu = VB_MTU_4096,
				 .lane_cnt = 4,
				 .mkey_ends = VB_NEVER,
				 .pkey = {0xffff, 0x8001}};

	snprintf(p.node, sizeof p.node, "%s", node);
	return p;
}

static void hop(struct vb_path_port out, struct vb_path_port in, uint8_t in_port)
{
	view.hop[view.hop_cnt++] =
	    (struct vb_path_hop){.out = out, .in = in, .in_port = in_port, .vl = 0};
}

/* A way that works: A port 1 -> 1 S 2 -> 1 T 2 -> port 1 B. */
static int begin(void **state)
{
	(void)state;
	memset(&view, 0, sizeof view);
	snprintf(view.fabric, sizeof view.fabric, "ib3");
	snprintf(view.manager.node, sizeof view.manager.node, "M");
	view.from = port("A", VB_NODE_CA, 1, 4);
	view.to = view.at = port("B", VB_NODE_CA, 1, 7);
	view.slid = 4;
	view.dlid = 7;
	view.pkey = 0x8001;
	view.sl = 3;
	view.mtu_found = VB_MTU_4096;
	view.has_owner = true;
	view.at_top = 10;
	view.at_port_cnt = 4;
	view.entry = VB_PATH_NO_PORT;
	hop(view.from, port("S", VB_NODE_SWITCH, 1, 2), 0);
	hop(port("S", VB_NODE_SWITCH, 2, 2), port("T", VB_NODE_SWITCH, 1, 3), 1);
	hop(port("T", VB_NODE_SWITCH, 2, 3), view.to, 1);
	return 0;
}

static bool says(const char *text)
{
	for (uint32_t i = 0; i < why.what.cnt; i++)
		if (strstr(why.what.text[i], text))
			return true;
	return false;
}

static bool advises(const char *text)
{
	for (uint32_t i = 0; i < why.advice.cnt; i++)
		if (strstr(why.advice.text[i], text))
			return true;
	return false;
}

static void expect(const char *cause, enum vb_explain_rank rank, const char *text)
{
	vb_path_heal(&view);
	vb_path_judge(&view, &is);
	vb_path_explain(&view, &why);
	assert_string_equal(why.cause, cause);
	assert_string_equal(vb_path_cause_word(is.cause), cause);
	assert_int_equal(why.rank, rank);
	if (!says(text))
		fail_msg("'%s' is not in '%s'", text, why.what.text[0]);
	/* No $ is left. */
	for (uint32_t i = 0; i < why.what.cnt; i++)
		assert_null(strchr(why.what.text[i], '$'));
	for (uint32_t i = 0; i < why.advice.cnt; i++)
		assert_null(strchr(why.advice.text[i], '$'));
}

static void ends_at(enum vb_path_end end, uint32_t hops)
{
	view.end = end;
	view.hop_cnt = hops;
}

static void path__that_works(void **state)
{
	(void)state;
	expect("well", VB_RANK_WELL, "Nothing breaks it.");
	assert_int_equal(why.advice.cnt, 0);
}

/* The state of the sender's port comes first, whatever breaks later. LNK-30, LNK-31 */
static void link__of_the_sender(void **state)
{
	static const struct {
		uint8_t state, phys;
		bool has_cable, is_plugged;
		enum vb_explain_rank rank;
		const char *cause, *text;
	} rows[] = {
	    {VB_LINK_DOWN, VB_PHYS_POLLING, false, false, VB_RANK_FAILED, "no-cable",
	     "Port 1 of A has no cable."},
	    {VB_LINK_DOWN, VB_PHYS_POLLING, true, false, VB_RANK_FAILED, "unplugged",
	     "The cable of port 1 of A is pulled."},
	    {VB_LINK_DOWN, VB_PHYS_DISABLED, true, true, VB_RANK_FAILED, "disabled",
	     "Port 1 of A is disabled"},
	    {VB_LINK_DOWN, VB_PHYS_POLLING, true, true, VB_RANK_FAILED, "down",
	     "The link of port 1 of A is down."},
	    {VB_LINK_INIT, VB_PHYS_LINK_UP, true, true, VB_RANK_FAILED, "init",
	     "Port 1 of A is in INIT: no subnet manager has configured this port, although one is "
	     "at M."},
	    {VB_LINK_ARMED, VB_PHYS_LINK_UP, true, true, VB_RANK_WAITING, "armed",
	     "Port 1 of A is in ARMED"},
	    {VB_LINK_ACT_DEFER, VB_PHYS_RECOVERY, true, true, VB_RANK_WAITING, "recovers",
	     "Port 1 of A recovers"},
	};

	(void)state;
	ends_at(VB_PATH_NO_WAY, 1);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		view.from.state = rows[i].state;
		view.from.phys = rows[i].phys;
		view.from.has_cable = rows[i].has_cable;
		view.from.is_plugged = rows[i].is_plugged;
		expect(rows[i].cause, rows[i].rank, rows[i].text);
	}
	view.from.is_plugged = false;
	view.from.state = VB_LINK_DOWN;
	view.from.counter[VB_PMA_LINK_DOWNED] = 3;
	expect("unplugged", VB_RANK_FAILED, "Counted by port 1 of A: LinkDownedCounter 3.");
	assert_true(advises("'verbena fabric --name ib3 relink A 1'"));
}

static void link__in_init_without_a_manager(void **state)
{
	(void)state;
	view.manager.node[0] = 0;
	view.from.state = VB_LINK_INIT;
	expect("no-manager", VB_RANK_FAILED, "none runs in the fabric");
	assert_true(advises("verbena run --fabric ib3 --node NODE -- opensm"));
}

/* A manager that does not have the M_Key cannot configure the port. FAB-16 */
static void link__in_init_that_refuses_the_manager(void **state)
{
	(void)state;
	view.from.state = VB_LINK_INIT;
	view.from.has_mkey = true;
	view.from.mkey_violations = 5;
	expect(
	    "m-key", VB_RANK_FAILED,
	    "the subnet manager at M cannot configure it, for A has an M_Key and refused 5 SMPs");
	/* It is refused where it is. */
	view.from.mkey_violations = 0;
	view.manager.refused = 7;
	expect("m-key", VB_RANK_FAILED, "for M has an M_Key and refused 7 SMPs");
	view.manager.node[0] = 0;
	expect("no-manager", VB_RANK_FAILED, "none runs in the fabric");
	view.manager.node[0] = 'M';
	expect("m-key", VB_RANK_FAILED, "");
	assert_true(advises("m_key"));
}

/* Links on the way, at either end. */
static void link__on_the_way(void **state)
{
	(void)state;
	ends_at(VB_PATH_SENT_NOT, 2);
	view.hop[1].out.state = VB_LINK_INIT;
	expect("init", VB_RANK_FAILED, "Port 2 of S is in INIT");
	view.hop[1].out.state = VB_LINK_DOWN;
	view.hop[1].in.phys = VB_PHYS_DISABLED;
	expect("disabled", VB_RANK_FAILED, "Port 1 of T is disabled");
	assert_string_equal(is.at.node, "T");
	assert_string_equal(is.far.node, "S");
	assert_int_equal(begin(NULL), 0);
	ends_at(VB_PATH_RECEIVED_NOT, 3);
	view.hop[2].in.state = VB_LINK_INIT;
	expect("init", VB_RANK_FAILED, "Port 1 of B is in INIT");
	view.hop[2].in.state = VB_LINK_ACTIVE;
	expect("unknown", VB_RANK_WAITING, "changed while they were looked at");
}

static void receiver__without_a_lid(void **state)
{
	(void)state;
	ends_at(VB_PATH_NO_LID, 0);
	view.to.lid = view.dlid = 0;
	expect("no-lid", VB_RANK_FAILED, "Port 1 of B has no LID");
	view.to.state = VB_LINK_INIT;
	expect("init", VB_RANK_FAILED, "Port 1 of B is in INIT");
	view.to.is_plugged = false;
	view.to.state = VB_LINK_DOWN;
	expect("unplugged", VB_RANK_FAILED, "The cable of port 1 of B is pulled");
}

/* Forwarding tables. FAB-01 */
static void tables__without_a_way(void **state)
{
	(void)state;
	ends_at(VB_PATH_NO_WAY, 2);
	view.at = view.hop[1].in;
	view.at.counter[VB_PMA_RCV_SWITCH_RELAY_ERRORS] = 12;
	expect("no-entry", VB_RANK_FAILED, "The forwarding table of T has no entry for LID 7.");
	assert_true(says("Counted by port 1 of T: PortRcvSwitchRelayErrors 12."));
	assert_true(advises("opensm that is started again"));
	view.entry = 9;
	expect("bad-entry", VB_RANK_FAILED, "sends LID 7 to port 9, and it has the ports 1 to 4");
	view.entry = 1;
	expect("back", VB_RANK_FAILED, "sends LID 7 back by port 1, where");
	view.at_top = 6;
	expect("above-top", VB_RANK_FAILED, "LID 7 is above LinearFDBTop of T, which is 6");
	view.has_owner = false;
	expect("no-such-lid", VB_RANK_FAILED, "No port of the fabric has LID 7");
}

static void tables__that_lead_elsewhere(void **state)
{
	(void)state;
	ends_at(VB_PATH_ELSEWHERE, 3);
	view.at = port("C", VB_NODE_CA, 2, 9);
	expect("wrong-lid", VB_RANK_FAILED, "lead LID 7 to port 2 of C, which has LID 9");
	ends_at(VB_PATH_ARRIVES, 3);
	expect("other-node", VB_RANK_FAILED,
	       "LID 7 is that of port 2 of C, and not of port 1 of B");
}

/* LNK-29 */
static void tables__that_lead_around(void **state)
{
	(void)state;
	view.hop_cnt = 1;
	while (view.hop_cnt <= VB_PATH_HOPS_MAX)
		hop(port(view.hop_cnt % 2 ? "S" : "T", VB_NODE_SWITCH, 2, 2),
		    port(view.hop_cnt % 2 ? "T" : "S", VB_NODE_SWITCH, 1, 2), 1);
	view.end = VB_PATH_SENT_NOT;
	expect("loop", VB_RANK_FAILED, "around in a circle: T, S, T.");
	for (uint32_t i = 1; i < view.hop_cnt; i++)
		snprintf(view.hop[i].out.node, sizeof view.hop[i].out.node, "S-%u", i);
	expect("too-long", VB_RANK_FAILED, "more than 64 links");
}

/* LNK-12, LNK-22 */
static void lanes__that_drop(void **state)
{
	(void)state;
	ends_at(VB_PATH_SENT_NOT, 2);
	view.hop[1].vl = 15;
	view.hop[1].out.counter[VB_PMA_XMIT_DISCARDS] = 8;
	expect("sl-vl15", VB_RANK_FAILED,
	       "SL 3 has lane 15 in the SL2VL map of S from port 1 to port 2");
	assert_true(says("Counted by port 2 of S: PortXmitDiscards 8."));
	view.hop[1].vl = 6;
	expect("sl-lane", VB_RANK_FAILED,
	       "SL 3 has lane 6 in the SL2VL map of S from port 1 to port 2, and port 2 of S has 4 "
	       "data lanes.");
}

/* LNK-36 */
static void lengths__that_a_link_does_not_take(void **state)
{
	(void)state;
	ends_at(VB_PATH_SENT_NOT, 2);
	view.mtu = VB_MTU_4096;
	view.hop[1].out.mtu = VB_MTU_2048;
	expect("mtu", VB_RANK_FAILED,
	       "Port 2 of S sends packets of up to 2048 bytes (NeighborMTU), and the path has to "
	       "take 4096.");
	view.mtu = 0;
	view.hop[1].out.is_away = true;
	expect("tunnel", VB_RANK_WELL, "behind port 2 of S, by a tunnel");
}

/* LNK-37, FAB-36 */
static void partitions(void **state)
{
	(void)state;
	ends_at(VB_PATH_BARRED_IN, 1);
	view.hop[0].in.counter[VB_PMA_RCV_CONSTRAINT_ERRORS] = 2;
	expect("pkey-switch-in", VB_RANK_FAILED, "Port 1 of S lets no packet with P_Key 0x8001 in");
	assert_true(says("PortRcvConstraintErrors 2."));
	ends_at(VB_PATH_BARRED_OUT, 3);
	view.hop_cnt = 3;
	view.hop[2].out.counter[VB_PMA_XMIT_CONSTRAINT_ERRORS] = 4;
	view.hop[2].out.pkey[1] = 1;
	view.pkey = view.from.pkey[1] = 1;
	expect("pkey-limited", VB_RANK_FAILED, "both limited members of the partition of 0x0001");
	assert_true(says("Counted by port 2 of T: PortXmitConstraintErrors 4"));
	view.hop[2].out.pkey[1] = 0x8002;
	view.pkey = view.from.pkey[1] = 0x8001;
	expect("pkey-switch-out", VB_RANK_FAILED,
	       "Port 2 of T lets no packet with P_Key 0x8001 out");
	assert_true(says("PortXmitConstraintErrors 4."));
	ends_at(VB_PATH_ARRIVES, 3);
	view.to.pkey[1] = 0x8002;
	view.to.pkey_violations = 6;
	expect("pkey-receiver", VB_RANK_FAILED,
	       "The P_Key table of port 1 of B has no P_Key that goes with 0x8001");
	assert_true(says("P_KeyViolations 6."));
	view.to.pkey[1] = view.from.pkey[1] = view.pkey = 1;
	expect("pkey-limited", VB_RANK_FAILED, "both limited members of the partition of 0x0001");
	view.to.pkey[1] = 0x8001;
	expect("well", VB_RANK_WELL, "");
	view.pkey = 0x8005;
	expect("pkey-sender", VB_RANK_FAILED, "The P_Key table of port 1 of A has no 0x8005");
}

/* FAB-06 */
static void routers__that_drop(void **state)
{
	(void)state;
	ends_at(VB_PATH_NOT_ROUTED, 2);
	view.at = port("R", VB_NODE_ROUTER, 1, 7);
	view.at.not_routed = 3;
	view.at.hops_ended = 2;
	expect("not-routed", VB_RANK_FAILED, "The router R drops it: it has no GRH");
	assert_true(says("3 not routed, 2 at the end of their hop limit."));
	view.end = VB_PATH_HOPS_ENDED;
	view.hop_limit = 1;
	expect("hop-limit", VB_RANK_FAILED, "its hop limit was 1");
}

/* Subnets of other prefixes, and no router in the sender's subnet. FAB-06 */
static void subnets__that_no_router_joins(void **state)
{
	(void)state;
	ends_at(VB_PATH_NO_LID, 0);
	view.no_router = true;
	view.from_prefix = 0xfec0000000000001;
	view.prefix = 0xfec0000000000002;
	expect(
	    "no-router", VB_RANK_FAILED,
	    "Port 1 of B is in another subnet (prefix 0xfec0000000000002), and no router is in the "
	    "subnet of port 1 of A (0xfec0000000000001).");
	assert_true(advises("'verbena fabric join'"));
}

static void need_reason(const char *text)
{
	static struct vb_lines l;

	vb_path_reason(&view, &l);
	assert_int_equal(l.cnt, text ? 1 : 0);
	if (text)
		assert_string_equal(l.text[0], text);
}

/* The words of `verbena fabric show --route` for the same causes: of the way alone. */
static void reasons__stand_behind_a_place(void **state)
{
	static const struct {
		enum vb_path_end end;
		const char *text;
	} rows[] = {
	    {VB_PATH_NO_LID, "the destination has no LID yet"},
	    {VB_PATH_ELSEWHERE, "the port does not have LID 7"},
	    {VB_PATH_NO_WAY, "the forwarding table of the switch has no way on for LID 7"},
	    {VB_PATH_BARRED_OUT, "P_Key 0x8001 does not pass there"},
	    {VB_PATH_BARRED_IN, "P_Key 0x8001 does not pass there"},
	    {VB_PATH_NOT_ROUTED, "the router has no way to its DGID"},
	    {VB_PATH_HOPS_ENDED, "its hop limit ends there"},
	};

	(void)state;
	need_reason(NULL);
	/* The receiver's P_Keys, and programs that are stopped, are not the way's. */
	view.to.pkey[0] = view.to.pkey[1] = 0;
	view.stopped_cnt = 1;
	need_reason(NULL);
	assert_true(vb_path_arrives(&view));
	view.at.id = 5;
	assert_false(vb_path_arrives(&view));
	need_reason("it arrives there: LID 7 is that port's, too");
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		view.end = rows[i].end;
		need_reason(rows[i].text);
	}
	assert_int_equal(vb_path_links(&view), 3);
	view.end = VB_PATH_SENT_NOT;
	assert_int_equal(vb_path_links(&view), 2);
	need_reason("it is not sent there");
	view.hop[2].vl = 15;
	need_reason("SL 3 has no lane for data there (VL 15 of 4)");
	view.at = view.hop[2].out;
	view.at.state = view.hop[2].out.state = VB_LINK_INIT;
	need_reason("its link is INIT");
	view.at.state = view.hop[2].out.state = VB_LINK_DOWN;
	view.hop[2].out.is_plugged = false;
	need_reason("its link is DOWN, the cable is unplugged");
	view.hop[2].out.has_cable = false;
	need_reason("there is no cable");
	view.end = VB_PATH_RECEIVED_NOT;
	view.at.state = view.hop[2].in.state = VB_LINK_INIT;
	need_reason("its link is INIT and takes no data");
	view.no_router = true;
	view.from_prefix = 1;
	view.prefix = 2;
	need_reason("no router leads from prefix 0x0000000000000001 to 0x0000000000000002");
}

static void groups__that_a_port_has_not_joined(void **state)
{
	(void)state;
	view.dlid = 0xc001;
	ends_at(VB_PATH_NO_COPY, 3);
	expect("not-in-group", VB_RANK_FAILED,
	       "The multicast table of T makes no copy for port 2, so port 1 of B gets none.");
}

static void groups__that_do_not_come_to_a_switch(void **state)
{
	(void)state;
	view.dlid = 0xc001;
	ends_at(VB_PATH_NO_TREE, 3);
	expect("not-in-tree", VB_RANK_FAILED, "No copies come to T, where port 1 of B is");
}

/* The explanation of a QP has the cause of its way, and of the way of the answers. */
static void qps__whose_way_is_broken(void **state)
{
	static struct vb_path_view way[2];
	struct vb_peer_facts peer = {.there = VB_PEER_NO_PROCESS};
	struct vb_qp_view qp = {.attr.path = {.dlid = 7, .slid = 4}, .attr.dest_qpn = 9};
	struct vb_explain_in in = {.peer = &peer, .view = &qp, .way = way, .way_cnt = 2};

	(void)state;
	assert_string_equal(vb_word_peer(&qp.attr.path).s, "LID 7");
	way[0] = way[1] = view;
	memset(&why, 0, sizeof why);
	assert_string_equal(vb_explain_silence(&in, &qp, &why), "peer-gone");
	assert_true(says("All nodes of the fabric are here, and no program here has QP 0x000009"));
	way[1].end = VB_PATH_NO_WAY;
	way[1].at = way[1].hop[1].in;
	memset(&why, 0, sizeof why);
	why.rank = VB_RANK_FAILED;
	assert_string_equal(vb_explain_silence(&in, &qp, &why), "no-entry");
	assert_true(says("The way of the answers is broken, as the tables stand now."));
	assert_true(says("The forwarding table of T has no entry for LID 7."));
	assert_int_equal(why.rank, VB_RANK_FAILED);
	way[0].from.state = VB_LINK_DOWN;
	memset(&why, 0, sizeof why);
	assert_string_equal(vb_explain_silence(&in, &qp, &why), "down");
	assert_true(says("The way of its packets is broken"));
	/* Nothing is wrong with the QP there: a lane that has no credits is. */
	way[0] = way[1] = view;
	way[0].hop[1].stalled = VB_SEC;
	peer.there = VB_PEER_UNKNOWN;
	memset(&why, 0, sizeof why);
	assert_string_equal(vb_explain_silence(&in, &qp, &why), "credits");
	assert_true(says("held up on the way of its packets"));
	way[0].hop[1].stalled = 0;
	memset(&why, 0, sizeof why);
	assert_string_equal(vb_explain_silence(&in, &qp, &why), "no-answer");
	assert_true(says("Nothing breaks the way of its packets as the tables stand now, nor that "
			 "of the answers"));
	assert_false(says("ICMP"));
}

/* LNK-21, LNK-26 */
static void credits__that_do_not_come(void **state)
{
	(void)state;
	view.hop[1].stalled = 30 * VB_MSEC;
	view.hop[2].stalled = 40 * VB_MSEC;
	view.hop[2].out.counter[VB_PMA_XMIT_WAIT] = 1000;
	expect("credits", VB_RANK_STUCK,
	       "Lane 0 of port 2 of T has had no credits for 40.00 ms: port 1 of B gives no room.");
	assert_true(says("PortXmitDiscards 0, PortXmitWait 1000."));
	view.hop[1].stalled = view.hop[2].stalled = VB_MSEC;
	expect("well", VB_RANK_WELL, "");
	view.stopped[0] = (struct vb_path_program){4711, "ib_write_bw"};
	view.stopped[1] = (struct vb_path_program){4712, "rping"};
	view.stopped_cnt = 2;
	expect(
	    "receiver-stopped", VB_RANK_STUCK,
	    "at B these programs do not run, and take nothing: process 4711 ib_write_bw, process "
	    "4712 rping.");
}

/* A node that keeps tools out says so beside the cause. FAB-16, FAB-17 */
static void keys__that_refuse(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct vb_path_port *p = i ? &view.hop[1].out : &view.hop[0].in;

		p->has_mkey = true;
		p->mkey_protect = 2;
		p->mkey_violations = 4;
		p->has_refused = true;
		p->refused_method = VB_MAD_METHOD_SET;
		p->refused_attr = VB_SMP_PORT_INFO;
	}
	expect("well", VB_RANK_WELL, "S has an M_Key (protection 2), and refused 4 SMPs");
	assert_true(says("the last one Set of attribute 0x0015; its lease is for ever."));
	assert_int_equal(why.what.cnt, 2);
	view.hop[0].in.mkey_ends = 3 * VB_SEC;
	expect("well", VB_RANK_WELL, "its lease ends in 3.000 s, and with it the protection.");
	vb_path_explain_port(&view.hop[1].out, &view.hop[1].in, "ib3", &view.manager, &why);
	assert_int_equal(why.rank, VB_RANK_WELL);
	assert_false(says("refused")); /* that is said of port 0 */
	view.hop[1].out.type = VB_NODE_CA;
	vb_path_explain_port(&view.hop[1].out, &view.hop[1].in, "ib3", &view.manager, &why);
	assert_int_equal(why.rank, VB_RANK_TROUBLED);
	assert_true(says("Its link carries data.") && says("refused 4 SMPs"));
	view.hop[1].out.state = VB_LINK_INIT;
	vb_path_explain_port(&view.hop[1].out, &view.hop[1].in, "ib3", &view.manager, &why);
	assert_string_equal(why.cause, "m-key");
	assert_int_equal(why.rank, VB_RANK_FAILED);
}

/* Another process may have written anything. */
static void view__that_makes_no_sense(void **state)
{
	(void)state;
	memset(&view, 0xff, sizeof view);
	vb_path_heal(&view);
	vb_path_explain(&view, &why);
	for (uint32_t end = 0; end <= VB_PATH_END_CNT; end++) {
		assert_int_equal(begin(NULL), 0);
		view.hop_cnt = 0;
		view.end = end;
		vb_path_heal(&view);
		vb_path_explain(&view, &why);
		assert_non_null(why.cause);
	}
	assert_string_equal(vb_path_cause_word(VB_PATH_CAUSE_CNT), "?");
	assert_string_equal(vb_path_state(9), "?");
}

#define T(f) cmocka_unit_test_setup(f, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(path__that_works),
	    T(link__of_the_sender),
	    T(link__in_init_without_a_manager),
	    T(link__in_init_that_refuses_the_manager),
	    T(link__on_the_way),
	    T(receiver__without_a_lid),
	    T(tables__without_a_way),
	    T(tables__that_lead_elsewhere),
	    T(tables__that_lead_around),
	    T(lanes__that_drop),
	    T(lengths__that_a_link_does_not_take),
	    T(partitions),
	    T(routers__that_drop),
	    T(subnets__that_no_router_joins),
	    T(reasons__stand_behind_a_place),
	    T(groups__that_a_port_has_not_joined),
	    T(groups__that_do_not_come_to_a_switch),
	    T(qps__whose_way_is_broken),
	    T(credits__that_do_not_come),
	    T(keys__that_refuse),
	    T(view__that_makes_no_sense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
