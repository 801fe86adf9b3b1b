/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares src/rdmav/abi.h with rdma-core's own libibverbs/driver.h: it compiles, or they differ.
 * scripts/rdmav */
#include <infiniband/driver.h>

#include "rdmav/abi.h"

#define SAME(theirs, ours, member)                                                                 \
	_Static_assert(offsetof(struct theirs, member) == offsetof(struct ours, member),           \
		       #theirs "." #member)

SAME(verbs_sysfs_dev, rdmav_sysfs_dev, provider_data);
SAME(verbs_sysfs_dev, rdmav_sysfs_dev, match);
SAME(verbs_sysfs_dev, rdmav_sysfs_dev, flags);
SAME(verbs_sysfs_dev, rdmav_sysfs_dev, sysfs_name);
SAME(verbs_sysfs_dev, rdmav_sysfs_dev, sysfs_cdev);
SAME(verbs_sysfs_dev, rdmav_sysfs_dev, ibdev_name);
SAME(verbs_device_ops, rdmav_device_ops, name);
SAME(verbs_device_ops, rdmav_device_ops, match_min_abi_version);
SAME(verbs_device_ops, rdmav_device_ops, match_max_abi_version);
SAME(verbs_device_ops, rdmav_device_ops, match_table);
SAME(verbs_device_ops, rdmav_device_ops, static_providers);
SAME(verbs_device_ops, rdmav_device_ops, match_device);
SAME(verbs_device_ops, rdmav_device_ops, alloc_context);
SAME(verbs_device_ops, rdmav_device_ops, import_context);
SAME(verbs_device_ops, rdmav_device_ops, alloc_device);
SAME(verbs_device_ops, rdmav_device_ops, uninit_device);
_Static_assert(sizeof(struct verbs_device_ops) == sizeof(struct rdmav_device_ops), "all of them");
SAME(verbs_device, rdmav_device, ops);
SAME(verbs_device, rdmav_device, refcount);
SAME(verbs_device, rdmav_device, entry);
SAME(verbs_device, rdmav_device, sysfs);
SAME(verbs_device, rdmav_device, core_support);
_Static_assert(sizeof(struct verbs_device) <= sizeof(struct rdmav_device), "all of it");
#define OP(name) SAME(verbs_context_ops, rdmav_context_ops, name);
#include "rdmav/ops.def"
#undef OP
_Static_assert(sizeof(struct verbs_context_ops) == sizeof(struct rdmav_context_ops), "all of them");
_Static_assert(offsetof(struct verbs_context, context) == RDMAV_CONTEXT_AT, "the context");
