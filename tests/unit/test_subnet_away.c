/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports whose cables lead away: MADs between two subnets, which one manager asks by directed
 * routes, by LIDs and by both; their bytes as packets; states of such links. FAB-09 to FAB-13,
 * FAB-32, LNK-12, LNK-13, LNK-30, LNK-31, LNK-35 */
#include "subnet_env.h"

#include "mgmt/subnet/priv.h"
#include "wire/ib/vcrc.h"
#include "wire/icrc.h"

/* The other subnet is of one switch and one host: port 3 of SWITCH_B leads to port 1 of FAR_SWITCH,
 * whose port 2 has FAR_HOST. */
enum { FAR_SWITCH, FAR_HOST };
#define FAR_LID(node) (uint16_t)(0x20 + (node))

static struct vb_subnet far;
static uint8_t packet[VB_SUBNET_PACKET_MAX];
static uint32_t left_cnt, packet_len;
static bool loses;

/* A MAD that leaves one subnet comes into the other, as bytes. */
static void leave(void *ctx, struct vb_subnet_place out, const struct vb_subnet_mad *mad)
{
	struct vb_subnet *to = ctx;
	struct vb_subnet_mad in;
	bool is_out_of_near = to == &far;

	assert_true(is_out_of_near ? out.node == SWITCH_B && out.port == 3
				   : out.node == FAR_SWITCH && out.port == 1);
	left_cnt++;
	packet_len = vb_subnet_mad_emit(mad, packet);
	if (loses)
		return;
	assert_int_equal(vb_subnet_mad_parse(&in, packet, packet_len), 0);
	in.at = is_out_of_near ? place(FAR_SWITCH, 1) : place(SWITCH_B, 3);
	if (vb_subnet_receive(to, &in, now) && !is_out_of_near)
		m = in;
}

static void far_add(uint8_t type, uint8_t ports, uint64_t guid)
{
	uint64_t guids[4] = {guid, guid + 1, guid + 2, guid + 3};
	struct vb_subnet_node_config c = {.type = type,
					  .port_cnt = ports,
					  .node_guid = guid,
					  .system_guid = guid,
					  .port_guid = guids,
					  .description = "far"};

	assert_true(vb_subnet_add(&far, &c) >= 0);
}

static void both_ends_join(void)
{
	const struct vb_subnet_far a = vb_subnet_near_end(&net, place(SWITCH_B, 3)),
				   b = vb_subnet_near_end(&far, place(FAR_SWITCH, 1));

	vb_subnet_far_end(&net, place(SWITCH_B, 3), &b, false, now);
	vb_subnet_far_end(&far, place(FAR_SWITCH, 1), &a, false, now);
}

static struct vb_ib_port *far_link(uint32_t node, uint8_t port)
{
	return &far.node[node].port[port].link;
}

static int setup_two(void **state)
{
	setup(state);
	far = (struct vb_subnet){.alloc = zeroed_alloc, .free = plain_free};
	assert_int_equal(vb_subnet_open(&far, 2), 0);
	far_add(VB_NODE_SWITCH, 3, 0xe0);
	far_add(VB_NODE_CA, 1, 0xf0);
	assert_int_equal(vb_subnet_join(&far, place(FAR_SWITCH, 2), place(FAR_HOST, 1), VB_IB_EDR,
					VB_IB_4X, now),
			 0);
	assert_int_equal(vb_subnet_join_away(&net, place(SWITCH_B, 3), VB_IB_HDR, VB_IB_4X, now),
			 0);
	assert_int_equal(vb_subnet_join_away(&far, place(FAR_SWITCH, 1), VB_IB_EDR, VB_IB_4X, now),
			 0);
	net.leave = far.leave = leave;
	net.away_ctx = &far;
	far.away_ctx = &net;
	left_cnt = 0;
	loses = false;
	assert_int_equal(link_of(SWITCH_B, 3)->state, VB_LINK_DOWN);
	both_ends_join();
	return 0;
}

static int teardown_two(void **state)
{
	vb_subnet_close(&far);
	return teardown(state);
}

static const uint8_t to_far_switch[] = {1, 2, 3}, to_far_host[] = {1, 2, 3, 2};

/* The answer comes by the call of the other subnet: vb_subnet_send() has nothing to hand back. */
static int ask_far(uint8_t method, uint16_t attr, uint32_t mod, const uint8_t *path, uint8_t hops)
{
	make_directed(method, attr, mod, path, hops);
	assert_false(vb_subnet_send(&net, &m, now));
	return answer_status();
}

