/* SPDX-License-Identifier: BSD-2-Clause */
/* The slots, see slots.h. */
#include "node/store/slots.h"

#include "link/memory.h"
#include "node/broker/past.h"
#include "node/host/clock.h"
#include "node/netdev/devices.h"
#include "node/store/fd_store.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* QPNs that an owner is taken to have used when it did not say where it is. */
#define QPN_GAP 2048
#define QPN_INDEX_MASK 0xffffu /* a QPN is slot + 256 * index */

struct vb_adapter_shm *vb_slots_adapter(const struct vb_slots *s)
{
	return &((struct vb_host_memory *)s->host)->adapter;
}

/* A sender must not take an owner that is gone for a slow one. */
static void show_taken(struct vb_slots *s, uint32_t slot, bool is_taken)
{
	s->slot[slot].is_taken = is_taken;
	__atomic_store_n(&s->host->is_taken[slot], is_taken, __ATOMIC_RELAXED);
}

/* Nobody is to hand in anything to an owner who is gone. */
static void wakeup_close(struct vb_slots *s, uint32_t slot)
{
	struct vb_host_memory *m = (struct vb_host_memory *)s->host;

	__atomic_store_n(&m->wakeup[slot].token, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&m->mailbox[slot].token, 0, __ATOMIC_RELEASE);
}

struct vb_past *vb_slots_past(const struct vb_slots *s)
{
	return &((struct vb_host_memory *)s->host)->past;
}

static int host_create(struct vb_slots *s)
{
	void *p;
	int fd = vb_memory_new(VB_MEMORY_HOST, sizeof(struct vb_host_memory), &p);

	if (fd < 0)
		return fd;
	s->host_fd = fd;
	s->host = p;
	s->host->magic = VB_SHM_MAGIC;
	s->host->version = VB_SHM_VERSION;
	s->host->broker_pid = (uint32_t)getpid();
	vb_adapter_init(vb_slots_adapter(s));
	return 0;
}

/* Nothing is there. */
static void slots_clear(struct vb_slots *s)
{
	memset(s, 0, sizeof *s);
	s->fd_store = s->host_fd = s->cm_fd = -1;
	vb_group_init(&s->group);
	for (int i = 0; i < VB_SLOT_CNT; i++)
		s->slot[i].mem_fd = -1;
	for (uint32_t i = 0; i < VB_CM_STORES; i++)
		s->channels_fd[i] = -1;
}

int vb_slots_init(struct vb_slots *s)
{
	slots_clear(s);
	return host_create(s);
}

/* Where the QPNs of a slot begin: a peer that knows of a QP elsewhere cannot tell those here by it.
 */
static int draw_index(uint16_t *first)
{
	return getrandom(first, sizeof *first, 0) == (ssize_t)sizeof *first ? 0 : -errno;
}

/* Makes the next slot of the group. That of QP0 has no memory. */
static int slot_make(struct vb_slots *s)
{
	uint32_t k = s->group.cnt;
	struct vb_slot *slot = &s->slot[k];
	struct vb_fds fds = {.cnt = 1};
	void *p = NULL;
	uint16_t first;
	int mem_fd = -1, rc = draw_index(&first);

	if (rc)
		return rc;
	if (k >= VB_SLOT_GSI) {
		mem_fd = vb_memory_new(VB_MEMORY_SLOT, sizeof *slot->shm, &p);
		if (mem_fd < 0)
			return mem_fd;
		fds.fd[fds.cnt++] = mem_fd;
	}
	rc = vb_group_grow(&s->group);
	if (rc)
		goto fail;
	fds.fd[0] = s->group.fd[k];
	rc = vb_fd_store_put(s->fd_store, VB_FD_STORE_SLOT, k, &fds);
	if (rc) {
		vb_group_shrink(&s->group);
		goto fail;
	}
	slot->mem_fd = mem_fd;
	slot->shm = p;
	if (p) {
		slot->shm->magic = VB_SHM_MAGIC;
		slot->shm->version = VB_SHM_VERSION;
		slot->shm->slot = k;
		slot->shm->qpn_next = first;
	}
	return 0;
fail:
	vb_memory_unmap(p, sizeof *slot->shm);
	if (mem_fd >= 0)
		close(mem_fd);
	return rc;
}

int vb_slots_start(struct vb_slots *s)
{
	struct vb_fds fds = {.cnt = 1, .fd = {s->host_fd}};
	int rc = vb_group_probe();

	if (rc)
		return rc;
	s->fd_store = vb_fd_store_create();
	if (s->fd_store < 0)
		return s->fd_store;
	rc = vb_fd_store_put(s->fd_store, VB_FD_STORE_HOST, 0, &fds);
	while (!rc && s->group.cnt < VB_SLOT_FIRST)
		rc = slot_make(s);
	if (rc) {
		vb_group_close(&s->group);
		close(s->fd_store);
		s->fd_store = -1;
	}
	return rc;
}

