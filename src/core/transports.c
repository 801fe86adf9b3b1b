/* SPDX-License-Identifier: BSD-2-Clause */
/* The transport of each QP type. */
#include "core/transports.h"

#include "core/qp/transport.h"

extern const struct vb_transport_ops vb_rc_ops, vb_uc_ops, vb_ud_ops, vb_gsi_ops;
extern const struct vb_transport_ops vb_xrc_ini_ops, vb_xrc_tgt_ops, vb_dci_ops, vb_dct_ops;

const struct vb_transport_ops *vb_transport_of(enum vb_qp_type type)
{
	switch (type) {
	case VB_QPT_RC:
		return &vb_rc_ops;
	case VB_QPT_UC:
		return &vb_uc_ops;
	case VB_QPT_UD:
		return &vb_ud_ops;
	case VB_QPT_GSI:
		return &vb_gsi_ops;
	case VB_QPT_XRC_INI:
		return &vb_xrc_ini_ops;
	case VB_QPT_XRC_TGT:
		return &vb_xrc_tgt_ops;
	case VB_QPT_DCI:
		return &vb_dci_ops;
	case VB_QPT_DCT:
		return &vb_dct_ops;
	default:
		return NULL;
	}
}
