/* SPDX-License-Identifier: BSD-2-Clause */
/* The mappings of a process, from /proc/PID/maps. proc_pid_maps(5) */
#ifndef VB_NODE_HOST_MEMORY_MAPS_H
#define VB_NODE_HOST_MEMORY_MAPS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct vb_map {
	uint64_t start, end; /* addresses in that process */
	bool readable, writable, shared;
	uint64_t offset;       /* of start, in what is mapped */
	uint32_t major, minor; /* the device and the inode that are mapped, 0 for none */
	uint64_t ino;
	char name[PATH_MAX + 16]; /* the path as the kernel writes it; empty when there is none */
};

/* The list of process @pid, 0 for this one; ends by fclose(). NULL and errno when it cannot be
 * read: ENOENT or ESRCH, it has ended; EACCES, it is not this user's. */
FILE *vb_memory_maps_open(pid_t pid);

/* The next mapping, upwards. False at the end. */
bool vb_memory_maps_next(FILE *f, struct vb_map *m);

/*
 * The mapping of process @pid (0: this one) that has @addr, which is extended over the next ones as
 * far as those go on with the same object under the same rights, until it has @len bytes from
 * there. 0 or a negative errno: -EFAULT, not all of them are mapped by one object.
 */
int vb_memory_maps_find(pid_t pid, uint64_t addr, uint64_t len, struct vb_map *m);

/* Both map the same object at the same offsets. */
bool vb_map_same_object(const struct vb_map *a, const struct vb_map *b);

#endif
