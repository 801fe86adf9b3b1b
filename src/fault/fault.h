/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Faults on packets, for the simulator and for live links alike: loss, burst loss, reordering,
 * duplication, delay, corruption, ECN marks, black-outs and a bottleneck with a queue that marks,
 * at random or by rule.
 *
 * The layer holds no packets. vb_fault_decide() says of a packet how often it goes on, when, with
 * which traffic class and with which damage, and that is all that whoever carries it has to know.
 * So the same seed and the same packets give the same faults wherever it runs. Each rule draws from
 * a stream of its own: a rule that is added moves no other.
 *
 * The text of a specification is described in docs/simulator.md, "Faults"; for example
 * "loss=1e-3,reorder=0.1%/20us:op=RC_SEND*,delay=5us/1us:dir=rx".
 */
#ifndef VB_FAULT_FAULT_H
#define VB_FAULT_FAULT_H

#include "base/psn.h"
#include "base/red.h"
#include "base/rng.h"
#include "base/time.h"
#include "trace/trace.h"
#include "wire/packet.h"

#include <stdbool.h>
#include <stdint.h>

#define VB_FAULT_RULES_MAX 16
#define VB_FAULT_QUEUE_NS_MAX (10 * VB_SEC)
#define VB_FAULT_QUEUE_BPS_MAX UINT64_C(1000000000000)
#define VB_FAULT_ONE UINT32_C(1000000000) /* probabilities are in parts per billion */

enum vb_fault_kind {
#define KIND(name, word, loses) VB_FAULT_##name,
#include "fault/kind.def"
#undef KIND
	VB_FAULT_KIND_CNT
};

/* "loss", "burst", ... */
const char *vb_fault_kind_name(enum vb_fault_kind kind);
/* Whether its packets do not get to the receiver's transport. */
bool vb_fault_kind_loses(enum vb_fault_kind kind);

/* The fate of a packet, for captures: bits (1 << enum vb_fault_kind), and these. */
enum vb_fault_mark {
	VB_FAULT_MARK_DROPPED = 1 << VB_FAULT_KIND_CNT, /* it went no further */
	VB_FAULT_MARK_COPY = 2 << VB_FAULT_KIND_CNT,    /* it is the second one */
	VB_FAULT_MARK_FULL =
	    4 << VB_FAULT_KIND_CNT, /* the queue that holds packets back was full */
};

enum vb_fault_dir { VB_FAULT_TX = 1, VB_FAULT_RX = 2 };

/* Which packets a rule is about. Ranges include both ends. */
struct vb_fault_filter {
	uint8_t dirs;                 /* set of enum vb_fault_dir */
	uint64_t opcode[4];           /* bit n of the set: opcode n */
	bool mads;                    /* MADs only; with cm not 0 only those messages */
	uint16_t cm;                  /* bit n of the set: attribute VB_CM_ATTR_FIRST + n */
	uint32_t qpn_lo, qpn_hi;      /* destination QPN */
	struct vb_psn psn_lo, psn_hi; /* a range may wrap */
	bool any_psn;
	uint64_t msg_lo, msg_hi; /* numbers of messages, from 1, among those that pass the rest */
	vb_time after, until;    /* since the layer began */
	uint64_t skip;           /* this many pass untouched first */
	uint64_t every;          /* of the others every so many-th; 1: each */
	uint64_t first;          /* the rule rests after so many hits; UINT64_MAX: never */
};

struct vb_fault_rule {
	enum vb_fault_kind kind;
	uint32_t ppb;     /* chance of a hit; BURST: chance per packet that a burst begins */
	uint32_t ppb_end; /* BURST: ... that it ends */
	uint32_t ppb_in, ppb_out; /* BURST: loss inside and outside of it */
	vb_dur time;   /* DELAY: how long; REORDER: held back so long; BLACKOUT: begins at */
	vb_dur jitter; /* DELAY: 0 ... jitter more; BLACKOUT: so long */
	vb_dur period; /* BLACKOUT: again after so long, 0: once */
	/* QUEUE: served at bps; a packet that would wait longer than time is lost; RED marks by the
	 * bytes that wait. */
	uint64_t bps;
	struct vb_red red;
	struct vb_fault_filter filter;
};

