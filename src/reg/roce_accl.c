/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ROCE_ACCL, register 0x402c: what an adapter does about losses, and its profile of adaptive
 * timeouts. REG-01...33 with the readings of facts A.2
 *
 * Each switch has a select bit in word 0. A GET shows there which switches this adapter has, a SET
 * says which of them it changes; so reading, changing one field and writing back changes that one.
 */
#include "reg/file.h"

#include <errno.h>
#include <string.h>

#define SELECT(n, for_)                                                                            \
	{                                                                                          \
		.path = for_, .address = 0x00, .bit = (n), .width = 1, .access = VB_REG_RW,        \
		.select = VB_REG_NO_SELECT,                                                        \
		.text = "GET: the adapter has the function; SET: this write changes it"            \
	}
#define SWITCH(n, name, member, what)                                                              \
	{                                                                                          \
		.path = name, .address = 0x04, .bit = (n), .width = 1, .access = VB_REG_RW,        \
		.select = (n), .text = what, VB_REG_SHOWS(member)                                  \
	}
/* A function that this adapter does not have. */
#define ABSENT(addr, b, w, select_bit, name, what)                                                 \
	{                                                                                          \
		.path = name, .address = (addr), .bit = (b), .width = (w), .access = VB_REG_RW,    \
		.select = (select_bit), .text = what                                               \
	}
#define LIMIT(b, w, name, what)                                                                    \
	{                                                                                          \
		.path = name, .address = 0x08, .bit = (b), .width = (w), .access = VB_REG_RO,      \
		.select = VB_REG_NO_SELECT, .text = what                                           \
	}
#define PROFILE_SELECT 28
#define PROFILE(addr, b, w, member, what)                                                          \
	{                                                                                          \
		.path = "adp_retx_profile." #member, .address = 0x10 + (addr), .bit = (b),         \
		.width = (w), .access = VB_REG_RW, .select = PROFILE_SELECT, .text = what,         \
		VB_REG_SHOWS(recovery.profile.member)                                              \
	}
/* REG-26...31 */
#define RANGE(i)                                                                                   \
	PROFILE(0x08 + 4 * (i), 0, 8, timeout_range[i].range_size,                                 \
		"the range has this many values, at least one"),                                   \
	    PROFILE(0x08 + 4 * (i), 8, 8, timeout_range[i].range_low_bound,                        \
		    "its lowest timeout is time_base << this"),                                    \
	    PROFILE(0x08 + 4 * (i), 16, 10, timeout_range[i].timeout_retry_num,                    \
		    "uses of one timeout before it doubles; 0 is one"),                            \
	    PROFILE(0x08 + 4 * (i), 26, 2, timeout_range[i].dec_mode,                              \
		    "with progress: 0 divides by 4, 1 by 2, 2 goes to the low bound"),             \
	    PROFILE(0x08 + 4 * (i), 28, 3, timeout_range[i].prev_range_index,                      \
		    "range that progress at the low bound leads to, less than its own index")

