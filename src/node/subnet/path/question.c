/* SPDX-License-Identifier: BSD-2-Clause */
/* The question which way a packet goes, as text, see path.h. */
#include "node/subnet/path/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The only port of an adapter that matters, unless one is named: the first one with a cable. */
static uint8_t first_port(const struct vb_subnet_daemon *d, uint32_t node)
{
	if (vb_subnet_at_switch(d, node))
		return 0;
	for (unsigned p = 1; p <= d->topo->node[node].port_cnt; p++)
		if (d->subnet.node[node].port[p].has_cable)
			return (uint8_t)p;
	return 1;
}

/* "NODE" or "NODE:PORT". */
static int end_read(const struct vb_subnet_daemon *d, char *text, struct vb_subnet_place *at,
		    char *why, size_t why_size)
{
	const struct vb_topo_node *n = vb_topo_find(d->topo, text);
	char *colon = strrchr(text, ':'), *end;
	unsigned long port;

	if (n) {
		at->node = (uint32_t)(n - d->topo->node);
		at->port = first_port(d, at->node);
		return 0;
	}
	if (colon && colon[1] >= '0' && colon[1] <= '9') {
		*colon = 0;
		n = vb_topo_find(d->topo, text);
		*colon = ':';
	}
	if (!n) {
		snprintf(why, why_size, "the fabric '%s' has no node '%.*s'", d->name,
			 (int)VB_PATH_NODE_LEN, text);
		return -ENOENT;
	}
	port = strtoul(colon + 1, &end, 10);
	if (*end || port > n->port_cnt || (port == 0 && n->type != VB_NODE_SWITCH)) {
		snprintf(why, why_size, "'%s' has the ports 1 to %u", n->name, n->port_cnt);
		return -EINVAL;
	}
	*at = (struct vb_subnet_place){(uint32_t)(n - d->topo->node), (uint8_t)port};
	return 0;
}

static bool value_take(struct vb_subnet_question *q, const char *key, unsigned long long value)
{
	if (strcmp(key, "sl") == 0 && value < VB_IB_SLS) {
		q->sl = (uint8_t)value;
	} else if (strcmp(key, "pkey") == 0 && value <= UINT16_MAX) {
		q->pkey = (uint16_t)value;
		q->has_pkey = true;
	} else if (strcmp(key, "index") == 0 && value < VB_IB_PKEYS) {
		q->pkey_index = (uint8_t)value;
	} else if (strcmp(key, "dlid") == 0 && value > 0 && value <= UINT16_MAX) {
		q->dlid = (uint16_t)value;
		q->has_dlid = true;
	} else if (strcmp(key, "mtu") == 0 && value <= VB_MTU_4096) {
		q->mtu = (uint8_t)value;
	} else if (strcmp(key, "hops") == 0 && value <= UINT8_MAX) {
		q->hop_limit = (uint8_t)value;
	} else if (strcmp(key, "prefix") == 0) {
		q->prefix = value;
	} else if (strcmp(key, "guid") == 0) {
		q->guid = value;
	} else {
		return false;
	}
	return true;
}

static int values_read(struct vb_subnet_question *q, char *text, char *why, size_t why_size)
{
	char *rest, *end;

	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		char *value = strchr(word, '=');
		unsigned long long n;

		if (!value || value[1] < '0' || value[1] > '9')
			goto wrong;
		*value++ = 0;
		errno = 0;
		n = strtoull(value, &end, 0);
		if (*end || errno || !value_take(q, word, n))
			goto wrong;
		continue;
	wrong:
		snprintf(why, why_size, "'%s' is nothing that a packet has", word);
		return -EINVAL;
	}
	return 0;
}

int vb_subnet_question_read(struct vb_subnet_daemon *d, char *text, struct vb_subnet_question *q,
			    char *why, size_t why_size)
{
	char *from = strchr(text, '\t'), *to = from ? strchr(from + 1, '\t') : NULL;
	int rc;

	*q = (struct vb_subnet_question){.has_to = false};
	if (!from) {
		snprintf(why, why_size, "a path has a node where it begins");
		return -EINVAL;
	}
	*from++ = 0;
	if (to)
		*to++ = 0;
	rc = values_read(q, text, why, why_size);
	if (!rc)
		rc = end_read(d, from, &q->from, why, why_size);
	if (rc)
		return rc;
	if (!vb_subnet_has_verbs(d, q->from.node)) {
		snprintf(why, why_size, "'%s' is no adapter: programs send from adapters",
			 d->topo->node[q->from.node].name);
		return -EINVAL;
	}
	q->has_to = to && *to;
	if (q->has_to)
		return end_read(d, to, &q->to, why, why_size);
	if (!q->has_dlid || q->dlid >= VB_PATH_MULTICAST) {
		snprintf(why, why_size, "a path has a node where it leads, or the LID of one");
		return -EINVAL;
	}
	return 0;
}

static struct vb_subnet_place place_of(const struct vb_subnet_daemon *d, uint32_t number)
{
	const struct vb_ib_map_port *p = &vb_ib_map_ports(d->adapter->map)[number];

	return (struct vb_subnet_place){p->node, p->number};
}

int vb_subnet_question_of_ports(const struct vb_subnet_daemon *d, const char *text,
				struct vb_subnet_question *q, char *why, size_t why_size)
{
	unsigned long n[5];
	char *end = (char *)(uintptr_t)text;
	bool ok = true;

	for (size_t i = 0; i < sizeof n / sizeof n[0]; i++) {
		const char *from = end;

		n[i] = strtoul(from, &end, 10);
		ok &= end != from;
	}
	if (!ok || *end || n[0] >= d->adapter->map->port_cnt || n[1] >= d->adapter->map->port_cnt ||
	    n[2] >= VB_IB_SLS || n[3] > 127 || n[4] > UINT16_MAX) {
		snprintf(why, why_size, "'%s' names no way", text);
		return -EINVAL;
	}
	*q = (struct vb_subnet_question){.from = place_of(d, (uint32_t)n[0]),
					 .to = place_of(d, (uint32_t)n[1]),
					 .has_to = true,
					 .sl = (uint8_t)n[2],
					 .path_bits = (uint8_t)n[3],
					 .has_pkey = n[4] != 0,
					 .has_common_pkey = true,
					 .pkey = (uint16_t)n[4]};
	return 0;
}
