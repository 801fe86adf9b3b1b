/* SPDX-License-Identifier: BSD-2-Clause */
/* The kind of a management datagram to QP1, as a number and by name: messages of the connection
 * manager are called as fault rules call them. */
#ifndef VB_TRAFFIC_MAD_KIND_H
#define VB_TRAFFIC_MAD_KIND_H

#include <stddef.h>
#include <stdint.h>

#define VB_MAD_KIND_NAME_MAX 48

/* Of the header of a MAD, VB_MAD_HDR_LEN bytes: class, method and attribute. 0: of no MAD. */
uint32_t vb_mad_kind(const uint8_t *hdr);
/* "CM_REQ", "VENDOR_QP_GET" in @name, which is returned. */
const char *vb_mad_kind_name(uint32_t kind, char name[VB_MAD_KIND_NAME_MAX]);

#endif
