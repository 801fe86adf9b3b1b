/* SPDX-License-Identifier: BSD-2-Clause */
/* MADs by name, see mad_kind.h. */
#include "traffic/mad_kind.h"

#include "wire/mad/cm.h"
#include "wire/mad/vendor.h"

#include <stdio.h>

uint32_t vb_mad_kind(const uint8_t *hdr)
{
	struct vb_mad_hdr h;

	vb_mad_hdr_parse(&h, hdr);
	return (uint32_t)h.mgmt_class << 24 | (uint32_t)h.method << 16 | h.attr_id;
}

const char *vb_mad_kind_name(uint32_t kind, char name[VB_MAD_KIND_NAME_MAX])
{
	uint32_t mgmt_class = kind >> 24, method = kind >> 16 & 0xff, attr = kind & 0xffff;
	const char *way = method == VB_MAD_METHOD_GET ? "GET" : "GET_RESP";

	if (mgmt_class == VB_MAD_CLASS_CM && attr >= VB_CM_ATTR_FIRST && attr <= VB_CM_ATTR_LAST)
		snprintf(name, VB_MAD_KIND_NAME_MAX, "CM_%s",
			 vb_cm_attr_name((enum vb_cm_attr)attr));
	else if (mgmt_class == VB_MAD_CLASS_VERBENA && attr == VB_VENDOR_ADAPTER)
		snprintf(name, VB_MAD_KIND_NAME_MAX, "VENDOR_ADAPTER_%s", way);
	else if (mgmt_class == VB_MAD_CLASS_VERBENA && attr == VB_VENDOR_QP)
		snprintf(name, VB_MAD_KIND_NAME_MAX, "VENDOR_QP_%s", way);
	else
		snprintf(name, VB_MAD_KIND_NAME_MAX, "MAD, class 0x%02x, attribute 0x%04x",
			 mgmt_class, attr);
	return name;
}
