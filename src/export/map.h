/* SPDX-License-Identifier: BSD-2-Clause */
/* From keys that are not 0 to numbers: open addressing, grows, and no key goes. */
#ifndef VB_EXPORT_MAP_H
#define VB_EXPORT_MAP_H

#include <stdbool.h>
#include <stdint.h>

#define VB_MAP_NONE UINT32_MAX

/* Zeros: empty. */
struct vb_map {
	uint64_t *key; /* 0: free */
	uint32_t *value;
	uint32_t bits, cnt;
};

/* The value, or VB_MAP_NONE. */
uint32_t vb_map_get(const struct vb_map *m, uint64_t key);
/* Adds @key, or changes its value. False: no memory. */
bool vb_map_put(struct vb_map *m, uint64_t key, uint32_t value);
void vb_map_free(struct vb_map *m);

#endif
