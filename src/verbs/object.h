/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The objects that this process has, by pointer: what libibverbs' API hands out are pointers, so
 * one that is destroyed twice, or was never an object, is told from one that is there without
 * looking behind it. A kernel driver has its handles for that. Safe between threads; takes no other
 * lock, so it may be used under the engine's.
 */
#ifndef VB_VERBS_OBJECT_H
#define VB_VERBS_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum vb_object_kind {
	VB_OBJECT_PD = 1, /* parent domains too */
	VB_OBJECT_TD,
	VB_OBJECT_MR,
	VB_OBJECT_MW,
	VB_OBJECT_DM,
	VB_OBJECT_AH,
	VB_OBJECT_CHANNEL,
	VB_OBJECT_CQ,
	VB_OBJECT_SRQ,
	VB_OBJECT_QP,
	VB_OBJECT_XRCD,
	VB_OBJECT_DMAH,
	VB_OBJECT_BUF,
	VB_OBJECT_COMP_CNTR,
};

/* Before the engine is there: from then on a fork() finds the objects whole. */
void vb_objects_init(void);

/* @size bytes of zeros that are an object of @kind from now on; NULL: no memory. */
void *vb_object_new(enum vb_object_kind kind, size_t size);

/* Frees what vb_object_new() gave, or NULL: it is no object any more. */
void vb_object_free(void *object);

/* Whether @object, any pointer, is an object of @kind. */
bool vb_object_is(const void *object, enum vb_object_kind kind);

/* @object is in @context from now on, with @handle. */
void vb_object_name(const void *object, const void *context, uint32_t handle);

/* Whether that is what it was named; the application can write to what it sees of an object. */
bool vb_object_is_named(const void *object, const void *context, uint32_t handle);

#endif
