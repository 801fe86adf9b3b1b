/* SPDX-License-Identifier: BSD-2-Clause */
/* The "recovery" statement: the adapter's recovery settings, before its first QP or later. */
#include "drill.h"

#include "wire/be.h"

#include <stdlib.h>
#include <string.h>

/* The next number of "12:4:2", 0 when there is none. */
static uint64_t next(struct drill *d, const char **text)
{
	char *end;
	uint64_t v;

	if (**text == '\0')
		return 0;
	v = strtoull(*text, &end, 0);
	if (end == *text || (*end != '\0' && *end != ':' && *end != '|'))
		drill_fail(d, "\"%s\" is no number", *text);
	*text = end + (*end != '\0');
	return v;
}

/* "low:size:retry:dec:prev|..." */
static void ranges(struct drill *d, const char *text, struct vb_adp_profile *p)
{
	while (*text != '\0') {
		if (p->range_num == VB_ADP_RANGES_MAX)
			drill_fail(d, "at most %d ranges", VB_ADP_RANGES_MAX);

		struct vb_adp_range *r = &p->timeout_range[p->range_num++];

		r->range_low_bound = (uint8_t)next(d, &text);
		r->range_size = (uint8_t)next(d, &text);
		r->timeout_retry_num = (uint16_t)next(d, &text);
		r->dec_mode = (uint8_t)next(d, &text);
		r->prev_range_index = (uint8_t)next(d, &text);
	}
}

static void profile(struct drill *d, struct args *args, struct vb_recovery *set)
{
	struct vb_adp_profile *p = &set->profile;
	const char *init = args_value(args, "init"), *range = args_value(args, "ranges");

	if (range == NULL)
		return;
	set->adp_retx_profile_id = 1;
	p->time_unit = VB_ADP_TIME_USEC;
	p->time_base = (uint16_t)world_arg(d, args, "base", 4);
	p->start_range_index = (uint8_t)world_arg(d, args, "start", 0);
	p->qp_total_timeout = args_flag(args, "qp_total");
	p->retx_total_timeout = (uint8_t)world_arg(d, args, "total", 40);
	if (init != NULL) {
		p->timeout_init_low_bound = (uint8_t)next(d, &init);
		p->timeout_init_range_size = (uint8_t)next(d, &init);
	}
	ranges(d, range, p);
}

void recovery_set(struct drill *d, struct args *args)
{
	struct vb_recovery set = {
	    .roce_adp_retrans_en = args_flag(args, "adp"),
	    .roce_slow_restart_en = args_flag(args, "slow_restart"),
	    .min_ack_timeout_limit_disabled = args_flag(args, "no_least_timeout"),
	    .selective_repeat_forced_en = args_flag(args, "selective_repeat"),
	    .tx_window_bytes = (uint32_t)world_arg(d, args, "tx_window", 0),
	    .slow_restart_bytes = (uint32_t)world_arg(d, args, "first", 0),
	    .idle_restart_ns = world_arg(d, args, "idle_ns", 0),
	    .min_ack_timeout = (uint8_t)world_arg(d, args, "least_timeout", 0),
	    .adp_timeout_stretch = (uint8_t)world_arg(d, args, "stretch", 0),
	    .ack_dscp = (uint8_t)world_arg(d, args, "ack_dscp", 0),
	};

	set.roce_tx_window_en = set.tx_window_bytes != 0;
	set.roce_slow_restart_idle_en = set.idle_restart_ns != 0;
	set.ack_dscp_force = set.ack_dscp != 0;
	profile(d, args, &set);
	world_create(d);
	work_result(d, args, vb_hca_set_recovery(d->hca, &set, d->now));
}

const uint8_t *recovery_report(struct drill *d, const char *text, bool inbound, uint32_t *len)
{
	static uint8_t bytes[256];
	char *end, *next;
	uint32_t extent = (uint32_t)strtoul(text, &end, 0), range = extent;
	uint32_t credits = inbound ? VB_CREDIT_UNLIMITED : 0;

	be32_put(bytes, (uint32_t)d->report_cnt[inbound]++ << 16 | extent);
	for (*len = 12; *end == ' ' && *len + 4 <= sizeof bytes; end = next) {
		if (end[1] == '@') {
			credits = (uint32_t)strtoul(end + 2, &next, 0);
			continue;
		}

		uint32_t a = (uint32_t)strtoul(end, &end, 0);

		if (*end != ':' && *end != '-')
			break;

		uint32_t b = (uint32_t)strtoul(end + 1, &next, 0);

		if (*end == '-') {
			range = a << 16 | b;
		} else {
			be32_put(bytes + *len, a << 16 | b);
			*len += 4;
		}
	}
	be32_put(bytes + 4, range);
	be32_put(bytes + 8, credits);
	if (*end != '\0')
		drill_fail(d, "\"%s\" is no report", text);
	return bytes;
}
