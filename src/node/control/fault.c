/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Faults on this process's packets: which rules hold, and what they have done. A process may have
 * been started with rules (VERBENA_FAULT, see verbena-run(1)); they hold until `verbena fault` says
 * something else while it runs. Without, what `verbena fault` said last holds.
 */
#include "node/engine/priv.h"

#include "link/middle/fault.h"
#include "node/host/error_hints.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void status_begin(struct vb_slot_shm *s)
{
	__atomic_store_n(&s->fault_seq, s->fault_seq + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void status_end(struct vb_slot_shm *s)
{
	__atomic_store_n(&s->fault_seq, s->fault_seq + 1, __ATOMIC_RELEASE);
}

/* A rule has hit a packet of the HCA port ev->node. */
static void on_hit(void *ctx, const struct vb_trace_event *ev)
{
	struct vb_engine *e = ctx;
	struct vb_slot_shm *s = e->broker.shm;
	struct vb_fault_log *log = &s->fault_log;
	const struct vb_fault *f = vb_fault_link_state(e->link, (uint8_t)ev->node);
	struct vb_fault_status *to = &s->fault[ev->node - 1];
	uint64_t n = log->cnt;

	for (uint32_t i = 0; i < f->spec.rule_cnt; i++) {
		__atomic_store_n(&to->matched[i], f->state[i].matched, __ATOMIC_RELAXED);
		__atomic_store_n(&to->hits[i], f->state[i].hits, __ATOMIC_RELAXED);
	}
	log->hit[n % VB_FAULT_LOG_CNT].time_ns = vb_clock_read(CLOCK_REALTIME);
	log->hit[n % VB_FAULT_LOG_CNT].pid = s->pid;
	log->hit[n % VB_FAULT_LOG_CNT].event = *ev;
	__atomic_store_n(&log->cnt, n + 1, __ATOMIC_RELEASE);
}

static void set_rules(struct vb_engine *e, uint32_t device, const struct vb_fault_rules *rules)
{
	struct vb_slot_shm *s = e->broker.shm;
	struct vb_fault_spec spec = {0};
	struct vb_fault_error err;

	/* Host memory is the broker's, which has checked the text. */
	if (vb_fault_parse(rules->text, &spec, &err))
		spec.rule_cnt = 0;
	/* Each process has its own stream, or all would lose the same packets. */
	(void)vb_fault_link_set(e->link, (uint8_t)(device + 1), &spec, rules->seed + e->broker.slot,
				vb_clock_now());
	status_begin(s);
	s->fault[device] = (struct vb_fault_status){.rules = *rules};
	status_end(s);
	vb_engine_follow_bring(e);
}

void vb_engine_follow_faults(struct vb_engine *e)
{
	bool is_host = !e->own_faults.text[0] || e->devices.fault_generation != e->fault_generation;

	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++) {
		const struct vb_fault_rules *rules =
		    is_host ? &e->devices.fault[i] : &e->own_faults;
		const struct vb_fault_rules *now = &e->broker.shm->fault[i].rules;

		if (!e->devices.device[i].ifindex)
			continue;
		if (rules->seed != now->seed ||
		    strncmp(rules->text, now->text, sizeof now->text) != 0)
			set_rules(e, i, rules);
	}
}

/* Reads the rules of `verbena run --fault`. */
static int read_own(struct vb_engine *e, char *why, size_t why_size)
{
	const char *text = getenv("VERBENA_FAULT"), *seed = getenv("VERBENA_FAULT_SEED");
	struct vb_fault_spec spec;
	struct vb_fault_error err;

	if (!text)
		return 0;
	if (strlen(text) >= sizeof e->own_faults.text) {
		snprintf(why, why_size, "VERBENA_FAULT is longer than %zu characters",
			 sizeof e->own_faults.text - 1);
		return -EINVAL;
	}
	if (vb_fault_parse(text, &spec, &err)) {
		snprintf(why, why_size, "VERBENA_FAULT, at character %u: %s", err.column, err.text);
		return -EINVAL;
	}
	memcpy(e->own_faults.text, text, strlen(text) + 1);
	e->own_faults.seed = seed ? strtoull(seed, NULL, 0) : 0;
	return 0;
}

int vb_engine_open_faults(struct vb_engine *e, char *why, size_t why_size)
{
	struct vb_fault_link_config cfg = {
	    .lower = e->link,
	    /* A packet that is dropped here does not come to a port of a fabric. */
	    .tap = e->broker.fabric ? NULL : vb_engine_tap,
	    .tap_on = &e->broker.shm->capture.enabled,
	    .queue_idle = e->broker.queue_idle,
	    .hit = on_hit,
	    .ctx = e,
	};
	int err = read_own(e, why, why_size);

	for (uint32_t i = 1; i < VB_LINK_PORTS_MAX; i++)
		cfg.counters[i] = &e->broker.shm->counters[i];
	if (err)
		return err;
	err = vb_fault_link_open(&e->link, &cfg);
	if (err)
		return vb_error_hint(why, why_size, err, "cannot set up the faults");
	/* A slot's last owner may have left its own. */
	status_begin(e->broker.shm);
	memset(e->broker.shm->fault, 0, sizeof e->broker.shm->fault);
	status_end(e->broker.shm);
	e->fault_generation = e->devices.fault_generation;
	vb_engine_follow_faults(e);
	return 0;
}
