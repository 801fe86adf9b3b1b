/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory windows, see mw.c. IBA 10.6.7 */
#ifndef VB_CORE_OBJ_MW_H
#define VB_CORE_OBJ_MW_H

#include "core/obj/key.h"

struct vb_mr;
struct vb_pd;

/* A memory window. Unbound while mr is NULL. IBA 10.6.7 */
struct vb_mw {
	struct vb_key key;
	uint8_t type; /* 1 or 2 */
	struct vb_mr *mr;
	uint64_t start; /* in the addresses of mr */
	uint64_t iova;  /* the peer's address of that: the same, or 0 when ZERO_BASED */
	uint64_t length;
	uint32_t access;
	uint32_t qpn; /* type 2: the QP it is bound through */
};

/* The parameters of a bind: the window by the index of @rkey, the region by its L_Key, the range (0
 * bytes unbind), the rights, the type that it has to have, 0 for any, and the new key byte. */
struct vb_mw_bind {
	uint32_t rkey, lkey;
	uint64_t addr, length;
	uint32_t access; /* set of enum vb_access */
	uint8_t type, key_byte;
};

/* Binds a window of @pd through the QP with number @qpn. SUCCESS, or MW_BIND_ERR and nothing has
 * changed. */
enum vb_wc_status vb_mw_bind(struct vb_pd *pd, uint32_t qpn, const struct vb_mw_bind *bind);
/* Unbinds the window of type 2 that @rkey names and that QP @qpn has bound; -EACCES: it may not. */
int vb_mw_invalidate(const struct vb_pd *pd, uint32_t qpn, uint32_t rkey);

#endif
