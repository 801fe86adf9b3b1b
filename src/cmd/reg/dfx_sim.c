/* SPDX-License-Identifier: BSD-2-Clause */
/* A recording in the simulator: the same registers of the same adapter, in virtual time. */
#include "cmd/reg/dfx.h"

#include "reg/csr/csr.h"
#include "scenario/scenario.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct recording {
	const struct vb_cmd *cmd;
	struct vb_scenario sc;
	struct vb_scenario_run run;
	uint32_t flow;
	vb_time from;
	struct vb_qp *qp; /* NULL: not yet */
};

/* The QP whose rate is the flow's, once there is one: the responder's, if it is a READ. */
static struct vb_qp *sending_qp(struct recording *r)
{
	const struct vb_flow *f;
	uint32_t host, qpn;

	if (vb_sim_now(r->run.sim) < r->from || r->flow >= vb_load_flow_cnt(r->run.load))
		return NULL;
	f = vb_load_flow(r->run.load, r->flow);
	if (f->connection == UINT32_MAX)
		return NULL;
	vb_load_end(r->run.load, f->connection, f->op == VB_LOAD_READ, &host, &qpn);
	return vb_qp_find(vb_sim_hca(r->run.sim, host), qpn);
}

static uint64_t word_of(const struct vb_cc_access *at, const char *name, vb_time now)
{
	return vb_csr_qp_get(vb_csr_by_name(name, strlen(name)), at, now);
}

static int begin_recording(struct recording *r, struct vb_dfx_window *w)
{
	vb_time now = vb_sim_now(r->run.sim);
	struct vb_cc_access at;
	struct vb_reg_fault fault;
	uint64_t word;
	int err = vb_qp_cc_make_recorder(r->qp);

	if (err)
		return err;
	vb_qp_cc_open(r->qp, &at);
	word = word_of(&at, "RATE_MEM", now);
	w->rate = (uint16_t)word;
	w->target = (uint16_t)(word >> 16);
	w->alpha = (uint16_t)word_of(&at, "ALPHA_MEM", now);
	word = word_of(&at, "T_BC_MEM", now);
	w->t = (uint16_t)word;
	w->bc = (uint16_t)(word >> 16);
	w->has_first = true;
	err = vb_csr_qp_set(vb_csr_by_name("DFX_CTRL", 8), &at, 1, now, &fault);
	vb_qp_cc_close(r->qp, &at);
	return err;
}

static void take_window(struct recording *r, struct vb_dfx_window *w)
{
	struct vb_cc_access at;
	struct vb_dfx *d;

	vb_qp_cc_open(r->qp, &at);
	d = at.ctl->dfx;
	vb_dfx_stop(d);
	w->decreases = d->decreases;
	w->byte_increases = d->byte_increases;
	w->timer_increases = d->timer_increases;
	w->overflow = d->overflow;
	while (w->cnt < VB_DFX_ENTRIES && vb_dfx_read(d, &w->entry[w->cnt]))
		w->cnt++;
	vb_qp_cc_close(r->qp, &at);
}

static bool is_full(struct recording *r)
{
	struct vb_cc_access at;
	bool full;

	vb_qp_cc_open(r->qp, &at);
	full = !vb_dfx_has_room(at.ctl->dfx);
	vb_qp_cc_close(r->qp, &at);
	return full;
}

static int run_recording(struct recording *r, struct vb_dfx_window *w)
{
	int err = 0;

	while (!err && vb_sim_next(r->run.sim) <= r->sc.until && vb_sim_step(r->run.sim)) {
		if (r->qp) {
			if (is_full(r))
				break;
		} else {
			r->qp = sending_qp(r);
			if (r->qp)
				err = begin_recording(r, w);
		}
	}
	if (err) {
		vb_cmd_error(r->cmd, "nothing can be recorded: %s", strerror(-err));
		return 1;
	}
	if (!r->qp) {
		vb_cmd_error(r->cmd,
			     "flow %" PRIu32 " does not run after %.6g s; there are %" PRIu32,
			     r->flow, (double)r->from / 1e9, vb_load_flow_cnt(r->run.load));
		return 1;
	}
	take_window(r, w);
	return 0;
}

int vb_dfx_simulate(const struct vb_cmd *cmd, const char *path, uint32_t flow, vb_time from,
		    struct vb_dfx_window *w)
{
	static struct recording r;
	static const struct vb_scenario_watch nothing;
	char why[1024];
	FILE *f = fopen(path, "r");
	int err, status;

	r = (struct recording){.cmd = cmd, .flow = flow, .from = from};
	if (!f) {
		vb_cmd_error(cmd, "%s cannot be read: %s", path, strerror(errno));
		return 1;
	}
	err = vb_scenario_read(&r.sc, f, path, why, sizeof why);
	fclose(f);
	if (!err && !r.sc.cc.dcqcn_hw_en) {
		err = -EINVAL;
		snprintf(why, sizeof why,
			 "%s: no congestion control computes rates; see 'transport: congestion:'",
			 path);
	}
	if (!err)
		err = vb_scenario_open(&r.run, &r.sc, &nothing, why, sizeof why);
	if (err) {
		vb_cmd_error(cmd, "%s", why);
		vb_scenario_free(&r.sc);
		return 1;
	}
	w->clk_hz = r.sc.cc.cc_clk_hz;
	status = run_recording(&r, w);
	vb_scenario_close(&r.run);
	vb_scenario_free(&r.sc);
	return status;
}