static int adopt_host(struct vb_slots *s, struct vb_fds *fds)
{
	void *p;
	int rc = fds->cnt == 1 ? vb_memory_map(fds->fd[0], sizeof(struct vb_host_memory), true, &p)
			       : -EINVAL;

	if (rc)
		return rc;
	struct vb_host_shm *host = p;
	if (host->magic != VB_SHM_MAGIC || host->version != VB_SHM_VERSION) {
		vb_memory_unmap(p, sizeof(struct vb_host_memory));
		return -EPROTO;
	}
	s->host = host;
	s->host_fd = fds->fd[0];
	fds->cnt = 0;
	return 0;
}

static int adopt_slot(struct vb_slots *s, uint32_t k, struct vb_fds *fds)
{
	struct vb_slot *slot = &s->slot[k];
	void *p = NULL;
	int rc;

	if (k != s->group.cnt || k > VB_SLOT_LAST || fds->cnt != (k < VB_SLOT_GSI ? 1u : 2u))
		return -EINVAL;
	if (fds->cnt == 2) {
		rc = vb_memory_map(fds->fd[1], sizeof *slot->shm, true, &p);
		if (rc)
			return rc;
	}
	rc = vb_group_adopt(&s->group, fds->fd[0]);
	if (rc) {
		vb_memory_unmap(p, sizeof *slot->shm);
		return rc;
	}
	slot->shm = p;
	slot->mem_fd = p ? fds->fd[1] : -1;
	slot->is_taken = p && slot->shm->pid;
	slot->qpn_start = p ? slot->shm->qpn_next : 0;
	fds->cnt = 0;
	return 0;
}

/* A descriptor that is there once. */
static int adopt_fd(int *fd, struct vb_fds *fds)
{
	if (*fd >= 0 || fds->cnt != 1)
		return -EINVAL;
	*fd = fds->fd[0];
	fds->cnt = 0;
	return 0;
}

static int adopt_item(void *ctx, const struct vb_fd_store_item *item, struct vb_fds *fds)
{
	struct vb_slots *s = ctx;
	int rc = -EINVAL;

	if (item->kind == VB_FD_STORE_HOST && !s->host)
		rc = adopt_host(s, fds);
	else if (item->kind == VB_FD_STORE_SLOT)
		rc = adopt_slot(s, item->slot, fds);
	else if (item->kind == VB_FD_STORE_CM)
		rc = adopt_fd(&s->cm_fd, fds);
	else if (item->kind == VB_FD_STORE_CHANNELS && item->slot < VB_CM_STORES)
		rc = adopt_fd(&s->channels_fd[item->slot], fds);
	vb_fds_close(fds);
	return rc;
}

int vb_slots_adopt(struct vb_slots *s, int fd_store)
{
	static struct vb_slots next;

	slots_clear(&next);
	next.fd_store = fd_store;
	int rc = vb_fd_store_walk(fd_store, adopt_item, &next);
	if (!rc && (!next.host || next.group.cnt < VB_SLOT_FIRST))
		rc = -EINVAL;
	if (rc) {
		vb_slots_close(&next);
		return rc;
	}
	next.capture = s->capture;
	vb_host_write_begin(next.host);
	next.host->broker_pid = (uint32_t)getpid();
	vb_host_write_end(next.host);
	vb_slots_close(s);
	*s = next;
	for (uint32_t k = 0; k < VB_SLOT_CNT; k++)
		show_taken(s, k, s->slot[k].is_taken);
	vb_slots_capture(s, s->capture);
	return 0;
}

void vb_slots_occupy(struct vb_slots *s, uint32_t k, pid_t pid, const char *comm)
{
	struct vb_slot *slot = &s->slot[k];

	slot->qpn_start = slot->shm->qpn_next;
	slot->shm->rates.cnt = 0;
	slot->shm->pid = (uint32_t)pid;
	snprintf(slot->shm->comm, sizeof slot->shm->comm, "%s", comm);
	__atomic_store_n(&slot->shm->capture.enabled, s->capture, __ATOMIC_RELAXED);
	vb_group_open(&s->group, k);
	show_taken(s, k, true);
}

