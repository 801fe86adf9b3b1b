/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shared packet memory of a switch, and the accounts by which PFC works: each (ingress port,
 * priority) has a small reserve, then takes from the shared part up to a threshold; beyond it a
 * lossless priority pauses its sender and lives on its headroom, and a lossy one is limited at the
 * egress queue. The rules are those of the usual Ethernet switch models. facts C.4, D-02
 */
#ifndef VB_FABRIC_BUFFER_H
#define VB_FABRIC_BUFFER_H

#include "base/time.h"

#include <stdbool.h>
#include <stdint.h>

struct vb_buffer_config {
	uint32_t bytes;         /* all of it */
	uint32_t reserve_bytes; /* of each ingress port and priority in use */
	uint8_t lossless;       /* bit p: priority p is lossless */
	/* Bytes in the shared part at which a (port, priority) is paused: fixed, or when xoff_bytes
	 * is 0 the share alpha_1024 / 1024 of what is free. */
	uint32_t xoff_bytes, alpha_1024;
	uint32_t xon_gap_bytes;  /* resumed this much below the threshold */
	uint32_t headroom_bytes; /* of each port and lossless priority; 0: by vb_pfc_headroom() */
};

struct vb_buffer {
	struct vb_buffer_config cfg;
	uint64_t shared_total, shared_used;
	uint64_t used, used_max; /* all accounts together */
};

/* The account of one ingress port and priority. */
struct vb_buffer_account {
	uint32_t reserved; /* used of the reserve, which is filled before the shared part */
	uint32_t shared;   /* used of the shared part */
	uint32_t headroom; /* used of it */
	uint32_t headroom_max;
	bool paused; /* the sender was told to stop */
};

/*
 * Headroom of a port in bytes: what may still arrive after the decision to pause. The pause frame
 * waits for a frame that has begun (@frame_max, ours), takes its own time and the way there; the
 * sender finishes the frame it has begun; and everything on the cable arrives. Gaps count, because
 * the sender's bytes fill them. IEEE 802.1Qbb annex O
 */
uint32_t vb_pfc_headroom(uint64_t rate_bps, vb_dur delay, uint32_t frame_max);

/* The pause threshold as things stand. */
uint64_t vb_buffer_threshold(const struct vb_buffer *b);

/*
 * Takes @len bytes for a packet of account @a in priority @prio. False: no room, the packet is to
 * be dropped. *in_headroom says which part paid, for vb_buffer_give().
 */
bool vb_buffer_take(struct vb_buffer *b, struct vb_buffer_account *a, uint8_t prio,
		    uint32_t headroom, uint32_t len, bool *in_headroom);
void vb_buffer_give(struct vb_buffer *b, struct vb_buffer_account *a, uint32_t len,
		    bool in_headroom);

/* Whether the sender is to be paused or resumed now; the caller sends the frame and sets paused. */
bool vb_buffer_wants_pause(const struct vb_buffer *b, const struct vb_buffer_account *a);
bool vb_buffer_wants_resume(const struct vb_buffer *b, const struct vb_buffer_account *a);

#endif
