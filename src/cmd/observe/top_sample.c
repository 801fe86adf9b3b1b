/* SPDX-License-Identifier: BSD-2-Clause */
/* A look at all processes and their QPs, see top.h. Slot memory is another program's word: counts
 * in it are bounded, names made printable. */
#include "cmd/observe/top.h"

#include "cmd/json.h"
#include "node/host/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PSN_MASK 0xffffffu
#define WORD_BYTES 4.0 /* of port_*_data, IBA 16.1.3.5 */

static double per_second(uint64_t now, uint64_t before, double seconds)
{
	return now > before && seconds > 0 ? (double)(now - before) / seconds : 0;
}

/* @port: of one device alone; 0: all of them. */
static void sum_counters(struct vb_counters *to, const struct vb_slot_shm *s, uint32_t port)
{
	memset(to, 0, sizeof *to);
	for (uint32_t p = 1; p <= VB_HCA_PORTS_MAX; p++)
		for (int k = 0; k < VB_COUNTER_CNT && (!port || p == port); k++)
			to->v[k] += __atomic_load_n(&s->counters[p].v[k], __ATOMIC_RELAXED);
}

static void rate_process(struct vb_top_process *p, const struct vb_top_sample *before,
			 double seconds)
{
	const struct vb_top_process *was = NULL;
	const uint64_t *a, *b;

	for (uint32_t i = 0; i < before->process_cnt && !was; i++)
		if (before->process[i].pid == p->pid)
			was = &before->process[i];
	p->is_new = !was;
	if (!was)
		return;
	a = p->sum.v;
	b = was->sum.v;
	p->xmit_bps =
	    per_second(a[VB_COUNTER_port_xmit_data], b[VB_COUNTER_port_xmit_data], seconds) *
	    WORD_BYTES * 8;
	p->rcv_bps = per_second(a[VB_COUNTER_port_rcv_data], b[VB_COUNTER_port_rcv_data], seconds) *
		     WORD_BYTES * 8;
	p->xmit_pps =
	    per_second(a[VB_COUNTER_port_xmit_packets], b[VB_COUNTER_port_xmit_packets], seconds);
	p->rcv_pps =
	    per_second(a[VB_COUNTER_port_rcv_packets], b[VB_COUNTER_port_rcv_packets], seconds);
	p->resent_pps = per_second(a[VB_COUNTER_retransmitted_packets],
				   b[VB_COUNTER_retransmitted_packets], seconds);
}

/* By the times of both views: a process that polls writes its view when it comes to it. */
static void rate_qp(struct vb_top_qp *q, const struct vb_top_sample *before)
{
	const struct vb_top_qp *was = NULL;
	double seconds;

	for (uint32_t i = 0; i < before->qp_cnt && !was; i++)
		if (before->qp[i].view.qpn == q->view.qpn && before->qp[i].pid == q->pid)
			was = &before->qp[i];
	q->is_new = !was;
	if (!was || q->view.at <= was->view.at)
		return;
	seconds = (double)(q->view.at - was->view.at) / (double)VB_SEC;
	q->acked = ((q->view.psn_una - was->view.psn_una) & PSN_MASK) / seconds;
	q->expected = ((q->view.epsn - was->view.epsn) & PSN_MASK) / seconds;
	/* Backwards: the QP was made ready again with other PSNs. */
	if (((q->view.psn_una - was->view.psn_una) & PSN_MASK) > PSN_MASK / 2)
		q->acked = 0;
	if (((q->view.epsn - was->view.epsn) & PSN_MASK) > PSN_MASK / 2)
		q->expected = 0;
}

static int add_qps(struct vb_top_sample *to, const struct vb_top_sample *before,
		   struct vb_top_process *p, const struct vb_slot_shm *s,
		   const struct vb_host_shm *host, uint32_t port)
{
	const struct vb_explain_shm *x = &s->explain;
	uint32_t cnt[2]; /* qp_cnt, view_cnt */
	struct vb_top_qp *qp;

	vb_explain_read(x, &x->qp_cnt, cnt, sizeof cnt);
	if (cnt[1] > VB_VIEWS)
		cnt[1] = VB_VIEWS;
	qp = realloc(to->qp, (to->qp_cnt + cnt[1] + 1) * sizeof *qp);
	if (!qp)
		return -ENOMEM;
	to->qp = qp;
	to->unseen += cnt[0] > cnt[1] ? cnt[0] - cnt[1] : 0;
	for (uint32_t i = 0; i < cnt[1]; i++) {
		struct vb_top_qp *q = &qp[to->qp_cnt];
		uint32_t at;

		memset(q, 0, sizeof *q);
		vb_explain_read(x, &x->view[i], &q->view, sizeof q->view);
		vb_view_heal(&q->view);
		at = q->view.attr.port;
		if (port && at != port)
			continue;
		q->pid = p->pid;
		memcpy(q->comm, p->comm, sizeof q->comm);
		if (at >= 1 && at <= VB_DEVICES_MAX && host->device[at - 1].ifindex)
			vb_printable(q->device, sizeof q->device, host->device[at - 1].name);
		rate_qp(q, before);
		to->qp_cnt++;
		p->qp_cnt++;
	}
	return 0;
}

