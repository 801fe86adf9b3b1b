/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared memory of a fixed size behind a descriptor (memfd). It is sealed against growing and
 * shrinking, so that no process that has it mapped can be hit by SIGBUS because of another one.
 */
#ifndef VB_LINK_MEMORY_H
#define VB_LINK_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Names that show in /proc/PID/maps. */
#define VB_MEMORY_HOST "verbena-host"
#define VB_MEMORY_SLOT "verbena-slot"
#define VB_MEMORY_RING "verbena-ring"
#define VB_MEMORY_CAPTURE "verbena-capture"

/* Makes @size zero bytes. Returns a descriptor, or a negative errno: -EFBIG, the limit of
 * the process (RLIMIT_FSIZE) is lower. */
int vb_memory_create(const char *name, size_t size);

/* The same, mapped for reading and writing in *out. */
int vb_memory_new(const char *name, size_t size, void **out);

/* Maps all @size bytes of @fd in *out. -EINVAL: it has not this size, or is not sealed. */
int vb_memory_map(int fd, size_t size, bool writable, void **out);

/*
 * Maps @fd, which has @head + @ring bytes, both whole pages, for reading and writing, and its last
 * @ring bytes a second time right behind: what is contiguous in the ring is so in memory. Ends by
 * vb_memory_unmap() of @head + 2 * @ring bytes.
 */
int vb_memory_map_ring(int fd, size_t head, size_t ring, void **out);

/* Makes the first @size bytes of a mapping read-only. */
int vb_memory_protect(void *p, size_t size);

void vb_memory_unmap(const void *p, size_t size);

#endif
