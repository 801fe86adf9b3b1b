/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of a simulation in a program, and its time. See verbena/sim.h. */
#include "core/cc/settings.h"
#include "core/control/choice.h"
#include "library/priv.h"
#include "results/advance.h"
#include "scenario/override.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SET_MAX 64u
#define PATH_MAX_LEN 256u

const char *verbena_sim_version(void)
{
	return VERBENA_VERSION;
}

int vb_library_fail(const struct verbena_sim *s, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(((struct verbena_sim *)(uintptr_t)s)->why, sizeof s->why, fmt, args);
	va_end(args);
	return err;
}

const char *verbena_sim_error(const struct verbena_sim *s)
{
	return s->why;
}

/* Takes "KEY=VALUE" to pieces; the key is copied to @path. */
static int take_value(const char *text, char path[PATH_MAX_LEN], struct vb_scenario_override *out)
{
	const char *is = strchr(text, '=');

	if (!is || is == text || (size_t)(is - text) >= PATH_MAX_LEN)
		return -EINVAL;
	memcpy(path, text, (size_t)(is - text));
	path[is - text] = '\0';
	*out = (struct vb_scenario_override){path, is + 1};
	return 0;
}

static int read_text(struct verbena_sim *s, const struct verbena_sim_source *source, char *why,
		     size_t why_size)
{
	struct vb_scenario_override with[SET_MAX];
	char(*path)[PATH_MAX_LEN] = calloc(source->set_cnt + 1, sizeof *path);
	FILE *f = path ? fmemopen((void *)(uintptr_t)source->text, source->text_len, "r") : NULL;
	int err = f ? 0 : -ENOMEM;

	if (err)
		snprintf(why, why_size, "%s: no memory", s->name);
	for (size_t i = 0; path && !err && i < source->set_cnt; i++) {
		err = take_value(source->set[i], path[i], &with[i]);
		if (err)
			snprintf(why, why_size,
				 "a value is KEY=VALUE, such as transport.timeout=14, not \"%s\"",
				 source->set[i]);
	}
	if (!err)
		err = vb_scenario_read_with(&s->sc, f, s->name, with, (uint32_t)source->set_cnt,
					    why, why_size);
	if (f)
		fclose(f);
	free(path);
	return err;
}

/* The caller's algorithm, as if the scenario had named it. */
static int take_algorithm(struct verbena_sim *s, const struct verbena_sim_source *source, char *why,
			  size_t why_size)
{
	const struct verbena_cc_algorithm *a = source->algorithm;
	const char *wrong = vb_cc_algorithm_check(a);
	struct vb_cc_choice_fault fault;

	if (!wrong && s->sc.link_kind && a->needs)
		wrong = "needs switches of Ethernet";
	if (wrong) {
		snprintf(why, why_size, "the algorithm %s", wrong);
		return -EINVAL;
	}
	vb_cc_choice_begin(&s->sc.choice, a, s->sc.topology.cable.rate_bps);
	if (source->parameters && vb_cc_choice_read(&s->sc.choice, source->parameters, &fault)) {
		snprintf(why, why_size, "\"%.*s\" %s", (int)fault.len,
			 source->parameters + fault.at, fault.what);
		return -EINVAL;
	}
	s->sc.cc = (struct vb_cc_settings){0};
	if (a->needs & VERBENA_CC_NEEDS_CNP)
		vb_cc_settings_notify(&s->sc.cc);
	return 0;
}

static void show_event(void *ctx, const struct vb_trace_event *ev)
{
	struct verbena_sim *s = ctx;

	if (s->series)
		vb_sim_series_event(s->series, ev);
}

static void show_packet(void *ctx, uint32_t port, enum vb_cable_tap_dir dir,
			const struct vb_frame *pkt, vb_time now)
{
	struct verbena_sim *s = ctx;

	if (s->series)
		vb_sim_series_packet(s->series, port, dir, pkt, now);
}

