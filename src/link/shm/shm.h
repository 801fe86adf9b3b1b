/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets between processes of one host through shared memory: one copy in by the sender, one copy
 * out by the receiver, no system call and no ICRC. Middleware in front of the UDP link: it takes
 * what is for an address and a slot of this host whose owner has this link on, too, and hands on
 * everything else; it receives from both.
 *
 * A ring (ring.h) is made when the first packet for a process leaves, and handed in at the
 * receiver's door (wakeup.h). What cannot be had, for lack of memory or descriptors, goes by UDP.
 */
#ifndef VB_LINK_SHM_SHM_H
#define VB_LINK_SHM_SHM_H

#include "link/shm/ring.h"
#include "link/shm/wakeup.h"
#include "link/udp/udp.h"

/* The bytes in flight towards a peer that leave room for what others have under way to it. */
#define VB_SHM_WINDOW_BYTES (VB_RING_BYTES / 2)

struct vb_shm_config {
	struct vb_link *lower;    /* a link that taps; this one owns it from then on */
	struct vb_shm_door *door; /* VB_SHM_SLOTS doors, shared by the processes of this host */
	uint8_t slot;             /* our own among them: the low byte of our QPNs */
	struct vb_counters *counters[VB_UDP_PORTS_MAX]; /* by HCA port; entry 0 is unused */
	/* As struct vb_udp_config has them. */
	uint8_t (*port_of)(void *ctx, const struct vb_gid *local, uint32_t ifindex);
	/* The interface of an HCA port. */
	uint32_t (*ifindex_of)(void *ctx, uint8_t port);
	void (*tap)(void *ctx, const struct vb_udp_tap *t);
	const uint32_t *tap_on;
	void *ctx;
};

#define VB_SHM_SLOTS 256u

/* Returns 0 and the link in *out, or a negative errno; then @cfg->lower is still the caller's. */
int vb_shm_open(struct vb_link **out, const struct vb_shm_config *cfg);

/*
 * What the process of @dqpn can take, in bytes, if packets on @path go to it by shared memory: then
 * true. UINT32_MAX: it is not to be waited for. @path leads to this host.
 */
bool vb_shm_room(struct vb_link *l, uint32_t dqpn, vb_time now, uint32_t *room);

/*
 * A sleep that is cheap to end, for who waits while packets come by shared memory alone. begin is
 * called under the caller's lock and returns a word for nap, or 0: now is not such a time. Then
 * has_packets is asked; and nap, not under the lock, sleeps for at most @d, and not for long: what
 * comes by the link below does not end it. What ends it: packets, and end_nap from another thread;
 * true: there was a nap to end. The doze operation, off, closes it.
 */
uint32_t vb_shm_begin_nap(struct vb_link *l, vb_time now);
void vb_shm_nap(struct vb_link *l, uint32_t word, vb_dur d);
bool vb_shm_end_nap(struct vb_link *l);

/* Readable when somebody knocks; the fd operation shows this or the link below. */
int vb_shm_door_fd(const struct vb_link *l);

/* Gives up what was shared with processes that are gone: about once a second. */
void vb_shm_sweep(struct vb_link *l);

#endif
