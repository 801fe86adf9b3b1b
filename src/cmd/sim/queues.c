/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena sim --wqe`: the queues of a simulated QP at the end of a run, see cmd/queues/queues.h.
 */
#include "cmd/sim/sim.h"

#include "core/view.h"

#include <inttypes.h>

bool vb_sim_queues_ask(const char *text, struct vb_queues_log *log, vb_time *until)
{
	uint32_t host, qpn;
	vb_time at;
	int len = 0;

	if (sscanf(text, "%" SCNu32 ".%" SCNu32 "%n", &host, &qpn, &len) != 2 || qpn == 0)
		return false;
	if (text[len] != '\0') {
		if (text[len] != '@' || !vb_scenario_time(text + len + 1, &at))
			return false;
		if (at < *until)
			*until = at;
	}
	*log = (struct vb_queues_log){.host = host, .qpn = qpn};
	return true;
}

/* Names the QPs that the host has, as far as there is room. */
static void name_qps(const struct vb_cmd *cmd, const char *text, const struct vb_hca *h,
		     uint32_t host)
{
	char there[256] = "";
	uint32_t pos = 0, qpn = vb_hca_next_qpn(h, &pos);
	size_t at = 0;

	for (; qpn && at < sizeof there - 32; qpn = vb_hca_next_qpn(h, &pos))
		at += (size_t)snprintf(there + at, sizeof there - at, " %" PRIu32 ".%" PRIu32, host,
				       qpn);
	vb_cmd_error(cmd, "there is no QP %s; the host has%s%s", text, at ? there : " none",
		     qpn ? " and more" : "");
}

int vb_sim_queues_show(const struct vb_cmd *cmd, const char *text,
		       const struct vb_scenario_run *run, const struct vb_queues_log *log)
{
	struct vb_queues_view v;
	struct vb_hca *h;

	if (log->host >= run->topo.host_cnt) {
		vb_cmd_error(cmd, "there is no QP %s: hosts are 0 to %u", text,
			     run->topo.host_cnt - 1);
		return 1;
	}
	h = vb_sim_hca(run->sim, log->host);
	if (!vb_queues_simulated(h, log, vb_cq_size(vb_sim_cq(run->sim, log->host)), &v)) {
		name_qps(cmd, text, h, log->host);
		return 1;
	}
	putchar('\n');
	vb_queues_show_text(stdout, &v);
	vb_queues_free(&v);
	return 0;
}
