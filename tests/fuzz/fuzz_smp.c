/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any SMPs to the agent of a switch and of an adapter, any packets and flow control packets to its
 * ports, in any state. Nothing may be read or written outside of the node's tables, credits add up,
 * and an answer goes back by the port that it came by, or nowhere.
 *
 * Input: a byte for the node (bit 0: a switch), then steps: a byte for the kind, a byte for the
 * port, and what the kind needs (absent bytes are 0).
 */
#include "input.h"
#include "mgmt/sma.h"
#include "mgmt/smi.h"

#include <stdlib.h>
#include <string.h>

#define PORTS 4
#define GUIDS 10
#define PKEYS 40
#define LFT_LEN 100
#define MFT_LEN 40
#define CAPACITY 100

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len);

/* Each table is allocated, so that a step beyond its end is noticed. */
struct world {
	struct vb_ib_port link[PORTS + 1];
	struct vb_sma_port port[PORTS + 1];
	struct vb_lid_forward forward;
	struct vb_sma_node node;
	vb_time now;
	struct fuzz_input in;
};

static void *table_make(size_t cnt, size_t size)
{
	void *p = calloc(cnt, size);

	require(p != NULL);
	return p;
}

static void port_make(struct world *w, unsigned i)
{
	struct vb_ib_port_config c = {
	    .mtu = 256, .data_cnt = 1, .symbol_ps = 320, .is_switch = true};

	for (unsigned vl = 0; vl < VB_VL_CNT; vl++)
		c.capacity[vl] = CAPACITY;
	vb_ib_port_init(&w->link[i], &c);
	w->port[i] = (struct vb_sma_port){.link = i == 0 ? NULL : &w->link[i],
					  .guid = table_make(GUIDS, sizeof(uint64_t)),
					  .pkey = table_make(PKEYS, sizeof(uint16_t)),
					  .sl2vl = table_make(PORTS + 1, sizeof(struct vb_sl2vl)),
					  .lease_ends = VB_NEVER,
					  .info = {.cap_mask = VB_CAP_SL_MAPPING | VB_CAP_LED_INFO,
						   .width_supported = 3,
						   .width_enabled = 3,
						   .speed_supported = 7,
						   .speed_enabled = 7,
						   .ext_speed_supported = 3,
						   .phys_state = VB_PHYS_POLLING,
						   .mtu_cap = 5,
						   .neighbor_mtu = 1,
						   .vl_cap = 5,
						   .oper_vls = 1,
						   .arb_high_cap = 8,
						   .arb_low_cap = 40,
						   .guid_cap = GUIDS}};
}

static void world_make(struct world *w, bool is_switch)
{
	w->forward = (struct vb_lid_forward){
	    .unicast = table_make(LFT_LEN, 1),
	    .multicast = table_make(MFT_LEN, sizeof(struct vb_port_mask)),
	    .unicast_cap = LFT_LEN,
	    .multicast_cap = MFT_LEN,
	};
	for (unsigned i = 0; i <= PORTS; i++)
		port_make(w, i);
	w->node = (struct vb_sma_node){.info = {.type = is_switch ? VB_NODE_SWITCH : VB_NODE_CA,
						.port_cnt = PORTS,
						.pkey_cap = PKEYS},
				       .sw = {.linear_cap = LFT_LEN, .multicast_cap = MFT_LEN},
				       .port = w->port,
				       .forward = &w->forward};
}

static void world_end(struct world *w)
{
	free(w->forward.unicast);
	free(w->forward.multicast);
	for (unsigned i = 0; i <= PORTS; i++) {
		free(w->port[i].guid);
		free(w->port[i].pkey);
		free(w->port[i].sl2vl);
	}
}

/* An SMP whose header has few bytes, so that many of them are near to what is legal. */
static void smp_make(struct world *w, uint8_t mad[VB_MAD_LEN])
{
	struct vb_mad_hdr h = {.base_version = 1,
			       .mgmt_class = VB_MAD_CLASS_SUBN_DIRECTED,
			       .class_version = VB_SMP_CLASS_VERSION,
			       .method = take_byte(&w->in) & 0x87,
			       .attr_id = take_byte(&w->in)};
	struct vb_smp_route r = {.dr_slid = VB_LID_PERMISSIVE, .dr_dlid = VB_LID_PERMISSIVE};
	uint8_t mod[4];

	take_bytes(&w->in, mod, sizeof mod);
	h.attr_mod =
	    (uint32_t)mod[0] << 24 | (uint32_t)mod[1] << 16 | (uint32_t)mod[2] << 8 | mod[3];
	r.hop_ptr = take_byte(&w->in);
	r.hop_cnt = take_byte(&w->in);
	r.mkey = take_byte(&w->in);
	memset(mad, 0, VB_MAD_LEN);
	vb_mad_hdr_emit(&h, mad);
	vb_smp_route_emit(&r, mad);
	take_bytes(&w->in, mad + VB_SMP_DATA_AT, VB_SMP_DATA_LEN);
}

