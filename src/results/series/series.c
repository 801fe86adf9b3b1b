/* SPDX-License-Identifier: BSD-2-Clause */
/* The clock of series, their files, and percentiles over groups. See series.h. */
#include "results/series/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint64_t vb_sim_series_events(const struct vb_record *rec)
{
	return rec->series >> VB_RECORD_MARKS & 1 ? UINT64_C(1) << VB_TRACE_MARKED : 0;
}

bool vb_sim_series_has_packets(const struct vb_record *rec)
{
	return rec->series & (1u << VB_RECORD_RTT | VB_RECORD_OF_PORTS);
}

static int groups_begin(struct vb_sim_series *s, const char *dir)
{
	int err;

	if (s->rec->group_cnt == 0)
		return 0;
	err = vb_whole_file_begin_in(&s->groups, dir, "group_series.csv");
	if (err)
		return err;
	s->has_groups = true;
	fputs("time_ns,group,series,objects,mean,min,p50,p95,p99,max\n", s->groups.f);
	return 0;
}

/* Flows that there can never be. */
static int check_flows(const struct vb_sim_series *s, char *err, size_t len)
{
	const struct vb_record_flows *f = &s->rec->flows;
	uint32_t most = s->sc->load.flows_max;

	/* Flows of lists are not counted before they begin. */
	for (uint32_t i = 0; i < s->sc->pattern_cnt; i++)
		if (s->sc->pattern[i].shape == VB_LOAD_LIST)
			return 0;
	for (uint32_t i = 0; i < f->cnt; i++)
		if (f->range[i].first >= most) {
			snprintf(err, len, "record: there is no flow %u: flows are 0 to %u at most",
				 f->range[i].first, most - 1);
			return -EINVAL;
		}
	return 0;
}

int vb_sim_series_begin(struct vb_sim_series **out, const struct vb_scenario *sc,
			const struct vb_scenario_run *run, const char *dir, char *err,
			size_t err_len)
{
	struct vb_sim_series *s = calloc(1, sizeof *s);
	int bad;

	if (!s) {
		snprintf(err, err_len, "no memory for series");
		return -ENOMEM;
	}
	s->sc = sc;
	s->rec = &sc->record;
	s->run = run;
	s->next = s->rec->every;
	err[0] = '\0';
	bad = check_flows(s, err, err_len);
	if (!bad)
		bad = vb_series_ports_begin(s, dir, err, err_len);
	if (!bad)
		bad = vb_series_flows_begin(s, dir);
	if (!bad)
		bad = groups_begin(s, dir);
	if (bad && !err[0])
		snprintf(err, err_len, "series cannot be written to %s: %s", dir ? dir : "memory",
			 strerror(-bad));
	if (bad)
		return vb_sim_series_end(s, bad);
	*out = s;
	return 0;
}

static void group_write(struct vb_sim_series *s, const struct vb_record_group *g, vb_time at)
{
	const struct vb_table *t = g->is_of_ports ? &s->ports.table : &s->flows.table;
	const struct vb_table_row *row = g->is_of_ports ? s->ports.row : s->flows.row;
	uint32_t cnt = g->is_of_ports ? s->ports.port_cnt : s->flows.row_cnt, room = s->room_cnt;

	if (!t->is_open || !vb_series_grow(s, &s->is_in, &room, cnt, sizeof *s->is_in) ||
	    !vb_series_grow(s, &s->room, &s->room_cnt, cnt, sizeof *s->room))
		return;
	for (uint32_t i = 0; i < cnt; i++)
		s->is_in[i] = g->is_of_ports ? vb_series_port_is_in(s, row[i].object, &g->ports)
					     : vb_record_has_flow(&g->flows, row[i].object);
	vb_table_group(s->groups.f, at, g->name, t, row, s->is_in, cnt, s->room);
}

static void interval_end(struct vb_sim_series *s, vb_time at)
{
	vb_series_ports_sample(s, at);
	vb_series_flows_sample(s, at);
	for (uint32_t i = 0; s->has_groups && i < s->rec->group_cnt; i++)
		group_write(s, &s->rec->group[i], at);
	s->flows.row_cnt = 0;
	s->last = at;
	s->has_moved = false;
}

/* An interval in which nothing moved and no flow ran is written when something does again: a run
 * has timers behind its last packet, which are of no interest. */
void vb_sim_series_reach(struct vb_sim_series *s, vb_time next)
{
	for (; s->next < next; s->next += s->rec->every) {
		if (!s->has_moved && !vb_series_flows_run(s, next))
			return;
		interval_end(s, s->next);
	}
}

static void intervals_until(struct vb_sim_series *s, vb_time at)
{
	for (; s->next < at; s->next += s->rec->every)
		interval_end(s, s->next);
}

void vb_sim_series_finish(struct vb_sim_series *s, vb_time end)
{
	end = vb_time_max(end, s->moved_at);
	intervals_until(s, end);
	if (s->last < end)
		interval_end(s, end);
}

void vb_sim_series_event(struct vb_sim_series *s, const struct vb_trace_event *ev)
{
	if (ev->id == VB_TRACE_MARKED)
		vb_series_ports_marked(s, (uint32_t)ev->arg[0], (uint32_t)ev->arg[1]);
}

void vb_sim_series_packet(struct vb_sim_series *s, uint32_t port, enum vb_cable_tap_dir dir,
			  const struct vb_frame *pkt, vb_time now)
{
	const struct vb_sim_topo_link *l = &s->run->topo.link[port / 2];
	uint32_t node = port & 1 ? l->b : l->a;

	/* The second one of two is a fault's: the port has sent one. */
	if (dir == VB_CABLE_SENT && pkt->mark & VB_FAULT_MARK_COPY)
		return;
	intervals_until(s, now);
	s->has_moved = true;
	s->moved_at = now;
	vb_series_ports_packet(s, port, dir, pkt);
	if (node < s->run->topo.host_cnt)
		vb_series_flows_packet(s, node, dir, pkt, now);
}

int vb_sim_series_write(FILE *f, const char *name, struct vb_sim_series *s)
{
	struct {
		const char *name;
		struct vb_whole_file *file;
		bool is_open;
	} part[] = {{"flow_series.csv", &s->flows.table.file, s->flows.table.is_open},
		    {"port_series.csv", &s->ports.table.file, s->ports.table.is_open},
		    {"lane_series.csv", &s->ports.lanes.file, s->ports.lanes.is_open},
		    {"group_series.csv", &s->groups, s->has_groups}};

	for (size_t i = 0; i < sizeof part / sizeof part[0]; i++)
		if (part[i].is_open && strcmp(part[i].name, name) == 0)
			return vb_whole_file_copy(part[i].file, f);
	return -ENOENT;
}

uint32_t vb_sim_series_missing_flow(const struct vb_sim_series *s)
{
	const struct vb_record_flows *f = &s->rec->flows;

	for (uint32_t i = 0; i < f->cnt; i++)
		if (f->range[i].last >=
		    vb_load_flow_cnt(s->run->load) + vb_load_past_cnt(s->run->load))
			return f->range[i].last;
	return UINT32_MAX;
}

int vb_sim_series_end(struct vb_sim_series *s, int err)
{
	err = err ? err : s->err ? s->err : s->flows.ends.err;
	err = vb_table_end(&s->flows.table, err);
	err = vb_table_end(&s->ports.table, err);
	err = vb_table_end(&s->ports.lanes, err);
	if (s->has_groups)
		err = vb_whole_file_end(&s->groups, err);
	vb_series_flows_free(&s->flows);
	vb_series_ports_free(&s->ports);
	free(s->is_in);
	free(s->room);
	free(s);
	return err;
}