static int by_traffic(const void *a, const void *b)
{
	const struct vb_top_process *x = a, *y = b;
	double dx = x->xmit_bps + x->rcv_bps, dy = y->xmit_bps + y->rcv_bps;

	return dx < dy ? 1 : dx > dy ? -1 : (x->pid > y->pid) - (x->pid < y->pid);
}

static int by_packets(const void *a, const void *b)
{
	const struct vb_top_qp *x = a, *y = b;
	double dx = x->acked + x->expected, dy = y->acked + y->expected;

	return dx < dy   ? 1
	       : dx > dy ? -1
			 : (x->view.qpn > y->view.qpn) - (x->view.qpn < y->view.qpn);
}

static int look_at_slots(struct vb_top_sample *to, const struct vb_top_sample *before,
			 const struct vb_broker_observer *o, const struct vb_host_shm *host,
			 uint32_t asked, uint32_t port)
{
	to->process = calloc(VB_SLOT_CNT, sizeof *to->process);
	if (!to->process)
		return -ENOMEM;
	for (uint32_t k = VB_SLOT_FIRST; k < VB_SLOT_CNT; k++) {
		const struct vb_slot_shm *s = o->slot[k];
		struct vb_top_process *p = &to->process[to->process_cnt];
		int rc;

		if (!s || !s->pid)
			continue;
		to->process_cnt++;
		p->pid = s->pid;
		vb_printable(p->comm, sizeof p->comm, s->comm);
		sum_counters(&p->sum, s, port);
		rate_process(p, before, to->seconds);
		p->is_mute = __atomic_load_n(&s->explain.answered, __ATOMIC_ACQUIRE) != asked;
		rc = p->is_mute ? 0 : add_qps(to, before, p, s, host, port);
		if (rc)
			return rc;
	}
	qsort(to->process, to->process_cnt, sizeof *to->process, by_traffic);
	if (to->qp_cnt)
		qsort(to->qp, to->qp_cnt, sizeof *to->qp, by_packets);
	return 0;
}

/* The HCA port of the device, or of the network device, @name; 0: there is none. */
static uint32_t port_of(const struct vb_host_shm *host, const char *name)
{
	for (uint32_t i = 0; i < host->device_cnt; i++)
		if (host->device[i].ifindex &&
		    (!strcmp(host->device[i].name, name) || !strcmp(host->device[i].ifname, name)))
			return i + 1;
	return 0;
}

int vb_top_look(struct vb_top_sample *to, const struct vb_top_sample *before, const char *device,
		char *why, size_t why_size)
{
	static struct vb_host_shm host;
	struct vb_broker_observer o;
	uint32_t asked, port = 0;
	int rc = vb_broker_observe(&o, false, why, why_size);

	memset(to, 0, sizeof *to);
	to->real_ns = vb_clock_read(CLOCK_REALTIME);
	to->at = vb_clock_now();
	if (rc)
		return rc == -ECONNREFUSED ? -ENOTCONN : rc;
	rc = vb_broker_ask_views(&o, 0, &asked);
	if (!rc)
		rc = vb_broker_observe_slots(&o);
	if (rc) {
		snprintf(why, why_size, "cannot ask the broker: %s", strerror(-rc));
	} else {
		vb_broker_await_views(&o, asked);
		vb_host_read(o.host, &host);
		to->real_ns = vb_clock_read(CLOCK_REALTIME);
		to->at = vb_clock_now();
		to->seconds = before->at ? (double)(to->at - before->at) / (double)VB_SEC : 0;
		port = device ? port_of(&host, device) : 0;
		if (device && !port)
			rc = -ENODEV;
		else
			rc = look_at_slots(to, before, &o, &host, asked, port);
		if (rc)
			snprintf(why, why_size,
				 rc == -ENODEV ? "there is no device '%s'; see 'verbena devices'"
					       : "no memory%.0s",
				 device ? device : "");
	}
	vb_broker_observe_end(&o);
	return rc;
}

void vb_top_free(struct vb_top_sample *s)
{
	free(s->process);
	free(s->qp);
	memset(s, 0, sizeof *s);
}
