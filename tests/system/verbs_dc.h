/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of mlx5dv for DC. Nothing of it is linked, for not every adapter has it. docs/dc.md */
#ifndef VB_TESTS_SYSTEM_VERBS_DC_H
#define VB_TESTS_SYSTEM_VERBS_DC_H

#include <dlfcn.h>
#include <infiniband/mlx5dv.h>
#include <stdbool.h>
#include <string.h>

struct dv {
	struct ibv_qp *(*create_qp)(struct ibv_context *, struct ibv_qp_init_attr_ex *,
				    struct mlx5dv_qp_init_attr *);
	struct mlx5dv_qp_ex *(*qp_ex)(struct ibv_qp_ex *);
};

/* Whether it is there. */
static inline bool dv_find(struct dv *dv)
{
	/* dlsym() gives no pointers to functions, but their bytes. */
	void *create = dlsym(RTLD_DEFAULT, "mlx5dv_create_qp");
	void *ex = dlsym(RTLD_DEFAULT, "mlx5dv_qp_ex_from_ibv_qp_ex");

	memcpy(&dv->create_qp, &create, sizeof create);
	memcpy(&dv->qp_ex, &ex, sizeof ex);
	return create && ex;
}

#endif
