/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The congestion controller of one QP as the transport sees it: it is told what happened, and
 * writes a rate and a window; the limiter turns the rate into an instant before which nothing more
 * leaves. The algorithm stands in dcqcn.c alone.
 *
 * Nothing here keeps a timer: steps by time (increases, decay of alpha, the end of a merge period)
 * are made up for, in order and each as of its own instant, whenever the controller is next called,
 * at a cost that does not depend on how long ago that was. CC-01...62
 */
#ifndef VB_CORE_CC_CC_H
#define VB_CORE_CC_CC_H

#include "base/time.h"
#include "core/cc/settings.h"

struct vb_dfx; /* core/cc/dfx.h */

/* Widths: rates are 16.8 bits, alpha is 0.20 (the register shows its top 10), stages saturate. */
struct vb_cc {
	/* The controller's output. */
	uint16_t cc_rate; /* CC_RATE_MEM: the rate that the limiter enforces, units. CC-33 */
	uint8_t window;   /* WQEs outstanding; 0: no limit. CC-05 */

	/* Reaction point. */
	uint32_t cur_q8, tgt_q8;
	uint32_t alpha_q20;
	uint64_t byte_cnt;    /* since the last increase by bytes */
	uint16_t t, bc;       /* increases by time and by bytes since the last cut. CC-18 */
	bool cut_pending;     /* periodic cuts: the period under way had a CNP */
	bool active;          /* from a cut until the rate is at its maximum again */
	bool alpha_written;   /* alpha_first is what software wrote */
	uint16_t alpha_first; /* ... and then the alpha of the first CNP. CC-41 */
	vb_time sent_at;      /* the last packet; VB_NEVER: none since software set a rate */
	vb_time merge_end;    /* at once: CNPs before this do not cut; periodic: next boundary */
	vb_time nocnp_at;     /* next increase by time; VB_NEVER: the timer is off */
	vb_time alpha_at;     /* next decay */
	vb_time ost_end;      /* the window is full again; VB_NEVER: it is */

	/* Limiter: the next packet may leave at next + next_q15 / 2^15 ns. */
	vb_time next;
	uint16_t next_q15;
	/* The cost of the packet before, mostly also of the next: @cost_bytes at cost_per. */
	uint16_t cost_q15;
	uint32_t cost_bytes;
	uint64_t cost_per; /* units * Hz; 0: none yet */
	vb_dur cost;

	struct vb_dfx *dfx; /* NULL: nothing is recorded */
};

/* As 9.6 has it: rates and alpha initial, the rest clear; the timer of increases runs unless the
 * QP starts at the maximum rate. CC-41...44, CC-59 */
void vb_cc_reset(struct vb_cc *cc, const struct vb_cc_settings *set, vb_time now);

/* The settings become @to: steps due under @from happen first; rates keep to the new limits. A
 * QP that nothing controlled under @from starts as after vb_cc_reset(). */
void vb_cc_adopt(struct vb_cc *cc, const struct vb_cc_settings *from,
		 const struct vb_cc_settings *to, vb_time now);

/* A CNP arrived. True: something was done about it. */
bool vb_cc_on_cnp(struct vb_cc *cc, const struct vb_cc_settings *set, vb_time now);

/* A packet of @bytes (BTH through ICRC, at most 2^16) leaves: for the byte counter and for the
 * limiter. A packet raises the rate once at most, whatever the threshold. */
void vb_cc_on_sent(struct vb_cc *cc, const struct vb_cc_settings *set, uint32_t bytes, vb_time now);

/* A flow begins: something is about to be sent, and nothing else is in flight. After inactivity_th
 * without a packet, rates and alpha are those of a new QP. */
void vb_cc_on_flow(struct vb_cc *cc, const struct vb_cc_settings *set, vb_time now);

/* Brings everything up to @now. */
void vb_cc_on_time(struct vb_cc *cc, const struct vb_cc_settings *set, vb_time now);

/* The limiter, if there is one, lets the next packet leave @now. */
static inline bool vb_cc_is_paid(const struct vb_cc *cc, vb_time now)
{
	return cc->next < now || (cc->next == now && cc->next_q15 == 0);
}

/* The instant from which the next packet may leave: at most @now, if it may leave now. A later one
 * is when to look again, before which an increase may be due. */
vb_time vb_cc_send_at(struct vb_cc *cc, const struct vb_cc_settings *set, vb_time now);

/* When the window may be found larger; VB_NEVER: it is as large as it gets. */
static inline vb_time vb_cc_window_at(const struct vb_cc *cc)
{
	return cc->ost_end;
}

/* limiter.c: cc_rate becomes @units; the debt is paid at the new rate. */
void vb_limiter_set(struct vb_cc *cc, const struct vb_cc_settings *set, uint16_t units, vb_time at);
void vb_limiter_charge(struct vb_cc *cc, const struct vb_cc_settings *set, uint32_t bytes,
		       vb_time now);
/* @bytes (at most 2^20) take longer than @span at the rate in force. */
bool vb_limiter_exceeds(const struct vb_cc *cc, const struct vb_cc_settings *set, uint32_t bytes,
			vb_dur span);
/* Bytes charged to the window of 1024 cycles that ends now, and what is owed. CC-38 */
/* A QP that has to wait does so for so long beyond that, so that packets leave in GSO batches. */
vb_dur vb_limiter_wait(const struct vb_cc *cc, const struct vb_cc_settings *set);
uint32_t vb_limiter_bytes(const struct vb_cc *cc, const struct vb_cc_settings *set, vb_time now);

/* ... and as CC_BYTE_CNT_MEM is written. */
void vb_limiter_set_bytes(struct vb_cc *cc, const struct vb_cc_settings *set, uint32_t bytes,
			  vb_time now);

/* Software's side; rates are kept within the limits. @target 0: as @current; @left_us of a merge
 * period, 0: none is under way. CC-32, CC-35, CC-43, CC-46 */
void vb_cc_set_current(struct vb_cc *cc, const struct vb_cc_settings *set, uint16_t current,
		       uint16_t target, vb_time now);
/* ALPHA_MEM: the alpha of now, and of each first CNP from now on. */
void vb_cc_set_alpha(struct vb_cc *cc, const struct vb_cc_settings *set, uint16_t alpha,
		     vb_time now);
void vb_cc_set_merge(struct vb_cc *cc, const struct vb_cc_settings *set, uint16_t left_us,
		     vb_time now);
void vb_cc_start_nocnp_timer(struct vb_cc *cc, const struct vb_cc_settings *set, vb_time now);
void vb_cc_set_rate(struct vb_cc *cc, const struct vb_cc_settings *set, uint16_t units,
		    vb_time now);

/* The values of RATE_MEM and ALPHA_MEM, as of the last call. CC-11, CC-12, CC-32 */
static inline uint16_t vb_cc_current_rate(const struct vb_cc *cc)
{
	return (uint16_t)(cc->cur_q8 >> 8);
}

static inline uint16_t vb_cc_target_rate(const struct vb_cc *cc)
{
	return (uint16_t)(cc->tgt_q8 >> 8);
}

static inline uint16_t vb_cc_alpha(const struct vb_cc *cc)
{
	return (uint16_t)(cc->alpha_q20 >> 10);
}

#endif
