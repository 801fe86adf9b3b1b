/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A set of pointers with the kind of each: open addressing with linear probing, at most half full.
 * When an entry goes, those behind the gap that belong before it move up: there are no tombstones.
 */
#include "verbs/object.h"

#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define SIZE_FIRST 4096u /* power of two; programs with more than half as many objects are rare */

struct entry {
	const void *object; /* NULL: free */
	enum vb_object_kind kind;
	uint32_t handle;
	const void *context; /* NULL: not named yet */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct entry *entries;
static size_t size, cnt;

static void lock_objects(void)
{
	pthread_mutex_lock(&mutex);
}

static void unlock_objects(void)
{
	pthread_mutex_unlock(&mutex);
}

static void register_fork(void)
{
	pthread_atfork(lock_objects, unlock_objects, unlock_objects);
}

void vb_objects_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, register_fork);
}

static size_t home_of(const void *object)
{
	/* The low bits of what malloc() gives are always the same. */
	return (size_t)((uintptr_t)object / 16 * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (size - 1);
}

/* Where @object is, or the free place where it would be. There is one. */
static size_t place_of(const void *object)
{
	size_t i = home_of(object);

	while (entries[i].object && entries[i].object != object)
		i = (i + 1) & (size - 1);
	return i;
}

static bool grow_table(void)
{
	struct entry *old = entries, *more;
	size_t old_size = size, more_size = size ? size * 2 : SIZE_FIRST;

	more = calloc(more_size, sizeof *more);
	if (!more)
		return false;
	entries = more;
	size = more_size;
	for (size_t i = 0; i < old_size; i++) {
		if (old[i].object)
			entries[place_of(old[i].object)] = old[i];
	}
	free(old);
	return true;
}

void *vb_object_new(enum vb_object_kind kind, size_t bytes)
{
	void *object = calloc(1, bytes);
	bool ok = object;

	lock_objects();
	if (ok && 2 * (cnt + 1) > size)
		ok = grow_table();
	if (ok) {
		entries[place_of(object)] = (struct entry){.object = object, .kind = kind};
		cnt++;
	}
	unlock_objects();
	if (!ok) {
		free(object);
		return NULL;
	}
	return object;
}

static void entry_remove(size_t gap)
{
	for (size_t i = (gap + 1) & (size - 1); entries[i].object; i = (i + 1) & (size - 1)) {
		size_t home = home_of(entries[i].object);

		/* It would be found no more if it moved to before its home. */
		if (((i - home) & (size - 1)) < ((i - gap) & (size - 1)))
			continue;
		entries[gap] = entries[i];
		gap = i;
	}
	entries[gap] = (struct entry){0};
	cnt--;
}

void vb_object_free(void *object)
{
	if (!object)
		return;
	lock_objects();

	size_t i = place_of(object);

	assert(entries[i].object == object);
	entry_remove(i);
	unlock_objects();
	free(object);
}

bool vb_object_is(const void *object, enum vb_object_kind kind)
{
	lock_objects();

	size_t i = size ? place_of(object) : 0;
	bool is = object && size && entries[i].object == object && entries[i].kind == kind;

	unlock_objects();
	return is;
}

void vb_object_name(const void *object, const void *context, uint32_t handle)
{
	lock_objects();

	size_t i = place_of(object);

	assert(entries[i].object == object);
	entries[i].context = context;
	entries[i].handle = handle;
	unlock_objects();
}

bool vb_object_is_named(const void *object, const void *context, uint32_t handle)
{
	lock_objects();

	size_t i = size ? place_of(object) : 0;
	bool is = size && entries[i].object == object && entries[i].context == context &&
		  entries[i].handle == handle;

	unlock_objects();
	return is;
}
