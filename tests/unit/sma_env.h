/* SPDX-License-Identifier: BSD-2-Clause */
/* A node with its agent, an adapter or a switch of up to four ports, asked as a subnet manager
 * asks. */
#ifndef VB_TESTS_SMA_ENV_H
#define VB_TESTS_SMA_ENV_H

#include "cmocka_env.h"
#include "mgmt/sma.h"
#include "wire/ib/rate.h"

#include <string.h>

#define KEY 0x1122334455667788

static struct vb_ib_port link[5];
static struct vb_sma_port port[5];
static struct vb_sl2vl sl2vl[5][5];
static uint64_t guid[5][10];
static uint16_t pkey[5][64];
static uint8_t lft[200];
static struct vb_port_mask mft[40];
static struct vb_lid_forward forward;
static struct vb_sma_node node;
static struct vb_sma_result result;
static uint8_t mad[VB_MAD_LEN];

static inline void node_begin(uint8_t type, uint8_t port_cnt)
{
	struct vb_ib_port_config c = {.mtu = 256, .data_cnt = 1, .symbol_ps = 320};
	unsigned first = type == VB_NODE_SWITCH ? 0 : 1;

	memset(port, 0, sizeof port);
	memset(lft, VB_PORT_NONE, sizeof lft);
	memset(mft, 0, sizeof mft);
	memset(pkey, 0, sizeof pkey);
	memset(sl2vl, 0, sizeof sl2vl);
	forward = (struct vb_lid_forward){
	    .unicast = lft, .multicast = mft, .unicast_cap = 200, .multicast_cap = 40};
	node = (struct vb_sma_node){
	    .info = {.type = type, .port_cnt = port_cnt, .node_guid = 0xabc, .pkey_cap = 40},
	    .sw = {.linear_cap = 200, .multicast_cap = 40},
	    .port = port,
	    .forward = &forward};
	for (unsigned i = first; i <= port_cnt; i++) {
		vb_ib_port_init(&link[i], &c);
		guid[i][0] = 0x100 + i;
		port[i] = (struct vb_sma_port){.link = &link[i],
					       .guid = guid[i],
					       .pkey = pkey[i],
					       .sl2vl = sl2vl[i],
					       .lease_ends = VB_NEVER,
					       .info = {.cap_mask = VB_CAP_SL_MAPPING,
							.width_supported = 3,
							.width_enabled = 3,
							.speed_supported = 7,
							.speed_enabled = 7,
							.ext_speed_supported = 3,
							.ext_speed_enabled = 3,
							.phys_state = VB_PHYS_POLLING,
							.mtu_cap = 5,
							.neighbor_mtu = 1,
							.vl_cap = 4,
							.oper_vls = 1,
							.arb_high_cap = 8,
							.arb_low_cap = 40,
							.guid_cap = 10}};
	}
	if (first == 0)
		port[0].link = NULL;
}

/* Asks by @in_port and gives the status of the answer, -1: there is none. */
static inline int ask(uint8_t method, uint16_t attr, uint32_t mod, uint8_t in_port, uint64_t key)
{
	struct vb_mad_hdr h = {.base_version = 1,
			       .mgmt_class = VB_MAD_CLASS_SUBN_DIRECTED,
			       .class_version = 1,
			       .method = method,
			       .tid = 0x77,
			       .attr_id = attr,
			       .attr_mod = mod};
	struct vb_smp_route r = {
	    .hop_ptr = 2, .hop_cnt = 1, .dr_slid = 0xffff, .dr_dlid = 0xffff, .mkey = key};

	vb_mad_hdr_emit(&h, mad);
	vb_smp_route_emit(&r, mad);
	result = vb_sma_handle(&node, mad, in_port, 1000);
	if (!result.respond)
		return -1;
	vb_mad_hdr_parse(&h, mad);
	vb_smp_route_parse(&r, mad);
	assert_int_equal(h.method, VB_MAD_METHOD_GET_RESP);
	assert_true(h.tid == 0x77 && h.attr_id == attr && h.attr_mod == mod);
	assert_true(r.returning);
	assert_int_equal(r.hop_ptr, 2);
	assert_int_equal(r.hop_cnt, 1);
	return r.status;
}

static inline int get(uint16_t attr, uint32_t mod, uint8_t in_port)
{
	return ask(VB_MAD_METHOD_GET, attr, mod, in_port, 0);
}

static inline int set(uint16_t attr, uint32_t mod, uint8_t in_port)
{
	return ask(VB_MAD_METHOD_SET, attr, mod, in_port, 0);
}

static inline struct vb_port_info port_info(void)
{
	struct vb_port_info p = {0};

	vb_port_info_parse(&p, mad);
	return p;
}

static inline int set_port(struct vb_port_info *p, uint8_t number)
{
	memset(mad, 0, sizeof mad);
	vb_port_info_emit(p, mad);
	return set(VB_SMP_PORT_INFO, number, 1);
}

/* A PortInfo that is legal to set: nothing changes but the LIDs. */
static inline struct vb_port_info good_port(void)
{
	return (struct vb_port_info){.lid = 8, .sm_lid = 1, .neighbor_mtu = 1};
}

#endif
