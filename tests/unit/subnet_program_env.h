/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs at nodes of the fabric of subnet_process_env.h: each has a slot, and the link of its
 * adapter, with which the test sends and receives. */
#ifndef VB_TESTS_UNIT_SUBNET_PROGRAM_ENV_H
#define VB_TESTS_UNIT_SUBNET_PROGRAM_ENV_H

#include "subnet_process_env.h"

#include "link/ib/ib.h"
#include "link/shm/shm.h"
#include "wire/be.h"

#define PAYLOAD 1024
#define OPCODE_SEND_ONLY 0x04

/* A program at a node: its connection, and the link of its adapter. */
struct program {
	int sock;
	uint32_t slot, node;
	uint8_t port;
	struct vb_link *link;
	struct vb_ib_link_config fabric;
	struct vb_counters counters;
	struct vb_path path;
	uint8_t payload[PAYLOAD];
};

static struct vb_tx_batch batch;

static inline uint8_t port_of_path(void *ctx, const struct vb_path *path)
{
	const struct program *p = ctx;

	return path->dlid == LID(p->node) ? p->port : 0;
}

static inline void program_begin(struct program *p, const char *name, uint32_t node, uint8_t port)
{
	struct vb_link_config cfg = {.rx_fd = -1, .port_of_path = port_of_path, .ctx = p};
	struct vb_link *below;

	memset(p, 0, sizeof *p);
	p->sock = fabric_attach(name);
	p->node = node;
	p->port = port;
	assert_int_equal(fabric_ask(p->sock, VB_SUBNET_ADAPTER, "a program", NULL), 0);
	p->slot = (uint32_t)answer.token;
	p->path = (struct vb_path){.port = port, .slid = LID(node)};
	p->fabric.map = fabric->adapter->map;
	p->fabric.routes = vb_ib_map_routes(fabric->adapter->map, p->slot);
	for (uint32_t i = 0; i < VB_LINK_PORTS_MAX; i++) {
		p->fabric.port[i] = VB_IB_NOWHERE;
		cfg.counters[i] = &p->counters;
	}
	p->fabric.port[port] = vb_subnet_map_port(fabric->adapter, place(node, port));
	cfg.slot = (uint8_t)p->slot;
	cfg.wakeup = fabric->adapter->common->wakeup;
	cfg.carrier = fabric->adapter->map->carrier;
	cfg.fabric = &p->fabric;
	assert_int_equal(vb_nowhere_open(&below, &cfg), 0);
	cfg.lower = below;
	assert_int_equal(vb_shm_open(&below, &cfg), 0);
	cfg.lower = below;
	assert_int_equal(vb_ib_link_open(&p->link, &cfg), 0);
}

static inline void program_end(struct program *p)
{
	close(p->sock);
	fabric_turn();
	p->link->ops->close(p->link);
}

/* A packet of @from for the QP of @to, with @number for its PSN. */
static inline struct vb_tx *packet_add(struct program *from, const struct program *to,
				       uint32_t number)
{
	struct vb_tx *tx = &batch.pkt[batch.cnt];
	struct vb_seg *seg = &batch.seg[batch.cnt++];

	from->path.dlid = LID(to->node);
	*seg = (struct vb_seg){from->payload, PAYLOAD};
	*tx = (struct vb_tx){.path = &from->path,
			     .seg = seg,
			     .payload_len = PAYLOAD,
			     .seg_cnt = 1,
			     .hdr_len = VB_BTH_LEN,
			     .hdr = {[0] = OPCODE_SEND_ONLY, [7] = (uint8_t)to->slot}};
	be16_put(tx->hdr + 2, 0xffff);
	be32_put(tx->hdr + 8, number);
	return tx;
}

static inline void batch_send(const struct program *from)
{
	assert_int_equal(from->link->ops->send(from->link, &batch, 0, vb_clock_now()), batch.cnt);
	batch.cnt = 0;
}

#endif