/* LIDs, states and tables of all nodes, as a manager sets them. */
static void all_configure(void)
{
	struct vb_subnet *const both[] = {&net, &far};

	for (int i = 0; i < 2; i++)
		for (uint32_t n = 0; n < both[i]->node_cnt; n++)
			for (unsigned p = 0; p <= both[i]->node[n].sma.info.port_cnt; p++) {
				struct vb_subnet_place at = {n, (uint8_t)p};
				struct vb_sma_port *s = vb_subnet_sma_port(both[i], at);

				s->info.lid = i == 0 ? LID(n) : FAR_LID(n);
				if (p) {
					both[i]->node[n].port[p].link.state = VB_LINK_ACTIVE;
					s->info.state = VB_LINK_ACTIVE;
				}
			}
	for (uint32_t sw = SWITCH_A; sw <= SWITCH_B; sw++) {
		uint8_t *lft = net.node[sw].forward.unicast;

		net.node[sw].forward.unicast_top = FAR_LID(FAR_HOST);
		lft[LID(HOST_A)] = sw == SWITCH_A ? 1 : 2;
		lft[LID(SWITCH_A)] = sw == SWITCH_A ? 0 : 2;
		lft[LID(SWITCH_B)] = sw == SWITCH_A ? 2 : 0;
		lft[LID(HOST_B)] = sw == SWITCH_A ? 2 : 1;
		lft[FAR_LID(FAR_SWITCH)] = lft[FAR_LID(FAR_HOST)] = sw == SWITCH_A ? 2 : 3;
	}
	far.node[FAR_SWITCH].forward.unicast_top = FAR_LID(FAR_HOST);
	memset(far.node[FAR_SWITCH].forward.unicast, 1, LID(HOST_B) + 1);
	far.node[FAR_SWITCH].forward.unicast[FAR_LID(FAR_SWITCH)] = 0;
	far.node[FAR_SWITCH].forward.unicast[FAR_LID(FAR_HOST)] = 2;
}

/* LNK-35: both ends come up with what both can. */
static void links__come_up_when_both_ends_poll(void **state)
{
	(void)state;
	assert_int_equal(link_of(SWITCH_B, 3)->state, VB_LINK_INIT);
	assert_int_equal(far_link(FAR_SWITCH, 1)->state, VB_LINK_INIT);
	assert_int_equal(info_of(SWITCH_B, 3)->ext_speed_active,
			 vb_ib_speed_row(VB_IB_EDR)->port_info_ext);
	assert_int_equal(info_of(SWITCH_B, 3)->width_active, VB_IB_4X);
	assert_int_equal(vb_subnet_join_away(&net, place(SWITCH_B, 3), VB_IB_EDR, VB_IB_4X, now),
			 -EBUSY);
	assert_int_equal(vb_subnet_join_away(&net, place(SWITCH_A, 1), VB_IB_EDR, VB_IB_4X, now),
			 -EBUSY);
}

/* FAB-09 to FAB-12: a directed route crosses, and its answer comes back by it. */
static void requests__cross_by_directed_routes(void **state)
{
	(void)state;
	assert_int_equal(ask_far(VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, 0, to_far_switch, 3), 0);
	assert_int_equal(m.mad[VB_SMP_DATA_AT + 2], VB_NODE_SWITCH);
	assert_int_equal(ask_far(VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, 0, to_far_host, 4), 0);
	assert_int_equal(m.mad[VB_SMP_DATA_AT + 2], VB_NODE_CA);
	assert_int_equal(left_cnt, 4);
	/* LNK-13: without LIDs, on VL15. */
	assert_int_equal(packet_len, VB_SMP_LEN);
	assert_int_equal(packet[0] >> 4, VB_VL_MGMT);
	assert_int_equal(be16_get(packet + 2), VB_LID_PERMISSIVE);
	assert_int_equal(be16_get(packet + 6), VB_LID_PERMISSIVE);
	/* Also where the sender has said other ones. */
	make_directed(VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, 0, to_far_host, 4);
	m.slid = m.dlid = 0;
	assert_false(vb_subnet_send(&net, &m, now));
	assert_int_equal(answer_status(), 0);
	assert_int_equal(be16_get(packet + 2), VB_LID_PERMISSIVE);
	assert_int_equal(be16_get(packet + 6), VB_LID_PERMISSIVE);
	/* LNK-38: counted at both ends. */
	assert_int_equal(link_of(SWITCH_B, 3)->counters.xmit_packets, 3);
	assert_int_equal(link_of(SWITCH_B, 3)->counters.rcv_packets, 3);
	assert_int_equal(far_link(FAR_SWITCH, 1)->counters.rcv_data, 3 * 72);
}