static void smp_step(struct world *w, uint8_t port, bool raw)
{
	struct vb_smi_node smi = {.is_switch = w->node.info.type == VB_NODE_SWITCH,
				  .port_cnt = PORTS};
	struct vb_sma_result result;
	struct vb_smp_route route;
	struct vb_smi_step step;
	uint8_t mad[VB_MAD_LEN];

	if (raw)
		take_bytes(&w->in, mad, sizeof mad);
	else
		smp_make(w, mad);
	step = vb_smi_forward(mad, &smi, port, false);
	require(step.where != VB_SMI_PORT || (step.port >= 1 && step.port <= PORTS));
	if (step.where != VB_SMI_AGENT)
		return;
	result = vb_sma_handle(&w->node, mad, port, w->now);
	if (!result.respond)
		return;
	vb_smp_route_parse(&route, mad);
	step = vb_smi_forward(mad, &smi, VB_SMI_LOCAL, false);
	require(step.where != VB_SMI_AGENT);
	/* A switch sends on by LID what came so. */
	require(step.where != VB_SMI_LID || (smi.is_switch && route.dr_slid != VB_LID_PERMISSIVE));
	require(step.where != VB_SMI_PORT || (step.port >= 1 && step.port <= PORTS));
}

static void packet_step(struct world *w, struct vb_ib_port *link)
{
	uint8_t bytes[VB_LRH_LEN + 2];
	struct vb_lrh lrh;
	uint32_t len;

	take_bytes(&w->in, bytes, sizeof bytes);
	vb_lrh_parse(&lrh, bytes);
	len = bytes[VB_LRH_LEN] & 1 ? (uint32_t)bytes[VB_LRH_LEN + 1] * 8
				    : lrh.words * 4u + VB_VCRC_LEN;
	if (vb_ib_port_receive(link, &lrh, len,
			       bytes[VB_LRH_LEN] & 2 ? VB_IB_TAIL_DAMAGED : VB_IB_TAIL_GOOD,
			       w->now) == VB_IB_ACCEPTED &&
	    !(bytes[VB_LRH_LEN] & 4))
		vb_ib_port_release(link, lrh.vl, len, w->now);
}

static void flow_step(struct world *w, struct vb_ib_port *link, bool good)
{
	uint8_t bytes[VB_FLOW_LEN];
	struct vb_flow_packet f;

	take_bytes(&w->in, bytes, sizeof bytes);
	f = (struct vb_flow_packet){.op = bytes[0] & 3,
				    .vl = bytes[1] & 15,
				    .fctbs = (uint16_t)(bytes[2] << 8 | bytes[3]),
				    .fccl = (uint16_t)(bytes[4] << 8 | bytes[5])};
	if (good)
		vb_flow_emit(&f, bytes);
	vb_ib_port_handle_flow(link, bytes, w->now);
}

/* A packet leaves, if the port lets it, or is dropped; either way it is the owner's again. */
static void send_step(struct world *w, struct vb_ib_port *link)
{
	struct vb_ib_item item = {.len = 26 + 4u * take_byte(&w->in), .vl = take_byte(&w->in)};
	struct vb_ib_out out;
	bool mine = false;

	vb_ib_port_enqueue(link, &item, w->now);
	for (unsigned i = 0; i < 2 * VB_VL_CNT && vb_ib_port_poll_transmit(link, w->now, &out); i++)
		mine |= out.item == &item;
	if (!mine && vb_ib_port_poll_dropped(link) == NULL) {
		(void)vb_ib_port_link_event(link, VB_LINK_LOST, w->now);
		require(vb_ib_port_poll_dropped(link) == &item);
	}
}

static void time_step(struct world *w, struct vb_ib_port *link)
{
	w->now += (vb_dur)1 << (take_byte(&w->in) & 31);
	vb_ib_port_handle_timeout(link, w->now);
	vb_sma_handle_timeout(&w->node, w->now);
	(void)vb_ib_port_poll_timeout(link);
}

static void one_step(struct world *w)
{
	uint8_t kind = take_byte(&w->in), port = (uint8_t)(1 + take_byte(&w->in) % PORTS);
	struct vb_ib_port *link = &w->link[port];

	switch (kind & 7) {
	case 0:
	case 1:
		smp_step(w, port, kind & 1);
		break;
	case 2:
		packet_step(w, link);
		break;
	case 3:
	case 4:
		flow_step(w, link, kind & 1);
		break;
	case 5:
		send_step(w, link);
		break;
	case 6:
		time_step(w, link);
		break;
	default:
		(void)vb_ib_port_link_event(link, take_byte(&w->in) % (VB_LINK_SET_ACTIVE + 1),
					    w->now);
	}
	for (unsigned vl = 0; vl < VB_VL_CNT; vl++)
		require(link->lane[vl].rx.used <= CAPACITY);
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len)
{
	static struct world w;

	if (len == 0)
		return 0;
	w = (struct world){.in = {in + 1, len - 1}};
	world_make(&w, in[0] & 1);
	while (w.in.len > 0)
		one_step(&w);
	world_end(&w);
	return 0;
}
