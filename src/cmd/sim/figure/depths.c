/* SPDX-License-Identifier: BSD-2-Clause */
/* Queues of switches at the ends of intervals. See depths.h. */
#include "cmd/sim/figure/depths.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

void vb_depths_begin(struct vb_depths *d, const struct vb_scenario_run *run)
{
	assert(d->every > 0);
	d->run = run;
	d->next = d->every;
}

static struct vb_depths_port *port_record(struct vb_depths *d, uint32_t port)
{
	uint32_t i = vb_map_get(&d->place, (uint64_t)port + 1);
	struct vb_depths_port *p;

	if (i != VB_MAP_NONE)
		return d->port[i];
	if (d->port_cnt == VB_DEPTHS_PORTS)
		return NULL;
	p = calloc(1, sizeof *p);
	if (!p || !vb_map_put(&d->place, (uint64_t)port + 1, d->port_cnt)) {
		free(p);
		d->err = -ENOMEM;
		return NULL;
	}
	p->port = port;
	d->port[d->port_cnt++] = p;
	return p;
}

static void sample_ports(struct vb_depths *d)
{
	const struct vb_sim_topo *t = &d->run->topo;

	for (uint32_t port = 0; port < 2 * t->link_cnt; port++) {
		const struct vb_sim_topo_link *l = &t->link[port / 2];
		uint32_t bytes;
		struct vb_depths_port *p;

		if ((port & 1 ? l->b : l->a) < t->host_cnt)
			continue;
		bytes = vb_sim_port_waiting(d->run->sim, port);
		p = bytes ? port_record(d, port) : NULL;
		if (!p)
			continue;
		p->cnt[vb_queue_class(bytes)]++;
		p->waits++;
		p->sum += bytes;
		p->most = bytes > p->most ? bytes : p->most;
	}
	d->samples++;
	d->has_moved = false;
}

void vb_depths_reach(struct vb_depths *d, vb_time next)
{
	if (next == VB_NEVER)
		return;
	for (; d->next < next; d->next += d->every) {
		if (!d->has_moved) {
			/* Times without packets are left out, however many there are. */
			d->next += (next - 1 - d->next) / d->every * d->every;
			continue;
		}
		sample_ports(d);
	}
}

static int by_mean(const void *va, const void *vb)
{
	const struct vb_depths_port *a = *(struct vb_depths_port *const *)va,
				    *b = *(struct vb_depths_port *const *)vb;

	if (a->sum != b->sum)
		return a->sum > b->sum ? -1 : 1;
	return a->port < b->port ? -1 : a->port > b->port;
}

void vb_depths_end(struct vb_depths *d)
{
	qsort(d->port, d->port_cnt, sizeof d->port[0], by_mean);
}

uint32_t vb_depths_steps(const struct vb_depths *d, const struct vb_depths_port *p, double *bytes,
			 double *share)
{
	uint32_t cnt = 1;
	uint64_t sum = d->samples - p->waits;

	assert(d->samples > 0 && p->cnt[0] == 0);
	/* From 0 on, so that the line begins at the axis. */
	bytes[0] = 0;
	share[0] = (double)sum / (double)d->samples;
	for (uint32_t i = 1; i < VB_QUEUE_CLASSES; i++) {
		uint64_t top = vb_queue_class_top(i);

		if (p->cnt[i] == 0)
			continue;
		sum += p->cnt[i];
		bytes[cnt] = (double)(top < p->most ? top : p->most);
		share[cnt++] = (double)sum / (double)d->samples;
	}
	assert(sum == d->samples);
	return cnt;
}

void vb_depths_free(struct vb_depths *d)
{
	for (uint32_t i = 0; i < d->port_cnt; i++)
		free(d->port[i]);
	d->port_cnt = 0;
	vb_map_free(&d->place);
}
