/* SPDX-License-Identifier: BSD-2-Clause */
/* See memory.h. */
#include "node/cm/memory.h"

#include "link/memory.h"
#include "node/store/fd_store.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAGIC 0x5642434du
#define VERSION 6u
#define MEMORY_NAME "verbena-cm"
/* Items in a store, those of closed channels included, before these are taken out. */
#define ITEMS_MAX (VB_CM_STORE_CHANNELS + VB_CM_STORE_CHANNELS / 2)

static int memory_create(struct vb_cm_memory *m)
{
	struct vb_fds fds = {.cnt = 1};
	void *p;
	int fd = vb_memory_new(MEMORY_NAME, sizeof *m->kept, &p), rc;

	if (fd < 0)
		return fd;
	fds.fd[0] = fd;
	rc = vb_fd_store_put(m->slots->fd_store, VB_FD_STORE_CM, 0, &fds);
	if (rc) {
		vb_memory_unmap(p, sizeof *m->kept);
		close(fd);
		return rc;
	}
	m->kept = p;
	m->kept->magic = MAGIC;
	m->kept->version = VERSION;
	m->slots->cm_fd = fd;
	return 0;
}

static int memory_adopt(struct vb_cm_memory *m)
{
	struct vb_cm_kept *kept;
	void *p;
	int rc = vb_memory_map(m->slots->cm_fd, sizeof *m->kept, true, &p);

	if (rc)
		return rc;
	kept = p;
	if (kept->magic != MAGIC || kept->version != VERSION)
		rc = -EPROTO;
	if (!rc)
		rc = vb_journal_recover(&kept->journal, kept, sizeof *kept);
	if (rc) {
		vb_memory_unmap(p, sizeof *m->kept);
		return rc;
	}
	m->kept = kept;
	return 1;
}

int vb_cm_memory_open(struct vb_cm_memory *m, struct vb_slots *s)
{
	*m = (struct vb_cm_memory){.slots = s};
	return s->cm_fd >= 0 ? memory_adopt(m) : memory_create(m);
}

void vb_cm_memory_close(struct vb_cm_memory *m)
{
	vb_memory_unmap(m->kept, sizeof *m->kept);
	m->kept = NULL;
}

struct vb_ucma_region vb_cm_memory_region(const struct vb_cm_memory *m)
{
	return (struct vb_ucma_region){
	    .base = m->kept, .journal = &m->kept->journal, .kept = &m->kept->ucma};
}

/* The store of channel @index, made when the first one needs it. */
static int store_of(struct vb_cm_memory *m, uint32_t index)
{
	uint32_t block = index / VB_CM_STORE_CHANNELS;
	int *fd = &m->slots->channels_fd[block];
	struct vb_fds fds = {.cnt = 1};
	int rc;

	if (*fd >= 0)
		return *fd;
	rc = vb_fd_store_create();
	if (rc < 0)
		return rc;
	fds.fd[0] = rc;
	*fd = rc;
	rc = vb_fd_store_put(m->slots->fd_store, VB_FD_STORE_CHANNELS, block, &fds);
	if (rc) {
		close(*fd);
		*fd = -1;
		return rc;
	}
	return *fd;
}

/* Whether an item is of a channel that is open. */
static bool channel_is_open(void *ctx, const struct vb_fd_store_item *item)
{
	const struct vb_cm_memory *m = ctx;

	return item->slot < VB_CM_CHANNELS_MAX && item->token &&
	       m->kept->channel[item->slot].token == item->token;
}

static void store_sift(struct vb_cm_memory *m, uint32_t block)
{
	uint32_t left = 0;

	if (vb_fd_store_sift(m->slots->channels_fd[block], m->item_cnt[block], channel_is_open, m))
		return;
	for (uint32_t i = 0; i < VB_CM_STORE_CHANNELS; i++)
		left += m->kept->channel[block * VB_CM_STORE_CHANNELS + i].token != 0;
	m->item_cnt[block] = left;
}

void vb_cm_memory_add(struct vb_cm_memory *m, uint32_t index, uint64_t token, int fd)
{
	uint32_t block = index / VB_CM_STORE_CHANNELS;
	int store = m->kept ? store_of(m, index) : -1;

	if (store < 0)
		return;
	if (m->item_cnt[block] >= ITEMS_MAX)
		store_sift(m, block);
	if (vb_fd_store_put_channel(store, index, token, fd))
		return;
	m->item_cnt[block]++;
	m->kept->channel[index].serial = 0;
	m->kept->channel[index].is_held = 0;
	m->kept->channel[index].pid = 0;
	__atomic_store_n(&m->kept->channel[index].token, token, __ATOMIC_RELEASE);
}

