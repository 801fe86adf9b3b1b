/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random traffic through two switches with two cables between them, by ports with buffers of all
 * sizes, to programs that read now and then: nothing is lost, nothing passes another packet of its
 * sender, receiver and level, and all credits come back, though each limit is told but once. Then
 * cables are pulled and joined in between: packets are lost, and nothing else. LNK-14 to LNK-17,
 * LNK-21, LNK-31
 */
#include "base/rng.h"
#include "cmocka_env.h"
#include "fabric/ib/node/net.h"
#include "wire/be.h"

#include <stdlib.h>
#include <string.h>

#define SIDE 3u /* hosts at a switch */
#define HOSTS (2 * SIDE)
#define RADIX (SIDE + 2)       /* ports of a switch: hosts, then cables to the other one */
#define FIRST_HOST (2 * RADIX) /* number of the port of host 0 */
#define PORTS (FIRST_HOST + HOSTS)
#define LEVELS 2u
#define PAYLOAD_MAX 1024u
#define PACKET_BLOCKS 19u /* of the longest packet, with all headers that there may be */
#define RUNS 40
#define STEPS 3000u

struct world {
	struct vb_ib_net net;
	struct vb_ib_switch sw[2];
	struct vb_ib_hca hca[HOSTS];
	struct vb_sl2vl map[RADIX * RADIX];
	uint8_t lft[2][16];
	struct vb_rng rng;
	uint32_t sent[HOSTS][HOSTS][LEVELS], got[HOSTS][HOSTS][LEVELS];
	bool loses;
};

static void *world_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void world_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static uint32_t host_port(uint32_t host)
{
	return FIRST_HOST + host;
}

/* The port of a switch where the host is. */
static uint32_t switch_port(uint32_t host)
{
	return host / SIDE * RADIX + host % SIDE;
}

static struct vb_ib_port_config config_of(struct world *w, bool is_switch)
{
	struct vb_ib_port_config c = {.mtu = 1024,
				      .data_cnt = LEVELS,
				      .symbol_ps = 1000,
				      .hoq_life = 20,
				      .is_switch = is_switch};

	for (unsigned vl = 0; vl < VB_VL_CNT; vl++)
		c.capacity[vl] = PACKET_BLOCKS + (uint32_t)vb_rng_below(&w->rng, 60);
	return c;
}

static void world_begin(struct world *w, uint64_t seed)
{
	static const struct vb_arb_entry both[] = {{0, 3}, {1, 20}};
	struct vb_ib_net_config cfg = {.port_cnt = PORTS,
				       .packets_max = 2048,
				       .payload_max = PAYLOAD_MAX,
				       .alloc = world_alloc,
				       .free = world_free};
	struct vb_ib_port_config c;

	memset(w, 0, sizeof *w);
	w->rng = vb_rng_stream(seed, "net", 0);
	assert_int_equal(vb_ib_net_open(&w->net, &cfg), 0);
	for (uint32_t s = 0; s < 2; s++) {
		c = config_of(w, true);
		vb_ib_net_add_switch(&w->net, &w->sw[s], s * RADIX, RADIX, &c);
		w->sw[s].sl2vl = w->map;
		w->sw[s].forward = (struct vb_lid_forward){
		    .unicast = w->lft[s], .unicast_cap = sizeof w->lft[s], .unicast_top = HOSTS};
		for (uint32_t h = 0; h < HOSTS; h++)
			w->lft[s][h + 1] = (uint8_t)(1 + (h / SIDE == s ? h % SIDE : SIDE + h % 2));
	}
	for (uint32_t i = 0; i < RADIX * RADIX; i++)
		w->map[i].vl[1] = 1;
	for (uint32_t h = 0; h < HOSTS; h++) {
		c = config_of(w, false);
		vb_ib_net_add_hca(&w->net, &w->hca[h], host_port(h), &c);
		w->hca[h].sl2vl.vl[1] = 1;
		vb_ib_net_join(&w->net, host_port(h), switch_port(h),
			       (vb_dur)vb_rng_below(&w->rng, 500));
	}
	for (uint32_t i = 0; i < 2; i++)
		vb_ib_net_join(&w->net, SIDE + i, RADIX + SIDE + i, 50);
	for (uint32_t i = 0; i < PORTS; i++) {
		vb_ib_net_set_rate(&w->net, i,
				   (1 + vb_rng_below(&w->rng, 4)) * UINT64_C(2000000000));
		vb_arbiter_set_table(&w->net.end[i].port.arbiter, VB_ARB_LOW, both, 2);
	}
	for (uint32_t i = 0; i < PORTS; i++)
		vb_ib_net_set_state(&w->net, i, VB_LINK_ACTIVE, false);
}

