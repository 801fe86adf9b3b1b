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

struct vb_adapter_shm *vb_slots_adapter(const struct vb_slots *s)
{
	return &((struct vb_host_memory *)s->host)->adapter;
}

/* A sender must not take an owner that is gone for a slow one. */
static void show_taken(struct vb_slots *s, uint32_t slot, bool is_taken)
{
	struct vb_slot *at = &s->slot[slot];

	at->is_taken = is_taken;
	at->is_used = at->is_used || is_taken;
	__atomic_store_n(&s->host->taken[slot],
			 is_taken      ? VB_SLOT_TAKEN
			 : at->is_used ? VB_SLOT_VACANT
				       : VB_SLOT_NEW,
			 __ATOMIC_RELAXED);
}

bool vb_slots_is_used(const struct vb_slots *s, uint32_t k)
{
	return s->slot[k].is_used;
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
	for (uint32_t i = 0; i < VB_SLOT_CNT; i++)
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

/* The memory of a slot that nobody has had. */
static int slot_begin(struct vb_slot *slot, uint32_t k)
{
	uint16_t first;
	int rc = draw_index(&first);

	if (rc)
		return rc;
	slot->shm->magic = VB_SHM_MAGIC;
	slot->shm->version = VB_SHM_VERSION;
	slot->shm->slot = k;
	slot->shm->qpn_next = first % vb_slot_qpn_cnt(k);
	slot->is_used = true;
	return 0;
}

static int memory_make(struct vb_slot *slot)
{
	void *p;
	int fd = vb_memory_new(VB_MEMORY_SLOT, sizeof *slot->shm, &p);

	if (fd < 0)
		return fd;
	slot->mem_fd = fd;
	slot->shm = p;
	return 0;
}

static void memory_drop(struct vb_slot *slot)
{
	vb_memory_unmap(slot->shm, sizeof *slot->shm);
	if (slot->mem_fd >= 0)
		close(slot->mem_fd);
	*slot = (struct vb_slot){.mem_fd = -1};
}

/* The next slots of the group are made together: one wide slot, or the narrow ones of a low byte.
 */
static uint32_t next_cnt(const struct vb_slots *s)
{
	uint32_t left = VB_SLOT_LAST + 1 - s->group.cnt;

	if (s->group.cnt < VB_SLOT_WIDE)
		return 1;
	return left < VB_SLOT_SHARE ? left : VB_SLOT_SHARE;
}

/* Puts slots @k to @k + @cnt - 1, which have just been made, into the descriptor store. */
static int slots_keep(const struct vb_slots *s, uint32_t k, uint32_t cnt)
{
	struct vb_fds fds = {.cnt = 0};

	_Static_assert(2 * VB_SLOT_SHARE <= VB_BROKER_FDS_MAX, "they travel together");
	for (uint32_t i = k; i < k + cnt; i++)
		fds.fd[fds.cnt++] = s->group.fd[i];
	for (uint32_t i = k; i < k + cnt && k >= VB_SLOT_GSI; i++)
		fds.fd[fds.cnt++] = s->slot[i].mem_fd;
	return vb_fd_store_put(s->fd_store, VB_FD_STORE_SLOT, k, &fds);
}

/* Makes the next slots of the group. That of QP0 has no memory; that of narrow ones is touched when
 * the first owner comes, for it takes room from then on. */
static int slots_make(struct vb_slots *s)
{
	uint32_t k = s->group.cnt, cnt = next_cnt(s);
	int rc = 0;

	for (uint32_t i = k; i < k + cnt && !rc && k >= VB_SLOT_GSI; i++) {
		rc = memory_make(&s->slot[i]);
		if (!rc && i < VB_SLOT_WIDE)
			rc = slot_begin(&s->slot[i], i);
	}
	if (!rc) {
		rc = vb_group_grow(&s->group, cnt);
		if (!rc) {
			rc = slots_keep(s, k, cnt);
			if (rc)
				vb_group_shrink(&s->group, cnt);
		}
	}
	for (uint32_t i = k; i < k + cnt && rc; i++)
		memory_drop(&s->slot[i]);
	return rc;
}

/* A descriptor store with host memory. */
static int store_begin(struct vb_slots *s)
{
	struct vb_fds fds = {.cnt = 1, .fd = {s->host_fd}};

	s->fd_store = vb_fd_store_create();
	return s->fd_store < 0 ? s->fd_store
			       : vb_fd_store_put(s->fd_store, VB_FD_STORE_HOST, 0, &fds);
}

int vb_slots_start(struct vb_slots *s)
{
	int rc = vb_group_probe();

	if (rc)
		return rc;
	rc = store_begin(s);
	if (s->fd_store < 0)
		return rc;
	while (!rc && s->group.cnt < VB_SLOT_FIRST)
		rc = slots_make(s);
	if (rc) {
		vb_group_close(&s->group);
		close(s->fd_store);
		s->fd_store = -1;
	}
	return rc;
}

/* Any slot may be one of ours, and none has a socket. */
static void carried_begin(struct vb_slots *s)
{
	s->is_carried = true;
	s->group.cnt = VB_SLOT_LAST + 1;
}

static int carried_make(struct vb_slots *s, uint32_t k)
{
	struct vb_fds fds = {.cnt = 1};
	int rc = memory_make(&s->slot[k]);

	if (rc)
		return rc;
	fds.fd[0] = s->slot[k].mem_fd;
	rc = slot_begin(&s->slot[k], k);
	if (!rc)
		rc = vb_fd_store_put(s->fd_store, VB_FD_STORE_CARRIED, k, &fds);
	if (rc)
		memory_drop(&s->slot[k]);
	return rc;
}

int vb_slots_start_carried(struct vb_slots *s)
{
	int rc = store_begin(s);

	if (!rc)
		carried_begin(s);
	if (!rc)
		rc = carried_make(s, VB_SLOT_GSI);
	if (rc && s->fd_store >= 0) {
		close(s->fd_store);
		s->fd_store = -1;
		s->is_carried = false;
		s->group.cnt = 0;
	}
	return rc;
}

int vb_slots_take_carried(struct vb_slots *s, uint32_t k, pid_t pid, const char *comm)
{
	int rc = 0;

	if (!s->is_carried || k < VB_SLOT_FIRST || k > VB_SLOT_LAST)
		return -EINVAL;
	if (s->slot[k].is_taken)
		return -EBUSY;
	if (!s->slot[k].shm)
		rc = carried_make(s, k);
	if (!rc)
		vb_slots_occupy(s, k, pid, comm);
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

/* The memory at @fd is slot @k's. */
static int adopt_memory(struct vb_slots *s, uint32_t k, int fd)
{
	struct vb_slot *slot = &s->slot[k];
	uint8_t taken = __atomic_load_n(&s->host->taken[k], __ATOMIC_RELAXED);
	void *p;
	int rc = vb_memory_map(fd, sizeof *slot->shm, true, &p);

	if (rc)
		return rc;
	slot->shm = p;
	slot->mem_fd = fd;
	slot->is_used = taken != VB_SLOT_NEW || k < VB_SLOT_WIDE;
	slot->is_taken = slot->is_used && slot->shm->pid;
	slot->qpn_start = slot->is_used ? slot->shm->qpn_next : 0;
	return 0;
}

/* Sockets, and then as many memories; that of QP0 has none. Host memory comes before them. */
static int adopt_slots(struct vb_slots *s, uint32_t k, struct vb_fds *fds)
{
	uint32_t cnt = k < VB_SLOT_GSI ? fds->cnt : fds->cnt / 2;
	int rc = 0;

	if (!s->host || k != s->group.cnt || k > VB_SLOT_LAST || cnt != next_cnt(s) ||
	    fds->cnt != (k < VB_SLOT_GSI ? cnt : 2 * cnt))
		return -EINVAL;
	for (uint32_t i = 0; i < cnt && !rc; i++) {
		rc = vb_group_adopt(&s->group, fds->fd[i]);
		if (!rc)
			fds->fd[i] = -1;
		if (!rc && k >= VB_SLOT_GSI) {
			rc = adopt_memory(s, k + i, fds->fd[cnt + i]);
			if (!rc)
				fds->fd[cnt + i] = -1;
		}
	}
	return rc;
}

static int adopt_carried(struct vb_slots *s, uint32_t k, struct vb_fds *fds)
{
	int rc;

	if (!s->host || fds->cnt != 1 || k < VB_SLOT_GSI || k > VB_SLOT_LAST ||
	    (s->group.cnt && !s->is_carried) || s->slot[k].shm)
		return -EINVAL;
	carried_begin(s);
	rc = adopt_memory(s, k, fds->fd[0]);
	if (!rc)
		fds->cnt = 0;
	return rc;
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
		rc = adopt_slots(s, item->slot, fds);
	else if (item->kind == VB_FD_STORE_CARRIED)
		rc = adopt_carried(s, item->slot, fds);
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

/* Narrow slot number @n among those that are made and free; VB_SLOT_CNT: there are not so many. */
static uint32_t narrow_at(const struct vb_slots *s, uint32_t n)
{
	for (uint32_t k = VB_SLOT_WIDE; k < s->group.cnt; k++)
		if (!s->slot[k].is_taken && n-- == 0)
			return k;
	return VB_SLOT_CNT;
}

/* One of them; VB_SLOT_CNT: there is none. */
static int narrow_draw(const struct vb_slots *s, uint32_t *k)
{
	uint32_t free_cnt = 0;
	uint16_t n;
	int rc = draw_index(&n);

	for (uint32_t i = VB_SLOT_WIDE; i < s->group.cnt; i++)
		free_cnt += !s->slot[i].is_taken;
	*k = free_cnt ? narrow_at(s, n % free_cnt) : VB_SLOT_CNT;
	return rc;
}

/* A slot that is made and free; VB_SLOT_CNT: there is none. */
static int choose_made(const struct vb_slots *s, uint32_t *k)
{
	for (*k = VB_SLOT_FIRST; *k < s->group.cnt && *k < VB_SLOT_WIDE; ++*k)
		if (!s->slot[*k].is_taken)
			return 0;
	return narrow_draw(s, k);
}

int vb_slots_take(struct vb_slots *s, pid_t pid, const char *comm)
{
	uint32_t k;
	int rc = choose_made(s, &k);

	if (!rc && k == VB_SLOT_CNT) {
		if (s->group.cnt > VB_SLOT_LAST)
			return -ENOSPC;
		rc = slots_make(s);
		if (!rc)
			rc = choose_made(s, &k);
	}
	if (!rc && !s->slot[k].is_used)
		rc = slot_begin(&s->slot[k], k);
	if (rc)
		return rc;
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
	wakeup_close(s, k);
	if (next == slot->qpn_start)
		next += QPN_GAP;
	/* One change for readers: totals neither run backwards nor count twice. */
	vb_host_write_begin(s->host);
	show_taken(s, k, false);
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
	shm->qpn_next = next % vb_slot_qpn_cnt(k);
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
		if (!s->slot[k].is_used)
			continue;
		__atomic_store_n(&s->slot[k].shm->capture.enabled, on, __ATOMIC_RELAXED);
		if (!on && !s->slot[k].is_taken)
			ring_discard(&s->slot[k]);
	}
}

void vb_slots_total(const struct vb_slots *s, uint32_t port, struct vb_counters *total)
{
	*total = s->host->past[port];
	for (uint32_t k = VB_SLOT_GSI; k < s->group.cnt; k++)
		for (int i = 0; i < VB_COUNTER_CNT && s->slot[k].is_used; i++)
			total->v[i] +=
			    __atomic_load_n(&s->slot[k].shm->counters[port].v[i], __ATOMIC_RELAXED);
}

void vb_slots_close(struct vb_slots *s)
{
	for (uint32_t k = 0; k < s->group.cnt; k++)
		memory_drop(&s->slot[k]);
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
