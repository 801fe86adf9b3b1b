/* SPDX-License-Identifier: BSD-2-Clause */
/* The shared-memory link's own structures, shared by the files of this folder. */
#ifndef VB_LINK_SHM_PRIV_H
#define VB_LINK_SHM_PRIV_H

#include "link/shm/shm.h"

/* Rings to read at most: one of each slot's owner, and of the owner before. */
#define VB_SHM_RINGS_MAX (2 * VB_SHM_SLOTS)
/* Packets of one recv that may come from rings. */
#define VB_SHM_RX_PKTS 128u

/* A process that packets are sent to. */
struct vb_shm_peer {
	uint64_t token;         /* of its wakeup endpoint when the ring was made; 0: none was, and
				 * the rest says nothing */
	struct vb_ring_tx ring; /* mem NULL: it could not be made, UDP stands in */
	int unannounced;        /* -1; else the ring's descriptor: its wakeup endpoint was full */
};

/* A ring that packets come by. */
struct vb_shm_source {
	uint64_t token; /* of the sender's wakeup endpoint */
	uint16_t slot;
	struct vb_ring_rx ring;
};

/* Packets of the last recv that come from rings. */
struct vb_shm_taken {
	uint32_t cnt;
	struct vb_path path[VB_SHM_RX_PKTS]; /* of the GSO batches they came in */
	uint8_t copy[VB_SHM_RX_PKTS][VB_RING_COPY_BYTES];
};

struct vb_shm {
	struct vb_link link; /* first: the link is the object */
	struct vb_link_config cfg;
	int wakeup_fd, epoll_fd;
	uint64_t token;
	uint32_t turn;  /* see vb_wakeup_park() */
	uint32_t rings; /* rings that were taken in */
	bool parks;
	bool looked_below; /* the last recv looked at the link below, too */
	bool tap_later;
	vb_time packet_at;     /* when one last came by shared memory */
	vb_time look_at;       /* when the link below was last looked at, */
	uint32_t look_in_vain; /* and looks in a row that found nothing */
	struct vb_shm_peer peer[VB_SHM_SLOTS];
	struct vb_shm_source source[VB_SHM_RINGS_MAX];
	uint32_t source_cnt;
	uint32_t first; /* source to read first: each in turn */
	struct vb_shm_taken taken;
	/* Packets of a batch that go on to the link below. */
	struct vb_tx_batch out;
};

static inline struct vb_shm *vb_shm_of(struct vb_link *l)
{
	return (struct vb_shm *)l;
}

static inline const struct vb_shm *vb_shm_of_const(const struct vb_link *l)
{
	return (const struct vb_shm *)l;
}

static inline bool vb_shm_is_tapped(const struct vb_shm *s)
{
	return s->cfg.tap &&
	       __builtin_expect(__atomic_load_n(s->cfg.tap_on, __ATOMIC_RELAXED) != 0, 0);
}

static inline uint64_t vb_shm_token_of(const struct vb_shm *s, uint32_t slot)
{
	return __atomic_load_n(&s->cfg.wakeup[slot].token, __ATOMIC_ACQUIRE);
}

/* tx.c, rx.c: the rows of struct vb_link_ops */
uint32_t vb_shm_send(struct vb_link *l, const struct vb_tx_batch *b, uint32_t from, vb_time now);
uint32_t vb_shm_recv(struct vb_link *l, struct vb_rx *rx, uint32_t cnt, vb_time now);
bool vb_shm_has_packets(const struct vb_link *l);
bool vb_shm_is_emptied(const struct vb_link *l);
void vb_shm_park(struct vb_link *l, bool on);
uint32_t vb_shm_begin_nap(struct vb_link *l, vb_time now);
void vb_shm_nap(struct vb_link *l, uint32_t word, vb_dur d);
bool vb_shm_end_nap(struct vb_link *l);
bool vb_shm_rx_credit(struct vb_link *l, uint32_t dqpn, vb_time now, uint32_t *credit);
uint32_t vb_shm_copy(struct vb_link *l, const struct vb_tx_batch *b, uint32_t from, uint32_t to,
		     struct vb_link_copy whom, vb_time now);
void vb_shm_tap_later(struct vb_link *l, bool on);
void vb_shm_tap_received(struct vb_link *l, uint32_t i, const struct vb_rx *rx, uint16_t mark);

/*
 * Takes packets of one GSO batch of @ring, up to *budget, which they use up. Returns how many are
 * in
 * @rx, as @cfg counts them: those for an address that is not ours are dropped, and use it up as
 * well.
 */
uint32_t vb_shm_take_batch(const struct vb_link_config *cfg, struct vb_ring_rx *ring,
			   struct vb_shm_taken *to, struct vb_rx *rx, uint32_t *budget);

void vb_shm_peer_forget(struct vb_shm_peer *p);
void vb_shm_source_forget(struct vb_shm *s, uint32_t i);
/* Takes in the rings that were handed in since the last call. */
void vb_shm_take_rings(struct vb_shm *s);
/* Gives up rings of processes that are gone. No packet may be handed out at the time. */
void vb_shm_forget_gone(struct vb_shm *s);

#endif