void vb_cm_memory_remove(struct vb_cm_memory *m, uint32_t index)
{
	if (m->kept)
		__atomic_store_n(&m->kept->channel[index].token, 0, __ATOMIC_RELEASE);
}

struct walk {
	struct vb_cm_memory *m;
	void (*each)(void *ctx, uint32_t index, uint64_t token, int fd);
	void *ctx;
	uint32_t block;
	uint8_t seen[VB_CM_CHANNELS_MAX]; /* a sift that was cut off leaves an item twice */
};

static int walk_item(void *ctx, const struct vb_fd_store_item *item, struct vb_fds *fds)
{
	struct walk *w = ctx;

	w->m->item_cnt[w->block]++;
	if (item->kind == VB_FD_STORE_CHANNEL && fds->cnt == 1 && channel_is_open(w->m, item) &&
	    !w->seen[item->slot]) {
		w->seen[item->slot] = 1;
		w->each(w->ctx, item->slot, item->token, fds->fd[0]);
		fds->cnt = 0;
	}
	vb_fds_close(fds);
	return 0;
}

void vb_cm_memory_walk(struct vb_cm_memory *m,
		       void (*each)(void *ctx, uint32_t index, uint64_t token, int fd), void *ctx)
{
	struct walk w = {.m = m, .each = each, .ctx = ctx};

	for (uint32_t i = 0; i < VB_CM_STORES; i++) {
		w.block = i;
		if (m->slots->channels_fd[i] >= 0)
			(void)vb_fd_store_walk(m->slots->channels_fd[i], walk_item, &w);
	}
	/* A channel whose end is not there has ended. */
	for (uint32_t i = 0; i < VB_CM_CHANNELS_MAX; i++)
		if (!w.seen[i])
			m->kept->channel[i].token = 0;
}

const struct vb_cm_answer *vb_cm_memory_answer(const struct vb_cm_memory *m, uint32_t index,
					       uint64_t serial)
{
	const struct vb_cm_kept_channel *ch = m->kept ? &m->kept->channel[index] : NULL;

	return ch && serial && ch->serial == serial && ch->answer.len <= sizeof ch->answer.body
		   ? &ch->answer
		   : NULL;
}

bool vb_cm_memory_is_held(const struct vb_cm_memory *m, uint32_t index, uint64_t *serial)
{
	const struct vb_cm_kept_channel *ch = m->kept ? &m->kept->channel[index] : NULL;

	*serial = ch ? ch->hold_serial : 0;
	return ch && ch->is_held;
}

void vb_cm_memory_hold(struct vb_cm_memory *m, uint32_t index, bool is_held, uint64_t serial)
{
	struct vb_cm_kept_channel *ch = m->kept ? &m->kept->channel[index] : NULL;
	const uint32_t held = is_held;

	if (!ch || !ch->token)
		return;
	vb_journal_put(&m->kept->journal, m->kept, &ch->hold_serial, &serial, sizeof serial);
	vb_journal_put(&m->kept->journal, m->kept, &ch->is_held, &held, sizeof held);
}

void vb_cm_memory_set_user(struct vb_cm_memory *m, uint32_t index, uint32_t pid, const char *name)
{
	struct vb_cm_kept_channel *ch = m->kept ? &m->kept->channel[index] : NULL;

	if (!ch || !ch->token ||
	    (ch->pid == pid && strncmp(ch->user, name, sizeof ch->user - 1) == 0))
		return;
	ch->pid = pid;
	snprintf(ch->user, sizeof ch->user, "%s", name);
}

uint32_t vb_cm_memory_user(const struct vb_cm_memory *m, uint32_t index,
			   char name[VB_CM_USER_BYTES])
{
	const struct vb_cm_kept_channel *ch = m->kept ? &m->kept->channel[index] : NULL;

	name[0] = 0;
	if (!ch || !ch->pid)
		return 0;
	memcpy(name, ch->user, sizeof ch->user);
	name[VB_CM_USER_BYTES - 1] = 0;
	return ch->pid;
}

void vb_cm_memory_put_answer(struct vb_cm_memory *m, uint32_t index, uint64_t serial,
			     const struct vb_cm_answer *a)
{
	struct vb_cm_kept_channel *ch = m->kept ? &m->kept->channel[index] : NULL;

	if (!ch || !ch->token)
		return;
	vb_journal_put(&m->kept->journal, m->kept, &ch->serial, &serial, sizeof serial);
	vb_journal_put(&m->kept->journal, m->kept, &ch->answer, a,
		       (uint32_t)offsetof(struct vb_cm_answer, body) + a->len);
}
