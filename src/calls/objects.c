/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects by number, see objects.h. */
#include "calls/objects.h"

#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>

struct object {
	const void *at;
	const struct ibv_context *context; /* NULL: it is one */
	uint32_t number;
};

/* Objects that are to be forgotten. */
struct doomed {
	const struct ibv_context *context;
	struct object *object[64];
	uint32_t cnt;
};

static struct {
	pthread_mutex_t mutex;
	void *tree; /* tsearch(3), by address */
	uint32_t made[VB_KIND_CNT];
} objects = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static int compare_objects(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)((const struct object *)a)->at;
	uintptr_t y = (uintptr_t)((const struct object *)b)->at;

	return x < y ? -1 : x > y;
}

static void collect_doomed(const void *node, VISIT visit, void *ctx)
{
	struct object *o = *(struct object *const *)node;
	struct doomed *d = ctx;

	if ((visit == postorder || visit == leaf) && o->context == d->context &&
	    d->cnt < sizeof d->object / sizeof d->object[0])
		d->object[d->cnt++] = o;
}

/* Forgets the objects that a program leaves to ibv_close_device(3). */
static void forget_context(const struct ibv_context *context)
{
	struct doomed d = {.context = context};

	do {
		d.cnt = 0;
		twalk_r(objects.tree, collect_doomed, &d);
		for (uint32_t i = 0; i < d.cnt; i++) {
			tdelete(d.object[i], &objects.tree, compare_objects);
			free(d.object[i]);
		}
	} while (d.cnt);
}

uint32_t vb_calls_object_remove(const void *object)
{
	struct object key = {.at = object}, **found, *o = NULL;
	uint32_t number = 0;

	pthread_mutex_lock(&objects.mutex);
	found = tfind(&key, &objects.tree, compare_objects);
	if (found) {
		o = *found;
		number = o->number;
		tdelete(o, &objects.tree, compare_objects);
		if (!o->context)
			forget_context(object);
	}
	pthread_mutex_unlock(&objects.mutex);
	free(o);
	return number;
}

/* Enters @object as @number; it is shown by its address where there is no memory. Every object but
 * a context begins with a pointer to its context. */
static void enter_object(enum vb_kind kind, const void *object, uint32_t number)
{
	struct object *o = malloc(sizeof *o), **found;

	if (!o)
		return;
	*o = (struct object){.at = object, .number = number};
	if (kind != VB_KIND_CTX)
		o->context = *(const struct ibv_context *const *)object;
	found = tsearch(o, &objects.tree, compare_objects);
	if (found && *found != o) {
		(*found)->number = number;
		(*found)->context = o->context;
	}
	if (!found || *found != o)
		free(o);
}

void vb_calls_object_add(enum vb_kind kind, const void *object)
{
	pthread_mutex_lock(&objects.mutex);
	enter_object(kind, object, ++objects.made[kind]);
	pthread_mutex_unlock(&objects.mutex);
}

void vb_calls_object_restore(enum vb_kind kind, const void *object, uint32_t number)
{
	pthread_mutex_lock(&objects.mutex);
	enter_object(kind, object, number);
	pthread_mutex_unlock(&objects.mutex);
}

static uint32_t object_number(const void *object)
{
	struct object key = {.at = object}, **found;
	uint32_t number = 0;

	pthread_mutex_lock(&objects.mutex);
	found = tfind(&key, &objects.tree, compare_objects);
	if (found)
		number = (*found)->number;
	pthread_mutex_unlock(&objects.mutex);
	return number;
}

void vb_calls_object_text(enum vb_kind kind, const void *object, char *text, size_t size)
{
	static const char *const names[] = {
	    [VB_KIND_CTX] = "ctx",   [VB_KIND_PD] = "pd",   [VB_KIND_MR] = "mr",
	    [VB_KIND_MW] = "mw",     [VB_KIND_CQ] = "cq",   [VB_KIND_SRQ] = "srq",
	    [VB_KIND_QP] = "qp",     [VB_KIND_AH] = "ah",   [VB_KIND_CHANNEL] = "channel",
	    [VB_KIND_XRCD] = "xrcd", [VB_KIND_DM] = "dm",   [VB_KIND_TD] = "td",
	    [VB_KIND_DMAH] = "dmah", [VB_KIND_BUF] = "buf", [VB_KIND_CNTR] = "cntr"};
	uint32_t number;

	if (!object) {
		snprintf(text, size, "NULL");
	} else if (kind == VB_KIND_QP) {
		snprintf(text, size, "0x%06x", ((const struct ibv_qp *)object)->qp_num);
	} else {
		number = object_number(object);
		if (number)
			snprintf(text, size, "%s%u", names[kind], number);
		else
			snprintf(text, size, "%p", object);
	}
}
