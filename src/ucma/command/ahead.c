/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers to questions that were not asked yet, see ahead.h. CMP-32 */
#include "ucma/command/ahead.h"

#include "ucma/priv.h"

#define STATE_INIT 1 /* of enum ibv_qp_state */
#define STATE_RTR 2
#define STATE_RTS 3

/* In the order in which librdmacm asks. */
static const struct vb_ucma_ahead asked[] = {
    {VB_UCMA_QUERY, VB_UCMA_QUERY_ADDR, sizeof(struct vb_ucma_addr_reply)},
    {VB_UCMA_QUERY, VB_UCMA_QUERY_GID, sizeof(struct vb_ucma_addr_reply)},
    {VB_UCMA_QUERY, VB_UCMA_QUERY_PATH, sizeof(struct vb_ucma_path_reply)},
    {VB_UCMA_INIT_QP_ATTR, STATE_INIT, sizeof(struct vb_ucma_qp_attr)},
    {VB_UCMA_INIT_QP_ATTR, STATE_RTR, sizeof(struct vb_ucma_qp_attr)},
    {VB_UCMA_INIT_QP_ATTR, STATE_RTS, sizeof(struct vb_ucma_qp_attr)},
};
#define ASKED_CNT (sizeof asked / sizeof asked[0])

_Static_assert(sizeof(struct vb_ucma_addr_reply) <= VB_UCMA_AHEAD_REPLY_MAX, "the longest");
_Static_assert(ASKED_CNT * sizeof(struct vb_ucma_ahead) + 2 * sizeof(struct vb_ucma_addr_reply) +
		       sizeof(struct vb_ucma_path_reply) + 3 * sizeof(struct vb_ucma_qp_attr) <=
		   VB_UCMA_AHEAD_MAX,
	       "every answer fits");
_Static_assert(sizeof(struct vb_ucma_addr_reply) % 8 == 0 &&
		   sizeof(struct vb_ucma_path_reply) % 8 == 0 &&
		   sizeof(struct vb_ucma_qp_attr) % 8 == 0,
	       "no reply needs filling up");
_Static_assert(sizeof(struct vb_ucma_query) == sizeof(struct vb_ucma_init_qp_attr) &&
		   offsetof(struct vb_ucma_query, option) ==
		       offsetof(struct vb_ucma_init_qp_attr, qp_state),
	       "one form of both");

void vb_ucma_set_versions(struct vb_ucma *u, uint32_t *version)
{
	u->version = version;
}

bool vb_ucma_read_parse(const void *bytes, uint32_t len, struct vb_ucma_read *out)
{
	struct vb_ucma_hdr h;
	struct vb_ucma_query q;

	if (len < sizeof h + sizeof q)
		return false;
	memcpy(&h, bytes, sizeof h);
	if ((h.cmd != VB_UCMA_QUERY && h.cmd != VB_UCMA_INIT_QP_ATTR) || h.in < sizeof q)
		return false;
	memcpy(&q, (const uint8_t *)bytes + sizeof h, sizeof q);
	if (q.option > UINT16_MAX)
		return false;
	*out = (struct vb_ucma_read){
	    .id = q.id, .cmd = (uint16_t)h.cmd, .option = (uint16_t)q.option, .room = h.out};
	return true;
}

/* Events after which librdmacm asks. */
static bool event_is_followed(uint32_t kind)
{
	return kind == VB_UCMA_EV_ADDR_RESOLVED || kind == VB_UCMA_EV_ROUTE_RESOLVED ||
	       kind == VB_UCMA_EV_CONNECT_REQUEST || kind == VB_UCMA_EV_CONNECT_RESPONSE;
}

/* The id that a command was about, if more is asked of it. */
static bool id_asked(const struct vb_ucma_command *c, const uint8_t *reply, uint32_t *id)
{
	const uint8_t *body = (const uint8_t *)c->bytes + sizeof(struct vb_ucma_hdr);
	struct vb_ucma_event_reply ev;
	struct vb_ucma_migrate_id m;
	struct vb_ucma_read r;
	struct vb_ucma_hdr h;

	memcpy(&h, c->bytes, sizeof h);
	switch (h.cmd) {
	case VB_UCMA_QUERY:
	case VB_UCMA_INIT_QP_ATTR:
		if (!vb_ucma_read_parse(c->bytes, c->len, &r))
			return false;
		*id = r.id;
		return true;
	case VB_UCMA_GET_EVENT:
		memcpy(&ev, reply, offsetof(struct vb_ucma_event_reply, conn));
		*id = ev.id;
		return event_is_followed(ev.event);
	case VB_UCMA_MIGRATE_ID:
		memcpy(&m, body, sizeof m);
		*id = m.id;
		return true;
	default:
		return false;
	}
}

static int ask_id(struct vb_ucma_id *id, const struct vb_ucma_ahead *what, uint8_t *reply)
{
	const struct vb_ucma_query q = {.id = id->number, .option = what->option};
	const struct vb_ucma_init_qp_attr a = {.id = id->number, .qp_state = what->option};
	struct vb_ucma_call c = {.file = id->file, .id = id, .reply = reply, .room = what->len};

	memset(reply, 0, what->len);
	if (what->cmd == VB_UCMA_QUERY) {
		c.body = &q;
		return vb_ucma_do_query(&c);
	}
	c.body = &a;
	return vb_ucma_do_init_qp_attr(&c);
}

bool vb_ucma_ahead(struct vb_ucma_file *f, const struct vb_ucma_command *c, const uint8_t *reply,
		   uint32_t *id, uint8_t *to, uint32_t room, uint32_t *len)
{
	_Alignas(8) uint8_t answer[VB_UCMA_AHEAD_REPLY_MAX];
	struct vb_ucma_id *of;

	*len = 0;
	if (!f->u->version || !id_asked(c, reply, id) || vb_ucma_id_find(f, *id, &of) ||
	    of->state == VB_UCMA_REMOVED)
		return false;
	for (size_t i = 0; i < ASKED_CNT; i++) {
		uint32_t bytes = (uint32_t)sizeof asked[i] + asked[i].len;

		if (room - *len < bytes || ask_id(of, &asked[i], answer))
			continue;
		memcpy(to + *len, &asked[i], sizeof asked[i]);
		memcpy(to + *len + sizeof asked[i], answer, asked[i].len);
		*len += bytes;
	}
	return true;
}
