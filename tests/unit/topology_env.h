/* SPDX-License-Identifier: BSD-2-Clause */
/* One topology for each test, made of text; its memory is counted. */
#ifndef TESTS_UNIT_TOPOLOGY_ENV_H
#define TESTS_UNIT_TOPOLOGY_ENV_H

#include "cmocka_env.h"
#include "fabric/topology/topology.h"
#include "wire/mad/smp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX ((size_t)8 << 20)

static struct vb_topo topo;
static struct vb_topo_config config;
static char why[512];
static long blocks, allowed; /* pieces of memory: in use, and how many more there are */
static char *text_written;
static size_t text_len;
static long sink_limit; /* calls that the sink takes */

static inline void *topology_alloc(void *ctx, size_t size)
{
	(void)ctx;
	if (allowed-- <= 0)
		return NULL;
	blocks++;
	return calloc(1, size);
}

static inline void topology_release(void *ctx, void *p)
{
	(void)ctx;
	blocks--;
	free(p);
}

static inline int topology_begin(void **state)
{
	(void)state;
	config = (struct vb_topo_config){.alloc = topology_alloc, .free = topology_release};
	memset(&topo, 0, sizeof topo);
	blocks = 0;
	allowed = 1000000;
	sink_limit = 1000000;
	text_written = malloc(TEXT_MAX);
	return text_written ? 0 : -1;
}

static inline int topology_end(void **state)
{
	(void)state;
	free(text_written);
	if (topo.free)
		vb_topo_free(&topo);
	return blocks != 0;
}
#define TOPOLOGY_TEST(f) cmocka_unit_test_setup_teardown(f, topology_begin, topology_end)

static inline void parse_bytes(const char *text, size_t len)
{
	int err;

	if (topo.free)
		vb_topo_free(&topo);
	err = vb_topo_parse(&topo, &config, text, len, why, sizeof why);
	if (err)
		fail_msg("%d: %s", err, why);
}

static inline void parse(const char *text)
{
	parse_bytes(text, strlen(text));
}

static inline char *whole_file(const char *path, size_t *len)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, TEXT_MAX);

	assert_non_null(f);
	assert_non_null(text);
	*len = fread(text, 1, TEXT_MAX - 1, f);
	fclose(f);
	return text;
}

static inline void parse_file(const char *path)
{
	size_t len;
	char *text = whole_file(path, &len);

	parse_bytes(text, len);
	free(text);
}

/* The text is refused with just these words. */
static inline void refuse(const char *text, const char *words)
{
	assert_int_equal(vb_topo_parse(&topo, &config, text, strlen(text), why, sizeof why),
			 -EINVAL);
	assert_string_equal(why, words);
	assert_int_equal(topo.node_cnt, 0);
	assert_int_equal(blocks, 0);
}

static inline const struct vb_topo_node *node(const char *name)
{
	const struct vb_topo_node *n = vb_topo_find(&topo, name);

	if (!n)
		fail_msg("there is no node %s", name);
	return n;
}

static inline int sink(void *ctx, const char *text, size_t len)
{
	(void)ctx;
	if (sink_limit-- <= 0)
		return -EIO;
	assert_true(text_len + len < TEXT_MAX);
	memcpy(text_written + text_len, text, len);
	text_len += len;
	text_written[text_len] = '\0';
	return 0;
}

static inline const char *written(void)
{
	text_len = 0;
	assert_int_equal(vb_topo_write(&topo, sink, NULL), 0);
	return text_written;
}

static inline void check_same(const struct vb_topo *a, const struct vb_topo *b)
{
	assert_int_equal(a->node_cnt, b->node_cnt);
	assert_int_equal(a->link_cnt, b->link_cnt);
	for (uint32_t i = 0; i < a->node_cnt; i++) {
		const struct vb_topo_node *x = &a->node[i], *y = &b->node[i];

		assert_string_equal(x->name, y->name);
		assert_string_equal(x->desc, y->desc);
		assert_int_equal(x->type, y->type);
		assert_int_equal(x->port_cnt, y->port_cnt);
		assert_int_equal(x->enhanced_port0, y->enhanced_port0);
		assert_int_equal(x->device_id, y->device_id);
		assert_int_equal(x->vendor_id, y->vendor_id);
		assert_int_equal(x->node_guid, y->node_guid);
		assert_int_equal(x->system_guid, y->system_guid);
		assert_int_equal(a->by_name[i], b->by_name[i]);
		for (uint32_t p = 0; p <= x->port_cnt; p++) {
			assert_int_equal(x->port[p].peer, y->port[p].peer);
			assert_int_equal(x->port[p].peer_port, y->port[p].peer_port);
			assert_int_equal(x->port[p].width, y->port[p].width);
			assert_int_equal(x->port[p].speed, y->port[p].speed);
			assert_int_equal(x->port[p].lid, y->port[p].lid);
			assert_int_equal(x->port[p].lmc, y->port[p].lmc);
			assert_int_equal(x->port[p].guid, y->port[p].guid);
		}
	}
}

/* The topology is written and read: it is the same, and its text too. */
static inline void check_fixed_point(void)
{
	char *first = strdup(written());
	struct vb_topo before = topo;

	topo.free = NULL; /* kept */
	parse(first);
	check_same(&before, &topo);
	assert_string_equal(written(), first);
	vb_topo_free(&before);
	free(first);
}

#endif