static const struct vb_reg_field fields[] = {
    SELECT(0, "roce_adp_retrans_field_select"),
    SELECT(1, "roce_tx_window_field_select"),
    SELECT(2, "roce_slow_restart_field_select"),
    SELECT(3, "roce_slow_restart_idle_field_select"),
    SELECT(4, "min_ack_timeout_limit_disabled_field_select"),
    SELECT(5, "adaptive_routing_forced_en_field_select"),
    SELECT(6, "selective_repeat_forced_en_field_select"),
    SELECT(7, "dc_half_handshake_en_field_select"),
    SELECT(8, "cc_per_plane_en_field_select"),
    SELECT(9, "ack_dscp_force_field_select"),
    SELECT(10, "cc_burst_size_select"),
    SELECT(11, "cc_probe_mp_mode_select"),
    SELECT(27, "ifa2_turn_around_select"),
    SELECT(PROFILE_SELECT, "adp_retx_profile_select"),
    SWITCH(0, "roce_adp_retrans_en", recovery.roce_adp_retrans_en,
	   "adaptive timeouts; without it the fixed one of the QP"),
    SWITCH(1, "roce_tx_window_en", recovery.roce_tx_window_en, "bounds what a QP has in flight"),
    SWITCH(2, "roce_slow_restart_en", recovery.roce_slow_restart_en,
	   "a QP starts slowly after a loss"),
    SWITCH(3, "roce_slow_restart_idle_en", recovery.roce_slow_restart_idle_en,
	   "... and after it was idle"),
    SWITCH(4, "min_ack_timeout_limit_disabled", recovery.min_ack_timeout_limit_disabled,
	   "a QP's timeout has no least value"),
    SWITCH(
	5, "adaptive_routing_forced_en", recovery.adaptive_routing_forced_en,
	"requests of new QPs are spread over eight UDP source ports, so that networks route each "
	"run of them by itself"),
    SWITCH(6, "selective_repeat_forced_en", recovery.selective_repeat_forced_en,
	   "new QPs keep packets out of order and resend only what is missing"),
    SWITCH(7, "dc_half_handshake_en", recovery.dc_half_handshake_en,
	   "DC QPs that leave it to the adapter connect with half a handshake"),
    ABSENT(0x04, 8, 1, 8, "cc_per_plane_en", "congestion control for each plane"),
    SWITCH(9, "ack_dscp_force", recovery.ack_dscp_force, "ACKs and NAKs leave with ack_dscp"),
    {.path = "ack_dscp",
     .address = 0x04,
     .bit = 10,
     .width = 6,
     .access = VB_REG_RW,
     .select = 9,
     .text = "DSCP of ACKs and NAKs while ack_dscp_force is set",
     VB_REG_SHOWS(recovery.ack_dscp)},
    {.path = "cc_burst_size",
     .address = 0x04,
     .bit = 24,
     .width = 3,
     .access = VB_REG_RW,
     .select = 10,
     .text = "burst of the rate limiter: 0 4 KB, 1 8 KB, 2 16 KB, 7 1.5 KB; 3 as CC_LIMITER says",
     VB_REG_SHOWS(cc_burst_size)},
    ABSENT(0x04, 27, 1, 27, "ifa2_turn_around_en", "turns IFA 2 telemetry around"),
    {.path = "adp_retx_profile_id",
     .address = 0x04,
     .bit = 28,
     .width = 3,
     .access = VB_REG_INDEX,
     .select = VB_REG_NO_SELECT,
     .text = "GET: the profile to show, 0 shows the active one and its id; SET: the profile to "
	     "change and make active"},
    LIMIT(0, 20, "adp_retx_base_timeout_min", "least time_base, and least timeout, in ns"),
    ABSENT(0x08, 20, 2, 11, "cc_probe_mp_mode", "congestion probes over several paths"),
    LIMIT(24, 3, "adp_retx_profile_max_id", "highest adp_retx_profile_id"),
    LIMIT(28, 3, "adp_retx_profile_max_range_num", "highest range_num"),
    PROFILE(0x00, 0, 16, time_base, "unit of all timeouts, a power of 2, in time_unit"),
    PROFILE(0x00, 22, 2, time_unit, "1: microseconds; nothing else is defined"),
    PROFILE(0x00, 24, 3, start_range_index,
	    "range to go on with when the first timeout lies in none"),
    PROFILE(0x00, 28, 3, range_num, "number of ranges in use, from 1"),
    PROFILE(0x00, 31, 1, qp_total_timeout,
	    "the total is timeout times retry_cnt of the QP, else retx_total_timeout"),
    PROFILE(0x04, 0, 8, timeout_init_range_size, "number of first timeouts to draw from"),
    PROFILE(0x04, 8, 8, timeout_init_low_bound, "the least of them is time_base << this"),
    PROFILE(0x04, 24, 8, retx_total_timeout, "the total is time_base << this"),
    RANGE(0),
    RANGE(1),
    RANGE(2),
    RANGE(3),
};

#define FIELD_CNT (sizeof fields / sizeof fields[0])

static const struct vb_reg_field *field_named(const char *name)
{
	unsigned others;

	return vb_reg_find(&vb_reg_roce_accl, name, strlen(name), &others);
}

/* The select bits that lead to a member: what this adapter has. REG-03 */
static uint32_t select_bits(void)
{
	uint32_t set = 0;

	for (unsigned i = 0; i < FIELD_CNT; i++)
		if (fields[i].size && fields[i].select != VB_REG_NO_SELECT)
			set |= 1u << fields[i].select;
	return set;
}

static bool is_profile(const struct vb_reg_field *f)
{
	return f->select == PROFILE_SELECT;
}

static int id_check(uint64_t id, struct vb_reg_fault *fault)
{
	if (id <= VB_ADP_PROFILE_ID_MAX)
		return 0;
	return vb_reg_broken(fault, field_named("adp_retx_profile_id"), id,
			     "must be at most adp_retx_profile_max_id, 1");
}

/* ADP-28, REG-11...13. The emulated firmware's own ladder is no profile: it shows as zeros. */
static int get_roce_accl(const struct vb_reg *reg, struct vb_reg_file *file,
			 const struct vb_reg_env *env, uint8_t *image, struct vb_reg_fault *fault)
{
	const struct vb_reg_field *id = field_named("adp_retx_profile_id");
	uint64_t asked = vb_reg_field_get(reg, id, image);
	uint32_t has = select_bits();
	int err = id_check(asked, fault);

	(void)env;
	if (err)
		return err;
	for (unsigned i = 0; i < FIELD_CNT && fields[i].address == 0; i++)
		vb_reg_field_put(reg, &fields[i], image, has >> fields[i].bit & 1);
	if (asked == 0)
		vb_reg_field_put(reg, id, image, file->recovery.adp_retx_profile_id);
	vb_reg_field_put(reg, field_named("adp_retx_base_timeout_min"), image, VB_ADP_BASE_MIN_NS);
	vb_reg_field_put(reg, field_named("adp_retx_profile_max_id"), image, VB_ADP_PROFILE_ID_MAX);
	vb_reg_field_put(reg, field_named("adp_retx_profile_max_range_num"), image,
			 VB_ADP_RANGES_MAX);
	return 0;
}

