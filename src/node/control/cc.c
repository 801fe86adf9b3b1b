/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Congestion control of live packets: the settings that hold, a packet pacer made of timers that
 * come late, a receive socket that marks packets as it fills up, and the interrupt of a CNP.
 *
 * A process may have been started with settings of its own (VERBENA_CC, see verbena-run(1)).
 * docs/congestion-control.md
 */
#include "node/engine/priv.h"

#include "core/cc/text.h"
#include "plugin/plugin.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* The speed of a network device that does not know its own, as in the tree of sysfs. */
#define UNKNOWN_SPEED_BPS UINT64_C(100000000000)

/*
 * Unused budget is kept so long, and a QP that has to wait does so for half of it: packets that
 * become due meanwhile leave as one GSO batch. A window of an adapter's clock, some microseconds,
 * would take a timer and a system call for a few packets; this is what a thread that is woken comes
 * late anyway.
 */
#define LIVE_BURST_NS (100 * VB_USEC)

/* So long what was seen of a receive queue holds... */
#define DEPTH_FRESH_NS (20 * VB_USEC)
/* ... and a packet of another host as a sign that there are more. */
#define ABROAD_NS VB_MSEC

static uint64_t speed_bps(const struct vb_device *d)
{
	return d->speed_mbps ? d->speed_mbps * UINT64_C(1000000) : UNKNOWN_SPEED_BPS;
}

/* Bytes in the receive socket at which packets count as marked. */
static void watch_queue(struct vb_engine *e, uint8_t port, const struct vb_cc_settings *set)
{
	uint64_t room = e->flow.most;

	e->cc.red[port] = (struct vb_red){0};
	if (set->np_en && set->rxq_en)
		e->cc.red[port] = (struct vb_red){
		    .kmin = (uint32_t)(room * set->rxq_kmin / 100),
		    .kmax = (uint32_t)(room * set->rxq_kmax / 100) | 1,
		    .pmax_ppm = set->rxq_pmax * 10000u,
		};
	e->cc.marks = false;
	e->cc.kmin = UINT32_MAX;
	for (int i = 1; i <= VB_HCA_PORTS_MAX; i++) {
		const struct vb_red *red = &e->cc.red[i];

		if (red->kmax == 0)
			continue;
		e->cc.marks = true;
		e->cc.kmin = red->kmin < e->cc.kmin ? red->kmin : e->cc.kmin;
	}
}

int vb_engine_set_cc(struct vb_engine *e, uint8_t port, const struct vb_cc_settings *set)
{
	struct vb_cc_settings live = *set;
	int err = 0;

	if (live.limiter_burst_ns < LIVE_BURST_NS)
		live.limiter_burst_ns = LIVE_BURST_NS;
	if (!vb_cc_settings_eq(&live, vb_hca_cc(e->hca, port)))
		err = vb_hca_set_port_cc(e->hca, port, &live, vb_clock_now());
	if (!err) {
		watch_queue(e, port, &live);
		vb_engine_follow_bring(e);
	}
	return err;
}

/* How QPs slow down, as the manager of the fabric has set it. */
static void follow_cct(struct vb_engine *e, uint32_t i)
{
	const struct vb_cct_rules *now = vb_hca_cct(e->hca, (uint8_t)(i + 1));
	struct vb_cct_rules rules = e->devices.device[i].cct;

	rules.keep = LIVE_BURST_NS;
	/* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): padding is what it was */
	if (!vb_cct_check(&rules) && (!now || memcmp(now, &rules, sizeof rules) != 0))
		(void)vb_hca_set_port_cct(e->hca, (uint8_t)(i + 1), &rules);
}

/* In a fabric in real time each mark of a switch is answered, since its source waits for that: a QP
 * there slows down, or a service level of the adapter. FAB-47 */
static void answer_marks(struct vb_engine *e)
{
	for (uint32_t i = 0; e->broker.carrier && i < VB_DEVICES_MAX; i++) {
		struct vb_cc_settings set = *vb_hca_cc(e->hca, (uint8_t)(i + 1));

		set.np_en = true;
		set.np_min_cnp_us = 0;
		set.rxq_en = false;
		if (!e->devices.device[i].ifindex)
			continue;
		(void)vb_engine_set_cc(e, (uint8_t)(i + 1), &set);
		follow_cct(e, i);
	}
}

/* Flows of device @i have the algorithm that this process was started with; its notification point
 * works for that if it needs one. */
static void follow_choice(struct vb_engine *e, uint32_t i)
{
	struct vb_cc_choice *c = &e->cc.choice[i + 1];
	struct vb_cc_settings set;

	if (c->line_rate == speed_bps(&e->devices.device[i]))
		return;
	*c = e->cc.choice[0];
	c->line_rate = speed_bps(&e->devices.device[i]);
	c->keep = LIVE_BURST_NS;
	(void)vb_hca_set_port_choice(e->hca, (uint8_t)(i + 1), c);
	if (!(c->algorithm->needs & VERBENA_CC_NEEDS_CNP))
		return;
	vb_cc_settings_notify(&set);
	(void)vb_engine_set_cc(e, (uint8_t)(i + 1), &set);
}

