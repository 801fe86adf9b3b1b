/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes of a simulation while it stands still. See verbena/sim.h. */
#include "library/priv.h"

#include <errno.h>
#include <string.h>

static int check_cable(const struct verbena_sim *s, uint32_t cable)
{
	uint32_t cnt = vb_sim_port_cnt(s->run.sim) / 2;

	return cable < cnt
		   ? 0
		   : vb_library_fail(s, -ERANGE, "there is no cable %u: there are %u", cable, cnt);
}

int verbena_sim_set_cable(struct verbena_sim *s, uint32_t cable, int is_up)
{
	int err = check_cable(s, cable);

	if (err)
		return err;
	err = vb_sim_plan_link(s->run.sim, cable, is_up, vb_sim_now(s->run.sim));
	return err ? vb_library_fail(s, err, "cable %u cannot be changed: %s", cable,
				     err == -ENOSPC ? "too many changes are under way"
						    : strerror(-err))
		   : 0;
}

int verbena_sim_set_fault(struct verbena_sim *s, uint32_t cable, const char *faults)
{
	struct vb_fault_spec spec;
	struct vb_fault_error wrong;
	int err = check_cable(s, cable);

	if (err)
		return err;
	if (vb_fault_parse(faults, &spec, &wrong))
		return vb_library_fail(s, -EINVAL, "\"%s\", column %u: %s", faults, wrong.column,
				       wrong.text);
	err = vb_sim_set_cable_fault(s->run.sim, cable, spec.rule_cnt ? &spec : NULL);
	return err ? vb_library_fail(s, err, "cable %u takes no faults: %s", cable, strerror(-err))
		   : 0;
}

int verbena_sim_set_ecn(struct verbena_sim *s, uint32_t kmin, uint32_t kmax, uint32_t pmax_ppm)
{
	const struct vb_red red = {.kmin = kmin, .kmax = kmax, .pmax_ppm = pmax_ppm};
	int err = vb_sim_set_red(s->run.sim, &red);

	if (err == -ENOTSUP)
		return vb_library_fail(s, err, "switches of InfiniBand mark by other rules");
	return err ? vb_library_fail(s, err,
				     "kmin %u is above kmax %u, or a chance of %u above 1000000",
				     kmin, kmax, pmax_ppm)
		   : 0;
}

int verbena_sim_set_rate(struct verbena_sim *s, uint32_t i, uint64_t rate)
{
	uint64_t kbps = rate / 1000;
	uint32_t host, qpn;
	struct vb_qp *qp;
	int err = vb_library_qp(s, i, &host, &qpn);

	if (err)
		return err;
	qp = vb_qp_find(vb_sim_hca(s->run.sim, host), qpn);
	if (!qp)
		return vb_library_fail(s, -ENOENT, "QP %u is gone", i);
	if (kbps > UINT32_MAX || (kbps == 0 && rate != 0) ||
	    vb_qp_set_rate(qp, (uint32_t)kbps, 0, vb_sim_now(s->run.sim)))
		return vb_library_fail(s, -EINVAL, "QP %u cannot be limited to %llu bit/s", i,
				       (unsigned long long)rate);
	vb_sim_touch(s->run.sim, host);
	return 0;
}

int64_t verbena_sim_add_flow(struct verbena_sim *s, uint32_t src, uint32_t dst, uint32_t op,
			     uint64_t bytes, uint64_t start)
{
	uint32_t record = vb_load_flow_cnt(s->run.load);
	int err;

	/* Records of lists are theirs: a flow of ours would be lost from sight. */
	if (record >= s->sc.load.flows_max)
		return vb_library_fail(
		    s, -ENOSPC, "there are %u flows: give the scenario a larger \"flows\"", record);
	err = op < VB_LOAD_OP_CNT
		  ? vb_load_add_flow(s->run.load, src, dst, (enum vb_load_op)op, bytes, start)
		  : -EINVAL;
	if (err)
		return vb_library_fail(s, err,
				       "a flow takes two hosts of %u, an operation of the "
				       "transport, and a start that is not before now",
				       s->run.nics.host_cnt ? s->run.nics.host_cnt
							    : s->run.topo.host_cnt);
	return record;
}
