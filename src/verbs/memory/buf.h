/* SPDX-License-Identifier: BSD-2-Clause */
/* Buffers that the adapter allocates, for ibv_reg_mr_ex(): later.h. */
#ifndef VB_VERBS_BUF_H
#define VB_VERBS_BUF_H

#include "verbs/priv.h"

struct ibv_buf;

/* Whether @length bytes at @addr lie in @buf, any pointer, and it was allocated with @pd. 0 or an
 * errno. */
int vb_ibv_buf_check(const struct ibv_pd *pd, const struct ibv_buf *buf, const void *addr,
		     size_t length);

#endif
