/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The settings of congestion control: one plain struct per port, in the names and units of
 * the register space of an RDMA core with DCQCN. A struct of zeros switches everything off.
 *
 * A rate is a count of bytes in a window of 1024 clock cycles, 16 bits: 1 unit is clk_hz * 8 / 1024
 * bit/s, 1.953 Mb/s at 250 MHz. CC-01, CC-02
 */
#ifndef VB_CORE_CC_SETTINGS_H
#define VB_CORE_CC_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#define VB_CC_WINDOW_CYCLES 1024u
#define VB_CC_CLK_HZ_MIN 1000000u
#define VB_CC_CLK_HZ_MAX 4000000000u
#define VB_CC_RATE_MAX 65535u
#define VB_CC_BYTE_CNT_MAX ((1u << 19) - 1) /* 0x200200[50:32] */
#define VB_CC_STEP_Q8_MAX ((1u << 24) - 1)
#define VB_CC_ALPHA_MAX 1023u
#define VB_CC_ALPHA_FRAC_MAX 10u
#define VB_CC_RXQ_MAX 1000u

/* Outstanding WQEs of a QP, and after a CNP. CC-05 */
#define VB_CC_OST_FULL 16u
#define VB_CC_OST_REDUCED 8u

/* When a cut takes the rate as the new target. CC-14; in the words of other adapters: */
enum vb_cc_clamp {
	VB_CC_CLAMP_ALWAYS,         /* clamp_tgt_rate 1, as the paper has it */
	VB_CC_CLAMP_AFTER_INCREASE, /* clamp_tgt_rate 0, clamp_tgt_rate_ati 1 */
	VB_CC_CLAMP_AFTER_BYTES,    /* both 0: only if the byte counter has raised it since */
};

/* The beginning of a merge period. CC-09 */
enum vb_cc_cut {
	VB_CC_CUT_AT_ONCE,  /* the CNP that cuts; those in the period after it do not */
	VB_CC_CUT_PERIODIC, /* periods follow each other; at the end of one that had a CNP, a cut */
};

/* When alpha decays. facts C.3 */
enum vb_cc_alpha_mode {
	VB_CC_ALPHA_ACTIVE, /* from a cut until the rate is at its maximum again, where alpha
			     * becomes its initial value: each first CNP cuts alike */
	VB_CC_ALPHA_ALWAYS, /* from the making of the QP on, CC-24 read literally */
};

struct vb_cc_settings {
	/* 0x200220. The limiter works when the second and the last are set. CC-45...48 */
	bool dcqcn_hw_en, hw_rate_throttle_en, tx_wqe_ost_limit_en, speed_limiter_en;
	uint16_t dcqcn_rx_cnp_merge_period; /* us; 0: every CNP cuts */
	/* 0x200200. CC-49 */
	uint16_t dcqcn_nocnp_timer_th; /* us; 0: no increase by time */
	uint16_t dcqcn_max_rate;       /* units */
	uint32_t dcqcn_byte_cnt_th;    /* 19 bits; 0: no increase by bytes */
	uint16_t dcqcn_alpha_timer_th; /* 0x200218, us; 0: alpha does not decay */
	uint16_t cnp_timer_thrd;       /* 0x2000a0, us. CC-08 */

	/* Without an address in the register space. */
	uint32_t cc_clk_hz;             /* VB_CC_CLK_HZ_MIN...MAX */
	uint16_t dcqcn_upd_alpha_g;     /* weight of the new sample, /1024, 0...1023. CC-29 */
	uint8_t dcqcn_alpha_rate_shift; /* 0...15; 1 halves the rate at most. CC-10, CC-13 */
	uint32_t dcqcn_rate_ai_q8;      /* units, 8 fraction bits, 24 bits. CC-56 */
	uint32_t dcqcn_rate_hai_q8;     /* the same */
	uint16_t dcqcn_min_rate;        /* units; 0 counts as 1. CC-60 */
	uint8_t dcqcn_fr_threshold;     /* rounds of fast recovery. CC-19 */
	uint8_t byte_cnt_unit_log2;     /* dcqcn_byte_cnt_th << this are bytes; 0...15. CC-17 */
	uint8_t clamp_mode;             /* enum vb_cc_clamp */
	uint8_t cut_mode;               /* enum vb_cc_cut */
	uint8_t alpha_mode;             /* enum vb_cc_alpha_mode */
	uint8_t min_dec_fac;            /* a cut leaves at least so many percent; 0: no floor */
	uint8_t alpha_frac_bits;        /* of alpha below its 10, 0...10. CC-28 */
	uint16_t initial_alpha;         /* 0...1023. CC-12 */
	uint16_t initial_rate;          /* units; 0: dcqcn_max_rate. CC-59 */
	uint16_t inactivity_th;         /* us without a packet after which a flow starts over;
					 * 0: rates recover by the timer alone */
	bool cnp_irq_en;                /* a CNP raises an event. CC-07 */

