/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of an id: type of service, use of one port by several, one address family, the ACK
 * timeout of its QP, and a path from elsewhere. CMP-40 */
#include "ucma/priv.h"

#include <errno.h>

/* The value, when it has this size. */
static int value_read(const struct vb_ucma_call *c, void *to, uint32_t size)
{
	if (c->extra_len != size)
		return -EINVAL;
	memcpy(to, c->extra, size);
	return 0;
}

static int set_tos(struct vb_ucma_id *id, const struct vb_ucma_call *c)
{
	int err = value_read(c, &id->tos, sizeof id->tos);

	id->tos_set |= !err;
	return err;
}

static int set_reuse(struct vb_ucma_id *id, const struct vb_ucma_call *c)
{
	int on, err = value_read(c, &on, sizeof on);

	if (err)
		return err;
	/* A bound id may be let others in, and not shut them out. */
	if (!(id->state == VB_UCMA_IDLE || (on && id->state == VB_UCMA_ADDR_BOUND)))
		return -EINVAL;
	id->reuses = on != 0;
	return 0;
}

static int set_af_only(struct vb_ucma_id *id, const struct vb_ucma_call *c)
{
	int on, err = value_read(c, &on, sizeof on);

	if (err)
		return err;
	if (!(id->state & (VB_UCMA_IDLE | VB_UCMA_ADDR_BOUND)))
		return -EINVAL;
	id->af_only_set = true;
	id->af_only = on != 0;
	return 0;
}

static int set_ack_timeout(struct vb_ucma_id *id, const struct vb_ucma_call *c)
{
	uint8_t timeout;
	int err = value_read(c, &timeout, sizeof timeout);

	if (err)
		return err;
	if (timeout > 31 || (id->qp_type != VB_UCMA_QPT_RC && id->qp_type != VB_UCMA_QPT_XRC_INI))
		return -EINVAL;
	id->ack_timeout = timeout;
	id->ack_timeout_set = true;
	return 0;
}

/* A path that the program has found by itself, from ibacm for one. RoCE has one, that of its
 * addresses. */
static int set_path(struct vb_ucma_id *id, const struct vb_ucma_call *c)
{
	uint32_t flags;

	if (c->extra_len == 0 || c->extra_len % sizeof(struct vb_ucma_path_data))
		return -EINVAL;
	memcpy(&flags, c->extra, sizeof flags);
	if (flags != VB_UCMA_PATH_FLAGS || id->state != VB_UCMA_ADDR_RESOLVED)
		return -EINVAL;
	if (vb_ucma_is_ib(id->u)) {
		const struct vb_ucma_path_data *d = c->extra;
		struct vb_sa_path path;

		vb_sa_path_parse(&path, d->record);
		vb_ucma_way_take(id, &path);
	}
	id->state = VB_UCMA_ROUTE_RESOLVED;
	(void)vb_ucma_event_add(id, VB_UCMA_EV_ROUTE_RESOLVED, 0);
	return 0;
}

int vb_ucma_do_set_option(struct vb_ucma_call *c)
{
	const struct vb_ucma_set_option *b = c->body;

	if (b->optlen != c->extra_len)
		return -EINVAL;
	if (b->level == VB_UCMA_LEVEL_IB && b->optname == VB_UCMA_OPT_IB_PATH)
		return set_path(c->id, c);
	if (b->level != VB_UCMA_LEVEL_ID)
		return -ENOSYS;
	switch (b->optname) {
	case VB_UCMA_OPT_TOS:
		return set_tos(c->id, c);
	case VB_UCMA_OPT_REUSEADDR:
		return set_reuse(c->id, c);
	case VB_UCMA_OPT_AFONLY:
		return set_af_only(c->id, c);
	case VB_UCMA_OPT_ACK_TIMEOUT:
		return set_ack_timeout(c->id, c);
	default:
		return -ENOSYS;
	}
}