/* An SMP and a GMP by LID. */
static void requests__cross_by_lid(void **state)
{
	struct vb_mad_hdr h = {.base_version = VB_MAD_BASE_VERSION,
			       .mgmt_class = VB_MAD_CLASS_SUBN_LID,
			       .class_version = VB_SMP_CLASS_VERSION,
			       .method = VB_MAD_METHOD_GET,
			       .tid = 7,
			       .attr_id = VB_SMP_NODE_INFO};

	(void)state;
	all_configure();
	m = (struct vb_subnet_mad){.at = place(HOST_A, 1),
				   .on_qp0 = true,
				   .slid = LID(HOST_A),
				   .dlid = FAR_LID(FAR_HOST),
				   .pkey = 0xffff};
	vb_mad_hdr_emit(&h, m.mad);
	assert_false(vb_subnet_send(&net, &m, now));
	assert_int_equal(m.at.node, HOST_A);
	assert_int_equal(m.slid, FAR_LID(FAR_HOST));
	assert_int_equal(m.mad[VB_SMP_DATA_AT + 2], VB_NODE_CA);
	/* With a GRH, whose fields cross as well. */
	h.mgmt_class = VB_MAD_CLASS_PERF;
	h.attr_id = VB_MAD_CLASS_PORT_INFO;
	h.class_version = 1;
	m = (struct vb_subnet_mad){.at = place(HOST_A, 1),
				   .has_grh = true,
				   .slid = LID(HOST_A),
				   .dlid = FAR_LID(FAR_HOST),
				   .src_qp = 1,
				   .dst_qp = 1,
				   .qkey = VB_MAD_QKEY,
				   .pkey = 0xffff,
				   .hop_limit = 9,
				   .sgid = {[15] = 1},
				   .dgid = {[15] = 2}};
	vb_mad_hdr_emit(&h, m.mad);
	assert_false(vb_subnet_send(&net, &m, now));
	assert_int_equal(m.at.node, HOST_A);
	assert_true(m.has_grh && m.sgid[15] == 2 && m.dgid[15] == 1);
	vb_mad_hdr_parse(&h, m.mad);
	assert_int_equal(h.method, VB_MAD_METHOD_GET_RESP);
	assert_int_equal(h.status, 0);
	assert_int_equal(packet_len, VB_SUBNET_PACKET_MAX);
}

/* FAB-13: a part by LID to the far switch, then a directed one there. */
static void requests__cross_by_both(void **state)
{
	struct vb_smp_route r;

	(void)state;
	all_configure();
	make_directed(VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, 0, (const uint8_t[]){2}, 1);
	vb_smp_route_parse(&r, m.mad);
	r.dr_slid = LID(HOST_A);
	vb_smp_route_emit(&r, m.mad);
	m.slid = LID(HOST_A);
	m.dlid = FAR_LID(FAR_SWITCH);
	assert_false(vb_subnet_send(&net, &m, now));
	assert_int_equal(answer_status(), 0);
	assert_int_equal(m.mad[VB_SMP_DATA_AT + 2], VB_NODE_CA);
}

/* LNK-30: nothing crosses a link that is down at the receiver's end; GMPs none in INIT. */
static void requests__need_a_link(void **state)
{
	struct vb_subnet_far gone = {.is_there = false};

	(void)state;
	vb_subnet_far_end(&far, place(FAR_SWITCH, 1), &gone, false, now);
	assert_int_equal(far_link(FAR_SWITCH, 1)->state, VB_LINK_DOWN);
	assert_int_equal(ask_far(VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, 0, to_far_switch, 3), -1);
	assert_int_equal(far_link(FAR_SWITCH, 1)->counters.rcv_discards, 1);
	vb_subnet_far_end(&net, place(SWITCH_B, 3), &gone, false, now);
	assert_int_equal(ask_far(VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, 0, to_far_switch, 3), -1);
	assert_int_equal(left_cnt, 1);
	assert_int_equal(link_of(SWITCH_B, 3)->counters.xmit_discards, 1);
	both_ends_join();
	assert_int_equal(ask_far(VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, 0, to_far_switch, 3), 0);
}

/* LNK-31: a link that a manager, a user or a pulled cable takes down waits until the other end has
 * heard of that. */
static void links__that_fall_wait_for_the_other_end(void **state)
{
	struct vb_subnet_port *p = &net.node[SWITCH_B].port[3];
	uint32_t falls = p->falls;

	(void)state;
	vb_subnet_link_train(&net, place(SWITCH_B, 3), now);
	assert_int_equal(p->link.state, VB_LINK_DOWN);
	assert_int_equal(p->falls, falls + 1);
	/* Its word from before does not count. */
	assert_false(p->far.is_there);
	both_ends_join();
	assert_int_equal(p->link.state, VB_LINK_INIT);
	assert_int_equal(vb_subnet_plug(&net, place(SWITCH_B, 3), false, now), 0);
	assert_int_equal(p->link.state, VB_LINK_DOWN);
	assert_false(vb_subnet_near_end(&net, place(SWITCH_B, 3)).is_there);
	both_ends_join();
	assert_int_equal(p->link.state, VB_LINK_DOWN);
	assert_int_equal(far_link(FAR_SWITCH, 1)->state, VB_LINK_DOWN);
	assert_int_equal(vb_subnet_plug(&net, place(SWITCH_B, 3), true, now), 0);
	both_ends_join();
	assert_int_equal(p->link.state, VB_LINK_INIT);
	/* The other end's fall takes it down, and both may come up again. */
	both_ends_join();
	p->link.state = VB_LINK_ACTIVE;
	vb_subnet_far_end(&net, place(SWITCH_B, 3),
			  &(struct vb_subnet_far){true, VB_IB_EDR, VB_IB_4X}, true, now);
	assert_int_equal(p->link.state, VB_LINK_INIT);
}

