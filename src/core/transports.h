/* SPDX-License-Identifier: BSD-2-Clause */
/* The transport of each QP type. */
#ifndef VB_CORE_TRANSPORTS_H
#define VB_CORE_TRANSPORTS_H

#include "core/types.h"

struct vb_transport_ops;

/* NULL: there is no such type. */
const struct vb_transport_ops *vb_transport_of(enum vb_qp_type type);

#endif
