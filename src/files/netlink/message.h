/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of netlink(7) in one growing buffer: headers, attributes, nests. */
#ifndef VB_FILES_NETLINK_MESSAGE_H
#define VB_FILES_NETLINK_MESSAGE_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A buffer of messages, one behind the other, each a multiple of 4 bytes long. Begin with zeroes;
 * free @buf. */
struct vb_nl_out {
	uint8_t *buf;
	size_t len, room;
	size_t at;     /* of the message that is being written */
	int err;       /* 0, or -ENOMEM: the bytes in @buf are worth nothing */
	uint32_t port; /* of the socket that asked */
};

/* Begins a message that answers @to; ends it: its length is known. */
void vb_nl_begin(struct vb_nl_out *o, const struct nlmsghdr *to, uint16_t type, uint16_t flags);
void vb_nl_end(struct vb_nl_out *o);

/* Bytes of the message so far. */
static inline size_t vb_nl_message_bytes(const struct vb_nl_out *o)
{
	return o->len - o->at;
}

/* Bytes without a meaning of their own: of the message, not of an attribute. */
void vb_nl_raw(struct vb_nl_out *o, const void *p, size_t size);

void vb_nl_put(struct vb_nl_out *o, uint16_t type, const void *p, size_t size);
void vb_nl_u8(struct vb_nl_out *o, uint16_t type, uint8_t v);
void vb_nl_u32(struct vb_nl_out *o, uint16_t type, uint32_t v);
void vb_nl_u64(struct vb_nl_out *o, uint16_t type, uint64_t v);
void vb_nl_string(struct vb_nl_out *o, uint16_t type, const char *s);

/* An attribute that holds others: from vb_nl_nest() to vb_nl_nest_end() with what it returned. */
size_t vb_nl_nest(struct vb_nl_out *o, uint16_t type);
void vb_nl_nest_end(struct vb_nl_out *o, size_t nest);

/* Attribute @type of the request @h, a message of @h->nlmsg_len bytes that are all there: its bytes
 * and their number, or NULL. A damaged attribute ends the search. */
const void *vb_nl_find(const struct nlmsghdr *h, uint16_t type, size_t *size);

/* A number of 32 bits: @otherwise when the attribute is not there or has another size. */
uint32_t vb_nl_find_u32(const struct nlmsghdr *h, uint16_t type, uint32_t otherwise);

/* Whether the attribute is the string @s. */
bool vb_nl_is_string(const struct nlmsghdr *h, uint16_t type, const char *s);

#endif
