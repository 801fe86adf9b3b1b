/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posted commands: an event tells a program what it may ask of the id next and will not be refused
 * (it is *granted*). Such a command needs no answer, so the program writes it down for the machine
 * and goes on. If it fails after all, because the id has changed meanwhile or memory has run out,
 * an event says so, as a kernel's does of what fails later. Programs that make a step for many ids
 * at once no longer sleep for each of them. bench/connect_loop.c; CMP-33, CMP-37
 */
#ifndef VB_UCMA_COMMAND_POST_H
#define VB_UCMA_COMMAND_POST_H

#include "ucma/ucma.h"

struct vb_ucma_event_reply;

/* A command that can be posted: RESOLVE_ROUTE, CONNECT, ACCEPT or DISCONNECT. */
struct vb_ucma_post {
	uint32_t cmd, id;
	uint64_t uid; /* ACCEPT: the program's name for an id that came by a request... */
	bool has_uid; /* ...which it is */
};

/* Whether the command of @len bytes is one of them, whole, and with arguments for which none is
 * refused. */
bool vb_ucma_post_parse(const void *bytes, uint32_t len, struct vb_ucma_post *out);

/* The commands, 1 << cmd each, that are granted to the taker of event @ev of @f. */
uint32_t vb_ucma_post_grants(struct vb_ucma_file *f, const struct vb_ucma_event_reply *ev);

/* The posted command @p of @f failed with @err, a negative errno. The program has an event of it,
 * if the id is still there and it is not its end anyway. */
void vb_ucma_post_failed(struct vb_ucma_file *f, const struct vb_ucma_post *p, int err);

#endif
