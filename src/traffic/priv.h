/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations that the parts of src/traffic share, see traffic.h. */
#ifndef VB_TRAFFIC_PRIV_H
#define VB_TRAFFIC_PRIV_H

#include "base/psn.h"
#include "traffic/comment/rate.h"
#include "traffic/traffic.h"

#define NONE VB_MAP_NONE
#define HOSTS_MAX 4096u
#define WAYS_MAX 65536u
#define RATES_MAX (1u << 20)

/* A packet as one capture saw it, where it left or where it arrived. */
struct seen {
	vb_time at;   /* since 1970; from vb_traffic_play() on since the first packet */
	uint64_t key; /* equal for a packet where it left and where it arrived */
	uint32_t way;
	uint32_t mate; /* the same packet at the other end, or NONE; before: place in its file */
	uint32_t psn;
	uint32_t more;          /* AETH: MSN; RETH of a READ: its length; a MAD: mad_kind.h */
	uint32_t bytes;         /* from the IP header on */
	uint16_t payload, mark; /* enum vb_fault_mark */
	uint8_t opcode, syndrome, flags, file;
};

enum seen_flag {
	SEEN_SENT = 1,
	SEEN_RECEIVED = 2, /* neither: the capture does not tell */
	SEEN_CE = 4,
	SEEN_ACK_REQ = 8,
	SEEN_KEPT = 16, /* its step is wanted */
};

struct host {
	struct vb_gid gid;
	bool is_twin;
	/* Of packets received there: when the first and the last one came. */
	bool receives;
	vb_time first, last;
};

/* Packets from a host to a QP of another. UD and DC packets name the source QP, too. */
struct way {
	uint32_t src, dst, dqpn, sqpn; /* sqpn 0: not named */
	uint16_t sport;
	uint16_t mtu;   /* of the longest packet with more to come */
	uint32_t back;  /* the way of answers, or NONE */
	uint32_t guess; /* ... as the last answer suggests, so often in a row */
	uint32_t guess_cnt;
	uint32_t next;       /* way between the same two hosts, or NONE */
	uint32_t connection; /* NONE until ends.c is done */
	uint8_t side;        /* of the connection: where the way begins */
	/* Requests: the next new PSN, the first without an answer, and the one that follows what
	 * was sent last. */
	bool begun, nak, rnr, skipped;
	struct vb_psn nxt, una, cur;
	vb_time begun_at, heard_at; /* una was sent; something was acknowledged last */
	bool is_timed;              /* timed waits for its answer since timed_at */
	struct vb_psn timed;
	vb_time timed_at;
	bool responds; /* READ responses: the PSN behind the last */
	struct vb_psn response;
};

/* The rate of a QP, as a comment tells it. */
struct rate {
	vb_time at; /* since 1970 */
	struct vb_rate_note note;
	uint32_t file;
};

struct vb_traffic {
	struct vb_traffic_file file[VB_TRAFFIC_FILES];
	uint32_t file_cnt;
	struct seen *seen;
	uint32_t seen_cnt, seen_room;
	struct rate *rate;
	uint32_t rate_cnt, rate_room;
	struct host *host;
	uint32_t host_cnt;
	struct way *way;
	uint32_t way_cnt, way_room;
	struct vb_map hosts, ways, pairs; /* by hash; pairs of hosts: the last way between them */
	struct vb_step_ends *ends;
	uint32_t connection_cnt;
	struct vb_step *step;
	uint32_t step_cnt;
	uint64_t first_ns;
	vb_dur length;
	struct vb_traffic_sums sums;
	struct vb_series_set series;
};

/* A hash of @len bytes, never 0. Equal hashes count as equal: a collision joins two in a picture.
 */
uint64_t vb_traffic_hash(uint64_t seed, const void *p, size_t len);

/* The host with this address; NONE: no memory, or too many. */
uint32_t vb_traffic_host_of(struct vb_traffic *t, const struct vb_gid *gid, bool is_twin);
/* The way, made if there is none; NONE: no memory, or too many. */
uint32_t vb_traffic_way(struct vb_traffic *t, uint32_t src, uint32_t dst, uint32_t dqpn,
			uint32_t sqpn);
/* The last way that was made from @src to @dst, or NONE. */
uint32_t vb_traffic_ways_between(const struct vb_traffic *t, uint32_t src, uint32_t dst);

/* rates.c: takes in what the comments of a packet say. 0 or -ENOMEM. */
int vb_traffic_add_rates(struct vb_traffic *t, const char *comments, uint64_t packet_ns);

/* The parts, in this order. 0 or -ENOMEM. */
int vb_traffic_align_clocks(struct vb_traffic *t); /* clocks.c */
int vb_traffic_match(struct vb_traffic *t);        /* match.c */
int vb_traffic_find_ends(struct vb_traffic *t);    /* ends.c */
int vb_traffic_play_rates(struct vb_traffic *t);   /* rates.c */
int vb_traffic_play_steps(struct vb_traffic *t);   /* play.c */

/* True: the first that is seen of its packet; with a mate the other one is its end. */
static inline bool vb_seen_first(const struct seen *s)
{
	return s->mate == NONE || !(s->flags & SEEN_RECEIVED);
}

/* Of transports whose requests are answered. */
bool vb_seen_request(const struct seen *s);
bool vb_seen_response(const struct seen *s);

#endif