static void packet_send(struct world *w)
{
	static const uint8_t payload[PAYLOAD_MAX];
	uint32_t from = (uint32_t)vb_rng_below(&w->rng, HOSTS);
	uint32_t to = (uint32_t)vb_rng_below(&w->rng, HOSTS);
	uint8_t sl = (uint8_t)vb_rng_below(&w->rng, LEVELS);
	struct vb_seg seg = {payload, (uint32_t)vb_rng_below(&w->rng, PAYLOAD_MAX / 4 + 1) * 4};
	struct vb_path path = {.slid = (uint16_t)(from + 1), .dlid = (uint16_t)(to + 1), .sl = sl};
	struct vb_tx tx = {.path = &path,
			   .seg = &seg,
			   .payload_len = seg.len,
			   .seg_cnt = 1,
			   .hdr_len = VB_BTH_LEN,
			   .hdr = {[0] = 0x04}};

	if (from == to || !vb_ib_hca_has_room(&w->hca[from], sl) || !vb_ib_net_has_frames(&w->net))
		return;
	be32_put(tx.hdr + 8, w->sent[from][to][sl]++);
	assert_true(vb_ib_net_send(&w->net, host_port(from), &tx));
}

static bool packet_take(struct world *w, uint32_t host)
{
	const struct vb_frame *f = vb_ib_hca_peek(&w->hca[host]);
	uint32_t *want, number;

	if (!f)
		return false;
	want = &w->got[f->path.slid - 1u][host][f->path.sl];
	number = be32_get(f->bytes + 8);
	assert_int_equal(f->path.dlid, host + 1);
	assert_true(w->loses ? number >= *want : number == *want);
	*want = number + 1;
	vb_ib_net_take(&w->net, host_port(host));
	return true;
}

/* A cable goes down, or all come back. */
static void cables_change(struct world *w)
{
	uint32_t i = (uint32_t)vb_rng_below(&w->rng, PORTS);

	if (vb_rng_below(&w->rng, 2)) {
		vb_ib_net_set_state(&w->net, i, VB_LINK_DOWN, true);
		vb_ib_net_set_state(&w->net, w->net.port[i].far, VB_LINK_DOWN, true);
		return;
	}
	for (i = 0; i < PORTS; i++)
		vb_ib_net_set_state(&w->net, i, VB_LINK_ACTIVE, false);
}

static void world_run(struct world *w, uint32_t steps)
{
	for (uint32_t i = 0; i < steps; i++) {
		packet_send(w);
		packet_send(w);
		(void)vb_ib_net_run(&w->net, w->net.now + vb_rng_below(&w->rng, 800), UINT32_MAX);
		(void)packet_take(w, (uint32_t)vb_rng_below(&w->rng, HOSTS));
		if (w->loses && vb_rng_below(&w->rng, 100) == 0)
			cables_change(w);
	}
}

static void world_drain(struct world *w)
{
	bool moves = true;

	while (moves) {
		moves = vb_ib_net_run(&w->net, w->net.now + 100000, UINT32_MAX) != 0;
		for (uint32_t h = 0; h < HOSTS; h++)
			while (packet_take(w, h))
				moves = true;
	}
	assert_true(vb_ib_net_due(&w->net) == VB_NEVER);
	assert_int_equal(w->net.pool.used, 0);
	for (uint32_t i = 0; i < PORTS; i++) {
		const struct vb_ib_port *p = &w->net.end[i].port;

		for (unsigned vl = 0; vl < LEVELS; vl++)
			assert_int_equal(p->lane[vl].rx.used, 0);
		assert_int_equal(p->counters.buffer_overruns + p->counters.rcv_errors, 0);
	}
}

/* All that was sent since the last call has come. */
static void all_is_there(const struct world *w)
{
	assert_memory_equal(w->sent, w->got, sizeof w->sent);
}

static void traffic__is_not_lost(void **state)
{
	static struct world w;

	(void)state;
	for (uint64_t seed = 1; seed <= RUNS; seed++) {
		world_begin(&w, seed);
		for (int i = 0; i < 2; i++) {
			world_run(&w, STEPS / 2);
			world_drain(&w);
			all_is_there(&w);
		}
		vb_ib_net_close(&w.net);
	}
}

static void traffic__survives_its_cables(void **state)
{
	static struct world w;

	(void)state;
	for (uint64_t seed = 1; seed <= RUNS; seed++) {
		world_begin(&w, seed);
		w.loses = true;
		world_run(&w, STEPS);
		for (uint32_t i = 0; i < PORTS; i++)
			vb_ib_net_set_state(&w.net, i, VB_LINK_ACTIVE, false);
		world_drain(&w);
		/* The same fabric carries all again. */
		w.loses = false;
		memset(w.sent, 0, sizeof w.sent);
		memset(w.got, 0, sizeof w.got);
		world_run(&w, STEPS / 2);
		world_drain(&w);
		all_is_there(&w);
		vb_ib_net_close(&w.net);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(traffic__is_not_lost),
	    cmocka_unit_test(traffic__survives_its_cables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
