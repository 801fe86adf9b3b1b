/* SPDX-License-Identifier: BSD-2-Clause */
/* A simulated network of InfiniBand with its load, for tests that look at its ports. */
#ifndef VB_TESTS_UNIT_SIM_IB_ENV_H
#define VB_TESTS_UNIT_SIM_IB_ENV_H

#include "base/rng.h"
#include "sim/load/report.h"
#include "sim_net.h"

#include <errno.h>

#define HOSTS_MAX 64
#define BACKLOG 4096

static const struct vb_load_config load_config = {
    .flows_max = 4096,
    .connections_max = 4096,
    .message_bytes = 65536,
    .depth = 4,
    .type = VB_QPT_RC,
    .mtu = VB_MTU_2048,
    .timeout = 14,
    .retry_cnt = 7,
    .rnr_retry = 7,
    .min_rnr_timer = 1,
    .rd_atomic = 4,
};

/* Packets of one source, destination and service level that are under way, in their order. */
struct stream {
	uint32_t psn[BACKLOG];
	uint32_t qpn[BACKLOG];
	uint32_t first, cnt;
};

struct fixture {
	struct net net;
	struct vb_load *load;
	struct vb_report report;
	struct stream *stream; /* by source, destination and SL; NULL: nobody looks */
	uint64_t arrived;
};

static inline struct stream *stream_of(struct fixture *f, const struct vb_frame *p)
{
	size_t hosts = f->net.topo.host_cnt;

	return &f->stream[((p->path.slid - 1u) * hosts + p->path.dlid - 1u) * VB_SL_CNT +
			  p->path.sl];
}

static inline uint32_t be24(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

/* A packet that leaves a host is put behind, and one that arrives at a host is the first. */
static inline void on_packet(void *ctx, uint32_t port, enum vb_cable_tap_dir dir,
			     const struct vb_frame *p, vb_time now)
{
	struct fixture *f = ctx;
	const struct vb_sim_topo_link *l = &f->net.topo.link[port / 2];
	uint32_t node = port & 1 ? l->b : l->a;
	struct stream *s;

	(void)now;
	if (node >= f->net.topo.host_cnt)
		return;
	s = stream_of(f, p);
	if (dir == VB_CABLE_SENT) {
		assert_uint_in_range(s->cnt, 0, BACKLOG - 1);
		s->qpn[(s->first + s->cnt) % BACKLOG] = be24(p->bytes + 5);
		s->psn[(s->first + s->cnt++) % BACKLOG] = be24(p->bytes + 9);
		return;
	}
	f->arrived++;
	assert_true(s->cnt > 0);
	assert_int_equal(s->qpn[s->first], be24(p->bytes + 5));
	assert_int_equal(s->psn[s->first], be24(p->bytes + 9));
	s->first = (s->first + 1) % BACKLOG;
	s->cnt--;
}

static inline struct vb_sim_config ib_config(uint32_t lanes, uint32_t lane_bytes, uint32_t routing)
{
	struct vb_sim_config c = net_config();

	c.hca.port[1].active_mtu = VB_MTU_2048;
	c.digest = true;
	c.ib = (struct vb_sim_ib_config){.is_used = true,
					 .lanes = lanes,
					 .lane_bytes = lane_bytes,
					 .routing = routing,
					 .hoq_life = 20,
					 .lifetime = 20};
	return c;
}

/* With @f->net.topo there. */
static inline void open_with(struct fixture *f, struct vb_sim_config *c,
			     const struct vb_load_config *load)
{
	uint32_t hosts = f->net.topo.host_cnt;

	f->arrived = 0;
	f->stream = NULL;
	if (c->on_packet) {
		c->trace_ctx = f;
		f->stream = calloc((size_t)hosts * hosts * VB_SL_CNT, sizeof *f->stream);
		assert_non_null(f->stream);
	}
	net_open(&f->net, c);
	assert_int_equal(vb_load_create(&f->load, f->net.sim, load, &net_memory), 0);
}

static inline void open_ring(struct fixture *f, struct vb_sim_config *c, uint32_t switches)
{
	struct vb_cable cable = net_cable(100, 500);

	assert_int_equal(vb_sim_topo_ring(&f->net.topo, &net_memory, switches, 2, &cable, &cable),
			 0);
	open_with(f, c, &load_config);
}

static inline void close_all(struct fixture *f)
{
	vb_load_destroy(f->load);
	net_close(&f->net);
	free(f->stream);
}

static inline void add_all_to_all(struct fixture *f, uint64_t bytes)
{
	const struct vb_load_pattern p = {.shape = VB_LOAD_ALL_TO_ALL, .bytes = bytes};

	assert_int_equal(vb_load_add(f->load, &p), 0);
}

static inline void run_to_the_end(struct fixture *f)
{
	assert_int_equal(vb_sim_run(f->net.sim, VB_NEVER), 0);
	assert_int_equal(vb_load_failure(f->load), 0);
	assert_int_equal(vb_report_make(&f->report, f->load, f->net.sim, &net_memory), 0);
	assert_int_equal(f->report.done, f->report.flows);
	assert_int_equal(vb_load_damaged(f->load), 0);
}

/* The sum of a counter over all ports. */
#define SUM(f, name) counters_sum(f, offsetof(struct vb_ib_counters, name))

static inline uint64_t counters_sum(const struct fixture *f, size_t at)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < vb_sim_port_cnt(f->net.sim); i++) {
		struct vb_sim_ib_stats st;
		uint64_t v;

		assert_true(vb_sim_ib_port_stats(f->net.sim, i, &st));
		memcpy(&v, (const char *)&st.counters + at, sizeof v);
		sum += v;
	}
	return sum;
}

static inline void assert_nothing_lost(struct fixture *f)
{
	assert_true(SUM(f, buffer_overruns) == 0 && SUM(f, xmit_discards) == 0);
	assert_true(SUM(f, rcv_errors) == 0 && SUM(f, rcv_discards) == 0);
	assert_true(f->report.drops == 0 && f->report.faults == 0);
	assert_true(f->report.counters.v[VB_COUNTER_retransmitted_packets] == 0);
}

#endif
