/* SPDX-License-Identifier: BSD-2-Clause */
/* The result of a point as a file: which numbers it has, written and read. See sweep.h. */
#include "cmd/json.h"
#include "cmd/sweep/sweep.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define AT(field) offsetof(struct vb_report, field)
#define COUNTED(name) offsetof(struct vb_report, counters.v[VB_COUNTER_##name])

const struct vb_sweep_metric vb_sweep_metric[] = {
    {"flows", "flows", AT(flows), true, 1},
    {"done", "done", AT(done), true, 1},
    {"failed", "failed", AT(failed), true, 1},
    {"bytes", "bytes", AT(bytes), false, 1},
    {"last_done_ns", "end, us", AT(last_done), false, 1e3},
    {"goodput_bps", "goodput, Gb/s", AT(goodput_bps), false, 1e9},
    {"jain_ppm", "Jain", AT(jain_ppm), false, 1e6},
    {"fct_mean_ns", "FCT mean, us", AT(fct_ns.mean), false, 1e3},
    {"fct_p50_ns", "FCT p50, us", AT(fct_ns.p50), false, 1e3},
    {"fct_p99_ns", "FCT p99, us", AT(fct_ns.p99), false, 1e3},
    {"fct_p999_ns", "FCT p99.9, us", AT(fct_ns.p999), false, 1e3},
    {"fct_max_ns", "FCT max, us", AT(fct_ns.max), false, 1e3},
    {"slowdown_p50_milli", "slow-down p50", AT(slowdown_milli.p50), false, 1e3},
    {"slowdown_p99_milli", "slow-down p99", AT(slowdown_milli.p99), false, 1e3},
    {"resent", "resent", COUNTED(retransmitted_packets), false, 1},
    {"nak", "NAK", COUNTED(packet_seq_err), false, 1},
    {"timeouts", "timeouts", COUNTED(local_ack_timeout_err), false, 1},
    {"rnr", "RNR", COUNTED(rnr_nak_retry_err), false, 1},
    {"sent", "packets sent", COUNTED(port_xmit_packets), false, 1},
    {"dropped", "dropped", AT(drops), false, 1},
    {"faults", "faults", AT(faults), false, 1},
    {"marked", "marked", AT(marks), false, 1},
    {"pauses", "pauses", AT(pauses), false, 1},
    {"paused_ns", "paused, us", AT(paused_ns), false, 1e3},
    {"depth_max_bytes", "queue max, kB", AT(depth_max), false, 1e3},
    {"depth_mean_bytes", "queue mean, kB", AT(depth_mean), false, 1e3},
    {"hops", "packet-hops", AT(hops), false, 1},
    {"events", "events", AT(events), false, 1},
    {NULL, NULL, 0, false, 1},
};

struct outcome {
	uint32_t point;
	const struct vb_report *r;
};

/* A line for each bin that has flows. */
static void write_bins(FILE *f, const struct vb_report *r)
{
	const char *between = "\n";

	fputs("  \"slowdown_by_size\": [", f);
	for (uint32_t bin = 0; bin < VB_REPORT_BINS; bin++) {
		const struct vb_spread *of = &r->slowdown_of_bin[bin];

		if (of->cnt == 0)
			continue;
		fprintf(f, "%s    {\"bin\": %u, \"up_to_bytes\": ", between, bin);
		if (vb_report_bin_end(bin) == UINT64_MAX)
			fputs("null", f);
		else
			fprintf(f, "%" PRIu64, vb_report_bin_end(bin));
		fprintf(f,
			", \"flows\": %" PRIu64 ", \"p50_milli\": %" PRIu64
			", \"p95_milli\": %" PRIu64 ", \"p99_milli\": %" PRIu64 "}",
			of->cnt, of->p50, of->p95, of->p99);
		between = ",\n";
	}
	fputs("],\n", f);
}

static int write_result(FILE *f, const struct vb_sweep *s, const void *what)
{
	const struct outcome *o = what;
	const char *between = "";

	fprintf(f, "{\n  \"point\": %u,\n  \"parameters\": {", o->point);
	for (uint32_t k = 0; k < s->column_cnt; k++) {
		if (!s->point[o->point].value[k])
			continue;
		fprintf(f, "%s", between);
		vb_json_text(f, s->column[k]);
		fputs(": ", f);
		vb_json_text(f, s->point[o->point].value[k]);
		between = ", ";
	}
	fputs("},\n", f);
	for (const struct vb_sweep_metric *m = vb_sweep_metric; m->name; m++) {
		const char *at = (const char *)o->r + m->offset;

		fprintf(f, "  \"%s\": %" PRIu64 ",\n", m->name,
			m->is_u32 ? *(const uint32_t *)(const void *)at
				  : *(const uint64_t *)(const void *)at);
	}
	write_bins(f, o->r);
	fprintf(f, "  \"digest\": \"%016" PRIx64 "\"\n}\n", o->r->digest);
	return ferror(f) ? -EIO : 0;
}

int vb_sweep_save(const struct vb_sweep *s, uint32_t i, const struct vb_report *r)
{
	struct outcome o = {i, r};
	char name[40];

	snprintf(name, sizeof name, "points/%06u.json", i);
	return vb_sweep_store(s, name, write_result, &o);
}

bool vb_sweep_load(const struct vb_sweep *s, uint32_t i, struct vb_sweep_result *r)
{
	char path[4096], line[4096], name[64];
	uint32_t found = 0, cnt = 0;
	uint64_t v;
	FILE *f;

	*r = (struct vb_sweep_result){.digest = ""};
	vb_sweep_name(s, i, "json", path, sizeof path);
	f = fopen(path, "r");
	if (!f)
		return false;
	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, " \"digest\": \"%16[0-9a-f]\"", r->digest) == 1)
			continue;
		if (sscanf(line, " \"%63[a-z0-9_]\": %" SCNu64, name, &v) != 2)
			continue;
		for (uint32_t k = 0; vb_sweep_metric[k].name; k++) {
			if (strcmp(vb_sweep_metric[k].name, name) == 0) {
				r->v[k] = v;
				found++;
			}
		}
	}
	fclose(f);
	while (vb_sweep_metric[cnt].name)
		cnt++;
	return found == cnt && r->digest[0];
}

bool vb_sweep_load_bins(const struct vb_sweep *s, uint32_t i, struct vb_sweep_bins *b)
{
	char path[4096], line[4096];
	bool has = false;
	FILE *f;

	memset(b, 0, sizeof *b);
	vb_sweep_name(s, i, "json", path, sizeof path);
	f = fopen(path, "r");
	if (!f)
		return false;
	while (fgets(line, sizeof line, f)) {
		const char *flows = strstr(line, "\"flows\"");
		uint64_t v[4];
		uint32_t bin;

		if (!flows || sscanf(line, " {\"bin\": %" SCNu32, &bin) != 1 ||
		    bin >= VB_REPORT_BINS ||
		    sscanf(flows,
			   "\"flows\": %" SCNu64 ", \"p50_milli\": %" SCNu64
			   ", \"p95_milli\": %" SCNu64 ", \"p99_milli\": %" SCNu64,
			   &v[0], &v[1], &v[2], &v[3]) != 4)
			continue;
		b->flows[bin] = v[0];
		b->p50[bin] = v[1];
		b->p95[bin] = v[2];
		b->p99[bin] = v[3];
		has = true;
	}
	fclose(f);
	return has;
}

uint32_t vb_sweep_metric_of(const char *name)
{
	uint32_t k = 0;

	while (strcmp(vb_sweep_metric[k].name, name) != 0)
		k++;
	return k;
}
