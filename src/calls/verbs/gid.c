/* SPDX-License-Identifier: BSD-2-Clause */
/* GID entries and ECE options. ibv_query_gid_ex(3), ibv_query_gid_table(3), ibv_query_ece(3) */
#include "calls/call.h"
#include "calls/next.h"
#include "calls/show.h"

static const struct vb_name gid_types[] = {{IBV_GID_TYPE_IB, "IB"},
					   {IBV_GID_TYPE_ROCE_V1, "ROCE_V1"},
					   {IBV_GID_TYPE_ROCE_V2, "ROCE_V2"},
					   {0, NULL}};

static void entry_show(struct vb_call *c, const char *name, const struct ibv_gid_entry *e)
{
	vb_call_open(c, name, '{');
	vb_call_gid(c, "gid", &e->gid);
	vb_call_number(c, "gid_index", e->gid_index);
	vb_call_number(c, "port_num", e->port_num);
	vb_call_name(c, "gid_type", gid_types, e->gid_type);
	vb_call_number(c, "ndev_ifindex", e->ndev_ifindex);
	vb_call_close(c, '}');
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_query_gid_ex");
	vb_call_object(&c, "context", VB_KIND_CTX, context);
	vb_call_number(&c, "port_num", port);
	vb_call_number(&c, "gid_index", index);
	vb_call_go(&c);
	rc = vb_next_verbs()->_ibv_query_gid_ex(context, port, index, entry, flags, size);
	vb_call_done(&c);
	if (!rc && size >= sizeof *entry) {
		vb_call_results(&c);
		entry_show(&c, "entry", entry);
	}
	vb_call_end_error(&c, rc);
	return rc;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max,
			     uint32_t flags, size_t size)
{
	struct vb_call c;
	ssize_t cnt;

	vb_call_begin(&c, "ibv_query_gid_table");
	vb_call_object(&c, "context", VB_KIND_CTX, context);
	vb_call_number(&c, "max_entries", (int64_t)max);
	vb_call_go(&c);
	cnt = vb_next_verbs()->_ibv_query_gid_table(context, entries, max, flags, size);
	vb_call_done(&c);
	if (cnt > 0 && size == sizeof *entries) {
		vb_call_results(&c);
		vb_call_open(&c, "entries", '[');
		for (ssize_t i = 0; i < cnt; i++)
			entry_show(&c, NULL, &entries[i]);
		vb_call_close(&c, ']');
	}
	if (cnt < 0)
		vb_call_end_error(&c, (int)-cnt);
	else
		vb_call_end_count(&c, (int)cnt);
	return cnt;
}

static void ece_show(struct vb_call *c, const struct ibv_ece *ece)
{
	vb_call_hex(c, "vendor_id", ece->vendor_id);
	vb_call_hex(c, "options", ece->options);
	vb_call_hex(c, "comp_mask", ece->comp_mask);
}

int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_query_ece");
	vb_call_object(&c, "qp", VB_KIND_QP, qp);
	vb_call_go(&c);
	rc = vb_next_verbs()->ibv_query_ece(qp, ece);
	vb_call_done(&c);
	if (!rc) {
		vb_call_results(&c);
		ece_show(&c, ece);
	}
	vb_call_end_error(&c, rc);
	return rc;
}

int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_set_ece");
	vb_call_object(&c, "qp", VB_KIND_QP, qp);
	ece_show(&c, ece);
	vb_call_go(&c);
	rc = vb_next_verbs()->ibv_set_ece(qp, ece);
	vb_call_done(&c);
	vb_call_end_error(&c, rc);
	return rc;
}
