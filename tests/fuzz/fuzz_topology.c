/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any text as the topology of a subnet. An accepted one is sound: cables have two ends, GUIDs and
 * names are there once; and it is the same topology after it was written and read. A refused one
 * leaves nothing behind, and the refusal says why in words that can be printed.
 *
 * Input: a text, and behind a zero byte the text of each file that it includes. A text that begins
 * with '!' is a shape.
 */
#include "fabric/topology/topology.h"
#include "wire/ib/rate.h"
#include "wire/mad/smp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX ((size_t)4 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len);

#define require(cond)                                                                              \
	do {                                                                                       \
		if (!(cond))                                                                       \
			abort();                                                                   \
	} while (0)

struct world {
	const char *more; /* the text of the included files */
	size_t more_len;
	long blocks;
	char *text; /* written */
	size_t len;
};

static void *block_take(void *ctx, size_t size)
{
	struct world *w = ctx;

	w->blocks++;
	return calloc(1, size);
}

static void block_give(void *ctx, void *p)
{
	struct world *w = ctx;

	w->blocks--;
	free(p);
}

static int file_open(void *ctx, const char *file, const char **text, size_t *len)
{
	const struct world *w = ctx;

	if (strcmp(file, "none") == 0)
		return -ENOENT;
	*text = w->more;
	*len = w->more_len;
	return 0;
}

static int text_add(void *ctx, const char *text, size_t len)
{
	struct world *w = ctx;

	require(w->len + len <= TEXT_MAX);
	memcpy(w->text + w->len, text, len);
	w->len += len;
	return 0;
}

static void check_node(const struct vb_topo *t, uint32_t index)
{
	const struct vb_topo_node *n = &t->node[index];
	bool is_switch = n->type == VB_NODE_SWITCH;

	require(n->type >= VB_NODE_CA && n->type <= VB_NODE_ROUTER);
	require(n->port_cnt >= 1 && n->port_cnt <= VB_TOPO_PORT_CNT_MAX);
	require(n->name[0] && strlen(n->name) <= VB_TOPO_NAME_MAX);
	require(strlen(n->desc) <= VB_TOPO_DESC_MAX);
	require(n->node_guid && n->system_guid);
	require(vb_topo_find(t, n->name) == n);
	for (uint32_t p = is_switch ? 0 : 1; p <= n->port_cnt; p++) {
		const struct vb_topo_port *port = &n->port[p], *far;

		require(port->guid && (!is_switch || port->guid == n->port[0].guid));
		if (port->peer == VB_TOPO_NO_PEER) {
			require(!port->peer_port && !port->width && !port->speed);
			continue;
		}
		require(p > 0 && port->peer < t->node_cnt && port->peer_port > 0);
		require(port->peer_port <= t->node[port->peer].port_cnt);
		far = &t->node[port->peer].port[port->peer_port];
		require(far != port && far->peer == index && far->peer_port == p);
		require(far->width == port->width && far->speed == port->speed);
		require(vb_ib_lanes(port->width) && vb_ib_speed_row(port->speed));
	}
}

static int compare_guids(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Each GUID of a node is there once, and so is each of a port. */
static void check_guids(const struct vb_topo *t, bool of_ports)
{
	uint64_t *guid;
	size_t cnt = 0;

	for (uint32_t i = 0; i < t->node_cnt; i++)
		cnt += t->node[i].port_cnt;
	guid = malloc((cnt + 1) * sizeof *guid);
	require(guid != NULL);
	cnt = 0;
	for (uint32_t i = 0; i < t->node_cnt; i++) {
		const struct vb_topo_node *n = &t->node[i];

		if (!of_ports)
			guid[cnt++] = n->node_guid;
		else if (n->type == VB_NODE_SWITCH)
			guid[cnt++] = n->port[0].guid;
		for (uint32_t p = 1; of_ports && n->type != VB_NODE_SWITCH && p <= n->port_cnt; p++)
			guid[cnt++] = n->port[p].guid;
	}
	qsort(guid, cnt, sizeof *guid, compare_guids);
	for (size_t i = 1; i < cnt; i++)
		require(guid[i - 1] != guid[i]);
	free(guid);
}

static void check_topology(struct vb_topo *t, const struct vb_topo_config *cfg, struct world *w)
{
	char *first, why[256];
	size_t first_len;

	for (uint32_t i = 0; i < t->node_cnt; i++)
		check_node(t, i);
	check_guids(t, false);
	check_guids(t, true);
	require(vb_topo_write(t, text_add, w) == 0);
	first = w->text;
	first_len = w->len;
	w->text = malloc(TEXT_MAX);
	w->len = 0;
	require(w->text != NULL);
	vb_topo_free(t);
	require(vb_topo_parse(t, cfg, first, first_len, why, sizeof why) == 0);
	require(vb_topo_write(t, text_add, w) == 0);
	require(w->len == first_len && memcmp(w->text, first, first_len) == 0);
	free(first);
	vb_topo_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len)
{
	const uint8_t *zero = len ? memchr(in, 0, len) : NULL;
	size_t text_len = zero ? (size_t)(zero - in) : len;
	struct world w = {.more = zero ? (const char *)zero + 1 : "",
			  .more_len = zero ? len - text_len - 1 : 0};
	struct vb_topo_config cfg = {.alloc = block_take,
				     .free = block_give,
				     .alloc_ctx = &w,
				     .node_max = 1000,
				     .port_max = 20000,
				     .include = file_open,
				     .include_ctx = &w};
	char why[256], shape[64] = "";
	struct vb_topo t;
	int err;

	w.text = malloc(TEXT_MAX);
	require(w.text != NULL);
	if (text_len > 0 && in[0] == '!') {
		memcpy(shape, in + 1,
		       text_len - 1 < sizeof shape ? text_len - 1 : sizeof shape - 1);
		err = vb_topo_shape(&t, &cfg, shape, why, sizeof why);
	} else {
		err = vb_topo_parse(&t, &cfg, (const char *)in, text_len, why, sizeof why);
	}
	if (err == 0)
		check_topology(&t, &cfg, &w);
	else
		require(why[0] != '\0' && t.node_cnt == 0);
	for (const char *c = why; *c; c++)
		require((unsigned char)*c >= ' ' && *c != 0x7f);
	require(w.blocks == 0);
	free(w.text);
	return 0;
}
