/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The QPs of programs at the nodes of an InfiniBand fabric, whose process is their broker: slots,
 * histories of programs that have ended, and the ways of their packets.
 */
#include "cmd/explain/explain.h"

#include "cmd/explain/path.h"
#include "cmd/json.h"
#include "link/ib/map.h"
#include "link/memory.h"
#include "node/subnet/client.h"
#include "wire/ib/hop.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A call with a number; the answer's status, or why there is none. */
static int number_ask(int sock, enum vb_subnet_op op, uint32_t number,
		      struct vb_subnet_answer *answer, struct vb_fds *fds)
{
	static struct vb_subnet_call call;
	int rc;

	vb_subnet_call_text(&call, op, "");
	call.number = number;
	fds->cnt = 0;
	rc = vb_subnet_ask(sock, &call, -1, answer, fds);
	answer->text[sizeof answer->text - 1] = 0;
	return rc ? rc : answer->status;
}

/* The memory in the only descriptor of @fds, read-only; NULL: there is none. */
static const void *memory_take(struct vb_fds *fds, size_t size)
{
	void *p = NULL;

	if (fds->cnt != 1 || vb_memory_map(fds->fd[0], size, false, &p))
		p = NULL;
	vb_fds_close(fds);
	return p;
}

/* The node of each slot in use, and of each place of a program that has ended. */
static int slots_take(struct vb_broker_observer *o, struct vb_explain_nodes *n)
{
	struct vb_subnet_answer answer;
	struct vb_fds fds;

	for (uint32_t k = VB_SLOT_FIRST; k < VB_SLOT_CNT + VB_PAST_QPS; k++) {
		bool is_past = k >= VB_SLOT_CNT;
		int rc;

		if (!is_past && k > VB_IB_SLOT_LAST)
			continue;
		if (is_past && !vb_broker_past(o)->history[k - VB_SLOT_CNT].ended)
			continue;
		rc = number_ask(o->sock, VB_SUBNET_SLOT_SHOW, k, &answer, &fds);
		if (rc == -ENOENT)
			continue;
		if (rc)
			return rc;
		vb_printable(n->node[k], sizeof n->node[k], answer.text);
		if (!is_past)
			o->slot[k] = memory_take(&fds, sizeof *o->slot[k]);
	}
	return 0;
}

int vb_explain_observe_nodes(struct vb_broker_observer *o, struct vb_explain_nodes *n, uint32_t qpn,
			     uint32_t *asked, char *why, size_t why_size)
{
	struct vb_subnet_answer answer;
	struct vb_fds fds;
	int rc;

	memset(o, 0, sizeof *o);
	memset(n->node, 0, sizeof n->node);
	o->sock = vb_subnet_dial(n->fabric, why, why_size);
	if (o->sock < 0)
		return o->sock;
	rc = number_ask(o->sock, VB_SUBNET_VIEWS, qpn, &answer, &fds);
	if (!rc) {
		*asked = (uint32_t)answer.token;
		o->host = memory_take(&fds, sizeof(struct vb_host_memory));
		rc = o->host ? slots_take(o, n) : -EPROTO;
	}
	if (rc)
		snprintf(why, why_size, "the fabric '%s' does not say: %s", n->fabric,
			 rc == -EPROTO ? "it is of another version of verbena" : strerror(-rc));
	return rc;
}

uint32_t vb_explain_ways_ask(const char *fabric, const char *node, const struct vb_qp_view *v,
			     struct vb_path_view *way)
{
	const struct vb_path *p = &v->attr.path;
	char text[250], grh[100] = "", why[256];
	int cnt;

	if (!vb_path_has_lid(p))
		return 0;
	if (vb_path_has_grh(p))
		snprintf(grh, sizeof grh, " hops=%u prefix=0x%" PRIx64 " guid=0x%" PRIx64,
			 p->hop_limit, vb_gid_prefix(&p->dgid), vb_gid_guid(&p->dgid));
	if (snprintf(text, sizeof text, "path sl=%u mtu=%u index=%u dlid=%u%s\t%s:%u\t", p->sl,
		     v->attr.path_mtu, v->attr.pkey_index, p->dlid, grh, node,
		     v->attr.port) >= (int)sizeof text)
		return 0;
	cnt = vb_explain_path_question(fabric, text, way, why, sizeof why);
	return cnt > 0 ? (uint32_t)cnt : 0;
}
