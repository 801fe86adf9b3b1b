/* SPDX-License-Identifier: BSD-2-Clause */
/* NICs of hosts. See nics.h. */
#include "scenario/input/nics.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NETWORKS_MAX 64u /* that no cable joins */

/* The nodes of a simulation, in sets that are joined. */
struct sets {
	uint32_t *up;
};

static uint32_t root_of(const struct sets *s, uint32_t i)
{
	while (s->up[i] != i)
		i = s->up[i] = s->up[s->up[i]];
	return i;
}

static int count_nics(struct vb_net *n)
{
	uint32_t sum = 0;

	free(n->first);
	n->first = calloc((size_t)n->host_cnt + 1, sizeof *n->first);
	if (!n->first)
		return -ENOMEM;
	for (uint32_t i = 0; i < n->node_cnt; i++)
		if (!n->node[i].is_switch)
			n->first[n->node[i].number] = n->node[i].cable_cnt;
	for (uint32_t i = 0; i <= n->host_cnt; i++) {
		uint32_t cnt = n->first[i];

		n->first[i] = sum;
		sum += cnt;
	}
	return 0;
}

/* Joins the nodes of each cable; @next: the NICs of each host that have had theirs. */
static void join_nodes(const struct vb_net *n, struct sets *s, uint32_t *next)
{
	uint32_t nics = n->first[n->host_cnt];

	for (uint32_t i = 0; i < nics + n->node_cnt - n->host_cnt; i++)
		s->up[i] = i;
	for (uint32_t i = 0; i < n->link_cnt; i++) {
		const uint32_t end[2] = {n->link[i].a, n->link[i].b};
		uint32_t node[2];

		for (int k = 0; k < 2; k++) {
			const struct vb_net_node *of = &n->node[end[k]];

			node[k] = of->is_switch ? nics + of->number
						: n->first[of->number] + next[of->number]++;
		}
		s->up[root_of(s, node[0])] = root_of(s, node[1]);
	}
}

/* Each host as a set of networks, a bit for each. */
static int check_hosts(const struct vb_net *n, const struct sets *s, const struct vb_complaint *c)
{
	uint32_t root[NETWORKS_MAX], cnt = 0, masks = 0, nics = n->first[n->host_cnt];
	struct {
		uint64_t bits;
		uint32_t host;
	} mask[NETWORKS_MAX];

	for (uint32_t i = 0; i < n->node_cnt; i++) {
		const struct vb_net_node *node = &n->node[i];
		uint64_t bits = 0;
		uint32_t k;

		for (k = 0; !node->is_switch && k < node->cable_cnt; k++) {
			uint32_t nic = n->first[node->number] + k, at = 0;

			while (at < cnt && root[at] != root_of(s, nic))
				at++;
			if (at == NETWORKS_MAX)
				return vb_complain(
				    c, node->place.line, node->place.column,
				    "there are more than %u networks that no cable joins",
				    NETWORKS_MAX);
			if (at == cnt)
				root[cnt++] = root_of(s, nic);
			bits |= UINT64_C(1) << at;
			n->network[nic] = at;
		}
		if (node->is_switch)
			continue;
		for (k = 0; k < masks && mask[k].bits != bits; k++)
			if (!(mask[k].bits & bits))
				return vb_complain(c, node->place.line, node->place.column,
						   "%s cannot be reached from %s", node->name,
						   n->node[mask[k].host].name);
		if (k < masks)
			continue;
		if (masks == NETWORKS_MAX)
			return vb_complain(c, node->place.line, node->place.column,
					   "hosts have NICs in more than %u sets of networks",
					   NETWORKS_MAX);
		mask[masks].bits = bits;
		mask[masks++].host = i;
	}
	assert(nics >= n->host_cnt);
	return 0;
}

int vb_net_find_nics(struct vb_net *n, const struct vb_complaint *c)
{
	int bad = count_nics(n);
	uint32_t nics = bad ? 0 : n->first[n->host_cnt], nodes = nics + n->node_cnt - n->host_cnt;
	struct sets s = {.up = calloc((size_t)nodes + 1, sizeof *s.up)};
	uint32_t *next = calloc((size_t)n->host_cnt + 1, sizeof *next);

	free(n->network);
	n->network = calloc((size_t)nics + 1, sizeof *n->network);
	if (!bad && nodes > VB_SIM_TOPO_NODES_MAX)
		bad = vb_complain(c, 1, 1, "there are more than %u NICs of hosts and switches",
				  VB_SIM_TOPO_NODES_MAX);
	if (!bad && s.up && next && n->network) {
		join_nodes(n, &s, next);
		bad = check_hosts(n, &s, c);
	} else if (!bad) {
		bad = -ENOMEM;
	}
	free(s.up);
	free(next);
	return bad;
}

bool vb_net_has_nics(const struct vb_net *n)
{
	return n->first[n->host_cnt] > n->host_cnt;
}

static bool is_number(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] < '0' || text[i] > '9')
			return false;
	return len > 0 && len < 10;
}

/* A text of digits, which others may follow. */
static uint32_t number_at(const char *text, size_t len)
{
	uint32_t v = 0;

	for (size_t i = 0; i < len; i++)
		v = 10 * v + (uint32_t)(text[i] - '0');
	return v;
}

/* The index of a host's node; VB_NET_NONE: there is none. */
static uint32_t host_node(const struct vb_net *n, const char *text, size_t len, bool by_number)
{
	if (by_number && is_number(text, len)) {
		uint32_t number = number_at(text, len);

		for (uint32_t i = 0; i < n->node_cnt; i++)
			if (!n->node[i].is_switch && n->node[i].number == number)
				return i;
		return VB_NET_NONE;
	}
	return vb_net_find(n, text, len);
}

static int end_wrong(const struct vb_token *word, char *why, size_t size, const char *before,
		     const char *after)
{
	char shown[VB_TOKEN_SHOWN];

	snprintf(why, size, "%s\"%s\"%s", before, vb_token_show(word, shown), after);
	return -EINVAL;
}

int vb_net_end(const struct vb_net *n, const struct vb_token *word, bool by_number, uint32_t *end,
	       char *why, size_t size)
{
	const char *colon = NULL, *nic;
	uint32_t node;
	size_t len;

	if (!n) {
		if (!is_number(word->text, word->len))
			return end_wrong(word, why, size, "a host is a number, not ", "");
		*end = number_at(word->text, word->len);
		return 0;
	}
	node = host_node(n, word->text, word->len, by_number);
	for (size_t i = 0; node == VB_NET_NONE && i < word->len; i++)
		colon = word->text[i] == ':' ? word->text + i : colon;
	if (colon)
		node = host_node(n, word->text, (size_t)(colon - word->text), by_number);
	if (node == VB_NET_NONE)
		return end_wrong(word, why, size, "there is no node ", " in the topology");
	if (n->node[node].is_switch) {
		snprintf(why, size, "node %s is a switch", n->node[node].name);
		return -EINVAL;
	}
	*end = n->node[node].number;
	if (!colon)
		return 0;
	nic = colon + 1;
	len = (size_t)(word->text + word->len - nic);
	if (!is_number(nic, len) || number_at(nic, len) >= n->node[node].cable_cnt) {
		char rest[64];

		snprintf(rest, sizeof rest, ": NICs of that host are 0 to %u",
			 n->node[node].cable_cnt - 1);
		return end_wrong(word, why, size, "there is no NIC ", rest);
	}
	*end = VB_LOAD_NIC | (n->first[*end] + number_at(nic, len));
	return 0;
}
