/* SPDX-License-Identifier: BSD-2-Clause */
/* Slots and device tables of the programs at the nodes, see adapter.h. */
#include "node/subnet/adapter/adapter.h"

#include "link/ib/route.h"
#include "link/memory.h"
#include "node/broker/past.h"
#include "node/host/clock.h"
#include "node/host/error_hints.h"
#include "node/netdev/devices.h"
#include "node/subnet/capture/capture.h"
#include "node/subnet/live/live.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define QPN_GAP 2048u /* QPNs that an owner is taken to have used when it did not say */
#define STEP_NS VB_SEC

/* Memory that the processes at a node, or at all nodes, share. */
static int host_create(struct vb_host_memory **out, const char *root)
{
	struct vb_host_memory *m;
	void *p;
	int fd = vb_memory_new(VB_MEMORY_HOST, sizeof *m, &p);

	if (fd < 0)
		return fd;
	m = p;
	m->host.magic = VB_SHM_MAGIC;
	m->host.version = VB_SHM_VERSION;
	m->host.broker_pid = (uint32_t)getpid();
	m->host.is_open = 1;
	snprintf(m->host.sysfs_path, sizeof m->host.sysfs_path, "%s", root);
	vb_adapter_init(&m->adapter);
	*out = m;
	return fd;
}

/* A performance management agent is about to answer. */
static void count_node(void *ctx, uint32_t node)
{
	vb_subnet_count(ctx, node);
}

static int adapter_open(struct vb_subnet_daemon *d)
{
	struct vb_subnet_adapter *a = calloc(1, sizeof *a);
	int rc;

	if (!a)
		return -ENOMEM;
	a->map_fd = -1;
	a->due = VB_NEVER;
	for (uint32_t i = 0; i < VB_IB_SLOTS; i++)
		a->slot[i].mem_fd = -1;
	a->common_fd = rc = host_create(&a->common, "");
	d->adapter = a;
	d->subnet.count = count_node;
	d->subnet.count_ctx = d;
	if (rc >= 0)
		rc = vb_subnet_map_make(d, a);
	if (rc >= 0 && d->real_time)
		rc = vb_subnet_live_open(d, a);
	if (rc < 0) {
		vb_subnet_adapter_close(d);
		return rc;
	}
	return 0;
}

int vb_subnet_adapter_need(struct vb_subnet_daemon *d)
{
	return d->adapter ? 0 : adapter_open(d);
}

static int seat_open(struct vb_subnet_daemon *d, struct vb_subnet_seat *s)
{
	if (s->host)
		return 0;
	s->host_fd = host_create(&s->host, s->root);
	if (s->host_fd < 0)
		return s->host_fd;
	(void)vb_subnet_table_write(d, s->index, &s->host->host);
	return 0;
}

void vb_subnet_seat_close(struct vb_subnet_seat *s)
{
	vb_memory_unmap(s->host, sizeof *s->host);
	s->host = NULL;
	if (s->host_fd >= 0)
		close(s->host_fd);
	s->host_fd = -1;
}

static int slot_make(struct vb_subnet_slot *s, uint32_t k, bool is_captured)
{
	uint16_t first;
	void *p;
	int fd;

	/* Peers that know of a QP of a former fabric cannot tell those here by its number. */
	if (getrandom(&first, sizeof first, 0) != (ssize_t)sizeof first)
		return -errno;
	fd = vb_memory_new(VB_MEMORY_SLOT, sizeof *s->shm, &p);
	if (fd < 0)
		return fd;
	s->shm = p;
	s->mem_fd = fd;
	s->shm->magic = VB_SHM_MAGIC;
	s->shm->version = VB_SHM_VERSION;
	s->shm->slot = k;
	s->shm->qpn_next = first % vb_slot_qpn_cnt(k);
	s->shm->capture.enabled = is_captured;
	return 0;
}

static int slot_choose(struct vb_subnet_adapter *a, bool is_captured)
{
	for (uint32_t k = VB_SLOT_FIRST; k <= VB_IB_SLOT_LAST; k++) {
		int rc;

		if (a->slot[k].owner)
			continue;
		rc = a->slot[k].shm ? 0 : slot_make(&a->slot[k], k, is_captured);
		return rc ? rc : (int)k;
	}
	return -ENOSPC;
}

