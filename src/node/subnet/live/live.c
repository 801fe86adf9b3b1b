/* SPDX-License-Identifier: BSD-2-Clause */
/* The clock of a fabric in real time, see live.h. timerfd_create(2) */
#include "node/subnet/live/live.h"

#include "link/ib/ib.h"
#include "link/shm/shm.h"
#include "node/host/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Things that machines do between two looks at the rings. */
#define EVENTS 128u
/* So long the process does nothing else at once. */
#define TURN_NS (2 * VB_MSEC)
/* A later awakening costs the fabric no more time than this. */
#define LATE_NS VB_MSEC
/* A deadline that near is not worth sleeping. */
#define DOZE_NS (20 * VB_USEC)
/* When to look again whether there is room: in a program's ring, in a port. */
#define RECEIVER_NS (100 * VB_USEC)
#define SENDER_NS VB_MSEC

static vb_time time_at(const struct vb_subnet_live *v, vb_time wall)
{
	return v->base + (wall - v->base_wall) / v->scale;
}

static int watch_add(struct vb_subnet_daemon *d, struct vb_watch *w)
{
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = w};

	return epoll_ctl(d->epoll_fd, EPOLL_CTL_ADD, w->fd, &e) ? -errno : 0;
}

static int link_open(struct vb_subnet_adapter *a, struct vb_subnet_live *v)
{
	struct vb_link_config cfg = {
	    .rx_fd = -1, .slot = VB_IB_CARRIER, .wakeup = a->common->wakeup, .ctx = v};
	struct vb_link *below;
	int rc;

	for (uint32_t i = 0; i < VB_LINK_PORTS_MAX; i++)
		cfg.counters[i] = &v->counters;
	rc = vb_nowhere_open(&below, &cfg);
	if (rc)
		return rc;
	cfg.lower = below;
	rc = vb_shm_open(&v->link, &cfg);
	if (rc)
		below->ops->close(below);
	return rc;
}

static int watches_open(struct vb_subnet_daemon *d, struct vb_subnet_live *v)
{
	int rc;

	v->watch = (struct vb_watch){VB_WATCH_LIVE, vb_link_fd(v->link)};
	v->timer.kind = VB_WATCH_LIVE_TIMER;
	v->timer.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (v->timer.fd < 0)
		return -errno;
	rc = watch_add(d, &v->watch);
	return rc ? rc : watch_add(d, &v->timer);
}

int vb_subnet_live_open(struct vb_subnet_daemon *d, struct vb_subnet_adapter *a)
{
	struct vb_subnet_live *v = calloc(1, sizeof *v);
	int rc;

	if (!v)
		return -ENOMEM;
	d->live = v;
	v->scale = d->real_time;
	v->base_wall = vb_clock_now();
	v->awake_at = VB_NEVER;
	v->timer.fd = -1;
	rc = link_open(a, v);
	if (!rc)
		rc = watches_open(d, v);
	if (!rc)
		rc = vb_subnet_live_make(d, v);
	if (rc) {
		vb_subnet_live_close(d);
		return rc;
	}
	a->map->carrier = VB_IB_CARRIER;
	return 0;
}

void vb_subnet_live_close(struct vb_subnet_daemon *d)
{
	struct vb_subnet_live *v = d->live;

	if (!v)
		return;
	d->live = NULL;
	vb_subnet_live_unmake(v);
	if (v->link)
		v->link->ops->close(v->link);
	if (v->timer.fd >= 0)
		close(v->timer.fd);
	free(v);
}

/* While the process did not run no packet could come, so no time went by either. */
static void lateness_forgive(struct vb_subnet_live *v, vb_time wall)
{
	vb_dur late;

	if (v->awake_at == VB_NEVER || wall <= v->awake_at + LATE_NS)
		return;
	late = wall - v->awake_at - LATE_NS;
	v->base_wall += late;
	v->lost += late;
}

/* The machine does less than the links in the same time: these wait for it. */
static void clock_hold(struct vb_subnet_live *v, vb_time wall)
{
	vb_time t = time_at(v, wall);

	if (v->net.now >= t)
		return;
	v->lost += (t - v->net.now) * v->scale;
	v->base = v->net.now;
	v->base_wall = wall;
}

void vb_subnet_live_step(struct vb_subnet_daemon *d)
{
	struct vb_subnet_live *v = d->live;
	vb_time begin, wall;
	bool more = true;

	if (!v)
		return;
	if (v->is_parked)
		vb_link_park(v->link, false);
	v->is_parked = false;
	wall = begin = vb_clock_now();
	lateness_forgive(v, wall);
	while (more && vb_time_since(begin, wall) < TURN_NS) {
		more = vb_ib_net_run(&v->net, time_at(v, wall), EVENTS) == EVENTS;
		more |= vb_subnet_tunnels_send(d);
		more |= vb_subnet_live_deliver(d, wall);
		more |= vb_subnet_live_send(d, wall);
		wall = vb_clock_now();
	}
	v->is_busy = more;
	if (more && vb_ib_net_due(&v->net) <= time_at(v, wall))
		clock_hold(v, wall);
	v->awake_at = wall;
}

/* When there is something to do, if nothing comes. */
static vb_time next_at(const struct vb_subnet_live *v, vb_time wall)
{
	vb_time at = vb_subnet_live_wall(v, vb_ib_net_due(&v->net));

	if (v->some_waits)
		at = vb_time_min(at, wall + RECEIVER_NS);
	if (v->some_held)
		at = vb_time_min(at, wall + SENDER_NS);
	return at;
}

int vb_subnet_live_wait(struct vb_subnet_daemon *d, int ms)
{
	struct vb_subnet_live *v = d->live;
	vb_time wall, at;

	if (!v)
		return ms;
	if (v->is_busy)
		return 0;
	wall = vb_clock_now();
	at = next_at(v, wall);
	if (at <= wall + DOZE_NS)
		return 0;
	vb_link_park(v->link, true);
	v->is_parked = true;
	if (vb_subnet_live_is_sent(v))
		return 0;
	v->awake_at = at;
	if (at != VB_NEVER) {
		const struct itimerspec t = {
		    .it_value = {(time_t)(at / VB_SEC), (long)(at % VB_SEC)}};

		(void)timerfd_settime(v->timer.fd, TFD_TIMER_ABSTIME, &t, NULL);
	}
	return ms;
}
