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

static struct vb_topo topo;
static struct vb_topo_config config;
static char why[512];
static long blocks, allowed; /* pieces of memory: in use, and how many more there are */

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
	return 0;
}

static inline int topology_end(void **state)
{
	(void)state;
	if (topo.free)
		vb_topo_free(&topo);
	return blocks != 0;
}
#define TOPOLOGY_TEST(f) cmocka_unit_test_setup_teardown(f, topology_begin, topology_end)

static inline void parse_bytes(const char *text, size_t len)
{
	int err = vb_topo_parse(&topo, &config, text, len, why, sizeof why);

	if (err)
		fail_msg("%d: %s", err, why);
}

static inline void parse(const char *text)
{
	parse_bytes(text, strlen(text));
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

#endif