void vb_engine_follow_cc(struct vb_engine *e)
{
	struct vb_cc_text_fault fault;
	struct vb_cc_settings set;
	uint64_t own = 0;

	answer_marks(e);
	for (uint32_t i = 0; e->cc.choice[0].algorithm && i < VB_DEVICES_MAX; i++)
		if (e->devices.device[i].ifindex)
			follow_choice(e, i);
	for (uint32_t i = 0; e->cc.own[0] && i < VB_DEVICES_MAX; i++) {
		const struct vb_device *d = &e->devices.device[i];

		/* The text was checked when the engine was opened. It holds until a register of
		 * the device is written. */
		if (d->ifindex && e->adopted[i].cc_epoch == e->adopted[i].cc_first &&
		    vb_cc_parse(e->cc.own, speed_bps(d), &set, &fault) == 0 &&
		    vb_engine_set_cc(e, (uint8_t)(i + 1), &set) == 0)
			own |= UINT64_C(1) << i;
	}
	__atomic_store_n(&e->broker.shm->own_cc, own, __ATOMIC_RELAXED);
}

/* The text of VERBENA_CC names an algorithm. */
static int open_choice(struct vb_engine *e, const char *text, char *why, size_t why_size)
{
	char reason[512];
	int err =
	    vb_plugin_read_choice(text, UNKNOWN_SPEED_BPS, &e->cc.choice[0], reason, sizeof reason);

	if (!err && e->cc.choice[0].algorithm->needs & VERBENA_CC_NEEDS_INT) {
		snprintf(reason, sizeof reason,
			 "'%s' needs switches that add records of themselves: "
			 "only the simulator has these",
			 e->cc.choice[0].algorithm->name);
		err = -EOPNOTSUPP;
	}
	if (err) {
		snprintf(why, why_size, "VERBENA_CC: %s", reason);
		e->cc.choice[0].algorithm = NULL;
	}
	return err;
}

int vb_engine_open_cc(struct vb_engine *e, char *why, size_t why_size)
{
	const char *text = getenv("VERBENA_CC");
	struct vb_cc_text_fault fault;
	struct vb_cc_settings set;

	e->cc.rng = vb_rng_stream(vb_clock_now(), "receive queue", e->broker.slot);
	if (!text)
		return 0;
	if (strlen(text) >= sizeof e->cc.own) {
		snprintf(why, why_size, "VERBENA_CC is longer than %zu characters",
			 sizeof e->cc.own - 1);
		return -EINVAL;
	}
	if (vb_plugin_is_choice(text))
		return open_choice(e, text, why, why_size);
	if (vb_cc_parse(text, UNKNOWN_SPEED_BPS, &set, &fault)) {
		snprintf(why, why_size, "VERBENA_CC: '%.*s' %s",
			 fault.len ? (int)fault.len : (int)strlen(fault.field ? fault.field : ""),
			 fault.len     ? text + fault.at
			 : fault.field ? fault.field
				       : "",
			 fault.what);
		return -EINVAL;
	}
	memcpy(e->cc.own, text, strlen(text) + 1);
	return 0;
}

/* Half of what the kernel has charged, which is about twice of what a packet has; the kernel lets
 * go in quarters of the buffer. */
static uint64_t kernel_depth(const struct vb_engine *e)
{
	uint32_t mem[SK_MEMINFO_VARS] = {0};
	socklen_t len = sizeof mem;

	if (getsockopt(vb_link_fd(e->link), SOL_SOCKET, SO_MEMINFO, mem, &len))
		return 0;
	return mem[SK_MEMINFO_RMEM_ALLOC] / 2;
}

/*
 * Bytes that wait in the receive socket behind a packet from @path: exactly what senders of this
 * host have counted, and if others send as well, at least what the kernel has. Filling that much
 * takes longer than DEPTH_FRESH_NS.
 */
static void look_at_queue(struct vb_engine *e, const struct vb_path *path, vb_time now)
{
	struct vb_engine_cc *cc = &e->cc;
	const struct vb_flow *f = &e->broker.flow[e->broker.slot];
	uint64_t depth;

	if (cc->looked && now - cc->looked < DEPTH_FRESH_NS)
		return;
	cc->looked = now;
	depth = vb_flow_backlog(f, f->taken);
	if (!vb_addr_find(&e->addr, &path->sgid, e->devices.device[path->port - 1].ifindex))
		cc->abroad = now;
	if (cc->abroad && now - cc->abroad < ABROAD_NS) {
		uint64_t kernel = kernel_depth(e);

		depth = kernel > depth ? kernel : depth;
	}
	cc->depth = depth < UINT32_MAX ? (uint32_t)depth : UINT32_MAX;
}

/* Of @cnt packets just received those that may be marked are, as the queue behind them has it. */
void vb_engine_mark(struct vb_engine *e, struct vb_rx *rx, uint32_t cnt, vb_time now)
{
	for (uint32_t i = 0; i < cnt; i++) {
		const struct vb_path *p = rx[i].path;

		if ((p->traffic_class & VB_ECN_MASK) == 0)
			continue;
		look_at_queue(e, p, now);
		if (e->cc.depth <= e->cc.kmin)
			return; /* the others find the same queue */
		if (!vb_red_marks(&e->cc.red[p->port], e->cc.depth, &e->cc.rng))
			continue;
		e->cc.path[i] = *p;
		e->cc.path[i].traffic_class |= VB_ECN_CE;
		rx[i].path = &e->cc.path[i];
	}
}
