/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters as JSON, and in the text format of OpenMetrics (github.com/OpenObservability). */
#include "cmd/observe/counters.h"

#include "cmd/json.h"

#include <inttypes.h>
#include <string.h>

bool vb_counters_is_shown(const struct vb_counters_view *v, uint32_t i)
{
	const struct vb_device *d = &v->host.device[i];

	return d->ifindex &&
	       (!v->device || !strcmp(v->device, d->name) || !strcmp(v->device, d->ifname));
}

static bool is_data(int k)
{
	return k == VB_COUNTER_port_xmit_data || k == VB_COUNTER_port_rcv_data;
}

static void json_group(FILE *f, const char *name, enum vb_counter_file file,
		       const struct vb_counters *c)
{
	const char *sep = "";

	fprintf(f, ",\n   \"%s\": {", name);
	for (int k = 0; k < VB_COUNTER_CNT; k++) {
		if (vb_counter_info[k].file != file)
			continue;
		fprintf(f, "%s\n    \"%s\": %" PRIu64, sep, vb_counter_info[k].name, c->v[k]);
		sep = ",";
	}
	fputc('}', f);
}

void vb_counters_json(FILE *f, const struct vb_counters_view *v)
{
	const char *sep = "";

	fputc('[', f);
	for (uint32_t i = 0; i < v->host.device_cnt; i++) {
		const struct vb_counters *c = &v->total[i + 1];

		if (!vb_counters_is_shown(v, i))
			continue;
		fprintf(f, "%s\n  {\"device\": ", sep);
		vb_json_text(f, v->host.device[i].name);
		fputs(", \"netdev\": ", f);
		vb_json_text(f, v->host.device[i].ifname);
		fprintf(f,
			", \"port\": 1,\n   \"xmit_bytes\": %" PRIu64 ", \"rcv_bytes\": %" PRIu64,
			c->v[VB_COUNTER_port_xmit_data] * VB_COUNTER_WORD_BYTES,
			c->v[VB_COUNTER_port_rcv_data] * VB_COUNTER_WORD_BYTES);
		json_group(f, "counters", VB_COUNTER_PORT, c);
		json_group(f, "hw_counters", VB_COUNTER_HW, c);
		fputc('}', f);
		sep = ",";
	}
	fputs("\n]\n", f);
}

/* Labels are escaped as strings of JSON are: backslash, quotation mark. */
static void put_labels(FILE *f, const struct vb_device *d)
{
	fputs("{device=", f);
	vb_json_text(f, d->name);
	fputs(",port=\"1\"", f);
}

static void put_counter(FILE *f, const struct vb_counters_view *v, int k)
{
	const struct vb_counter_info *info = &vb_counter_info[k];
	const char *unit = is_data(k) ? "_bytes" : "";

	fprintf(f, "# TYPE verbena_%s%s counter\n", info->name, unit);
	if (is_data(k))
		fprintf(f, "# UNIT verbena_%s_bytes bytes\n", info->name);
	fprintf(f, "# HELP verbena_%s%s %s\n", info->name, unit,
		k == VB_COUNTER_port_xmit_data  ? "bytes sent, BTH through ICRC"
		: k == VB_COUNTER_port_rcv_data ? "bytes received, BTH through ICRC"
						: info->text);
	for (uint32_t i = 0; i < v->host.device_cnt; i++) {
		if (!vb_counters_is_shown(v, i))
			continue;
		fprintf(f, "verbena_%s%s_total", info->name, unit);
		put_labels(f, &v->host.device[i]);
		fprintf(f, "} %" PRIu64 "\n",
			v->total[i + 1].v[k] * (is_data(k) ? VB_COUNTER_WORD_BYTES : 1));
	}
}

void vb_counters_openmetrics(FILE *f, const struct vb_counters_view *v)
{
	fputs("# TYPE verbena_port_up gauge\n# HELP verbena_port_up 1 while the port is active\n",
	      f);
	for (uint32_t i = 0; i < v->host.device_cnt; i++) {
		if (!vb_counters_is_shown(v, i))
			continue;
		fputs("verbena_port_up", f);
		put_labels(f, &v->host.device[i]);
		fputs(",netdev=", f);
		vb_json_text(f, v->host.device[i].ifname);
		fprintf(f, "} %u\n", v->host.device[i].is_up ? 1u : 0u);
	}
	for (int k = 0; k < VB_COUNTER_CNT; k++)
		put_counter(f, v, k);
	fputs("# EOF\n", f);
}
