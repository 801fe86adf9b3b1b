/* SPDX-License-Identifier: BSD-2-Clause */
/* Address vectors: an ibv_ah_attr as a path and back; address handles. man 3 ibv_create_ah */
#include "verbs/objects.h"

#include <string.h>

#define HOP_LIMIT_DEFAULT 64

int path_from_attr(struct verbena_context *c, const struct ibv_ah_attr *attr, struct vb_path *path)
{
	struct vb_device d;
	const struct ibv_global_route *grh = &attr->grh;

	/* RoCE addresses by GID only. IBA A17.4.2 */
	if (!attr->is_global || attr->port_num != 1 || grh->sgid_index >= VB_GIDS_MAX)
		return -EINVAL;
	if (!device_read(c->port - 1u, c->engine, &d))
		return -ENODEV;
	if (d.gid[grh->sgid_index].type == VB_GID_NONE)
		return -EINVAL;
	*path = (struct vb_path){
	    .sgid = d.gid[grh->sgid_index].gid,
	    .flow_label = grh->flow_label & 0xfffff,
	    .port = c->port,
	    .sl = attr->sl,
	    .traffic_class = grh->traffic_class,
	    .hop_limit = grh->hop_limit > 1 ? grh->hop_limit : HOP_LIMIT_DEFAULT,
	};
	memcpy(path->dgid.b, grh->dgid.raw, sizeof path->dgid.b);
	/* Both ends in one address family. */
	return vb_gid_is_ipv4(&path->sgid) == vb_gid_is_ipv4(&path->dgid) ? 0 : -EINVAL;
}

void path_to_attr(const struct vb_path *path, uint8_t sgid_index, struct ibv_ah_attr *attr)
{
	*attr = (struct ibv_ah_attr){
	    .is_global = 1,
	    .port_num = 1,
	    .sl = path->sl,
	    .grh = {.flow_label = path->flow_label,
		    .sgid_index = sgid_index,
		    .hop_limit = path->hop_limit,
		    .traffic_class = path->traffic_class},
	};
	memcpy(attr->grh.dgid.raw, path->dgid.b, sizeof path->dgid.b);
}

VERBS_API struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct verbena_ah *ah = calloc(1, sizeof *ah);
	int err;

	if (!ah)
		return verbs_null(-ENOMEM);
	err = path_from_attr(ctx_of(pd->context), attr, &ah->ah.path);
	if (err) {
		free(ah);
		return verbs_null(err);
	}
	ah->ibv.context = pd->context;
	ah->ibv.pd = pd;
	ah->ah.pd = vb_container_of(pd, struct verbena_pd, ibv)->pd;
	return &ah->ibv;
}

VERBS_API int ibv_destroy_ah(struct ibv_ah *ah)
{
	free(vb_container_of(ah, struct verbena_ah, ibv));
	return 0;
}

/* The sender's GID from the 40 bytes in front of a UD message. */
static void grh_sgid(const struct ibv_grh *grh, union ibv_gid *sgid, union ibv_gid *dgid)
{
	const uint8_t *b = (const uint8_t *)grh;

	if (b[0] >> 4 == 6) {
		*sgid = grh->sgid;
		*dgid = grh->dgid;
		return;
	}
	/* IPv4: its header is in the last 20 bytes. IBT-21 */
	memset(sgid, 0, sizeof *sgid);
	sgid->raw[10] = sgid->raw[11] = 0xff;
	*dgid = *sgid;
	memcpy(sgid->raw + 12, b + 32, 4);
	memcpy(dgid->raw + 12, b + 36, 4);
}

VERBS_API int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port, struct ibv_wc *wc,
				  struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	struct vb_device d;
	union ibv_gid sgid, dgid;

	if (!(wc->wc_flags & IBV_WC_GRH) || port != 1 ||
	    !device_read(ctx_of(context)->port - 1u, engine_of(context), &d)) {
		errno = EINVAL;
		return -1;
	}
	grh_sgid(grh, &sgid, &dgid);
	memset(attr, 0, sizeof *attr);
	attr->port_num = port;
	attr->sl = wc->sl;
	attr->is_global = 1;
	attr->grh.dgid = sgid;
	attr->grh.hop_limit = HOP_LIMIT_DEFAULT;
	for (uint8_t i = 0; i < VB_GIDS_MAX; i++) {
		if (d.gid[i].type != VB_GID_NONE && !memcmp(d.gid[i].gid.b, dgid.raw, 16)) {
			attr->grh.sgid_index = i;
			return 0;
		}
	}
	errno = ENODATA; /* not sent to an address of ours: multicast */
	return -1;
}

VERBS_API struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc,
					       struct ibv_grh *grh, uint8_t port)
{
	struct ibv_ah_attr attr;

	return ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr) ? NULL
								      : ibv_create_ah(pd, &attr);
}
