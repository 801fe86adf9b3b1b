/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Entry points whose libibverbs versions would ask a kernel: fork support, which software needs
 * none of, the sysfs-like tree, and what an adapter of this kind does not have.
 */
#include "verbs/objects.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Nothing is pinned, so nothing is lost to copy-on-write. man 3 ibv_fork_init */
VERBS_API int ibv_fork_init(void)
{
	return 0;
}

VERBS_API enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}

/* libibverbs keeps this one private to rdma-core; its users read device files below it. */
VERBS_API const char *ibv_get_sysfs_path(void);
VERBS_API const char *ibv_get_sysfs_path(void)
{
	static char path[256];
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct vb_engine *e;
	char why[256];

	pthread_mutex_lock(&mutex);
	if (!path[0] && vb_engine_acquire(&e, why, sizeof why) == 0) {
		struct vb_host_shm *host = malloc(sizeof *host);

		if (host) {
			vb_host_read(vb_engine_host(e), host);
			snprintf(path, sizeof path, "%.255s", host->sysfs_path);
			free(host);
		}
		vb_engine_release(e);
	}
	pthread_mutex_unlock(&mutex);
	return path[0] ? path : "/sys";
}

VERBS_API int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)qp, (void)gid, (void)lid;
	return EOPNOTSUPP;
}

VERBS_API int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)qp, (void)gid, (void)lid;
	return EOPNOTSUPP;
}

VERBS_API int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp, (void)ece;
	return EOPNOTSUPP;
}

VERBS_API int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	memset(ece, 0, sizeof *ece);
	return 0;
}

/* A message is written packet by packet, in order, within one QP. man 3 ibv_query_qp_data_in_order
 */
VERBS_API int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	(void)qp, (void)op, (void)flags;
	return 1;
}

VERBS_API struct ibv_context *ibv_import_device(int cmd_fd)
{
	(void)cmd_fd;
	return verbs_null(-EOPNOTSUPP);
}

VERBS_API struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
	(void)context, (void)handle;
	return verbs_null(-EOPNOTSUPP);
}

VERBS_API struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	(void)pd, (void)handle;
	return verbs_null(-EOPNOTSUPP);
}

VERBS_API struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t handle)
{
	(void)context, (void)handle;
	return verbs_null(-EOPNOTSUPP);
}

/* The MAC of a GID is the host's business: the kernel resolves neighbours when packets are sent. */
VERBS_API int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
					  uint8_t mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
	(void)context, (void)attr, (void)mac, (void)vid;
	errno = EOPNOTSUPP;
	return -1;
}
