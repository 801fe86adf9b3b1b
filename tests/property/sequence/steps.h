/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A case of the sequence tests: a simulated network and a list of steps (verbs calls, faults), all
 * of it plain numbers. It is made from a seed, written and read as text, and can lose any of its
 * steps: a step whose objects are not there does nothing, and what a step chooses at random comes
 * from its own salt, so that leaving one out changes no other. That is what makes shrinking work.
 */
#ifndef VB_TESTS_PROPERTY_SEQUENCE_STEPS_H
#define VB_TESTS_PROPERTY_SEQUENCE_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define STEP_ARGS 12
#define STEPS_MAX 256
#define CONNS_MAX 8
#define MRS_MAX 6
#define MWS_MAX 4
#define DCIS_MAX 6
#define GROUPS 3
#define DCTS_MAX 3

/* The network and what all adapters in it have in common. */
enum world_arg {
	WORLD_SEED,
	WORLD_SHAPE,    /* enum world_shape */
	WORLD_SIZE,     /* 2...4: hosts or switches, as the shape uses it */
	WORLD_GBPS,     /* of cables */
	WORLD_DELAY,    /* ns, of a cable */
	WORLD_WINDOW,   /* vb_hca_config.peer_window_bytes */
	WORLD_PIECE,    /* vb_hca_config.read_piece_bytes */
	WORLD_EVENT,    /* 1: CQs are only looked at when they have notified */
	WORLD_SRQ,      /* 1: each host has an SRQ */
	WORLD_TIDY,     /* 1: every object is destroyed; 0: the adapter takes them with it */
	WORLD_RECOVERY, /* set of enum world_recovery */
	WORLD_SWITCH,   /* enum world_switch */
	WORLD_CC,       /* enum world_cc */
	WORLD_SLOW,     /* cables between switches, and that of host 0, are so many times slower */
	WORLD_CNT
};

enum world_recovery {
	RECOVERY_ADAPTIVE = 1,
	RECOVERY_WINDOW = 2,
	RECOVERY_SLOW_RESTART = 4,
	RECOVERY_SELECTIVE = 8
};

enum world_switch {
	SWITCH_ROOMY,
	SWITCH_LOSSLESS, /* PAUSE, at thresholds that are soon reached */
	SWITCH_DROPS,    /* short queues */
	SWITCH_CNT
};

enum world_cc { CC_OFF, CC_PAPER, CC_CNT };

enum world_shape {
	SHAPE_PAIR,
	SHAPE_STAR,
	SHAPE_DUMBBELL,
	SHAPE_PARKING_LOT,
	SHAPE_CLOS,
	SHAPE_FAT_TREE,
	SHAPE_CNT
};

enum step_kind {
	STEP_CONNECT,
	STEP_POST,
	STEP_RECV,
	STEP_STATE,
	STEP_RECONNECT,
	STEP_DESTROY,
	STEP_FAULT,
	STEP_HEAL,
	STEP_MR,
	STEP_UNMR,
	STEP_MW,
	STEP_BIND,
	STEP_UNMW,
	STEP_SRQ,
	STEP_REFUSED,
	STEP_CQ,
	STEP_NAP,
	STEP_LIMIT,
	STEP_REREG,
	STEP_GROUP,
	STEP_TUNE,
	STEP_DCT,
	STEP_DCI,
	STEP_DCPOST,
	STEP_DCSTATE,
	STEP_DCSTREAM,
	STEP_DCRECV,
	STEP_UNSRQ,
	STEP_PAGE,
	STEP_LOCATE,
	STEP_KINDS
};

