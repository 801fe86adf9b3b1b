/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands that need no answer, see post.h. */
#include "ucma/command/post.h"

#include "ucma/priv.h"

/* Private data that a REQ has room for beside the IP header, and a REP or SIDR_REP. */
#define CONNECT_PRIVATE_MAX 56u
#define ACCEPT_PRIVATE_MAX 136u

static bool connect_parse(const void *body, struct vb_ucma_post *out)
{
	struct vb_ucma_connect b;

	memcpy(&b, body, offsetof(struct vb_ucma_connect, ece));
	out->id = b.id;
	return b.param.valid && b.param.private_data_len <= CONNECT_PRIVATE_MAX;
}

static bool accept_parse(const void *body, struct vb_ucma_post *out)
{
	struct vb_ucma_accept b;

	memcpy(&b, body, offsetof(struct vb_ucma_accept, ece));
	out->id = b.id;
	out->has_uid = b.param.valid != 0;
	out->uid = b.uid;
	return b.param.private_data_len <= ACCEPT_PRIVATE_MAX;
}

bool vb_ucma_post_parse(const void *bytes, uint32_t len, struct vb_ucma_post *out)
{
	const uint8_t *body = (const uint8_t *)bytes + sizeof(struct vb_ucma_hdr);
	struct vb_ucma_resolve_route route;
	struct vb_ucma_disconnect end;
	struct vb_ucma_hdr h;

	if (len < sizeof h)
		return false;
	memcpy(&h, bytes, sizeof h);
	if (h.in > len - sizeof h)
		return false;
	*out = (struct vb_ucma_post){.cmd = h.cmd};
	switch (h.cmd) {
	case VB_UCMA_RESOLVE_ROUTE:
		if (h.in < sizeof route)
			return false;
		memcpy(&route, body, sizeof route);
		out->id = route.id;
		return route.timeout_ms != 0;
	case VB_UCMA_CONNECT:
		return h.in >= offsetof(struct vb_ucma_connect, ece) && connect_parse(body, out);
	case VB_UCMA_ACCEPT:
		return h.in >= offsetof(struct vb_ucma_accept, ece) && accept_parse(body, out);
	case VB_UCMA_DISCONNECT:
		if (h.in < sizeof end)
			return false;
		memcpy(&end, body, sizeof end);
		out->id = end.id;
		return true;
	default:
		return false;
	}
}

uint32_t vb_ucma_post_grants(struct vb_ucma_file *f, const struct vb_ucma_event_reply *ev)
{
	const uint32_t resolve_route = 1u << VB_UCMA_RESOLVE_ROUTE;
	const uint32_t connect = 1u << VB_UCMA_CONNECT, accept = 1u << VB_UCMA_ACCEPT;
	const uint32_t disconnect = 1u << VB_UCMA_DISCONNECT;
	struct vb_ucma_id *id;

	if (vb_ucma_id_find(f, ev->id, &id) || !id->has_local || id->is_lost)
		return 0;
	switch (ev->event) {
	case VB_UCMA_EV_ADDR_RESOLVED:
		return id->state == VB_UCMA_ADDR_RESOLVED ? resolve_route : 0;
	case VB_UCMA_EV_ROUTE_RESOLVED:
		return id->state == VB_UCMA_ROUTE_RESOLVED ? connect : 0;
	case VB_UCMA_EV_CONNECT_REQUEST:
		return id->state == VB_UCMA_CONNECTING && id->conn ? accept : 0;
	case VB_UCMA_EV_CONNECT_RESPONSE:
		return id->state == VB_UCMA_CONNECTING && id->conn ? accept | disconnect : 0;
	case VB_UCMA_EV_ESTABLISHED:
	case VB_UCMA_EV_DISCONNECTED:
		return id->conn ? disconnect : 0;
	default:
		return 0;
	}
}

void vb_ucma_post_failed(struct vb_ucma_file *f, const struct vb_ucma_post *p, int err)
{
	struct vb_ucma_id *id;

	if (vb_ucma_id_find(f, p->id, &id) || id->state == VB_UCMA_REMOVED)
		return;
	switch (p->cmd) {
	case VB_UCMA_RESOLVE_ROUTE:
		(void)vb_ucma_event_add(id, VB_UCMA_EV_ROUTE_ERROR, err);
		break;
	case VB_UCMA_ACCEPT:
		/* From here on the program has it, as if it had been accepted. */
		if (p->has_uid && !id->has_uid) {
			id->uid = p->uid;
			id->has_uid = true;
			vb_ucma_id_touch(id);
		}
		(void)vb_ucma_event_add(id, VB_UCMA_EV_CONNECT_ERROR, err);
		break;
	case VB_UCMA_CONNECT:
		(void)vb_ucma_event_add(id, VB_UCMA_EV_CONNECT_ERROR, err);
		break;
	default:
		break;
	}
}
