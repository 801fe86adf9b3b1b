/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Retransmission policy of one QP: how long to wait for an acknowledgement, what to do when none
 * comes, and when to give up. The transport tells it what happens and knows nothing of how it
 * decides; nothing here reads a clock or touches a packet.
 *
 * Its instants are run time: they leave out the time in which this process did not run
 * (vb_hca_add_gap()), because the peer had nobody to answer to. A timer that fires at a wake-up,
 * before its time has run, sends again at no charge; and whatever is spent, at least one
 * retransmission follows a wake-up.
 *
 * Two strategies, chosen by the adapter's settings. Fixed: the local ACK timeout of IBA 9.7.6.1.3,
 * with retry_cnt shared by timeouts and sequence errors and reloaded by progress (IBT-80).
 * Adaptive: a ladder of timeouts that doubles while nothing is heard and falls back with progress,
 * limited by time in place of a count (ADP-01...32, in adp.c).
 */
#ifndef VB_CORE_RECOVER_RTO_H
#define VB_CORE_RECOVER_RTO_H

#include "base/psn.h"
#include "base/rng.h"
#include "base/time.h"
#include "core/recover/settings.h"

/* The settings in force, and a number that changes with them: a QP that finds another one than it
 * knows starts its ladder over at its next timer. */
struct vb_rto_rules {
	struct vb_recovery set;
	uint32_t epoch;
};

#define VB_RTO_NO_RANGE 0xff

struct vb_rto {
	vb_dur timeout; /* of the next timer; VB_NEVER: wait for ever */
	vb_dur total;   /* adaptive: without progress, give up after this; VB_NEVER: never */
	vb_time since;  /* first transmission that waits since the last progress; VB_NEVER: none */
	vb_time charge_at; /* from here on the timer that runs counts as one that fired */
	vb_dur gaps;       /* vb_hca.gaps when the timer was armed */
	struct vb_rng rng;
	uint32_t epoch;       /* of the rules that the rest follows */
	uint32_t timeout_cnt; /* timers that fired since the last progress */
	uint16_t uses;        /* of cur_exp that have run out */
	/* adp_dec_per_flight: no decrement before this is acknowledged, when dec_waits. */
	struct vb_psn dec_psn;
	bool adaptive, dec_waits;
	bool woke;       /* this process did not run for a while after the timer was armed */
	bool carries_on; /* the next timer completes the time of the last one */
	uint8_t graces;  /* wake-ups that may still send again after all else is spent */
	uint8_t attr_timeout, attr_retry; /* the QP's attributes */
	uint8_t attr_extended;            /* extended_retry_count; 0: the adapter's. REG-18 */
	uint8_t cap_exp;    /* the QP's timeout, with the adapter's least one applied */
	uint8_t retry_left; /* fixed */
	uint8_t cur_exp;    /* adaptive: the timer is time_base << cur_exp */
	uint8_t range;      /* VB_RTO_NO_RANGE before the first timeout */
};

/* How a timeout, progress or new settings moved the ladder. */
enum vb_rto_move {
	VB_RTO_STAYS,       /* fixed, or nothing to move */
	VB_RTO_STARTS,      /* initial value drawn */
	VB_RTO_ENTERS,      /* first timeout, the initial value lies in a range: it goes on there */
	VB_RTO_START_RANGE, /* first timeout, it does not: the start range's low bound */
	VB_RTO_AGAIN,       /* same value once more */
	VB_RTO_DOUBLES,
	VB_RTO_NEXT_RANGE,
	VB_RTO_HOLDS,      /* at the top of the last range */
	VB_RTO_DECREMENTS, /* by progress, within the range */
	VB_RTO_PREV_RANGE, /* by progress, at the low bound */
	VB_RTO_MOVE_CNT
};

/* Of a move in a few words, for readers that show TIMER_MOVED events. */
const char *vb_rto_move_text(enum vb_rto_move move);

/* Starts over with the QP's attributes; @rng is the QP's own stream. */
void vb_rto_reset(struct vb_rto *r, const struct vb_rto_rules *rules, uint8_t timeout_exp,
		  uint8_t retry_cnt, struct vb_rng rng);

/* The QP's own extended retry count: its total timeout is this many times its timeout. 0: what the
 * settings say, or retry_cnt. Holds from the next timer on. REG-18 */
void vb_rto_set_extended(struct vb_rto *r, const struct vb_rto_rules *rules, uint8_t cnt);

/* Adopts changed settings, if they changed since the last call. Before vb_rto_arm(). */
enum vb_rto_move vb_rto_adopt(struct vb_rto *r, const struct vb_rto_rules *rules);

/* When a timer that starts now ends; VB_NEVER: never. Starts the clock of the total timeout. */
vb_time vb_rto_arm(struct vb_rto *r, const struct vb_rto_rules *rules, vb_time now);

/* Something new was acknowledged; all up to @una, and @nxt is the next PSN to send. */
enum vb_rto_move vb_rto_progress(struct vb_rto *r, const struct vb_rto_rules *rules,
				 struct vb_psn una, struct vb_psn nxt);

/* The peer answered that it is not ready: it is alive, so retries and total timeout start over. */
void vb_rto_paused(struct vb_rto *r);

/* The timer fired, and the receiver is known not to have got to its answer: the timer counts
 * neither as a retry nor as time of the total timeout. The retries that were spent stay spent:
 * packets that a receiver reads late and drops each time are as lost as others. */
void vb_rto_excused(struct vb_rto *r, vb_time now);

/* This process did not run for a while since vb_rto_arm(). Before vb_rto_timed_out() and
 * vb_rto_gap(). */
void vb_rto_woke(struct vb_rto *r);

/* The timer fired. *move says what became of the ladder. True: send again, false: give up. */
bool vb_rto_timed_out(struct vb_rto *r, const struct vb_rto_rules *rules, vb_time now,
		      enum vb_rto_move *move);

/* The peer reported a gap. True: send again, false: give up. */
bool vb_rto_gap(struct vb_rto *r, vb_time now);

/* Until the total timeout ends; VB_NEVER: there is none, or its clock stands. */
vb_dur vb_rto_budget(const struct vb_rto *r, vb_time now);

/* RNR NAK timer codes in ns, IBA 9.7.5.2.8; facts B.6. @code 0...31. IBT-79 */
vb_dur vb_rnr_timer_ns(uint8_t code);

/* adp.c: the adaptive strategy; called by rto.c for a QP that uses it. */
void vb_adp_start(struct vb_rto *r, const struct vb_recovery *set);
/* The total timeout, when one of its factors has changed. */
void vb_adp_set_total(struct vb_rto *r, const struct vb_recovery *set);
/* The length of the next timer, of which *slot is its slot in vb_adp_fired. */
vb_dur vb_adp_timeout(const struct vb_rto *r, const struct vb_recovery *set, unsigned *slot);
enum vb_rto_move vb_adp_raise(struct vb_rto *r, const struct vb_adp_profile *p);
enum vb_rto_move vb_adp_lower(struct vb_rto *r, const struct vb_adp_profile *p);

#endif
