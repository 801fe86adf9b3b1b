/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes from an InfiniBand link to a port: packets with LRH and GRH, flow control packets, and
 * what the owner of the port and its timers do between them. Headers that are parsed and written
 * again have the same meaning; what the port accepts has room, and what it gives back is what was
 * given to it. LNK-01, LNK-02, LNK-05, LNK-15
 *
 * Input: steps: a byte for the kind and what the kind needs (absent bytes are 0).
 */
#include "fabric/ib/port.h"
#include "input.h"
#include "wire/ib/grh.h"
#include "wire/ib/rate.h"
#include "wire/ib/vcrc.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len);

#define LANES 4
#define CAPACITY 200 /* blocks of a lane */
#define ITEMS 16
#define HEADERS (VB_LRH_LEN + VB_GRH_LEN)

struct world {
	struct vb_ib_port port;
	struct vb_ib_item item[ITEMS];
	bool is_queued[ITEMS];
	uint32_t held[VB_VL_CNT]; /* blocks in the buffers, of packets of one block each */
	vb_time now;
	struct fuzz_input in;
};

static void headers_check(const uint8_t bytes[HEADERS], uint32_t len)
{
	uint8_t out[VB_GRH_LEN], again[VB_GRH_LEN];
	struct vb_lrh lrh;
	struct vb_grh grh;

	vb_lrh_parse(&lrh, bytes);
	require(vb_lrh_check(&lrh, len, 4096) < VB_LRH_VERDICT_CNT);
	vb_lrh_emit(&lrh, out);
	vb_lrh_parse(&lrh, out);
	vb_lrh_emit(&lrh, again);
	require(memcmp(out, again, VB_LRH_LEN) == 0);
	vb_grh_parse(&grh, bytes + VB_LRH_LEN);
	vb_grh_emit(&grh, out);
	vb_grh_parse(&grh, out);
	vb_grh_emit(&grh, again);
	require(memcmp(out, again, VB_GRH_LEN) == 0);
}

static void packet_step(struct world *w, bool is_whole)
{
	uint8_t bytes[HEADERS];
	struct vb_lrh lrh;
	uint32_t len;

	take_bytes(&w->in, bytes, sizeof bytes);
	vb_lrh_parse(&lrh, bytes);
	len = is_whole ? lrh.words * 4u + VB_VCRC_LEN : take_byte(&w->in) * 20u;
	headers_check(bytes, len);
	if (vb_ib_port_receive(&w->port, &lrh, len,
			       is_whole || (len & 4) ? VB_IB_TAIL_GOOD
						     : (enum vb_ib_tail)(len / 8 % 3),
			       w->now) > VB_IB_BAD)
		return;
	require(lrh.vl == VB_VL_MGMT || lrh.vl < LANES);
	/* It stays a while, or leaves at once. */
	require(w->port.lane[lrh.vl].rx.used <= CAPACITY);
	if (vb_blocks(len) == 1 && w->held[lrh.vl] < CAPACITY / 2)
		w->held[lrh.vl]++;
	else
		vb_ib_port_release(&w->port, lrh.vl, len, w->now);
}

static void release_step(struct world *w, uint8_t vl)
{
	if (w->held[vl] == 0)
		return;
	w->held[vl]--;
	vb_ib_port_release(&w->port, vl, VB_BLOCK_LEN, w->now);
}

static void flow_step(struct world *w, bool is_whole)
{
	uint8_t bytes[VB_FLOW_LEN];
	struct vb_flow_packet f;

	take_bytes(&w->in, bytes, sizeof bytes);
	if (is_whole) {
		f = (struct vb_flow_packet){.op = bytes[0] & 1,
					    .vl = bytes[0] >> 4,
					    .fctbs = (bytes[1] | bytes[2] << 8) & 0xfff,
					    .fccl = (bytes[3] | bytes[4] << 8) & 0xfff};
		vb_flow_emit(&f, bytes);
		require(vb_flow_parse(&f, bytes) == 0);
	}
	vb_ib_port_handle_flow(&w->port, bytes, w->now);
}

/* Those that have left, or were dropped, are free again. */
static void item_back(struct world *w, struct vb_ib_item *item)
{
	size_t i = (size_t)(item - w->item);

	require(i < ITEMS && w->is_queued[i]);
	w->is_queued[i] = false;
}

static void enqueue_step(struct world *w, uint8_t n)
{
	struct vb_ib_item *item = &w->item[n % ITEMS];

	if (w->is_queued[n % ITEMS])
		return;
	w->is_queued[n % ITEMS] = true;
	item->vl = take_byte(&w->in) & (VB_VL_CNT - 1);
	item->len = 26u + take_byte(&w->in) * 17u;
	vb_ib_port_enqueue(&w->port, item, w->now);
}

static void transmit_step(struct world *w, unsigned most)
{
	struct vb_ib_out out;

	for (unsigned i = 0; i <= most && vb_ib_port_poll_transmit(&w->port, w->now, &out); i++)
		if (out.item)
			item_back(w, out.item);
}

static void one_step(struct world *w)
{
	uint8_t kind = take_byte(&w->in);

	switch (kind & 7) {
	case 0:
	case 1:
		packet_step(w, kind & 1);
		break;
	case 2:
		flow_step(w, kind & 8);
		break;
	case 3:
		enqueue_step(w, kind >> 3);
		break;
	case 4:
		transmit_step(w, kind >> 3);
		break;
	case 5:
		release_step(w, kind >> 4);
		break;
	case 6:
		w->now += (vb_dur)1 << (kind >> 3);
		vb_ib_port_handle_timeout(&w->port, w->now);
		break;
	default:
		(void)vb_ib_port_link_event(&w->port, (kind >> 3) % (VB_LINK_SET_ACTIVE + 1),
					    w->now);
	}
	for (struct vb_ib_item *i; (i = vb_ib_port_poll_dropped(&w->port)) != NULL;)
		item_back(w, i);
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len)
{
	static const struct vb_arb_entry table[] = {{0, 3}, {1, 1}, {2, 255}, {3, 0}};
	struct vb_ib_port_config c = {.mtu = 4096,
				      .data_cnt = LANES,
				      .symbol_ps = vb_ib_symbol_ps(VB_IB_EDR),
				      .hoq_life = 4,
				      .stall_count = 2,
				      .is_switch = true};
	struct world w = {.in = {in, len}, .now = 1};

	for (unsigned vl = 0; vl < VB_VL_CNT; vl++)
		c.capacity[vl] = CAPACITY;
	vb_ib_port_init(&w.port, &c);
	vb_arbiter_set_table(&w.port.arbiter, VB_ARB_LOW, table, 4);
	while (w.in.len > 0)
		one_step(&w);
	return 0;
}
