/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading ahead: librdmacm makes QUERY and INIT_QP_ATTR in a row after each event, and neither
 * changes anything. The answers to all of them can go along with one answer, and are used as long
 * as the version of the id, a number that changes with it, is the same. A connection takes a third
 * fewer calls of the broker. bench/connect_loop.c
 */
#ifndef VB_UCMA_COMMAND_AHEAD_H
#define VB_UCMA_COMMAND_AHEAD_H

#include "ucma/ucma.h"

/* A command and its whole reply: @len bytes behind this, filled up to 8. */
struct vb_ucma_ahead {
	uint16_t cmd;    /* QUERY or INIT_QP_ATTR */
	uint16_t option; /* what QUERY asks for, or the QP's state */
	uint32_t len;
};

/* Room for every answer about one id. */
#define VB_UCMA_AHEAD_MAX 1200u
/* The longest of their replies. */
#define VB_UCMA_AHEAD_REPLY_MAX 280u

/*
 * From now on @version[n] changes before anybody can hear that the id with number n has changed, in
 * what QUERY or INIT_QP_ATTR tell of it or in whom it belongs to. As many as ids of the
 * configuration; others read them at any time.
 */
void vb_ucma_set_versions(struct vb_ucma *u, uint32_t *version);

/* The question of a command QUERY or INIT_QP_ATTR. */
struct vb_ucma_read {
	uint32_t id;
	uint16_t cmd, option, room; /* room: bytes for the reply */
};
/* Whether the command of @len bytes is one of them, in full. */
bool vb_ucma_read_parse(const void *bytes, uint32_t len, struct vb_ucma_read *out);

/*
 * Whether a command of @f that was carried out, with @reply, is followed by questions about an id:
 * it is one itself, took an event or moved the id. Then the answers go to @to, @room bytes, as far
 * as there are answers; *len is how many, and *id what they are about.
 */
bool vb_ucma_ahead(struct vb_ucma_file *f, const struct vb_ucma_command *c, const uint8_t *reply,
		   uint32_t *id, uint8_t *to, uint32_t room, uint32_t *len);

#endif