/* FAB-32: the manager hears of it by a trap of the switch. */
static void links__that_fall_raise_trap_128(void **state)
{
	struct vb_subnet_mad trap;
	struct vb_notice n;

	(void)state;
	all_configure();
	for (uint32_t i = 0; i < net.node_cnt; i++)
		for (unsigned p = 0; p <= net.node[i].sma.info.port_cnt; p++)
			info_of(i, (uint8_t)p)->sm_lid = LID(HOST_A);
	vb_subnet_far_end(&net, place(SWITCH_B, 3), &(struct vb_subnet_far){.is_there = false},
			  false, now);
	assert_true(vb_subnet_poll_trap(&net, &trap, now));
	vb_notice_parse(&n, trap.mad);
	assert_int_equal(n.trap, VB_TRAP_LINK_STATE);
	assert_int_equal(trap.at.node, SWITCH_B);
}

/* A port is as it was when its tunnel has gone. */
static void ports__part(void **state)
{
	(void)state;
	vb_subnet_part_away(&net, place(SWITCH_B, 3), now);
	assert_int_equal(link_of(SWITCH_B, 3)->state, VB_LINK_DOWN);
	assert_int_equal(vb_subnet_plug(&net, place(SWITCH_B, 3), false, now), -ENOENT);
	assert_int_equal(ask_far(VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, 0, to_far_switch, 3), -1);
	assert_int_equal(left_cnt, 0);
	assert_int_equal(vb_subnet_join_away(&net, place(SWITCH_B, 3), VB_IB_EDR, VB_IB_4X, now),
			 0);
}

/* LNK-07, LNK-09, LNK-13: packets in which a bit is another one, or a byte lacks, are none; nor are
 * SMPs with a GRH, and other opcodes. */
static void packets__are_checked(void **state)
{
	struct vb_subnet_mad out;
	uint8_t bytes[VB_SUBNET_PACKET_MAX + 8] = {0};

	(void)state;
	loses = true;
	make_directed(VB_MAD_METHOD_GET, VB_SMP_NODE_INFO, 0, to_far_switch, 3);
	assert_false(vb_subnet_send(&net, &m, now));
	memcpy(bytes, packet, packet_len);
	for (uint32_t bit = 0; bit < packet_len * 8; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(vb_subnet_mad_parse(&out, bytes, packet_len), -EBADMSG);
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	for (uint32_t len = 0; len < sizeof bytes; len++)
		assert_int_equal(vb_subnet_mad_parse(&out, bytes, len),
				 len == packet_len ? 0 : -EBADMSG);
	/* LNK-10: another byte of the MAD, under a VCRC that is right. */
	bytes[100] ^= 1;
	vb_vcrc_put(bytes + packet_len - 2, vb_vcrc(bytes, packet_len - 2));
	assert_int_equal(vb_subnet_mad_parse(&out, bytes, packet_len), -EBADMSG);
	bytes[100] ^= 1;
	/* An opcode of RC, whose CRCs are right. */
	bytes[8] = 0x04;
	vb_icrc_finish(vb_icrc_headers(vb_icrc_start_local(bytes), bytes + 8, packet_len - 8 - 6),
		       bytes + packet_len - 6);
	vb_vcrc_put(bytes + packet_len - 2, vb_vcrc(bytes, packet_len - 2));
	assert_int_equal(vb_subnet_mad_parse(&out, bytes, packet_len), -EBADMSG);
	/* LNK-12: VL15 leads to QP 0, and has no GRH. */
	m.has_grh = m.on_qp0 = true;
	m.vl = VB_VL_MGMT;
	packet_len = vb_subnet_mad_emit(&m, bytes);
	assert_int_equal(packet_len, VB_SUBNET_PACKET_MAX);
	assert_int_equal(vb_subnet_mad_parse(&out, bytes, packet_len), -EBADMSG);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup_two, teardown_two)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(links__come_up_when_both_ends_poll),
	    TEST(requests__cross_by_directed_routes),
	    TEST(requests__cross_by_lid),
	    TEST(requests__cross_by_both),
	    TEST(requests__need_a_link),
	    TEST(links__that_fall_wait_for_the_other_end),
	    TEST(links__that_fall_raise_trap_128),
	    TEST(ports__part),
	    TEST(packets__are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
