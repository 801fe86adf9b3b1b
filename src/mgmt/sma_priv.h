/* SPDX-License-Identifier: BSD-2-Clause */
/* The requests to the agent, as its files hand them on. */
#ifndef VB_MGMT_SMA_PRIV_H
#define VB_MGMT_SMA_PRIV_H

#include "mgmt/sma.h"

struct vb_sma_request {
	struct vb_sma_node *node;
	uint8_t *mad; /* VB_MAD_LEN bytes; the data becomes that of the answer */
	uint32_t mod;
	uint8_t in_port;
	bool set;
	bool key_is_right; /* the M_Key matches: PortInfo may show it */
	vb_time now;
	struct vb_sma_result *result;
};

/* Each answers an attribute: a vb_smp_status. */
uint16_t vb_sma_port_info(struct vb_sma_request *r);
uint16_t vb_sma_guid_info(struct vb_sma_request *r);
uint16_t vb_sma_pkey_table(struct vb_sma_request *r);
uint16_t vb_sma_sl2vl(struct vb_sma_request *r);
uint16_t vb_sma_vl_arb(struct vb_sma_request *r);
uint16_t vb_sma_lft(struct vb_sma_request *r);
uint16_t vb_sma_mft(struct vb_sma_request *r);

static inline bool vb_sma_is_switch(const struct vb_sma_node *n)
{
	return n->info.type == VB_NODE_SWITCH;
}

/* The port whose keys and GUIDs a node has: the one by which the SMP came, of a switch port 0. */
static inline uint8_t vb_sma_own_port(const struct vb_sma_request *r)
{
	return vb_sma_is_switch(r->node) ? 0 : r->in_port;
}

/* The port that a modifier names: 0 is the one that was asked, of a switch its port 0. -1: none. */
static inline int vb_sma_named_port(const struct vb_sma_request *r, uint32_t port)
{
	if (port > r->node->info.port_cnt)
		return -1;
	return port != 0 || vb_sma_is_switch(r->node) ? (int)port : r->in_port;
}

#endif
