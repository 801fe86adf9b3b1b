/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of a port: GIDs, each of type RoCE v2 or InfiniBand, and P_Keys. */
#include "verbs/priv.h"

#include <endian.h>
#include <string.h>

/* The answers of rdma-core's private ibv_query_gid_type() for InfiniBand and RoCE v2;
 * ibv_devinfo calls it. */
enum gid_type_sysfs { GID_TYPE_SYSFS_IB_ROCE_V1 = 0, GID_TYPE_SYSFS_ROCE_V2 = 1 };
int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index,
		       enum gid_type_sysfs *type);

const struct vb_gid *vb_ibv_gid(struct vb_ibv_context *c, uint32_t port, uint32_t index)
{
	const struct vb_device *d = vb_ibv_port(c, port);

	vb_ibv_refresh(c);
	if (!d || index >= VB_GIDS_MAX || d->gid[index].type == VB_GID_NONE)
		return NULL;
	return &d->gid[index].gid;
}

/* Copies the GID: 0, EINVAL outside the table, ENODATA for an empty entry, which reads as zero. */
static int gid_get(struct ibv_context *context, uint32_t port, uint32_t index, struct vb_gid *gid)
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);

	if (!vb_ibv_port(c, port))
		return vb_ibv_why_port(c, port);
	if (index >= c->gid_cnt)
		return VB_IBV_WHY(EINVAL, "index %d is not from 0 to %d", (int)index,
				  (int)c->gid_cnt - 1);
	if (!vb_ibv_enter(c))
		return EIO;

	const struct vb_gid *g = vb_ibv_gid(c, port, index);

	memset(gid, 0, sizeof *gid);
	if (g)
		*gid = *g;
	vb_ibv_leave(c);
	return g ? 0 : ENODATA;
}

int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	struct vb_gid g;
	int err = gid_get(context, port, (uint32_t)index, &g);

	if (err && err != ENODATA)
		return VB_IBV_REFUSE_FAIL(vb_ibv_ctx(context), err, "ibv_query_gid");
	memcpy(gid->raw, g.b, sizeof g.b);
	return 0;
}

/* Writes as much of the entry as the caller's structure holds. */
static void entry_show(struct vb_ibv_context *c, uint32_t port, uint32_t index,
		       const struct vb_gid *gid, void *to, size_t size)
{
	bool is_ib = vb_ibv_is_ib(c);
	struct ibv_gid_entry e = {
	    .gid_index = index,
	    .port_num = port,
	    .gid_type = is_ib ? IBV_GID_TYPE_IB : IBV_GID_TYPE_ROCE_V2,
	    .ndev_ifindex = is_ib ? 0 : c->table[0].ifindex,
	};

	memcpy(e.gid.raw, gid->b, sizeof gid->b);
	memset(to, 0, size);
	memcpy(to, &e, size < sizeof e ? size : sizeof e);
}

static int why_flags(uint32_t flags)
{
	return VB_IBV_WHY(EOPNOTSUPP, "flags are 0x%x, not 0", flags);
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	struct vb_gid gid;
	int err = flags ? why_flags(flags) : gid_get(context, port, index, &gid);

	/* An empty entry is what a program finds that looks through the table. */
	if (err)
		return err == ENODATA ? vb_ibv_result(err)
				      : vb_ibv_refuse(vb_ibv_ctx(context), err, "ibv_query_gid_ex");
	entry_show(vb_ibv_ctx(context), port, index, &gid, entry, size);
	return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max,
			     uint32_t flags, size_t size)
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);
	size_t cnt = 0;

	if (flags)
		return -vb_ibv_refuse(c, why_flags(flags), "ibv_query_gid_table");
	if (!vb_ibv_enter(c))
		return -vb_ibv_refuse(c, EIO, "ibv_query_gid_table");
	for (uint32_t k = 0; k < c->port_cnt * (uint32_t)VB_GIDS_MAX; k++) {
		uint32_t port = VB_IBV_PORT + k / VB_GIDS_MAX, i = k % VB_GIDS_MAX;
		const struct vb_gid *gid = vb_ibv_gid(c, port, i);

		if (gid && cnt++ < max)
			entry_show(c, port, i, gid, (char *)entries + (cnt - 1) * size, size);
	}
	vb_ibv_leave(c);
	if (cnt <= max)
		return (ssize_t)cnt;
	return -vb_ibv_refuse(
	    c, VB_IBV_WHY(EINVAL, "max_entries is %zu, and there are %zu GIDs", max, cnt),
	    "ibv_query_gid_table");
}

int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index,
		       enum gid_type_sysfs *type)
{
	struct vb_gid gid;
	int err = gid_get(context, port, index, &gid);

	if (err && err != ENODATA)
		return VB_IBV_REFUSE_FAIL(vb_ibv_ctx(context), err, "ibv_query_gid_type");
	*type =
	    vb_ibv_is_ib(vb_ibv_ctx(context)) ? GID_TYPE_SYSFS_IB_ROCE_V1 : GID_TYPE_SYSFS_ROCE_V2;
	return 0;
}

/* An empty entry reads as 0, which is no P_Key. */
int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);

	if (!vb_ibv_port(c, port))
		return VB_IBV_REFUSE_FAIL(c, vb_ibv_why_port(c, port), "ibv_query_pkey");
	if (index < 0 || index >= (int)c->pkey_cnt)
		return VB_IBV_REFUSE_FAIL(
		    c,
		    VB_IBV_WHY(EINVAL, "index %d is not from 0 to %d", index, (int)c->pkey_cnt - 1),
		    "ibv_query_pkey");
	if (!vb_ibv_enter(c))
		return VB_IBV_REFUSE_FAIL(c, EIO, "ibv_query_pkey");
	vb_ibv_refresh(c);
	*pkey = htobe16(vb_ibv_port(c, port)->pkey[index]);
	vb_ibv_leave(c);
	return 0;
}

/* The very key: a full and a limited member of one partition are two entries. ibv_get_pkey_index(3)
 */
int ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey)
{
	for (int i = 0; i < (int)vb_ibv_ctx(context)->pkey_cnt; i++) {
		__be16 entry;

		if (ibv_query_pkey(context, port, i, &entry))
			return -1;
		if (entry == pkey)
			return i;
	}
	return VB_IBV_REFUSE_FAIL(
	    vb_ibv_ctx(context),
	    VB_IBV_WHY(EINVAL, "pkey 0x%04x is not in the table of the port", be16toh(pkey)),
	    "ibv_get_pkey_index");
}