static int fds_copy(struct vb_fds *fds, const int *from)
{
	fds->cnt = 0;
	for (int i = 0; i < VB_SUBNET_FD_CNT; i++) {
		int fd = fcntl(from[i], F_DUPFD_CLOEXEC, 0);

		if (fd < 0) {
			int rc = -errno;

			vb_fds_close(fds);
			return rc;
		}
		fds->fd[fds->cnt++] = fd;
	}
	return 0;
}

/* The slot is the program's now. */
static void slot_occupy(struct vb_subnet_adapter *a, uint32_t k, struct vb_subnet_conn *c,
			const char *name)
{
	struct vb_subnet_slot *s = &a->slot[k];
	struct ucred cred = {.pid = 0};
	socklen_t len = sizeof cred;

	(void)getsockopt(c->watch.fd, SOL_SOCKET, SO_PEERCRED, &cred, &len);
	s->owner = c;
	s->qpn_start = s->shm->qpn_next;
	s->shm->pid = (uint32_t)cred.pid;
	snprintf(s->shm->comm, sizeof s->shm->comm, "%.15s", name);
	c->slot = k;
	if (a->taken_cnt++ == 0)
		a->due = vb_time_min(a->due, vb_clock_now() + STEP_NS);
	/* The groups of the owner before are not those of this one. */
	memset(vb_ib_map_routes(a->map, k)->group, 0, sizeof vb_ib_map_routes(a->map, k)->group);
	__atomic_store_n(&vb_ib_map_routes(a->map, k)->node, c->seat->index, __ATOMIC_RELEASE);
}

int vb_subnet_slot_take(struct vb_subnet_daemon *d, struct vb_subnet_conn *c,
			struct vb_subnet_answer *answer, struct vb_fds *fds)
{
	int k, rc;

	if (!c->seat || c->slot)
		return -EINVAL;
	if (!vb_subnet_has_verbs(d, c->seat->index)) {
		snprintf(answer->text, sizeof answer->text,
			 vb_subnet_at_switch(d, c->seat->index)
			     ? "'%s' is a switch: its port 0 has management, and no verbs"
			     : "'%s' is a router: its ports have management, and no verbs",
			 d->topo->node[c->seat->index].name);
		return -ENODEV;
	}
	rc = vb_subnet_adapter_need(d);
	if (!rc)
		rc = seat_open(d, c->seat);
	k = rc ? rc : slot_choose(d->adapter, vb_subnet_is_captured(d));
	if (k == -ENOSPC) {
		snprintf(answer->text, sizeof answer->text,
			 "all 253 slots of the fabric '%s' are taken; end one of its programs",
			 d->name);
		return k;
	}
	if (k >= 0) {
		const int from[] = {[VB_SUBNET_SLOT] = d->adapter->slot[k].mem_fd,
				    [VB_SUBNET_NODE] = c->seat->host_fd,
				    [VB_SUBNET_COMMON] = d->adapter->common_fd,
				    [VB_SUBNET_MAP] = d->adapter->map_fd};

		rc = fds_copy(fds, from);
	}
	if (k < 0 || rc)
		return vb_error_hint(answer->text, sizeof answer->text, rc ? rc : k,
				     "the fabric's process, whose limits are those of the shell "
				     "that started it, cannot make a slot");
	slot_occupy(d->adapter, (uint32_t)k, c, d->call.text);
	answer->token = (uint64_t)k;
	return 0;
}

/* The QPs of the program of slot @k that have failed are told of when it has ended. */
static void past_take(struct vb_subnet_daemon *d, uint32_t k)
{
	struct vb_subnet_adapter *a = d->adapter;
	struct vb_past *p = &a->common->past;
	uint32_t from = p->next % VB_PAST_QPS;

	vb_host_write_begin(&a->common->host);
	vb_past_take(p, a->slot[k].shm);
	vb_host_write_end(&a->common->host);
	for (; from != p->next % VB_PAST_QPS; from = (from + 1) % VB_PAST_QPS)
		a->past_node[from] = a->slot[k].owner->seat->index;
}

