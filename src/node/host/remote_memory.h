/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of another process of this host, as far as a process can have it too: memory that both map
 * shared. Private memory of the other one is out of reach of everyone without its leave.
 */
#ifndef VB_NODE_HOST_REMOTE_MEMORY_H
#define VB_NODE_HOST_REMOTE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct vb_remote_memory {
	void *base; /* of a mapping of this process's own */
	size_t size;
	uint8_t *at;     /* the bytes that were asked for, in it */
	bool may_shrink; /* somebody might truncate it: it has to be looked at before each access */
};

/*
 * Maps the @len bytes that process @pid has at @addr, for reading and (@write) writing; ends by
 * vb_remote_memory_unmap(). It is found by the object that is mapped there: by a descriptor that
 * the process has for it, by its path, or by a mapping that this process has of it. 0 or a negative
 * errno: -EFAULT, they are not mapped there, or not so; -EOPNOTSUPP, they are the process's own, or
 * shared without a way to them; -EACCES, the process or the file is not this user's; -EPERM, the
 * object is sealed against it; -ENOENT or -ESRCH, there is no such process.
 */
int vb_remote_memory_map(pid_t pid, uint64_t addr, uint64_t len, bool write,
			 struct vb_remote_memory *out);
/* Nothing when nothing is mapped. */
void vb_remote_memory_unmap(const struct vb_remote_memory *m);

#endif
