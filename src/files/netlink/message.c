/* SPDX-License-Identifier: BSD-2-Clause */
/* Writing and reading messages of netlink(7), see message.h. */
#include "files/netlink/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 8192u

/* @size more bytes, zeroed, to the next multiple of 4; their place, or NULL. */
static uint8_t *grow_buffer(struct vb_nl_out *o, size_t size)
{
	size_t more = NLMSG_ALIGN(size);

	if (o->err)
		return NULL;
	if (o->len + more > o->room) {
		size_t room = o->room ? o->room : FIRST_ROOM;
		uint8_t *buf;

		while (room < o->len + more)
			room *= 2;
		buf = realloc(o->buf, room);
		if (!buf) {
			o->err = -ENOMEM;
			return NULL;
		}
		o->buf = buf;
		o->room = room;
	}
	memset(o->buf + o->len, 0, more);
	o->len += more;
	return o->buf + o->len - more;
}

void vb_nl_begin(struct vb_nl_out *o, const struct nlmsghdr *to, uint16_t type, uint16_t flags)
{
	struct nlmsghdr h = {.nlmsg_type = type,
			     .nlmsg_flags = flags,
			     .nlmsg_seq = to->nlmsg_seq,
			     .nlmsg_pid = o->port};

	o->at = o->len;
	vb_nl_raw(o, &h, sizeof h);
}

void vb_nl_end(struct vb_nl_out *o)
{
	uint32_t bytes = (uint32_t)vb_nl_message_bytes(o);

	if (!o->err)
		memcpy(o->buf + o->at + offsetof(struct nlmsghdr, nlmsg_len), &bytes, sizeof bytes);
}

void vb_nl_raw(struct vb_nl_out *o, const void *p, size_t size)
{
	uint8_t *to = grow_buffer(o, size);

	if (to)
		memcpy(to, p, size);
}

void vb_nl_put(struct vb_nl_out *o, uint16_t type, const void *p, size_t size)
{
	struct nlattr a = {.nla_len = (uint16_t)(sizeof a + size), .nla_type = type};

	vb_nl_raw(o, &a, sizeof a);
	vb_nl_raw(o, p, size);
}

void vb_nl_u8(struct vb_nl_out *o, uint16_t type, uint8_t v)
{
	vb_nl_put(o, type, &v, sizeof v);
}

void vb_nl_u32(struct vb_nl_out *o, uint16_t type, uint32_t v)
{
	vb_nl_put(o, type, &v, sizeof v);
}

void vb_nl_u64(struct vb_nl_out *o, uint16_t type, uint64_t v)
{
	vb_nl_put(o, type, &v, sizeof v);
}

void vb_nl_string(struct vb_nl_out *o, uint16_t type, const char *s)
{
	vb_nl_put(o, type, s, strlen(s) + 1);
}

size_t vb_nl_nest(struct vb_nl_out *o, uint16_t type)
{
	size_t at = o->len;

	vb_nl_put(o, (uint16_t)(type | NLA_F_NESTED), "", 0);
	return at;
}

void vb_nl_nest_end(struct vb_nl_out *o, size_t nest)
{
	uint16_t bytes = (uint16_t)(o->len - nest);

	if (!o->err)
		memcpy(o->buf + nest + offsetof(struct nlattr, nla_len), &bytes, sizeof bytes);
}

const void *vb_nl_find(const struct nlmsghdr *h, uint16_t type, size_t *size)
{
	const uint8_t *p = (const uint8_t *)h + NLMSG_HDRLEN;
	size_t left = h->nlmsg_len > NLMSG_HDRLEN ? h->nlmsg_len - NLMSG_HDRLEN : 0;

	while (left >= sizeof(struct nlattr)) {
		struct nlattr a;

		memcpy(&a, p, sizeof a);
		if (a.nla_len < sizeof a || a.nla_len > left)
			return NULL;
		if ((a.nla_type & NLA_TYPE_MASK) == type) {
			*size = a.nla_len - sizeof a;
			return p + sizeof a;
		}
		size_t step = NLMSG_ALIGN((size_t)a.nla_len);

		if (step > left)
			step = left;

		p += step;
		left -= step;
	}
	return NULL;
}

uint32_t vb_nl_find_u32(const struct nlmsghdr *h, uint16_t type, uint32_t otherwise)
{
	size_t size;
	const void *p = vb_nl_find(h, type, &size);
	uint32_t v;

	if (!p || size != sizeof v)
		return otherwise;
	memcpy(&v, p, sizeof v);
	return v;
}

bool vb_nl_is_string(const struct nlmsghdr *h, uint16_t type, const char *s)
{
	size_t size;
	const char *p = vb_nl_find(h, type, &size);

	return p && size == strlen(s) + 1 && memcmp(p, s, size) == 0;
}
