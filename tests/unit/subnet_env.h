/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A subnet of two hosts, two switches and a loose end, and what a manager at HOST_A asks of it.
 * Port 0 of SWITCH_B is an enhanced one.
 *
 *   HOST_A port 1 -- 1 SWITCH_A 2 -- 2 SWITCH_B 1 -- port 2 HOST_B
 */
#ifndef VB_TESTS_SUBNET_ENV_H
#define VB_TESTS_SUBNET_ENV_H

#include "mgmt/subnet.h"

#include "cmocka_env.h"
#include "wire/be.h"
#include "wire/ib/lrh.h"
#include "wire/ib/rate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_A, SWITCH_A, SWITCH_B, HOST_B };

#define LID(node) (uint16_t)(0x10 + (node))
#define METHOD_TRAP VB_MAD_METHOD_TRAP
#define METHOD_TRAP_REPRESS VB_MAD_METHOD_TRAP_REPRESS
#define CLASS_VENDOR 0x32

static struct vb_subnet net;
static struct vb_subnet_mad m;
static vb_time now;

static inline void *zeroed_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static inline void plain_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static inline struct vb_subnet_place place(uint32_t node, uint8_t port)
{
	return (struct vb_subnet_place){node, port};
}

static inline struct vb_port_info *info_of(uint32_t node, uint8_t port)
{
	return &vb_subnet_sma_port(&net, place(node, port))->info;
}

static inline struct vb_ib_port *link_of(uint32_t node, uint8_t port)
{
	return &net.node[node].port[port].link;
}

static inline void add_node(uint8_t type, uint8_t ports, uint64_t guid)
{
	uint64_t guids[4] = {guid, guid + 1, guid + 2, guid + 3};
	struct vb_subnet_node_config c = {.type = type,
					  .port_cnt = ports,
					  .node_guid = guid,
					  .system_guid = guid,
					  .enhanced_port0 = guid == 0xc0,
					  .port_guid = guids,
					  .description = "node"};

	assert_true(vb_subnet_add(&net, &c) >= 0);
}

static inline int setup(void **state)
{
	(void)state;
	now = VB_SEC;
	net = (struct vb_subnet){.alloc = zeroed_alloc, .free = plain_free};
	assert_int_equal(vb_subnet_open(&net, 4), 0);
	add_node(VB_NODE_CA, 1, 0xa0);
	add_node(VB_NODE_SWITCH, 3, 0xb0);
	add_node(VB_NODE_SWITCH, 3, 0xc0);
	add_node(VB_NODE_CA, 2, 0xd0);
	assert_int_equal(
	    vb_subnet_join(&net, place(HOST_A, 1), place(SWITCH_A, 1), VB_IB_EDR, VB_IB_4X, now),
	    0);
	assert_int_equal(
	    vb_subnet_join(&net, place(SWITCH_A, 2), place(SWITCH_B, 2), VB_IB_HDR, VB_IB_2X, now),
	    0);
	assert_int_equal(
	    vb_subnet_join(&net, place(SWITCH_B, 1), place(HOST_B, 2), VB_IB_QDR, VB_IB_4X, now),
	    0);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	vb_subnet_close(&net);
	return 0;
}

/* An SMP of HOST_A along @path, whose first port is that of HOST_A. */
static inline void make_directed(uint8_t method, uint16_t attr, uint32_t mod, const uint8_t *path,
				 uint8_t hops)
{
	struct vb_mad_hdr h = {.base_version = VB_MAD_BASE_VERSION,
			       .mgmt_class = VB_MAD_CLASS_SUBN_DIRECTED,
			       .class_version = VB_SMP_CLASS_VERSION,
			       .method = method,
			       .tid = 7,
			       .attr_id = attr,
			       .attr_mod = mod};
	struct vb_smp_route r = {
	    .hop_cnt = hops, .dr_slid = VB_LID_PERMISSIVE, .dr_dlid = VB_LID_PERMISSIVE};
	uint8_t data[VB_SMP_DATA_LEN];

	memcpy(data, m.mad + VB_SMP_DATA_AT, sizeof data);
	m = (struct vb_subnet_mad){.at = place(HOST_A, 1),
				   .on_qp0 = true,
				   .slid = VB_LID_PERMISSIVE,
				   .dlid = VB_LID_PERMISSIVE};
	vb_mad_hdr_emit(&h, m.mad);
	vb_smp_route_emit(&r, m.mad);
	memcpy(m.mad + VB_SMP_DATA_AT, data, sizeof data);
	memcpy(vb_smp_initial_path(m.mad) + 1, path, hops);
}

/* The status of the answer that came back to HOST_A; -1: none did. */
static inline int answer_status(void)
{
	struct vb_mad_hdr h;
	struct vb_smp_route r;

	vb_mad_hdr_parse(&h, m.mad);
	vb_smp_route_parse(&r, m.mad);
	if (m.at.node != HOST_A || h.method != VB_MAD_METHOD_GET_RESP || h.tid != 7)
		return -1;
	return r.status;
}

static inline int ask_directed(uint8_t method, uint16_t attr, uint32_t mod, const uint8_t *path,
			       uint8_t hops)
{
	make_directed(method, attr, mod, path, hops);
	return vb_subnet_send(&net, &m, now) ? answer_status() : -1;
}

/* Directed routes of HOST_A. */
static const uint8_t to_switch_a[] = {1}, to_switch_b[] = {1, 2}, to_host_b[] = {1, 2, 1};

/* The work of a manager: LIDs, forwarding tables, and all links active. */
static inline void configure(void)
{
	static const uint8_t ports_a[] = {1, 0, 2, 2}, ports_b[] = {2, 2, 0, 1};

	for (uint32_t i = HOST_A; i <= HOST_B; i++) {
		uint8_t port = i == HOST_A ? 1 : i == HOST_B ? 2 : 0;

		info_of(i, port)->lid = LID(i);
		info_of(i, port)->sm_lid = LID(HOST_A);
	}
	for (uint32_t i = HOST_A; i <= HOST_B; i++) {
		net.node[SWITCH_A].forward.unicast[LID(i)] = ports_a[i];
		net.node[SWITCH_B].forward.unicast[LID(i)] = ports_b[i];
	}
	net.node[SWITCH_A].forward.unicast_top = net.node[SWITCH_B].forward.unicast_top = 0x100;
	for (uint32_t i = HOST_A; i <= HOST_B; i++)
		for (uint8_t p = 1; p <= net.node[i].sma.info.port_cnt; p++)
			if (net.node[i].port[p].has_cable)
				link_of(i, p)->state = VB_LINK_ACTIVE;
	net.due = 0; /* no SMP said so */
}

static inline void make_by_lid(uint8_t mgmt_class, uint8_t method, uint16_t attr, uint16_t dlid)
{
	struct vb_mad_hdr h = {.base_version = VB_MAD_BASE_VERSION,
			       .mgmt_class = mgmt_class,
			       .class_version = 1,
			       .method = method,
			       .tid = 7,
			       .attr_id = attr};

	m = (struct vb_subnet_mad){.at = place(HOST_A, 1),
				   .on_qp0 = mgmt_class == VB_MAD_CLASS_SUBN_LID,
				   .slid = LID(HOST_A),
				   .dlid = dlid,
				   .src_qp = mgmt_class != VB_MAD_CLASS_SUBN_LID,
				   .dst_qp = mgmt_class != VB_MAD_CLASS_SUBN_LID,
				   .pkey = 0xffff,
				   .qkey = VB_MAD_QKEY};
	vb_mad_hdr_emit(&h, m.mad);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
