/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The world of a property test: some HCAs, the network between them, queues, registered memory with
 * guards around it, and virtual time. It knows no transport's rules; rc.c and datagram.c post work
 * into it and judge every completion.
 */
#ifndef VB_TESTS_PROPERTY_WORLD_H
#define VB_TESTS_PROPERTY_WORLD_H

#include "core/hca.h"
#include "net.h"

#define SGE_MAX 4
#define MSG_MAX 16384u
#define SLOT_GAP 24u /* unused bytes between the pieces of a scattered buffer, at most */
#define SLOT_BYTES (MSG_MAX + VB_GRH_LEN + SGE_MAX * SLOT_GAP)
#define CANARY 0xc5
#define SIDES_MAX 32
#define CQS_MAX 3
#define REGION_BYTES 32768u

struct world;
struct side;

/* Registered memory: @base, with guard bytes before and behind. */
struct mem {
	uint8_t *block, *base;
	uint32_t size;
	uint64_t iova;
	struct vb_mr *mr;
};

/* A completion queue; event-driven ones are only looked at when they have notified. */
struct queue {
	struct host *host;
	struct vb_cq *cq;
	bool event_driven, awaits;
};

struct host {
	struct vb_counters counters;
	struct world *w;
	uint32_t idx;
	struct vb_hca *hca;
	uint64_t alloc_cnt; /* allocations of the HCA that live */
	struct vb_pd *pd;
	struct queue cq[CQS_MAX];
	uint32_t cq_cnt;
	struct pool *srq_pool; /* NULL: no SRQ */
};

/* Receive buffers, of one QP or of an SRQ. */
struct pool {
	struct host *host;
	struct vb_qp *qp;
	struct vb_srq *srq;
	struct mem mem;
	uint32_t cnt, posted, idx;
	struct buffer {
		bool posted;
		uint32_t sge_cnt;
		struct vb_sge sge[SGE_MAX];
	} * buf;
	vb_time next_post;
	bool stopped; /* posts no more */
};

struct world {
	uint64_t seed;
	struct vb_rng rng;
	struct net net;
	vb_time now;
	uint32_t host_cnt, side_cnt, pool_cnt;
	struct host host[NET_HOSTS_MAX];
	struct side *side[SIDES_MAX];
	struct pool *pool[SIDES_MAX + NET_HOSTS_MAX];
	vb_dur recv_gap; /* how late receive buffers are posted, at most */
	uint8_t timeout_exp;
	bool any_recovery;
	struct vb_rng settings_rng;
	uint64_t completions;
	/* Judges a completion; @recv names the receive buffer it returns, or is NULL. */
	void (*on_wc)(struct world *w, struct side *s, const struct vb_wc *wc, struct pool *pool,
		      uint32_t buffer);
	void (*on_async)(struct world *w, void *owner, enum vb_async async);
	void (*act)(struct side *s);
	bool verbose;
};

/* The members that every transport's side of a connection begins with. */
struct side {
	struct world *w;
	struct host *host;
	struct side *peer; /* NULL: none (UD) */
	uint32_t idx;
	struct vb_qp *qp;
	struct vb_qp_init init;
	struct queue *scq, *rcq;
	struct pool *pool;
	vb_time next_act; /* when act() has something to do */
};

struct world_config {
	uint32_t host_cnt, cq_cnt;
	bool srq, event_driven;
	uint32_t peer_window_bytes, read_piece_bytes;
	struct vb_recovery recovery;
	bool any_recovery;     /* random settings, for each host others, that change meanwhile */
	uint32_t ooo_pkts;     /* that selective repeat may keep; 0: few */
	struct vb_trace trace; /* node is the host's index; without emit: printed, if verbose */
};

_Noreturn void die(const struct world *w, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
#define CHECK(w, cond)                                                                             \
	do {                                                                                       \
		if (!(cond))                                                                       \
			die(w, "%s:%d: not true: %s", __FILE__, __LINE__, #cond);                  \
	} while (0)

void world_open(struct world *w, const struct world_config *cfg);
/* Adds a side with a QP of @s->init on @host, in RESET, with receive buffers. */
void world_add_side(struct world *w, struct side *s, struct host *host, uint32_t buffers);
/* The next instant at which something happens: VB_NEVER when nothing ever will. */
vb_time world_next(const struct world *w);
/* Advances to that instant and does all there is to do. */
void world_step(struct world *w);
/* Guards intact, everything destroyed, all memory given back. */
void world_close(struct world *w);

/* Registers @size bytes on @host; @own_iova: under a random address instead of its own. */
void mem_open(struct mem *m, struct host *host, uint32_t size, uint32_t access, bool own_iova);
void mem_check(const struct world *w, const struct mem *m);
void mem_close(struct mem *m);

/*
 * Spreads @len bytes over pieces of the slot at @slot of @m, with gaps; returns the number of
 * pieces. slot_store() writes @data there, slot_gather() reads all of it back and returns its
 * length, slot_image() makes what the whole slot must hold once @data was received into a slot of
 * canaries.
 */
uint32_t slot_split(struct vb_rng *r, const struct mem *m, uint32_t slot, uint32_t len,
		    uint32_t sge_max, struct vb_sge *sge);
void slot_store(const struct mem *m, const struct vb_sge *sge, uint32_t sge_cnt,
		const uint8_t *data);
uint32_t slot_gather(const struct mem *m, const struct vb_sge *sge, uint32_t sge_cnt,
		     uint8_t *data);
void slot_image(const struct mem *m, uint32_t slot, const struct vb_sge *sge, uint32_t sge_cnt,
		const uint8_t *data, uint32_t len, uint8_t *image);
static inline uint8_t *slot_at(const struct mem *m, uint32_t slot)
{
	return m->base + (size_t)slot * SLOT_BYTES;
}

/* settings.c */
struct vb_recovery random_recovery(struct vb_rng *r);

void pool_open(struct pool *p, struct host *host, uint32_t cnt);
/* Takes buffer @i back, which holds a received message. */
void pool_took(struct pool *p, uint32_t i);

struct vb_path path_to(const struct host *from, const struct host *to);
void *test_alloc(size_t size);

#endif
