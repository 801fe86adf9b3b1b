/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers that came before they were asked for, see ahead.h. */
#include "files/cm/ahead.h"

#include "link/memory.h"
#include "ucma/command/ahead.h"
#include "ucma/command/post.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Ids of which answers are kept: many programs make a step for all their ids, and then the next. */
#define ENTRIES 1024u

struct entry {
	uint64_t token; /* 0: there is nothing */
	uint32_t id, version, len;
	uint32_t grants; /* 1 << cmd: it may be posted */
	_Alignas(8) uint8_t bytes[VB_UCMA_AHEAD_MAX];
};

static struct {
	pthread_mutex_t mutex;
	const uint32_t *version; /* NULL: nothing is kept */
	struct entry *entry;
} ahead = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void lock_ahead(void)
{
	pthread_mutex_lock(&ahead.mutex);
}

static void unlock_ahead(void)
{
	pthread_mutex_unlock(&ahead.mutex);
}

static void renew_ahead(void)
{
	ahead.mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void begin_ahead(int fd)
{
	void *p;

	if (ahead.version)
		vb_memory_unmap(ahead.version, VB_CM_VERSIONS_BYTES);
	ahead.version = NULL;
	if (ahead.entry)
		for (uint32_t i = 0; i < ENTRIES; i++)
			ahead.entry[i].token = 0;
	else
		ahead.entry = calloc(ENTRIES, sizeof *ahead.entry);
	if (!ahead.entry || fd < 0 || vb_memory_map(fd, VB_CM_VERSIONS_BYTES, false, &p))
		return;
	ahead.version = p;
}

void vb_cm_ahead_begin(int fd)
{
	lock_ahead();
	if (!ahead.entry)
		(void)pthread_atfork(lock_ahead, unlock_ahead, renew_ahead);
	begin_ahead(fd);
	unlock_ahead();
}

/* The entry of id @id of channel @token; whose it was has none any more. */
static struct entry *entry_of(uint64_t token, uint32_t id)
{
	struct entry *e = &ahead.entry[id % ENTRIES];

	if (e->token == token && e->id == id)
		return e;
	e->token = token;
	e->id = id;
	e->len = e->grants = 0;
	return e;
}

static void keep_ahead(uint64_t token, const struct vb_cm_answer *a)
{
	struct entry *e;
	uint32_t at = (a->len + 7u) & ~7u;

	if (!ahead.version || !a->ahead_len || a->ahead_len > sizeof e->bytes ||
	    at + a->ahead_len > sizeof a->body || a->ahead_id >= VB_CM_VERSIONS)
		return;
	e = entry_of(token, a->ahead_id);
	e->version = a->ahead_version;
	e->len = a->ahead_len;
	memcpy(e->bytes, a->body + at, a->ahead_len);
}

void vb_cm_ahead_keep(uint64_t token, const struct vb_cm_answer *a)
{
	lock_ahead();
	keep_ahead(token, a);
	unlock_ahead();
}

void vb_cm_ahead_grant(uint64_t token, uint32_t id, const struct vb_cm_answer *a)
{
	lock_ahead();
	if (ahead.version && id < VB_CM_VERSIONS)
		entry_of(token, id)->grants = a->grants;
	unlock_ahead();
}

static bool use_grant(const struct vb_cm_call *call, const struct vb_ucma_post *post)
{
	struct entry *e;

	if (!ahead.version || post->id >= VB_CM_VERSIONS)
		return false;
	e = &ahead.entry[post->id % ENTRIES];
	if (e->token != call->channel || e->id != post->id || !(e->grants & 1u << post->cmd))
		return false;
	e->grants &= ~(1u << post->cmd);
	e->len = 0;
	return true;
}

bool vb_cm_ahead_use_grant(const struct vb_cm_call *call)
{
	struct vb_ucma_post post;
	bool is_granted;

	if (!vb_ucma_post_parse(call->body, call->len, &post))
		return false;
	lock_ahead();
	is_granted = use_grant(call, &post);
	unlock_ahead();
	return is_granted;
}

/* The bytes of the whole reply to @r, *len of them; NULL: they did not come along. */
static const uint8_t *find_reply(const struct entry *e, const struct vb_ucma_read *r, uint32_t *len)
{
	struct vb_ucma_ahead h;

	for (uint32_t at = 0; at + sizeof h <= e->len; at += (uint32_t)sizeof h + h.len) {
		memcpy(&h, e->bytes + at, sizeof h);
		if (h.len > e->len - at - sizeof h)
			return NULL;
		if (h.cmd != r->cmd || h.option != r->option)
			continue;
		*len = h.len;
		return e->bytes + at + sizeof h;
	}
	return NULL;
}

static bool answer_ahead(const struct vb_cm_call *call, struct vb_cm_answer *a)
{
	struct vb_ucma_read r;
	const struct entry *e;
	const uint8_t *reply;
	uint32_t len;

	if (!ahead.version || !vb_ucma_read_parse(call->body, call->len, &r) ||
	    r.id >= VB_CM_VERSIONS)
		return false;
	e = &ahead.entry[r.id % ENTRIES];
	if (e->token != call->channel || e->id != r.id ||
	    __atomic_load_n(&ahead.version[r.id], __ATOMIC_ACQUIRE) != e->version)
		return false;
	reply = find_reply(e, &r, &len);
	/* An older librdmacm has less room; the broker knows how much is too little. */
	if (!reply || r.room < len)
		return false;
	memset(a, 0, offsetof(struct vb_cm_answer, body));
	a->status = (int32_t)call->len;
	a->len = len;
	memcpy(a->body, reply, len);
	return true;
}

bool vb_cm_ahead_answer(const struct vb_cm_call *call, struct vb_cm_answer *a)
{
	bool is_known;

	lock_ahead();
	is_known = answer_ahead(call, a);
	unlock_ahead();
	return is_known;
}
