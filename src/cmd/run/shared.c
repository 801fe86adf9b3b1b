/* SPDX-License-Identifier: BSD-2-Clause */
/* See shared.h. One table has what is shown of a user, in all formats. */
#include "cmd/run/shared.h"

#include "link/carried/carried.h"
#include "link/carried/status.h"
#include "link/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct field {
	const char *name, *text;
	size_t offset;
	bool counts; /* else it is a number of now */
};

#define NOW(member, text)                                                                          \
	{                                                                                          \
#member, text, offsetof(struct vb_carrier_user_status, member), false              \
	}
#define COUNT(member, text)                                                                        \
	{                                                                                          \
#member, text, offsetof(struct vb_carrier_user_status, counts.member), true        \
	}

static const struct field fields[] = {
    NOW(processes, "processes that have the adapter"),
    NOW(sockets, "processes that the kernel hands packets to"),
    NOW(services, "service IDs and management classes"),
    NOW(groups, "memberships in multicast groups"),
    NOW(memory_mib, "MiB that hold packets, at most"),
    COUNT(carried, "packets carried"),
    COUNT(dropped, "packets that found no room in a ring"),
    COUNT(gsi_carried, "packets of QP1 carried"),
    COUNT(gsi_dropped, "packets of QP1 that found no room, or no broker of the user"),
};