int vb_slots_take(struct vb_slots *s, pid_t pid, const char *comm)
{
	uint32_t k = VB_SLOT_FIRST;

	while (k < s->group.cnt && s->slot[k].is_taken)
		k++;
	if (k > VB_SLOT_LAST)
		return -ENOSPC;
	if (k == s->group.cnt) {
		int rc = slot_make(s);

		if (rc)
			return rc;
	}
	vb_slots_occupy(s, k, pid, comm);
	return (int)k;
}

/* Returns the pages of a ring that nobody writes any more. */
static void ring_discard(const struct vb_slot *slot)
{
	(void)fallocate(slot->mem_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			offsetof(struct vb_slot_shm, capture.data), VB_CAPTURE_RING_BYTES);
}

/* The owner has ended, and with it each of its QPs. */
static void qp_entries_end(struct vb_slot_shm *shm)
{
	vb_time now = vb_clock_now();

	for (uint32_t i = 0; i < VB_QP_ENTRIES; i++) {
		struct vb_qp_entry *e = &shm->qp_entry[i];

		if (!e->qpn || e->state == VB_QPS_RESET || e->has_ended)
			continue;
		e->has_ended = 1;
		e->at = now;
	}
}

void vb_slots_release(struct vb_slots *s, uint32_t k)
{
	struct vb_slot *slot = &s->slot[k];
	struct vb_slot_shm *shm = slot->shm;
	uint32_t next = shm->qpn_next;

	vb_group_quiet(&s->group, k);
	show_taken(s, k, false);
	wakeup_close(s, k);
	if (next == slot->qpn_start)
		next += QPN_GAP;
	/* One change for readers: totals neither run backwards nor count twice. */
	vb_host_write_begin(s->host);
	for (int port = 1; port <= VB_HCA_PORTS_MAX; port++)
		for (int i = 0; i < VB_COUNTER_CNT; i++)
			vb_count_add(&s->host->past[port], (enum vb_counter_id)i,
				     __atomic_load_n(&shm->counters[port].v[i], __ATOMIC_RELAXED));
	memset(shm->counters, 0, sizeof shm->counters);
	for (int port = 1; port <= VB_HCA_PORTS_MAX; port++)
		for (int i = 0; i < VB_ADP_FIRED_SLOTS; i++)
			vb_slots_adapter(s)->past_fired[port].slot[i] += shm->fired[port].slot[i];
	memset(shm->fired, 0, sizeof shm->fired);
	vb_past_take(vb_slots_past(s), s->slot[k].shm);
	vb_host_write_end(s->host);
	vb_host_forget_qps((struct vb_host_memory *)s->host, k);
	qp_entries_end(shm);
	shm->pid = 0;
	shm->qpn_next = next & QPN_INDEX_MASK;
	shm->qp_cnt = shm->cq_cnt = shm->mr_cnt = 0;
	shm->queues = 0;
	memset(shm->comm, 0, sizeof shm->comm);
	/* While somebody captures, the last packets of the owner are still to be read. */
	if (!s->capture)
		ring_discard(slot);
	(void)fallocate(slot->mem_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			offsetof(struct vb_slot_shm, explain), sizeof shm->explain);
}

void vb_slots_capture(struct vb_slots *s, bool on)
{
	s->capture = on;
	for (uint32_t k = VB_SLOT_GSI; k < s->group.cnt; k++) {
		__atomic_store_n(&s->slot[k].shm->capture.enabled, on, __ATOMIC_RELAXED);
		if (!on && !s->slot[k].is_taken)
			ring_discard(&s->slot[k]);
	}
}

void vb_slots_total(const struct vb_slots *s, uint32_t port, struct vb_counters *total)
{
	*total = s->host->past[port];
	for (uint32_t k = VB_SLOT_GSI; k < s->group.cnt; k++)
		for (int i = 0; i < VB_COUNTER_CNT; i++)
			total->v[i] +=
			    __atomic_load_n(&s->slot[k].shm->counters[port].v[i], __ATOMIC_RELAXED);
}

void vb_slots_close(struct vb_slots *s)
{
	for (int k = 0; k < VB_SLOT_CNT; k++) {
		vb_memory_unmap(s->slot[k].shm, sizeof *s->slot[k].shm);
		if (s->slot[k].mem_fd >= 0)
			close(s->slot[k].mem_fd);
	}
	vb_group_close(&s->group);
	vb_memory_unmap(s->host, sizeof(struct vb_host_memory));
	if (s->host_fd >= 0)
		close(s->host_fd);
	if (s->fd_store >= 0)
		close(s->fd_store);
	if (s->cm_fd >= 0)
		close(s->cm_fd);
	for (uint32_t i = 0; i < VB_CM_STORES; i++)
		if (s->channels_fd[i] >= 0)
			close(s->channels_fd[i]);
}
