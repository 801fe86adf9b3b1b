/* SPDX-License-Identifier: BSD-2-Clause */
/* The baseboard management agent, see baseboard.h. IBA 16.2.3 */
#include "mgmt/device/baseboard.h"

#include "wire/mad/pma.h"
#include "wire/mad/smp.h"

#include <string.h>

bool vb_baseboard_handle(uint8_t mad[VB_MAD_LEN], uint8_t resp_time)
{
	const struct vb_class_port_info info = {.base_version = VB_MAD_BASE_VERSION,
						.class_version = VB_DEVICE_CLASS_VERSION,
						.resp_time = resp_time};
	struct vb_mad_hdr h;

	vb_mad_hdr_parse(&h, mad);
	if (h.mgmt_class != VB_MAD_CLASS_BASEBOARD || h.method != VB_MAD_METHOD_GET ||
	    h.attr_id != VB_DEVICE_CLASS_PORT_INFO || h.class_version != VB_DEVICE_CLASS_VERSION)
		return false;
	h.method = VB_MAD_METHOD_GET_RESP;
	h.status = VB_SMP_GOOD;
	vb_mad_hdr_emit(&h, mad);
	memset(mad + VB_DEVICE_DATA_AT, 0, VB_MAD_LEN - VB_DEVICE_DATA_AT);
	vb_class_port_info_emit(&info, mad);
	return true;
}