/* REG-09; VB_CC_BURST_BY_TIME is a code of ours, since a write back of what was read must not
 * change the limiter. */
static int burst_bytes(uint8_t code, uint32_t *bytes)
{
	static const uint32_t known[8] = {4096, 8192, 16384, [7] = 1536};

	*bytes = known[code & 7];
	return *bytes || code == VB_CC_BURST_BY_TIME ? 0 : -EINVAL;
}

/* A field of the profile, or a switch, that the transport's own rules refuse. */
static int explain_fault(const struct vb_reg *reg, const struct vb_recovery_fault *why,
			 const uint8_t *image, struct vb_reg_fault *fault)
{
	int range = -1;

	for (unsigned i = 0; i < FIELD_CNT; i++) {
		const struct vb_reg_field *f = &fields[i];

		if (strcmp(vb_reg_field_name(f), why->field) != 0)
			continue;
		/* The ranges' fields come in the order of the ranges. */
		if (why->range < 0 || ++range == why->range)
			return vb_reg_broken(fault, f, vb_reg_field_get(reg, f, image), why->rule);
	}
	return vb_reg_broken(fault, NULL, 0, why->rule);
}

/* Whether the profile fields of @image are those of @file. */
static bool same_profile(const struct vb_reg *reg, const struct vb_reg_file *file,
			 const uint8_t *image)
{
	uint8_t now[VB_REG_BYTES_MAX] = {0};

	vb_reg_load(reg, file, now);
	for (unsigned i = 0; i < FIELD_CNT; i++)
		if (is_profile(&fields[i]) && vb_reg_field_get(reg, &fields[i], image) !=
						  vb_reg_field_get(reg, &fields[i], now))
			return false;
	return true;
}

/*
 * A write back of what was read, with id 0 because profile 0 is active, changes no profile;
 * anything else with id 0 would. REG-06, ADP-27
 */
static int set_profile(const struct vb_reg *reg, const struct vb_reg_file *file,
		       struct vb_reg_file *next, const uint8_t *image, struct vb_reg_fault *fault)
{
	const struct vb_reg_field *f = field_named("adp_retx_profile_id");
	uint64_t id = vb_reg_field_get(reg, f, image);
	int err = id_check(id, fault);

	if (err)
		return err;
	if (id == 0 && file->recovery.adp_retx_profile_id == 0 && same_profile(reg, file, image))
		return 0;
	if (id == 0)
		return vb_reg_broken(fault, f, 0,
				     "must not be 0, which is reserved: a profile is 1, and only a "
				     "reset of the firmware (fwreset) goes back to 0");
	next->recovery.adp_retx_profile_id = (uint8_t)id;
	return 0;
}

/* REG-35: what is not selected stays as it is, what is reserved or RO is ignored. */
static int set_roce_accl(const struct vb_reg *reg, struct vb_reg_file *file,
			 const struct vb_reg_env *env, const uint8_t *image,
			 struct vb_reg_fault *fault)
{
	struct vb_reg_file next = *file;
	struct vb_recovery_fault why;
	uint32_t has = select_bits();
	int err = 0;

	(void)env;
	for (unsigned i = 0; i < FIELD_CNT && fields[i].address == 0; i++)
		if (!(has >> fields[i].bit & 1) && vb_reg_field_get(reg, &fields[i], image))
			return vb_reg_broken(fault, &fields[i], 1,
					     "must be 0: this adapter does not have the function");
	vb_reg_store(reg, image, &next);
	if (vb_reg_field_get(reg, field_named("adp_retx_profile_select"), image))
		err = set_profile(reg, file, &next, image, fault);
	if (err)
		return err;
	if (burst_bytes(next.cc_burst_size, &next.cc.limiter_burst_bytes))
		return vb_reg_broken(fault, field_named("cc_burst_size"), next.cc_burst_size,
				     "must be 0, 1, 2, 7 or 3");
	if (vb_recovery_check(&next.recovery, &why))
		return explain_fault(reg, &why, image, fault);
	*file = next;
	return 0;
}

bool vb_reg_profile_warn(const uint8_t *image, struct vb_reg_fault *warning)
{
	const struct vb_reg *reg = &vb_reg_roce_accl;
	struct vb_reg_file file = {0};
	struct vb_recovery_fault why;

	if (!vb_reg_field_get(reg, field_named("adp_retx_profile_select"), image) ||
	    vb_reg_field_get(reg, field_named("adp_retx_profile_id"), image) == 0)
		return false;
	vb_reg_store(reg, image, &file);
	if (!vb_adp_profile_warn(&file.recovery.profile, &why))
		return false;
	(void)explain_fault(reg, &why, image, warning);
	return true;
}

const struct vb_reg vb_reg_roce_accl = {
    .name = "ROCE_ACCL",
    .text = "RoCE accelerations: recovery from losses",
    .id = 0x402c,
    .word = 4,
    .len = 0x80,
    .len_short = 0x40,
    .field_cnt = FIELD_CNT,
    .field = fields,
    .get = get_roce_accl,
    .set = set_roce_accl,
};