	/* The notification point, and data that may be marked. */
	bool np_en;             /* CE is answered with CNPs. CC-03 */
	uint16_t np_min_cnp_us; /* between two CNPs of a QP; 0: one for each packet with CE */
	uint8_t np_cnp_dscp;    /* 0...63 */
	bool ecn_en;            /* data leaves as ECT(0) */

	/* The own receive queue as a place of congestion: as it fills beyond kmin, ECT packets
	 * count as marked with a chance that reaches pmax at kmax, and all of them do beyond. In
	 * percent of what senders of the host may leave in a receive buffer; only where there is
	 * one, not in the simulator. */
	bool rxq_en;
	uint16_t rxq_kmin, rxq_kmax; /* at most 1000; kmin <= kmax */
	uint8_t rxq_pmax;            /* percent */

	/* Unused budget of the limiter lasts so long, and a QP that waits does so for half of it,
	 * so that packets leave in GSO batches; 0: one window, and no GSO batches. At most 1 s. */
	uint32_t limiter_burst_ns;
	/* The bytes that unused budget lasts for, whatever the rate, in place of limiter_burst_ns;
	 * 0: by time. At most 1 MiB. REG-09 */
	uint32_t limiter_burst_bytes;
};

/* The values of the DCQCN paper at @rate_bps, 250 MHz unless the rate needs a faster clock: scheme
 * 1, but for tx_wqe_ost_limit_en, as the paper bounds a flow by its rate alone. facts D-03 */
void vb_cc_settings_paper(struct vb_cc_settings *s, uint64_t rate_bps);

/* The notification point of the paper alone: packets leave as ECT(0), and marks draw CNPs, for an
 * algorithm that takes these in place of the reaction point. */
void vb_cc_settings_notify(struct vb_cc_settings *s);

/* Units nearest to a rate, 8 fraction bits; saturates at 24 bits. */
uint32_t vb_cc_units_q8(uint64_t rate_bps, uint32_t clk_hz);
/* bit/s of a rate in units with 8 fraction bits. */
uint64_t vb_cc_bps(uint32_t units_q8, uint32_t clk_hz);

/* One member of the settings: its name, and what fits. In the order of the structure. */
enum vb_cc_kind {
	VB_CC_BOOL,
	VB_CC_NUMBER,
	VB_CC_RATE, /* units, 16 bits */
	VB_CC_STEP, /* units with 8 fraction bits */
	VB_CC_NAME, /* one of names[0...max] */
};

struct vb_cc_field {
	const char *name;
	const char *rule; /* half a sentence, "must be ..." */
	uint8_t kind;     /* enum vb_cc_kind */
	uint8_t size;     /* bytes of the member */
	uint16_t at;      /* its offset */
	uint32_t min, max;
	const char *const *names;
};

extern const struct vb_cc_field vb_cc_fields[];
extern const unsigned vb_cc_field_cnt;

bool vb_cc_settings_eq(const struct vb_cc_settings *a, const struct vb_cc_settings *b);
uint32_t vb_cc_field_get(const struct vb_cc_field *f, const struct vb_cc_settings *s);
void vb_cc_field_put(const struct vb_cc_field *f, struct vb_cc_settings *s, uint32_t value);

/* 0, or -EINVAL with the name of the field that does not fit and its rule as half a sentence. */
struct vb_cc_fault {
	const char *field, *rule;
};
int vb_cc_settings_check(const struct vb_cc_settings *s, struct vb_cc_fault *fault);

static inline bool vb_cc_limits(const struct vb_cc_settings *s)
{
	return s->hw_rate_throttle_en && s->speed_limiter_en;
}

#endif
