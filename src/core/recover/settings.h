/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The switches in the ROCE_ACCL register as the transport reads them: one plain struct per adapter,
 * in the register's own units and encodings, with the presets and the rules for it.
 *
 * The owner of a vb_hca hands it a whole struct, at creation (vb_hca_config.recovery) or later
 * (vb_hca_set_recovery() in core/hca.h); nothing is ever half applied. A struct of zeros switches
 * everything off: the fixed timer of IBA 9.7.6.1.3 and go-back-N. ADP-01...32, REG-01...31
 */
#ifndef VB_CORE_RECOVER_SETTINGS_H
#define VB_CORE_RECOVER_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

/* adp_retx_profile_max_range_num, adp_retx_profile_max_id, adp_retx_base_timeout_min. ADP-32 */
#define VB_ADP_RANGES_MAX 4
#define VB_ADP_PROFILE_ID_MAX 1
#define VB_ADP_BASE_MIN_NS 4000

#define VB_ADP_TIME_USEC 1        /* the one time_unit there is. REG-21 */
#define VB_ADP_RETRY_NUM_MAX 1023 /* 10 bits. REG-29 */
#define VB_DSCP_MAX 63

/* REG-28: the register's encoding. */
enum vb_adp_dec_mode {
	VB_ADP_DEC_DIV_4 = 0,
	VB_ADP_DEC_DIV_2 = 1,
	VB_ADP_DEC_LOW_BOUND = 2,
};

/* timeout_range[i]: the timer values time_base << x, range_low_bound <= x < range_low_bound +
 * max(range_size, 1). */
struct vb_adp_range {
	uint8_t prev_range_index;   /* < own index; range 0: 0 */
	uint8_t dec_mode;           /* enum vb_adp_dec_mode */
	uint16_t timeout_retry_num; /* uses of one value, 0...1023; 0 is one use */
	uint8_t range_low_bound;
	uint8_t range_size; /* number of values; 0 is one value */
};

struct vb_adp_profile {
	bool qp_total_timeout; /* total is the QP's timeout * retry_cnt, else retx_total_timeout */
	uint8_t range_num;     /* valid ranges, 1...VB_ADP_RANGES_MAX */
	uint8_t start_range_index;  /* < range_num */
	uint8_t time_unit;          /* VB_ADP_TIME_USEC */
	uint16_t time_base;         /* us, a power of 2, at least 4 */
	uint8_t retx_total_timeout; /* total is time_base << this */
	/* The first timeout of a QP is time_base << x for a random x, timeout_init_low_bound <= x <
	 * timeout_init_low_bound + max(timeout_init_range_size, 1). */
	uint8_t timeout_init_low_bound;
	uint8_t timeout_init_range_size;
	struct vb_adp_range timeout_range[VB_ADP_RANGES_MAX];
};

/* A timer may last longer than it was set to, as the standard's window T...4T allows and real
 * adapters show. ADP-31 */
enum vb_timer_stretch {
	VB_STRETCH_NONE,
	VB_STRETCH_RANDOM, /* a factor from 1 to 4, drawn for each timer */
	VB_STRETCH_MAX,    /* 4 */
};

struct vb_recovery {
	bool roce_adp_retrans_en;       /* adaptive timers; else the fixed one */
	bool roce_tx_window_en;         /* tx_window_bytes bounds what a QP has in flight */
	bool roce_slow_restart_en;      /* ramp up after a retransmission */
	bool roce_slow_restart_idle_en; /* ... and after idle_restart_ns without work in flight */
	bool min_ack_timeout_limit_disabled; /* min_ack_timeout is not applied */
	bool selective_repeat_forced_en;     /* QPs that reach RTR from now on offer it */
	bool adaptive_routing_forced_en;     /* QPs that reach RTR from now on spread requests */
	bool dc_half_handshake_en;   /* DCIs that leave it to the adapter do not wait to connect */
	bool ack_dscp_force;         /* ACKs and NAKs leave with ack_dscp */
	uint8_t ack_dscp;            /* 0...VB_DSCP_MAX */
	uint8_t adp_retx_profile_id; /* 0: vb_adp_firmware, > 0: profile. ADP-28 */
	struct vb_adp_profile profile;

	/* Settings that the register does not carry. */
	uint8_t min_ack_timeout; /* a QP's timeout counts as at least this exponent; 0: no limit */
	uint8_t adp_timeout_stretch;  /* enum vb_timer_stretch, of adaptive timers */
	bool adp_dec_per_flight;      /* one decrement for all that was in flight. ADP-22 */
	uint8_t extended_retry_count; /* in place of retry_cnt in the QP's total; 0: not. REG-18 */
	uint32_t tx_window_bytes;     /* 0: VB_TX_WINDOW_BYTES */
	uint32_t slow_restart_bytes;  /* first window of a ramp; 0: VB_SLOW_RESTART_BYTES */
	uint64_t idle_restart_ns;     /* 0: VB_IDLE_RESTART_NS */
};

#define VB_TX_WINDOW_BYTES (1u << 20)
#define VB_SLOW_RESTART_BYTES (16u << 10)
#define VB_IDLE_RESTART_NS UINT64_C(1000000)

/*
 * The timers of profile id 0. The vendor's are not public; this is the ladder that Verbena has in
 * their place: 4...8 ms first, then 4 ms up to 512 ms. facts C.2, ADP-25
 */
extern const struct vb_adp_profile vb_adp_firmware;

/* How an adapter leaves the factory: adaptive with profile id 0, slow restart, a least timeout. */
extern const struct vb_recovery vb_recovery_default;

/* The vendor tool's presets for networks that drop and that do not: adp_retrans, tx_window and
 * slow_restart together. @r keeps everything else. facts C.2 */
void vb_recovery_set_lossy(struct vb_recovery *r);
void vb_recovery_set_lossless(struct vb_recovery *r);

/*
 * How often adaptive timers fired, by the value that they had been set to: slots 0...63 are
 * 1 us << slot, slots 64...95 are caps by a QP's timeout, 4.096 us << (slot - 64). The
 * source of ADP_RETX_HISTOGRAM. One writer; every slot is one aligned word. REG-34
 */
#define VB_ADP_FIRED_SLOTS 96
struct vb_adp_fired {
	uint64_t slot[VB_ADP_FIRED_SLOTS];
};

static inline uint64_t vb_adp_fired_ns(unsigned slot)
{
	if (slot >= 64)
		return UINT64_C(4096) << (slot - 64 < 32 ? slot - 64 : 31);
	return slot < 54 ? UINT64_C(1000) << slot : UINT64_MAX;
}

/* A fault in a profile or settings: the register's name of the field, the index of the
 * range it stands in or -1, and the rule it breaks as half a sentence ("must be ..."). */
struct vb_recovery_fault {
	const char *field, *rule;
	int range;
};

/* 0, or -EINVAL with the first broken rule in *fault (may be NULL). ADP-10, ADP-15, ADP-24 */
int vb_adp_profile_check(const struct vb_adp_profile *p, struct vb_recovery_fault *fault);
/* ... of everything; the profile counts only when adp_retx_profile_id > 0. */
int vb_recovery_check(const struct vb_recovery *r, struct vb_recovery_fault *fault);

/* Recommendations that a valid profile does not follow, the same way; false: none. ADP-08 */
bool vb_adp_profile_warn(const struct vb_adp_profile *p, struct vb_recovery_fault *warning);

/* The profile that is in force. */
static inline const struct vb_adp_profile *vb_recovery_profile(const struct vb_recovery *r)
{
	return r->adp_retx_profile_id ? &r->profile : &vb_adp_firmware;
}

#endif