static const struct field refusals[] = {
#define REFUSAL(name, text)                                                                        \
	{#name, text,                                                                              \
	 offsetof(struct vb_carrier_user_status, counts.refused[VB_CARRIER_REFUSED_##name]),       \
	 true},
#include "link/carried/refusal.def"
#undef REFUSAL
};

/* Of the host; but for faults, for root alone. */
static const struct {
	const char *name, *text;
	size_t offset;
} totals[] = {
    {"misdirected", "packets of QPNs that nobody has",
     offsetof(struct vb_carrier_status, misdirected)},
    {"gsi_unmatched", "datagrams to QP1 that are for no user",
     offsetof(struct vb_carrier_status, gsi_unmatched)},
    {"gsi_bad", "packets to QP1 that are no management datagrams",
     offsetof(struct vb_carrier_status, gsi_bad)},
    {"gsi_refused", "requests to connect that were refused for want of a listener",
     offsetof(struct vb_carrier_status, gsi_refused)},
    {"gsi_answered", "requests to QP1 that the shared broker has answered",
     offsetof(struct vb_carrier_status, gsi_answered)},
    {"faulted", "packets that met faults of all users",
     offsetof(struct vb_carrier_status, faulted)},
    {"strangers", "connections of users for whom there was no place",
     offsetof(struct vb_carrier_status, strangers)},
};

#define FIELDS (sizeof fields / sizeof fields[0])
#define REFUSALS (sizeof refusals / sizeof refusals[0])
#define TOTALS (sizeof totals / sizeof totals[0])

static uint64_t field_of(const struct vb_carrier_user_status *u, const struct field *f)
{
	const char *at = (const char *)u + f->offset;
	uint64_t wide;
	uint32_t n;

	if (f->counts)
		memcpy(&wide, at, sizeof wide);
	else
		memcpy(&n, at, sizeof n);
	return f->counts ? wide : n;
}

static uint64_t total_of(const struct vb_carrier_status *s, size_t k)
{
	uint64_t n;

	memcpy(&n, (const char *)s + totals[k].offset, sizeof n);
	return n;
}

static void limits_show(const struct vb_carrier_limits *l)
{
	printf("each user: %u processes, %u QPs in each, %u service IDs, %u groups, ", l->processes,
	       l->qps, l->services, l->groups);
	if (l->memory_mib)
		printf("%u MiB\n", l->memory_mib);
	else
		printf("as much memory as these need\n");
}

static void user_show(const struct vb_carrier_user_status *u)
{
	printf("user %u%s\n", u->uid, u->has_qp1 ? "" : ", whose broker does not run");
	for (size_t k = 0; k < FIELDS; k++)
		printf("  %-16s %10" PRIu64 "  %s\n", fields[k].name, field_of(u, &fields[k]),
		       fields[k].text);
	for (size_t k = 0; k < REFUSALS; k++)
		if (field_of(u, &refusals[k]))
			printf("  refused          %10" PRIu64 "  %s\n", field_of(u, &refusals[k]),
			       refusals[k].text);
}

static void status_text(const struct vb_carrier_status *s)
{
	limits_show(&s->limits);
	if (s->faults[0])
		printf("faults of all users: %s\n", s->faults);
	for (uint32_t i = 0; i < s->user_cnt; i++)
		user_show(&s->user[i]);
	for (size_t k = 0; k < TOTALS; k++)
		if (total_of(s, k))
			printf("%-18s %10" PRIu64 "  %s\n", totals[k].name, total_of(s, k),
			       totals[k].text);
}

static void status_json(const struct vb_carrier_status *s)
{
	const struct vb_carrier_limits *l = &s->limits;

	printf("{\"limits\": {\"processes\": %u, \"qps\": %u, \"services\": %u, \"groups\": %u, "
	       "\"memory_mib\": %u},\n \"users\": [",
	       l->processes, l->qps, l->services, l->groups, l->memory_mib);
	for (uint32_t i = 0; i < s->user_cnt; i++) {
		const struct vb_carrier_user_status *u = &s->user[i];

		printf("%s\n  {\"uid\": %u, \"has_qp1\": %s", i ? "," : "", u->uid,
		       u->has_qp1 ? "true" : "false");
		for (size_t k = 0; k < FIELDS; k++)
			printf(", \"%s\": %" PRIu64, fields[k].name, field_of(u, &fields[k]));
		printf(",\n   \"refused\": {");
		for (size_t k = 0; k < REFUSALS; k++)
			printf("%s\"%s\": %" PRIu64, k ? ", " : "", refusals[k].name,
			       field_of(u, &refusals[k]));
		printf("}}");
	}
	printf("]");
	for (size_t k = 0; k < TOTALS; k++)
		printf(",\n \"%s\": %" PRIu64, totals[k].name, total_of(s, k));
	printf("}\n");
}

static void metric_head(const char *name, const char *text, bool counts)
{
	printf("# TYPE verbena_shared_%s %s\n# HELP verbena_shared_%s %s\n", name,
	       counts ? "counter" : "gauge", name, text);
}

static void status_openmetrics(const struct vb_carrier_status *s)
{
	for (size_t k = 0; k < FIELDS; k++) {
		metric_head(fields[k].name, fields[k].text, fields[k].counts);
		for (uint32_t i = 0; i < s->user_cnt; i++)
			printf("verbena_shared_%s%s{uid=\"%u\"} %" PRIu64 "\n", fields[k].name,
			       fields[k].counts ? "_total" : "", s->user[i].uid,
			       field_of(&s->user[i], &fields[k]));
	}
	metric_head("refused", "what users were refused", true);
	for (uint32_t i = 0; i < s->user_cnt; i++)
		for (size_t k = 0; k < REFUSALS; k++)
			printf("verbena_shared_refused_total{uid=\"%u\",what=\"%s\"} %" PRIu64 "\n",
			       s->user[i].uid, refusals[k].name,
			       field_of(&s->user[i], &refusals[k]));
	for (size_t k = 0; k < TOTALS; k++) {
		metric_head(totals[k].name, totals[k].text, true);
		printf("verbena_shared_%s_total %" PRIu64 "\n", totals[k].name, total_of(s, k));
	}
	printf("# EOF\n");
}

int vb_shared_status(const struct vb_cmd *cmd, enum vb_shared_format format)
{
	struct vb_carrier_answer answer;
	const struct vb_carrier_status *s;
	void *p;
	int fd, rc = vb_carrier_look(VB_CARRIER_STATUS, &answer, &fd);

	if (!rc)
		rc = vb_memory_map(fd, sizeof *s, false, &p);
	if (fd >= 0)
		close(fd);
	if (rc) {
		vb_cmd_error(cmd, "%s",
			     rc == -ENOENT    ? "no shared broker runs here"
			     : answer.text[0] ? answer.text
					      : strerror(-rc));
		return 1;
	}
	s = p;
	if (s->magic != VB_CARRIER_MAGIC || s->user_cnt > VB_CARRIER_STATUS_USERS) {
		vb_cmd_error(cmd, "the shared broker is of another version of verbena");
		return 1;
	}
	if (format == VB_SHARED_JSON)
		status_json(s);
	else if (format == VB_SHARED_OPENMETRICS)
		status_openmetrics(s);
	else
		status_text(s);
	vb_memory_unmap(p, sizeof *s);
	return vb_cmd_finish(cmd);
}