void vb_subnet_slot_release(struct vb_subnet_daemon *d, struct vb_subnet_conn *c)
{
	struct vb_subnet_adapter *a = d->adapter;
	uint32_t k = c->slot, next;
	struct vb_slot_shm *shm;

	if (k == 0)
		return;
	if (d->live)
		vb_subnet_live_flush(d, k, vb_clock_now());
	vb_subnet_count(d, c->seat->index);
	past_take(d, k);
	c->slot = 0;
	shm = a->slot[k].shm;
	a->slot[k].owner = NULL;
	memset(a->slot[k].bad_pkey, 0, sizeof a->slot[k].bad_pkey);
	memset(a->slot[k].bad_qkey, 0, sizeof a->slot[k].bad_qkey);
	memset(a->slot[k].cct_events, 0, sizeof a->slot[k].cct_events);
	/* Nobody sends there, or hands in anything, any more. */
	__atomic_store_n(&vb_ib_map_routes(a->map, k)->node, VB_IB_NOWHERE, __ATOMIC_RELEASE);
	__atomic_store_n(&a->common->wakeup[k].token, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&a->common->mailbox[k].token, 0, __ATOMIC_RELEASE);
	(void)vb_ib_routes_add_up(a->map, vb_ib_map_routes(a->map, k), true);
	vb_host_forget_qps(a->common, k);
	next = shm->qpn_next;
	if (next == a->slot[k].qpn_start)
		next += QPN_GAP;
	memset(shm->counters, 0, sizeof shm->counters);
	memset(shm->fired, 0, sizeof shm->fired);
	memset(shm->cct_events, 0, sizeof shm->cct_events);
	memset(shm->qp_entry, 0, sizeof shm->qp_entry);
	memset(shm->comm, 0, sizeof shm->comm);
	shm->pid = 0;
	shm->qpn_next = next % vb_slot_qpn_cnt(k);
	shm->qp_cnt = shm->cq_cnt = shm->mr_cnt = 0;
	shm->queues = 0;
	(void)fallocate(a->slot[k].mem_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			offsetof(struct vb_slot_shm, explain), sizeof shm->explain);
	a->taken_cnt--; /* the next step counts what it has sent, and tells of that. FAB-36 */
}

/* Programs look at the table when a message comes. One that does not read has enough of them. */
void vb_subnet_programs_wake(struct vb_subnet_daemon *d, const struct vb_subnet_seat *seat)
{
	static const uint32_t changed = 1;

	for (struct vb_list *l = d->conns.next; l != &d->conns; l = l->next) {
		struct vb_subnet_conn *c = vb_container_of(l, struct vb_subnet_conn, node);

		if (c->slot && c->seat == seat)
			(void)send(c->watch.fd, &changed, sizeof changed,
				   MSG_DONTWAIT | MSG_NOSIGNAL);
	}
}

void vb_subnet_adapter_follow(struct vb_subnet_daemon *d, uint32_t node)
{
	if (!d->adapter)
		return;
	vb_subnet_map_follow(d, node);
	vb_subnet_live_follow(d, node);
	for (struct vb_list *l = d->seats.next; l != &d->seats; l = l->next) {
		struct vb_subnet_seat *s = vb_container_of(l, struct vb_subnet_seat, node);

		if (s->index == node && s->host && vb_subnet_table_write(d, node, &s->host->host))
			vb_subnet_programs_wake(d, s);
	}
}

vb_time vb_subnet_adapter_due(const struct vb_subnet_daemon *d)
{
	return d->adapter ? d->adapter->due : VB_NEVER;
}

void vb_subnet_adapter_step(struct vb_subnet_daemon *d, vb_time now)
{
	if (now < vb_subnet_adapter_due(d))
		return;
	for (uint32_t i = 0; i < d->subnet.node_cnt; i++)
		vb_subnet_count(d, i);
	if (d->live)
		vb_link_sweep(d->live->link);
	d->adapter->due = d->adapter->taken_cnt ? now + STEP_NS : VB_NEVER;
}

void vb_subnet_adapter_close(struct vb_subnet_daemon *d)
{
	struct vb_subnet_adapter *a = d->adapter;

	if (!a)
		return;
	vb_subnet_live_close(d);
	d->adapter = NULL;
	for (uint32_t i = 0; i < VB_IB_SLOTS; i++) {
		vb_memory_unmap(a->slot[i].shm, sizeof *a->slot[i].shm);
		if (a->slot[i].mem_fd >= 0)
			close(a->slot[i].mem_fd);
	}
	vb_subnet_map_close(a);
	vb_memory_unmap(a->common, sizeof *a->common);
	if (a->common_fd >= 0)
		close(a->common_fd);
	free(a);
}
