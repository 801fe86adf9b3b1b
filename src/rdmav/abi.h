/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface between a provider plug-in and a copy of libibverbs. rdma-core calls it private:
 * its libibverbs/driver.h declares it, and no package installs that header. Declared here are the
 * structures as far as a plug-in needs them; `scripts/rdmav` compares them with the headers of a
 * source tree. The number of the interface, VB_RDMAV, is the release that began it.
 *
 *   34  rdma-core 34 to 5x, Debian 12 and 13
 *   65  rdma-core 65
 */
#ifndef VB_RDMAV_ABI_H
#define VB_RDMAV_ABI_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Where the struct ibv_context is in the copy's struct verbs_context, which grows at its front. */
#if VB_RDMAV == 34
#define RDMAV_CONTEXT_AT 320
#elif VB_RDMAV == 65
#define RDMAV_CONTEXT_AT 368
#endif

struct rdmav_sysfs_dev {
	void *entry[2];
	void *provider_data;
	const void *match;
	unsigned flags;
	char sysfs_name[IBV_SYSFS_NAME_MAX];
	dev_t sysfs_cdev;
	char ibdev_name[IBV_SYSFS_NAME_MAX];
	/* ... */
};

struct rdmav_device;

struct rdmav_device_ops {
	const char *name;
	uint32_t match_min_abi_version;
	uint32_t match_max_abi_version;
	const void *match_table;
	const void *static_providers;
	bool (*match_device)(struct rdmav_sysfs_dev *sysfs_dev);
	struct verbs_context *(*alloc_context)(struct ibv_device *device, int cmd_fd,
					       void *private_data);
	struct verbs_context *(*import_context)(struct ibv_device *device, int cmd_fd);
	struct rdmav_device *(*alloc_device)(struct rdmav_sysfs_dev *sysfs_dev);
	void (*uninit_device)(struct rdmav_device *device);
};

struct rdmav_device {
	struct ibv_device device;
	const struct rdmav_device_ops *ops;
	int refcount;
	void *entry[2];
	struct rdmav_sysfs_dev *sysfs;
	uint64_t core_support;
};

/* IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS of <rdma/ib_user_verbs.h>: rights that a device may
 * ignore reach it. */
#define RDMAV_OPTIONAL_MR_ACCESS 1

#if VB_RDMAV >= 65
#define SINCE_65 OP
#else
#define SINCE_65(name)
#endif

struct rdmav_context_ops {
#define OP(name) void (*name)(void);
#include "rdmav/ops.def"
#undef OP
};

/* Functions of a copy. */
typedef void rdmav_register_driver(const struct rdmav_device_ops *ops);
typedef void *rdmav_init_context(struct ibv_device *device, int cmd_fd, size_t size,
				 struct verbs_context *offset, uint32_t driver_id);
typedef void rdmav_set_ops(struct verbs_context *context, const struct rdmav_context_ops *ops);
typedef void rdmav_uninit_context(struct verbs_context *context);

#endif
