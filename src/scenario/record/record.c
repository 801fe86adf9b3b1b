/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the records of a scenario. See record.h. */
#include "scenario/record/record.h"

#include <inttypes.h>
#include <string.h>

#define IN(field) offsetof(struct vb_record, field)

static const struct key_name series_names[] = {
    {"rate", VB_RECORD_RATE},
    {"inflight", VB_RECORD_INFLIGHT},
    {"window", VB_RECORD_WINDOW},
    {"cc-rate", VB_RECORD_CC_RATE},
    {"cc-target", VB_RECORD_CC_TARGET},
    {"alpha", VB_RECORD_ALPHA},
    {"rtt", VB_RECORD_RTT},
    {"queue", VB_RECORD_QUEUE},
    {"marks", VB_RECORD_MARKS},
    {"pauses", VB_RECORD_PAUSES},
    {"drops", VB_RECORD_DROPS},
    {"utilisation", VB_RECORD_UTILISATION},
    {"cnps", VB_RECORD_CNPS},
    {"all", VB_RECORD_SERIES_CNT},
    {NULL, 0},
};

/* Two numbers with a dot between them, or @word. */
static int read_pair(struct reader *r, const yaml_node_t *node, const char *key, const char *word,
		     char *to, size_t len)
{
	const char *text = reader_text(node);
	uint32_t a, b;
	char rest;

	if (text && strlen(text) < len &&
	    ((word && strcmp(text, word) == 0) ||
	     sscanf(text, "%" SCNu32 ".%" SCNu32 "%c", &a, &b, &rest) == 2)) {
		snprintf(to, len, "%s", text);
		return 0;
	}
	return reader_fail(r, node, "%s is %s%stwo numbers such as 0.1, not \"%s\"", key,
			   word ? word : "", word ? " or " : "", text ? text : "");
}

static int read_pcap(struct reader *r, const yaml_node_t *node, void *at)
{
	return read_pair(r, node, "pcap", NULL, at, sizeof((struct vb_record *)0)->pcap);
}

static int read_explain(struct reader *r, const yaml_node_t *node, void *at)
{
	return read_pair(r, node, "explain", "all", at, sizeof((struct vb_record *)0)->explain);
}

static int read_name(struct reader *r, const yaml_node_t *node, void *at)
{
	static const struct key one = {.name = "series", .kind = KEY_NAME, .names = series_names};
	uint32_t *bits = at, series;
	int err = reader_key(r, node, &one, &series);

	if (err)
		return err;
	*bits |= series == VB_RECORD_SERIES_CNT ? (1u << VB_RECORD_SERIES_CNT) - 1 : 1u << series;
	return 0;
}

static int read_series(struct reader *r, const yaml_node_t *node, void *at)
{
	return reader_list(r, node, at, read_name);
}

/* "all" and "none", which stand for themselves. */
static bool is_word(const yaml_node_t *node, const char *word)
{
	const char *text = reader_text(node);

	return text && strcmp(text, word) == 0;
}

static int read_range(struct reader *r, const yaml_node_t *node, void *at)
{
	struct vb_record_flows *f = at;
	const char *text = reader_text(node);
	uint32_t first, last;
	int parts, end = 0;

	parts = text ? sscanf(text, "%" SCNu32 "%n-%" SCNu32 "%n", &first, &end, &last, &end) : 0;
	if (parts == 1)
		last = first;
	if (parts < 1 || text[0] < '0' || text[0] > '9' || text[end] != '\0' || last < first)
		return reader_fail(r, node,
				   "flows are all, none, or numbers as in flows.csv, such as "
				   "[0, 8-15], not \"%s\"",
				   text ? text : "");
	if (f->cnt == VB_RECORD_RANGES_MAX)
		return reader_fail(r, node, "at most %d flows or ranges of flows are listed",
				   VB_RECORD_RANGES_MAX);
	f->range[f->cnt].first = first;
	f->range[f->cnt++].last = last;
	return 0;
}

static int read_flows(struct reader *r, const yaml_node_t *node, void *at)
{
	struct vb_record_flows *f = at;

	f->some = !is_word(node, "all");
	return !f->some || is_word(node, "none") ? 0 : reader_list(r, node, f, read_range);
}

