/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shared-memory link in front of a real UDP link, which talks to itself in slot 5; other slots
 * are wakeup endpoints that the test opens.
 */
#ifndef VB_TESTS_UNIT_SHM_WORLD_H
#define VB_TESTS_UNIT_SHM_WORLD_H

#include "udp_world.h"

#include "link/memory.h"
#include "link/shm/priv.h"

#include <poll.h>
#include <sys/mman.h>

#define SLOT 5
#define OTHER 6

struct world {
	struct fixture *f;
	struct vb_link *shm;
	struct vb_wakeup *wakeup;
};

static struct world w;

/* 127.0.0.1 and ::1 are ours, nothing else. */
static inline uint8_t shm_port_of(void *ctx, const struct vb_gid *local, uint32_t ifindex)
{
	struct fixture *f = ctx;

	assert_int_equal(ifindex, 1);
	return vb_gid_eq(local, &f->path4.sgid) || vb_gid_eq(local, &f->path6.sgid) ? f->port : 0;
}

static inline int shm_setup(void **state)
{
	struct fixture *f;
	struct vb_link_config cfg = {
	    .slot = SLOT, .ifindex = {0, 1}, .port_of = shm_port_of, .tap = tap};

	setup(state);
	f = *state;
	w.f = f;
	w.wakeup = mmap(NULL, VB_SHM_SLOTS * sizeof *w.wakeup, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(w.wakeup, MAP_FAILED);
	cfg.lower = f->link;
	cfg.wakeup = w.wakeup;
	cfg.counters[1] = &f->counters;
	cfg.tap_on = &f->tap_on;
	cfg.ctx = f;
	assert_int_equal(vb_shm_open(&w.shm, &cfg), 0);
	f->link = w.shm;
	return 0;
}

static inline int shm_teardown(void **state)
{
	munmap(w.wakeup, VB_SHM_SLOTS * sizeof *w.wakeup);
	return teardown(state);
}

#define S(name) cmocka_unit_test_setup_teardown(name, shm_setup, shm_teardown)

/* A packet for @slot. */
static inline struct vb_tx *add_for(struct fixture *f, uint32_t slot, uint32_t payload_len)
{
	struct vb_tx *tx = add(f, &f->path4, payload_len, 2);

	tx->hdr[7] = (uint8_t)slot;
	return tx;
}

/* The system calls of an engine that sleeps: has the descriptor something? */
static inline bool is_readable(const struct vb_link *l)
{
	struct pollfd p = {l->ops->fd(l), POLLIN, 0};

	return poll(&p, 1, 0) == 1;
}

static inline void check_rx(const struct fixture *f, const struct vb_rx *rx, uint32_t k)
{
	const struct vb_tx *tx = &f->batch.pkt[k];
	uint8_t bytes[VB_HDR_MAX + PAYLOAD_MAX + VB_PAD_MAX];

	assert_int_equal(rx->len, vb_tx_wire_len(tx) - VB_ICRC_LEN);
	assert_int_equal(vb_rx_bytes(rx), rx->len);
	vb_rx_copy(rx, bytes);
	assert_memory_equal(bytes, tx->hdr, tx->hdr_len);
	assert_memory_equal(bytes + tx->hdr_len, f->payload + k * PAYLOAD_MAX, tx->payload_len);
	assert_memory_equal(&rx->path->sgid, &tx->path->sgid, 16);
	assert_memory_equal(&rx->path->dgid, &tx->path->dgid, 16);
	assert_int_equal(rx->path->port, 1);
	assert_int_equal(rx->path->traffic_class, tx->path->traffic_class);
	assert_int_equal(rx->path->hop_limit, tx->path->hop_limit ? tx->path->hop_limit : 64);
	assert_int_equal(rx->path->flow_label, tx->path->flow_label);
}

static inline uint32_t recv_all(struct fixture *f, uint32_t portion)
{
	struct vb_rx rx[VB_TX_BATCH_PKTS];
	uint32_t k = 0, n;

	while ((n = recv_some(f, rx, portion)) != 0)
		for (uint32_t i = 0; i < n; i++)
			check_rx(f, &rx[i], k++);
	return k;
}

/* How many rings this process has mapped. proc(5) */
static inline unsigned ring_maps(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned cnt = 0;

	assert_non_null(f);
	while (fgets(line, sizeof line, f))
		cnt += strstr(line, "memfd:" VB_MEMORY_RING) != NULL;
	fclose(f);
	return cnt;
}

#endif
