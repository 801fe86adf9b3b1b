/* SPDX-License-Identifier: BSD-2-Clause */
/* The answers of a fabric's process to `verbena explain`, see path.h. */
#include "node/subnet/path/path.h"

#include <errno.h>
#include <string.h>

int vb_subnet_answer_path(struct vb_subnet_daemon *d, char *arguments, FILE *out, char *why,
			  size_t why_size)
{
	static struct vb_path_view v;
	struct vb_subnet_question q, back;
	int rc = vb_subnet_question_read(d, arguments, &q, why, why_size);

	if (!rc)
		rc = vb_subnet_adapter_need(d);
	if (rc)
		return rc;
	vb_subnet_path_view(d, &q, &v);
	if (fwrite(&v, sizeof v, 1, out) != 1)
		return -EIO;
	if (!vb_subnet_question_turn(d, &v, &q, &back))
		return 0;
	vb_subnet_path_view(d, &back, &v);
	return fwrite(&v, sizeof v, 1, out) == 1 ? 0 : -EIO;
}

int vb_subnet_answer_way(struct vb_subnet_daemon *d, const char *numbers, FILE *out, char *why,
			 size_t why_size)
{
	static struct vb_path_view v;
	struct vb_subnet_question q;
	int rc = vb_subnet_adapter_need(d);

	if (!rc)
		rc = vb_subnet_question_of_ports(d, numbers, &q, why, why_size);
	if (rc)
		return rc;
	vb_subnet_path_view(d, &q, &v);
	return fwrite(&v, sizeof v, 1, out) == 1 ? 0 : -EIO;
}

int vb_subnet_answer_node(struct vb_subnet_daemon *d, const char *name, FILE *out, char *why,
			  size_t why_size)
{
	const struct vb_topo_node *n = vb_topo_find(d->topo, name);
	struct vb_subnet_node_answer a;
	uint32_t node;

	if (!n) {
		snprintf(why, why_size, "the fabric '%s' has no node '%.*s'", d->name,
			 (int)VB_PATH_NODE_LEN, name);
		return -ENOENT;
	}
	node = (uint32_t)(n - d->topo->node);
	vb_subnet_count(d, node);
	for (unsigned p = n->type == VB_NODE_SWITCH ? 0 : 1; p <= n->port_cnt; p++) {
		struct vb_subnet_place at = {node, (uint8_t)p};
		const struct vb_subnet_port *port = &d->subnet.node[node].port[p];

		memset(&a, 0, sizeof a);
		vb_subnet_path_manager(d, &a.manager);
		vb_subnet_path_port(d, at, &a.port);
		if (p && port->has_cable && !port->is_away)
			vb_subnet_path_port(d, port->peer, &a.far);
		if (fwrite(&a, sizeof a, 1, out) != 1)
			return -EIO;
	}
	return 0;
}