static int read_port(struct reader *r, const yaml_node_t *node, void *at)
{
	struct vb_record_ports *p = at;
	const char *text = reader_text(node);
	uint32_t port[2];
	int end = 0, parts;

	parts =
	    text ? sscanf(text, "%" SCNu32 ".%n%" SCNu32 "%n", &port[0], &end, &port[1], &end) : 0;
	if (parts == 1 && end > 0 && strcmp(text + end, "*") == 0)
		port[1] = VB_RECORD_EACH_PORT;
	else if (parts != 2 || text[end] != '\0')
		return reader_fail(r, node,
				   "ports are all, none, or NODE.PORT, such as [16.0, 17.*], not "
				   "\"%s\"",
				   text ? text : "");
	if (p->cnt == VB_RECORD_PORTS_MAX)
		return reader_fail(r, node, "at most %d ports are listed", VB_RECORD_PORTS_MAX);
	p->port[p->cnt].node = port[0];
	p->port[p->cnt++].idx = port[1];
	return 0;
}

static int read_ports(struct reader *r, const yaml_node_t *node, void *at)
{
	struct vb_record_ports *p = at;

	p->some = !is_word(node, "all");
	return !p->some || is_word(node, "none") ? 0 : reader_list(r, node, p, read_port);
}

static const struct key group_keys[] = {
    {.name = "name",
     .kind = KEY_TEXT,
     .offset = offsetof(struct vb_record_group, name),
     .max = sizeof((struct vb_record_group *)0)->name},
    {.name = "flows",
     .kind = KEY_CALL,
     .offset = offsetof(struct vb_record_group, flows),
     .read = read_flows},
    {.name = "ports",
     .kind = KEY_CALL,
     .offset = offsetof(struct vb_record_group, ports),
     .read = read_ports},
    {.name = NULL},
};

static int read_group(struct reader *r, const yaml_node_t *node, void *at)
{
	struct vb_record *rec = at;
	struct vb_record_group *g;
	int err;

	if (rec->group_cnt == VB_RECORD_GROUPS_MAX)
		return reader_fail(r, node, "there are at most %d groups", VB_RECORD_GROUPS_MAX);
	g = &rec->group[rec->group_cnt++];
	g->line = (uint32_t)node->start_mark.line + 1;
	g->column = (uint32_t)node->start_mark.column + 1;
	err = reader_map(r, node, group_keys, g);
	if (err)
		return err;
	g->is_of_ports = reader_member(r, node, "ports") != NULL;
	if (!g->name[0] || strpbrk(g->name, ",\"\n"))
		return reader_fail(r, node, "a group has a name, without commas and quotes");
	if (g->is_of_ports == (reader_member(r, node, "flows") != NULL))
		return reader_fail(r, node, "a group is of flows or of ports: give one of them");
	return 0;
}

static int read_groups(struct reader *r, const yaml_node_t *node, void *at)
{
	return reader_list(r, node, at, read_group);
}

#define FILE_NAME(file)                                                                            \
	{                                                                                          \
		.name = #file, .kind = KEY_TEXT, .offset = IN(file), .max = VB_RECORD_PATH         \
	}

const struct key vb_record_keys[] = {
    FILE_NAME(out),
    FILE_NAME(trace),
    {.name = "pcap", .kind = KEY_CALL, .offset = IN(pcap), .read = read_pcap},
    FILE_NAME(report),
    FILE_NAME(svg),
    FILE_NAME(png),
    FILE_NAME(figures),
    {.name = "explain", .kind = KEY_CALL, .offset = IN(explain), .read = read_explain},
    {.name = "series", .kind = KEY_CALL, .offset = IN(series), .read = read_series},
    {.name = "every", .kind = KEY_TIME, .offset = IN(every), .min = 1, .max = 1000 * VB_SEC},
    {.name = "flows", .kind = KEY_CALL, .offset = IN(flows), .read = read_flows},
    {.name = "ports", .kind = KEY_CALL, .offset = IN(ports), .read = read_ports},
    {.name = "groups", .kind = KEY_CALL, .offset = 0, .read = read_groups},
    {.name = NULL},
};

bool vb_record_has_flow(const struct vb_record_flows *f, uint32_t flow)
{
	for (uint32_t i = 0; i < f->cnt; i++)
		if (flow >= f->range[i].first && flow <= f->range[i].last)
			return true;
	return !f->some;
}

bool vb_record_has_port(const struct vb_record_ports *p, uint32_t node, uint32_t idx)
{
	for (uint32_t i = 0; i < p->cnt; i++)
		if (p->port[i].node == node &&
		    (p->port[i].idx == idx || p->port[i].idx == VB_RECORD_EACH_PORT))
			return true;
	return !p->some;
}
