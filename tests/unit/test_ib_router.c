/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A router as a machine: frames come in by a port of one subnet, keep the room there until they
 * have left by the port of another one, and have new LIDs and a hop less. fabric/ib/node/switch.h;
 * FAB-06, FAB-07, LNK-21, LNK-22
 */
#include "cmocka_env.h"
#include "fabric/ib/node/switch.h"
#include "wire/be.h"
#include "wire/ib/lrh.h"

#include <stdlib.h>
#include <string.h>

#define CAPACITY 40 /* blocks: room for two packets */
#define PACKET 1056 /* bytes: 17 blocks */
#define PORTS 2
#define PREFIX(port) (UINT64_C(0xfec0000000000000) + (port))
enum { LID_NEAR = 5, LID_FAR = 6, LID_HOST = 7, GUID_HOST = 0x77 };

struct world {
	struct vb_frame_pool pool;
	struct vb_ready_list ready;
	struct vb_port line[PORTS];
	struct vb_ib_end end[PORTS];
	struct vb_ib_switch machine;
	struct vb_ib_router router;
	struct vb_sl2vl map[PORTS * PORTS];
	vb_time now;
};

static uint8_t one_port_cnt(const void *ctx, uint32_t n)
{
	(void)ctx, (void)n;
	return PORTS;
}

static struct vb_router_port one_port(const void *ctx, struct vb_router_at at)
{
	(void)ctx;
	return (struct vb_router_port){.prefix = PREFIX(at.port),
				       .guid = at.port,
				       .lid = at.port == 1 ? LID_NEAR : LID_FAR,
				       .is_up = true};
}

static uint16_t one_lid_of(const void *ctx, uint64_t prefix, uint64_t guid)
{
	(void)ctx;
	return prefix == PREFIX(2) && guid == GUID_HOST ? LID_HOST : 0;
}

static const struct vb_routers routers = {
    .cnt = 1, .port_cnt = one_port_cnt, .port = one_port, .lid_of = one_lid_of};

static void *pool_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void pool_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static int setup(void **state)
{
	static const struct vb_arb_entry both[] = {{0, 1}, {1, 1}};
	static struct world world;
	struct world *w = &world;
	struct vb_ib_port_config c = {
	    .mtu = 1024, .data_cnt = 2, .symbol_ps = 320, .hoq_life = 20, .is_switch = true};

	memset(w, 0, sizeof *w);
	w->pool = (struct vb_frame_pool){
	    .stride = 512, .max = 100, .alloc = pool_alloc, .release = pool_free};
	for (unsigned vl = 0; vl < VB_VL_CNT; vl++)
		c.capacity[vl] = CAPACITY;
	for (unsigned i = 0; i < PORTS; i++) {
		vb_port_init(&w->line[i], UINT64_C(100000000000), &w->ready);
		vb_ib_end_init(&w->end[i], &c, &w->line[i], &w->pool);
		vb_arbiter_set_table(&w->end[i].port.arbiter, VB_ARB_LOW, both, 2);
		vb_ib_end_set_link(&w->end[i], true, 0);
	}
	vb_ib_switch_init(&w->machine, w->end, PORTS);
	w->machine.sl2vl = w->map;
	w->map[0 * PORTS + 1].vl[1] = 1;
	w->router = (struct vb_ib_router){.all = &routers};
	w->machine.router = &w->router;
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	vb_frame_pool_destroy(&w->pool);
	return 0;
}

static struct vb_frame *packet(struct world *w, uint8_t hop_limit)
{
	struct vb_frame *f = vb_frame_pool_take(&w->pool);

	assert_non_null(f);
	memset(f, 0, sizeof *f);
	f->kind = VB_FRAME_DATA;
	f->path = (struct vb_path){.slid = 1, .dlid = LID_NEAR, .sl = 1, .hop_limit = hop_limit};
	be64_put(f->path.sgid.b, PREFIX(1));
	be64_put(f->path.sgid.b + 8, 0x11);
	be64_put(f->path.dgid.b, PREFIX(2));
	be64_put(f->path.dgid.b + 8, GUID_HOST);
	f->frame_len = PACKET + VB_VCRC_LEN;
	return f;
}

/* The next packet of port 1 of the machine. */
static struct vb_frame *next_packet(struct world *w)
{
	struct vb_frame *f;

	while ((f = vb_ib_switch_poll_transmit(&w->machine, 1, w->now)) != NULL &&
	       f->kind == VB_FRAME_FLOW)
		vb_frame_pool_give(&w->pool, f);
	return f;
}

/* FAB-06, LNK-21, LNK-22: it waits for credits of the other subnet in the lane of its SL, and has
 * the room of its input until then. */
static void router__sends_on(void **state)
{
	struct world *w = *state;
	struct vb_frame *f = packet(w, 2);

	vb_ib_switch_handle_packet(&w->machine, 0, f, w->now);
	assert_int_equal(w->end[0].port.lane[0].rx.used, 17);
	assert_null(next_packet(w));
	vb_credit_set_limit(&w->end[1].port.lane[1].tx, CAPACITY);
	f = next_packet(w);
	assert_non_null(f);
	assert_int_equal(f->prio, 1);
	assert_int_equal(f->path.slid, LID_FAR);
	assert_int_equal(f->path.dlid, LID_HOST);
	assert_int_equal(f->path.hop_limit, 1);
	assert_int_equal(f->path.sl, 1);
	assert_int_equal(f->frame_len, PACKET + VB_VCRC_LEN);
	assert_int_equal(w->end[0].port.lane[0].rx.used, 0);
	vb_frame_pool_give(&w->pool, f);
	assert_int_equal(w->end[0].not_routed + w->end[0].hops_ended + w->end[0].misrouted, 0);
}

static void drop(struct world *w, struct vb_frame *f)
{
	vb_ib_switch_handle_packet(&w->machine, 0, f, w->now);
	assert_int_equal(w->end[0].port.lane[0].rx.used, 0);
	assert_int_equal(w->pool.used, 0);
}

/* FAB-06, FAB-07: what goes no further is counted by its reason, and its room is free. */
static void router__drops(void **state)
{
	struct world *w = *state;
	struct vb_frame *f;

	drop(w, packet(w, 1));
	assert_int_equal(w->end[0].hops_ended, 1);
	f = packet(w, 64);
	f->path.dgid = f->path.sgid = (struct vb_gid){{0}};
	drop(w, f);
	assert_int_equal(w->end[0].not_routed, 1);
	f = packet(w, 64);
	f->path.dgid.b[15]++;
	drop(w, f);
	f = packet(w, 64);
	be64_put(f->path.dgid.b, PREFIX(2)); /* the router's own */
	be64_put(f->path.dgid.b + 8, 2);
	drop(w, f);
	assert_int_equal(w->end[0].not_routed, 3);
	f = packet(w, 64);
	f->path.dlid = LID_HOST;
	drop(w, f);
	/* Groups stay in their subnet. */
	f = packet(w, 64);
	f->path.dlid = VB_LID_MULTICAST + 1;
	drop(w, f);
	assert_int_equal(w->end[0].misrouted, 2);
	assert_int_equal(w->end[0].hops_ended, 1);
	assert_int_equal(w->end[0].relay_errors, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(router__sends_on),
	    T(router__drops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