struct vb_fault_spec {
	uint32_t rule_cnt;
	struct vb_fault_rule rule[VB_FAULT_RULES_MAX];
};

/* The error in a text, and where (1 is the first character). */
struct vb_fault_error {
	uint32_t column;
	char text[160];
};

/* 0, or -EINVAL with *err filled in. An empty text is a specification without rules. */
int vb_fault_parse(const char *text, struct vb_fault_spec *spec, struct vb_fault_error *err);

/* The opcode of a FAULT event has the attribute of a message of the connection manager above it. */
#define VB_FAULT_CM_SHIFT 8

/* The part of a packet that the layer sees. */
struct vb_fault_packet {
	enum vb_fault_dir dir;
	uint8_t opcode;
	uint32_t dqpn;
	struct vb_psn psn;
	uint32_t bytes;     /* BTH through ICRC */
	const uint8_t *mad; /* VB_MAD_HDR_LEN bytes: its header, when it is a MAD; else NULL */
};

/* The verdict of the rules on it. */
struct vb_fault_fate {
	uint32_t hits; /* bit (1 << enum vb_fault_kind) */
	bool drop;
	bool corrupt; /* flip the bits that vb_fault_corrupt() names */
	bool mark;    /* set CE if the packet is ECN-capable */
	bool copy;    /* deliver a second one */
	vb_time at;   /* when the packet goes on; not before now, and in order unless REORDER hit */
	uint64_t bits; /* with corrupt: the choice of bits */
};

/* A packet as it goes on. */
struct vb_fault_go {
	vb_time at;      /* when; not before now */
	uint64_t damage; /* not 0: with the bits flipped that vb_fault_corrupt() flips by it */
	uint16_t mark;   /* for captures: enum vb_fault_mark */
	uint8_t traffic_class; /* with CE where a rule marks it and it is ECN-capable */
	bool overtaken;        /* later ones may go on before it; else all keep their order */
};

/* The outcome for it, for the code that carries it. */
struct vb_fault_outcome {
	uint16_t mark; /* of the packet as it came: enum vb_fault_mark */
	uint32_t cnt;  /* how often it goes on: 0, 1 or 2; a second one is never damaged */
	struct vb_fault_go go[2];
};

struct vb_fault_rule_state {
	struct vb_rng rng;
	uint64_t matched, hits;
	uint64_t msg; /* messages begun */
	bool bad;     /* BURST: inside a burst */
	vb_time idle; /* QUEUE: when all that waits will have been served */
};

struct vb_fault {
	struct vb_fault_spec spec;
	struct vb_fault_rule_state state[VB_FAULT_RULES_MAX];
	uint64_t hits[VB_FAULT_KIND_CNT];
	vb_time epoch;
	vb_time last[2];        /* by direction: nothing in order leaves before */
	vb_time *queue_idle;    /* where QUEUE rules keep that together with others; NULL: alone */
	struct vb_trace *trace; /* gets a FAULT event per hit; NULL: nobody */
};

/* Starts the layer at @now; its random streams are those of @seed and number @id. */
void vb_fault_init(struct vb_fault *f, const struct vb_fault_spec *spec, uint64_t seed, uint64_t id,
		   vb_time now);

/* The rules' view of a packet that leaves, and of one in any other place. Headers are there. */
struct vb_fault_packet vb_fault_see_sent(const struct vb_tx *tx);
struct vb_fault_packet vb_fault_see(enum vb_fault_dir dir, const struct vb_rx *rx);

/* Decides the outcome for packet @p, which has @traffic_class. */
void vb_fault_decide(struct vb_fault *f, const struct vb_fault_packet *p, uint8_t traffic_class,
		     vb_time now, struct vb_fault_outcome *to);

/* The judgement that this comes from. */
void vb_fault_judge(struct vb_fault *f, const struct vb_fault_packet *p, vb_time now,
		    struct vb_fault_fate *fate);

/* Flips one to three bits of the @len > 0 bytes at @p, as @bits says: few enough that a CRC of 32
 * bits finds every such error in a packet. */
void vb_fault_corrupt(uint8_t *p, uint32_t len, uint64_t bits);

#endif
