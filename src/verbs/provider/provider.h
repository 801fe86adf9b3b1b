/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface of libverbena.so for provider plug-ins of libibverbs (src/rdmav/), one for each
 * private interface of rdma-core. A copy of libibverbs that does not come to this library's entry
 * points loads such a plug-in, and has contexts and objects from here by it: the same structures
 * that programs get by the entry points, in a context whose front is the copy's.
 *
 * Functions are found by the name that rdma-core gives the operation, so that no plug-in depends on
 * the order of this table. Both are installed together; the number tells a mistake.
 */
#ifndef VB_VERBS_PROVIDER_H
#define VB_VERBS_PROVIDER_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* +1 when anything here changes. */
#define VB_PROVIDER_NUMBER 1u

struct vb_provider_op {
	const char *name; /* of the member of rdma-core's struct verbs_context_ops */
	void (*call)(void);
};

struct vb_provider {
	/* Bytes of a context, and where in it the struct ibv_context is that programs see. */
	size_t context_size, context_at;
	/* Whether the device @name with the device file @dev_name is one of the adapter's. */
	bool (*has_device)(const char *dev_name, const char *name);
	/*
	 * Opens a device: @context is in zeroed memory of context_size bytes, begun by the copy,
	 * with its device and cmd_fd. @close is what ibv_close_device() of the copy does. 0 or an
	 * errno, with one line on standard error.
	 */
	int (*adopt)(struct ibv_context *context, void (*close)(struct ibv_context *context));
	/* Closes it, with its descriptors; the memory is the caller's. 0 or an errno: nothing is
	 * closed. */
	int (*disown)(struct ibv_context *context);
	const struct vb_provider_op *ops; /* ends with name NULL */
};

/* NULL: libverbena.so has another number. */
const struct vb_provider *verbena_provider(uint32_t number);

/* Of a plug-in: makes its devices known to copies of libibverbs that came since it was loaded. */
#define VB_PROVIDER_SCAN "verbena_rdmav_scan"

#endif
