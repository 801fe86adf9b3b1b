/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys to numbers, see map.h. */
#include "export/map.h"

#include <stdlib.h>

#define BITS_FIRST 10u
#define BITS_MAX 30u

static uint32_t key_place(const struct vb_map *m, uint64_t key)
{
	uint32_t i = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - m->bits));

	while (m->key[i] && m->key[i] != key)
		i = (i + 1) & ((1u << m->bits) - 1);
	return i;
}

uint32_t vb_map_get(const struct vb_map *m, uint64_t key)
{
	uint32_t i = m->key ? key_place(m, key) : 0;

	return m->key && m->key[i] ? m->value[i] : VB_MAP_NONE;
}

static bool map_grow(struct vb_map *m)
{
	struct vb_map to = {.bits = m->bits ? m->bits + 1 : BITS_FIRST, .cnt = m->cnt};

	if (to.bits > BITS_MAX)
		return false;
	to.key = calloc((size_t)1 << to.bits, sizeof *to.key);
	to.value = calloc((size_t)1 << to.bits, sizeof *to.value);
	if (!to.key || !to.value) {
		vb_map_free(&to);
		return false;
	}
	for (uint32_t i = 0; m->key && i < 1u << m->bits; i++) {
		if (!m->key[i])
			continue;

		uint32_t k = key_place(&to, m->key[i]);

		to.key[k] = m->key[i];
		to.value[k] = m->value[i];
	}
	vb_map_free(m);
	*m = to;
	return true;
}

bool vb_map_put(struct vb_map *m, uint64_t key, uint32_t value)
{
	uint32_t i;

	if ((!m->key || m->cnt >= 1u << (m->bits - 1)) && !map_grow(m))
		return false;
	i = key_place(m, key);
	m->cnt += !m->key[i];
	m->key[i] = key;
	m->value[i] = value; /* NOLINT(clang-analyzer-unix.Malloc): of the new table */
	return true;
}

void vb_map_free(struct vb_map *m)
{
	free(m->key);
	free(m->value);
	*m = (struct vb_map){0};
}
