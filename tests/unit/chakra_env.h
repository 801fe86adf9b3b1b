/* SPDX-License-Identifier: BSD-2-Clause */
/* A small writer of Chakra traces in the form of protobuf, and the time that a workload takes. */
#ifndef VB_TESTS_CHAKRA_ENV_H
#define VB_TESTS_CHAKRA_ENV_H

#include "input_env.h"

enum { METADATA = 1, LOAD, STORE, COMP, SEND, RECV, COLL };

struct bytes {
	uint8_t at[4096];
	size_t len;
};

static inline void put_varint(struct bytes *b, uint64_t v)
{
	for (; v > 127; v >>= 7)
		b->at[b->len++] = (uint8_t)(v | 0x80);
	b->at[b->len++] = (uint8_t)v;
}

static inline void put_number(struct bytes *b, unsigned field, uint64_t v)
{
	put_varint(b, field << 3);
	put_varint(b, v);
}

static inline void put_bytes(struct bytes *b, unsigned field, const void *at, size_t len)
{
	if (field)
		put_varint(b, field << 3 | 2);
	put_varint(b, len);
	memcpy(b->at + b->len, at, len);
	b->len += len;
}

static inline void put_attr(struct bytes *node, const char *name, unsigned field, uint64_t v)
{
	struct bytes a = {.len = 0};

	put_bytes(&a, 1, name, strlen(name));
	put_number(&a, field, v);
	put_bytes(node, 10, a.at, a.len);
}

static inline struct bytes trace_begin(void)
{
	struct bytes b = {.len = 0}, head = {.len = 0};

	put_bytes(&head, 1, "0.0.4", 5);
	put_bytes(&b, 0, head.at, head.len);
	return b;
}

static inline struct bytes node_of(uint64_t id, unsigned type, uint64_t micros)
{
	struct bytes n = {.len = 0};

	put_number(&n, 1, id);
	put_bytes(&n, 2, "name", 4);
	put_number(&n, 3, type);
	put_number(&n, 7, micros);
	return n;
}

static inline void put_node(struct bytes *b, const struct bytes *n)
{
	put_bytes(b, 0, n->at, n->len);
}

/* A node that requires the one before it. */
static inline void put_plain(struct bytes *b, uint64_t id, unsigned type, uint64_t micros)
{
	struct bytes n = node_of(id, type, micros);

	if (id > 0)
		put_number(&n, 5, id - 1);
	put_node(b, &n);
}

static inline void put_message(struct bytes *b, uint64_t id, unsigned type, uint64_t peer,
			       uint64_t size)
{
	struct bytes n = node_of(id, type, 0), deps = {.len = 0};

	if (id > 0) {
		put_varint(&deps, id - 1);
		put_bytes(&n, 4, deps.at, deps.len);
	}
	put_attr(&n, "comm_size", 13, size);
	put_attr(&n, type == SEND ? "comm_dst" : "comm_src", 7, peer);
	put_attr(&n, "comm_tag", 15, 2 * 7); /* zigzag */
	put_node(b, &n);
}

static inline void put_collective(struct bytes *b, uint64_t id, uint64_t type, uint64_t size)
{
	struct bytes n = node_of(id, COLL, 0);

	if (id > 0)
		put_number(&n, 5, id - 1);
	put_attr(&n, "comm_type", 9, type);
	put_attr(&n, "comm_size", 9, size);
	put_node(b, &n);
}

static inline void write_trace(const char *name, const struct bytes *b)
{
	char path[256];
	FILE *f;

	input_path(path, sizeof path, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(b->at, 1, b->len, f), b->len);
	assert_int_equal(fclose(f), 0);
}

/* The end of the last iteration of a workload on four hosts. */
static inline vb_time end_of(const char *workload)
{
	static struct vb_scenario sc;
	struct vb_scenario_run run = {.arena = NULL};
	char err[1024] = "", text[512];
	const struct vb_load_lap *lap;
	vb_time end;
	uint32_t cnt;

	snprintf(text, sizeof text, "topology: {hosts: 4}\nworkload: {%s}\n", workload);
	if (input_open(&sc, &run, text, err, sizeof err))
		fail_msg("%s", err);
	assert_int_equal(vb_sim_run(run.sim, sc.until), 0);
	lap = vb_load_laps(run.load, 0, &cnt);
	assert_int_equal(cnt, vb_load_iterations(run.load, 0));
	end = lap[cnt - 1].end;
	vb_scenario_close(&run);
	vb_scenario_free(&sc);
	return end;
}

#endif
