/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of the connection manager by shared memory (node/cm/call.h), so that a program that makes
 * many of them needs no system call for each: the call is written to a page, and the answer is read
 * there. Each side says in the page whether it looks or sleeps; who sleeps is told by a message of
 * one byte on the connection. Descriptors do not go this way.
 *
 * Beside the one call that is under way lies a ring of posted commands, which draw no answer. The
 * broker counts those that it has carried out; what it has not when it ends, its program gives to
 * the next one. A call comes after all that was posted before it.
 *
 * The program may write what it likes at any time: the broker takes a copy of a call before it
 * looks at it, and believes none of the lengths and no count.
 */
#ifndef VB_NODE_CM_PAGE_H
#define VB_NODE_CM_PAGE_H

#include "node/cm/call.h"

#include <stdbool.h>
#include <stddef.h>

#define VB_CM_POSTS 64u
#define VB_CM_POST_BODY 488u

struct vb_cm_post {
	uint64_t channel, serial; /* as in struct vb_cm_call */
	uint32_t len, rsv;
	uint8_t body[VB_CM_POST_BODY];
};

struct vb_cm_page {
	/* Of the program: */
	_Alignas(64) uint32_t called; /* calls so far; what it wrote before is one */
	uint32_t sleeps;              /* it waits for a byte on the connection */
	uint32_t posted;              /* posted commands so far */
	/* Of the broker: */
	_Alignas(64) uint32_t answered; /* the value of called that the answer is for */
	uint32_t looks;                 /* it will see the next call by itself */
	uint32_t ended;                 /* nobody reads this any more */
	uint32_t carried_out;           /* posted commands */
	uint64_t broker;                /* a random number of its own, as its events have it */
	_Alignas(64) struct vb_cm_call call;
	_Alignas(64) struct vb_cm_answer answer;
	_Alignas(64) struct vb_cm_post post[VB_CM_POSTS]; /* command n is at n % VB_CM_POSTS */
};

#define VB_CM_PAGE_BYTES 40960u
_Static_assert(sizeof(struct vb_cm_page) <= VB_CM_PAGE_BYTES, "whole pages");

/* The message that says: look. */
#define VB_CM_KICK_LEN 1

/* Of the program. Writes @call and says so. True: the broker has to be told. */
bool vb_cm_page_call(struct vb_cm_page *p, const struct vb_cm_call *call);
/* Takes the answer to the last call, if it is there. */
bool vb_cm_page_answer(const struct vb_cm_page *p, struct vb_cm_answer *answer);
/* Commands that were posted and not carried out, 0 to VB_CM_POSTS. */
uint32_t vb_cm_page_pending(const struct vb_cm_page *p);
/*
 * Posts a command, for which there is room. *told is where the broker was told last, and the
 * caller's to keep, 0 at first: it is told once, until it has carried out what came before that.
 * True: it has to be told.
 */
bool vb_cm_page_post(struct vb_cm_page *p, const struct vb_cm_post *post, uint32_t *told);
/* Takes the last one back, of a page that nobody serves any more. */
void vb_cm_page_unpost(struct vb_cm_page *p);
/* Command number @n of those that are pending, 0 to vb_cm_page_pending() - 1. */
const struct vb_cm_post *vb_cm_page_pending_at(const struct vb_cm_page *p, uint32_t n);
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
/* Commands that are posted after @done of them. More than VB_CM_POSTS: the program is wrong. */
uint32_t vb_cm_page_posts(const struct vb_cm_page *p, uint32_t done);
/*
 * Takes a copy of posted command @done as a call. Bytes of the call, or 0: it is none, and is left
 * out.
 */
size_t vb_cm_page_take_post(const struct vb_cm_page *p, uint32_t done, struct vb_cm_call *call);
/* @done of them are carried out. */
void vb_cm_page_posts_done(struct vb_cm_page *p, uint32_t done);
/* Nobody serves this page any more. */
void vb_cm_page_end(struct vb_cm_page *p);
/* It looks from now on; or it does not, and has to look once more. */
void vb_cm_page_look(struct vb_cm_page *p, bool looks);

#endif