/* Places of arguments; names and limits are in the table of text.c. */
enum { ARG_CONN, ARG_SIDE };
enum {
	CONNECT_TYPE = 1,
	CONNECT_A,
	CONNECT_B,
	CONNECT_MTU,
	CONNECT_DEPTH,
	CONNECT_RECVS,
	CONNECT_TIMEOUT,
	CONNECT_RNR,
	CONNECT_ATOMICS,
	CONNECT_SRQ,
	CONNECT_SALT
};
enum {
	POST_OP = 2,
	POST_LEN,
	POST_CNT,
	POST_FLAGS,
	POST_SGES,
	POST_DEFECT,
	POST_TARGET,
	POST_SALT
};
enum { RECV_CNT = 2, RECV_LEN, RECV_SGES, RECV_DEFECT, RECV_SALT };
enum { STATE_TO = 2, STATE_SALT };
enum { RECONNECT_SALT = 1 };
enum { FAULT_CABLE, FAULT_KIND, FAULT_PPM, FAULT_FIRST, FAULT_SKIP, FAULT_US };
enum { MR_SLOT, MR_HOST, MR_ACCESS, MR_LEN, MR_KIND };
enum { MW_SLOT, MW_TYPE, MW_HOST };
enum { BIND_MW = 2, BIND_MR, BIND_ACCESS, BIND_LEN, BIND_OFF };
enum { SRQ_HOST, SRQ_CNT_, SRQ_LEN, SRQ_SALT, SRQ_WHICH };
enum { REFUSED_WHY = 2 };
enum { CQ_HOST, CQ_SIZE };
enum { NAP_HOST, NAP_US };
enum { LIMIT_HOST, LIMIT_CNT, LIMIT_WHICH };
enum { UNSRQ_HOST, UNSRQ_WHICH };
enum { GROUP_NUMBER = 2, GROUP_LEAVE };
enum { TUNE_WHAT = 2, TUNE_HOST, TUNE_VALUE };
enum { DCT_SLOT, DCT_HOST };
enum {
	DCI_SLOT,
	DCI_HOST,
	DCI_DEPTH,
	DCI_STREAMS, /* log */
	DCI_ERRORED, /* log */
	DCI_FULL,
	DCI_TIMEOUT,
	DCI_RNR,
	DCI_ATOMICS,
	DCI_SALT
};
enum {
	DCPOST_DCI,
	DCPOST_DCT,
	DCPOST_OP,
	DCPOST_LEN,
	DCPOST_CNT,
	DCPOST_FLAGS,
	DCPOST_SGES,
	DCPOST_DEFECT,
	DCPOST_STREAM,
	DCPOST_SALT,
	DCPOST_TARGET
};
enum { DCSTATE_TARGET, DCSTATE_SLOT, DCSTATE_TO }; /* TO: VB_QPS_CNT destroys */
enum { DCSTREAM_DCI, DCSTREAM_STREAM };
enum { DCRECV_DCT, DCRECV_CNT, DCRECV_SALT };
enum { REREG_SLOT, REREG_ACCESS, REREG_AWAY };
enum { PAGE_SLOT, PAGE_AT, PAGE_LEN, PAGE_KIND };
enum { LOCATE_SLOT, LOCATE_HOST, LOCATE_AT, LOCATE_LEN, LOCATE_WRITE };

/* The defects of a request, and of a receive. */
enum defect {
	DEFECT_NONE,
	DEFECT_RKEY,
	DEFECT_BOUNDS, /* one byte beyond the remote region */
	DEFECT_RIGHT,  /* a region without the right */
	DEFECT_LKEY,
	DEFECT_LOCAL_BOUNDS, /* one byte beyond the local region */
	DEFECT_ALIGN,        /* an atomic at an odd address */
	DEFECT_SRQN,         /* XRC: an SRQ of another domain, or none; DC: the wrong key */
	DEFECT_DOMAIN,       /* XRC: an SRQ of a PD in which the key is not; DC: an AH of one */
	DEFECT_NULL,         /* the key of the null region, which has none for the peer */
	DEFECT_AWAY,         /* the last byte of the range is of a page that is not there */
	DEFECT_LOCAL_AWAY,   /* the same, of local memory */
	DEFECT_CNT
};
enum recv_defect { RECV_GOOD, RECV_BAD_LKEY, RECV_AWAY, RECV_DEFECTS };

/* A request's target: the region of the peer's end, or a region or window of a slot. */
#define TARGET_MR 1
#define TARGET_MW (TARGET_MR + MRS_MAX)
#define TARGET_CNT (TARGET_MW + MWS_MAX)

/* Calls that must be refused at once. */
enum refused {
	REFUSED_SGES,   /* more pieces than the QP takes */
	REFUSED_INLINE, /* more bytes than it takes inline */
	REFUSED_OPCODE,
	REFUSED_RECV_SGES,
	REFUSED_CQ,     /* destroying a CQ, PD that are in use */
	REFUSED_MR,     /* rights that need LOCAL_WRITE */
	REFUSED_AWAY,   /* destroying the other PD, if it is in use */
	REFUSED_TARGET, /* an XRC target posts nothing */
	REFUSED_CNT
};

/* The settings that are changed under way. */
enum tune {
	TUNE_MODERATE,
	TUNE_SOLICITED,
	TUNE_RATE,
	TUNE_MASK,
	TUNE_SRQ,
	TUNE_RECOVERY,
	TUNE_CC,
	TUNE_CC_RATE,
	TUNE_CNT
};

struct step {
	uint32_t kind, after; /* ns since the step before it */
	uint32_t arg[STEP_ARGS];
};

struct sequence {
	uint32_t world[WORLD_CNT];
	uint32_t cnt;
	struct step step[STEPS_MAX];
};

/* make.c */
void sequence_make(struct sequence *s, uint64_t seed);
uint32_t sequence_hosts(const struct sequence *s);

/* text.c */
void sequence_print(FILE *f, const struct sequence *s);
/* 0, or the number of the line that cannot be read. */
int sequence_read(FILE *f, struct sequence *s);

/* play.c: plays a case; a failure is said through fail(), which does not return. */
struct play_count {
	uint64_t completions, packets, bytes;
};
void sequence_play(const struct sequence *s, bool verbose, struct play_count *count);

/*
 * In front.c. A failure has a kind (one word, kept while shrinking) and a text. It ends the
 * process: every case that may fail is played in a process of its own.
 */
_Noreturn void fail(const char *kind, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* shrink.c: makes @s smaller as long as fails(@s) gives @kind; returns the number of attempts. */
uint32_t sequence_shrink(struct sequence *s, const char *kind,
			 bool (*fails)(const struct sequence *s, const char *kind));

#endif
