/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of flows. See flows.h. */
#include "results/series/flows.h"

#include <errno.h>
#include <inttypes.h>

static const char *const op_name[VB_LOAD_OP_CNT] = {"send", "write", "read", "atomic"};

static void row_write(FILE *f, const struct vb_scenario_run *run, const struct vb_flow *w)
{
	fprintf(f, "%u,%u,", w->number, w->src);
	if (vb_flow_is_to_group(w))
		fprintf(f, "group %u", w->dst & ~VB_LOAD_GROUP);
	else
		fprintf(f, "%u", w->dst);
	fprintf(f, ",%s,%" PRIu64 ",%" PRIu64 ",", op_name[w->op], w->bytes, w->start);
	if (w->delivered != VB_NEVER)
		fprintf(f, "%" PRIu64, w->delivered);
	if (w->done != VB_NEVER)
		fprintf(f, ",%" PRIu64 ",%" PRIu64, w->done, w->done - w->start);
	else
		fputs(",,", f);
	fprintf(f, ",%" PRIu64 ",%u,", vb_flow_ideal_ns(run->load, run->sim, w), w->status);
	if (w->status == VB_WC_SUCCESS)
		fprintf(f, "%" PRIu64, vb_load_flow_completed(run->load, w));
	putc('\n', f);
}

static int file_open(struct vb_sim_flows *s)
{
	if (s->is_open || s->err)
		return s->err;
	s->err = vb_whole_file_begin_in(&s->file, s->dir, "flows.csv");
	if (s->err)
		return s->err;
	s->is_open = true;
	fputs("flow,src,dst,op,bytes,start_ns,delivered_ns,done_ns,fct_ns,ideal_ns,status,"
	      "completed\n",
	      s->file.f);
	return 0;
}

static void past_write(void *ctx, const struct vb_flow *f)
{
	struct vb_sim_flows *s = ctx;

	if (s->series)
		vb_sim_series_past(s->series, f);
	if (file_open(s) == 0)
		row_write(s->file.f, s->run, f);
}

void vb_sim_flows_begin(struct vb_sim_flows *s, const char *dir, const struct vb_scenario_run *run,
			struct vb_sim_series *series)
{
	*s = (struct vb_sim_flows){.run = run, .dir = dir, .series = series};
	vb_load_watch_past(run->load, past_write, s);
}

/* Flows that have their records still. */
static void present_write(FILE *f, const struct vb_sim_flows *s)
{
	for (uint32_t i = 0; i < vb_load_flow_cnt(s->run->load); i++)
		row_write(f, s->run, vb_load_flow(s->run->load, i));
}

int vb_sim_flows_write(FILE *f, struct vb_sim_flows *s)
{
	int err = file_open(s);

	if (!err)
		err = vb_whole_file_copy(&s->file, f);
	if (!err)
		present_write(f, s);
	return err;
}

int vb_sim_flows_end(struct vb_sim_flows *s)
{
	int err = file_open(s);

	if (err)
		return err;
	present_write(s->file.f, s);
	s->is_open = false;
	return vb_whole_file_end(&s->file, 0);
}

void vb_sim_flows_drop(struct vb_sim_flows *s)
{
	if (s->is_open)
		(void)vb_whole_file_end(&s->file, -ECANCELED);
	s->is_open = false;
}