static int open_run(struct verbena_sim *s, char *why, size_t why_size)
{
	const struct vb_record *rec = &s->sc.record;
	struct vb_scenario_watch watch = {
	    .trace_mask = vb_sim_series_events(rec),
	    .on_event = vb_sim_series_events(rec) ? show_event : NULL,
	    .on_packet = vb_sim_series_has_packets(rec) ? show_packet : NULL,
	    .ctx = s,
	};
	int err = vb_scenario_open(&s->run, &s->sc, &watch, why, why_size);

	if (!err && rec->series)
		err = vb_sim_series_begin(&s->series, &s->sc, &s->run, NULL, why, why_size);
	if (!err)
		vb_sim_flows_begin(&s->flows, NULL, &s->run, s->series);
	return err;
}

/* As much of the caller's as this library knows; the rest is 0. */
static int take_source(struct verbena_sim_source *to, const struct verbena_sim_source *from,
		       size_t size, char *why, size_t why_size)
{
	*to = (struct verbena_sim_source){0};
	memcpy(to, from, size < sizeof *to ? size : sizeof *to);
	if (to->text && to->text_len > 0 && to->set_cnt <= SET_MAX)
		return 0;
	snprintf(why, why_size,
		 to->set_cnt > SET_MAX ? "there are more than 64 values" : "there is no text");
	return -EINVAL;
}

int verbena_sim_open(struct verbena_sim **out, const struct verbena_sim_source *source, size_t size,
		     char *why, size_t why_size)
{
	struct verbena_sim_source from;
	struct verbena_sim *s = NULL;
	int err = take_source(&from, source, size, why, why_size);

	*out = NULL;
	if (!err) {
		s = calloc(1, sizeof *s);
		if (s)
			s->name = strdup(from.name ? from.name : "scenario");
		err = s && s->name ? 0 : -ENOMEM;
		if (err)
			snprintf(why, why_size, "no memory");
	}
	if (!err)
		err = read_text(s, &from, why, why_size);
	if (!err && from.algorithm)
		err = take_algorithm(s, &from, why, why_size);
	if (!err)
		err = open_run(s, why, why_size);
	if (err)
		verbena_sim_close(s);
	else
		*out = s;
	return err;
}

void verbena_sim_close(struct verbena_sim *s)
{
	if (!s)
		return;
	vb_sim_flows_drop(&s->flows);
	if (s->series)
		(void)vb_sim_series_end(s->series, -ECANCELED);
	/* Events while the simulation is taken down are no part of the run. */
	s->series = NULL;
	vb_scenario_close(&s->run);
	vb_scenario_free(&s->sc);
	free(s->name);
	free(s->text);
	free(s);
}

/* Time goes on to @to. At the end of a scenario it does so only for flows that still run, as in the
 * command. */
static int reach_time(struct verbena_sim *s, vb_time to)
{
	if (to >= s->sc.until)
		return vb_results_end(&s->run, s->sc.until);
	if (vb_sim_run(s->run.sim, to))
		return -ENOMEM;
	if (s->series)
		vb_sim_series_reach(s->series, vb_sim_now(s->run.sim));
	return 0;
}

int verbena_sim_advance(struct verbena_sim *s, uint64_t to)
{
	vb_time end = vb_time_min(to, s->sc.until);

	if (to < vb_sim_now(s->run.sim))
		return vb_library_fail(s, -EINVAL, "%" PRIu64 " ns lies before now, %" PRIu64 " ns",
				       to, vb_sim_now(s->run.sim));
	while (vb_results_step(&s->run, s->series, false, end))
		;
	if (reach_time(s, to))
		return vb_library_fail(s, -ENOSPC,
				       "more than %u packets under way: give the scenario a larger "
				       "\"packets\"",
				       s->sc.packets_max);
	if (vb_load_failure(s->run.load)) {
		vb_scenario_failure(&s->run, &s->sc, s->why, sizeof s->why);
		return -ENOSPC;
	}
	if (vb_load_damaged(s->run.load))
		return vb_library_fail(
		    s, -EBADMSG, "%" PRIu64 " messages arrived with other bytes than were sent",
		    vb_load_damaged(s->run.load));
	return 0;
}
