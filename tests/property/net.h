/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A network in virtual time between the HCAs of a property test: it delays, loses, duplicates and
 * reorders packets as a seeded stream says, or exactly those that a mask names.
 */
#ifndef VB_TESTS_PROPERTY_NET_H
#define VB_TESTS_PROPERTY_NET_H

#include "base/rng.h"
#include "base/time.h"
#include "wire/packet.h"

#define NET_HOSTS_MAX 4

/* lo ... hi */
static inline uint32_t rng_range(struct vb_rng *r, uint32_t lo, uint32_t hi)
{
	return lo + vb_rng_below(r, hi - lo + 1);
}

static inline bool rng_chance(struct vb_rng *r, uint32_t percent)
{
	return vb_rng_below(r, 100) < percent;
}

struct net_packet {
	vb_time at;   /* delivery */
	uint64_t seq; /* order of sending; breaks ties */
	uint32_t dst;
	struct vb_path path;
	uint32_t len;
	uint8_t bytes[];
};

struct net {
	struct vb_rng rng;
	/* Faults in percent; they act while time is in a lossy window. */
	uint32_t loss, dup, reorder;
	vb_dur delay_min, delay_max, reorder_max;
	vb_dur window_on, window_off; /* faults act for window_on, then rest; 0: they never rest */
	bool healed;                  /* no more faults */
	bool cut;                     /* nothing passes */
	/* Packet n (n < 64) of the run: lost, doubled, or late by reorder_max. */
	uint64_t loss_mask, dup_mask, late_mask;

	vb_time last_at[NET_HOSTS_MAX][NET_HOSTS_MAX]; /* keeps the order of a link */
	struct net_packet **heap;                      /* entry 0 is unused */
	uint32_t cnt, cap;
	uint64_t seq, sent, lost;
	uint64_t digest; /* of every packet delivered, and when */
};

struct vb_gid net_gid(uint32_t host);

void net_send(struct net *n, uint32_t src, const struct vb_tx *tx, vb_time now);
vb_time net_next(const struct net *n); /* VB_NEVER: nothing under way */
/* Takes the next packet due at @now, or NULL; the caller frees it. */
struct net_packet *net_take(struct net *n, vb_time now);
void net_free(struct net *n);

#endif
