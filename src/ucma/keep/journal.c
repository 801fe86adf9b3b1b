/* SPDX-License-Identifier: BSD-2-Clause */
/* See journal.h. The processor's order of writes is that of the program for a process that maps the
 * same pages later; the stores of `declared` keep the compiler to it. */
#include "ucma/keep/journal.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

struct entry {
	uint32_t at, len;
};

/* The room of an entry with @len bytes: the next one is aligned. */
static size_t entry_size(uint32_t len)
{
	return sizeof(struct entry) + (((size_t)len + 7) & ~(size_t)7);
}

void vb_journal_put(struct vb_journal *j, void *base, void *to, const void *from, uint32_t len)
{
	struct entry e = {.at = (uint32_t)((uint8_t *)to - (uint8_t *)base), .len = len};

	assert(entry_size(len) <= sizeof j->bytes);
	if (entry_size(len) > sizeof j->bytes - j->used)
		vb_journal_commit(j, base);
	memcpy(j->bytes + j->used, &e, sizeof e);
	memcpy(j->bytes + j->used + sizeof e, from, len);
	j->used += (uint32_t)entry_size(len);
}

static void changes_apply(const struct vb_journal *j, void *base, uint32_t cnt)
{
	struct entry e;

	for (uint32_t i = 0; i < cnt; i += (uint32_t)entry_size(e.len)) {
		memcpy(&e, j->bytes + i, sizeof e);
		memcpy((uint8_t *)base + e.at, j->bytes + i + sizeof e, e.len);
	}
}

void vb_journal_commit(struct vb_journal *j, void *base)
{
	uint32_t used = j->used;

	if (!used)
		return;
	__atomic_store_n(&j->declared, used, __ATOMIC_RELEASE);
	changes_apply(j, base, used);
	__atomic_store_n(&j->declared, 0, __ATOMIC_RELEASE);
	j->used = 0;
}

/* Whether the first @cnt bytes are changes inside a region of @size bytes. */
static int changes_check(const struct vb_journal *j, uint32_t cnt, size_t size)
{
	uint32_t i = 0;

	if (cnt > sizeof j->bytes)
		return -EINVAL;
	while (i < cnt) {
		struct entry e;

		if (cnt - i < sizeof e)
			return -EINVAL;
		memcpy(&e, j->bytes + i, sizeof e);
		if (e.len > sizeof j->bytes || entry_size(e.len) > cnt - i || e.at > size ||
		    e.len > size - e.at)
			return -EINVAL;
		i += (uint32_t)entry_size(e.len);
	}
	return 0;
}

int vb_journal_recover(struct vb_journal *j, void *base, size_t size)
{
	uint32_t declared = __atomic_load_n(&j->declared, __ATOMIC_ACQUIRE);
	int err = changes_check(j, declared, size);

	if (err)
		return err;
	changes_apply(j, base, declared);
	j->declared = j->used = 0;
	return 0;
}
