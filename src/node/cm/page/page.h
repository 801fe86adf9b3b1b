/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of the connection manager by shared memory (node/cm/call.h), so that a program that makes
 * many of them needs no system call for each: the call is written to a page, and the answer is read
 * there. Each side says in the page whether it looks or sleeps; who sleeps is told by a message of
 * one byte on the connection. Descriptors do not go this way.
 *
 * The program may write what it likes at any time: the broker takes a copy of a call before it
 * looks at it, and believes none of the lengths.
 */
#ifndef VB_NODE_CM_PAGE_H
#define VB_NODE_CM_PAGE_H

#include "node/cm/call.h"

#include <stdbool.h>
#include <stddef.h>

struct vb_cm_page {
	/* Of the program: */
	_Alignas(64) uint32_t called; /* calls so far; what it wrote before is one */
	uint32_t sleeps;              /* it waits for a byte on the connection */
	/* Of the broker: */
	_Alignas(64) uint32_t answered; /* the value of called that the answer is for */
	uint32_t looks;                 /* it will see the next call by itself */
	uint32_t ended;                 /* nobody reads this any more */
	uint64_t broker;                /* a random number of its own, as its events have it */
	_Alignas(64) struct vb_cm_call call;
	_Alignas(64) struct vb_cm_answer answer;
};

#define VB_CM_PAGE_BYTES 8192u
_Static_assert(sizeof(struct vb_cm_page) <= VB_CM_PAGE_BYTES, "whole pages");

/* The message that says: look. */
#define VB_CM_KICK_LEN 1

/* Of the program. Writes @call and says so. True: the broker has to be told. */
bool vb_cm_page_call(struct vb_cm_page *p, const struct vb_cm_call *call);
/* Takes the answer to the last call, if it is there. */
bool vb_cm_page_answer(const struct vb_cm_page *p, struct vb_cm_answer *answer);
/* Whether somebody still serves it, as far as the page tells. */
bool vb_cm_page_is_served(const struct vb_cm_page *p);
/* It is about to sleep, and has to look once more; or it is awake again. */
void vb_cm_page_sleep(struct vb_cm_page *p, bool sleeps);

/* Of the broker. Whether there is a call after @served of them. */
bool vb_cm_page_is_called(const struct vb_cm_page *p, uint32_t served);
/*
 * Takes a copy of the call and sets *served. Bytes of the call, or 0: it is none, and is to be
 * answered with -EINVAL.
 */
size_t vb_cm_page_take(const struct vb_cm_page *p, uint32_t *served, struct vb_cm_call *call);
/* Answers with the first @len bytes of @answer. True: the program has to be told. */
bool vb_cm_page_give(struct vb_cm_page *p, uint32_t served, const struct vb_cm_answer *answer,
		     size_t len);
/* Nobody serves this page any more. */
void vb_cm_page_end(struct vb_cm_page *p);
/* It looks from now on; or it does not, and has to look once more. */
void vb_cm_page_look(struct vb_cm_page *p, bool looks);

#endif
