/* SPDX-License-Identifier: BSD-2-Clause */
/* The header of RMPP as a table of fields, and the classes that have it. IBA 13.6.2, figure 150 */
#include "wire/mad/rmpp.h"

#define CLASS_DEVICE 0x06 /* device management */
#define CLASS_DEVICE_ADM 0x10
#define CLASS_BIS 0x12 /* boot information services */

#define FIELD(member, byte, bit, bits) VB_MAD_FIELD(struct vb_rmpp, member, byte, bit, bits)

static const struct vb_mad_field rmpp_fields[] = {
    FIELD(version, 24, 0, 8), FIELD(type, 25, 0, 8),   FIELD(resp_time, 26, 0, 5),
    FIELD(flags, 26, 5, 3),   FIELD(status, 27, 0, 8), FIELD(segment, 28, 0, 32),
    FIELD(length, 32, 0, 32),
};
#define RMPP_FIELDS (sizeof rmpp_fields / sizeof rmpp_fields[0])

struct vendor_hdr {
	uint32_t oui;
};
static const struct vb_mad_field oui_field = VB_MAD_FIELD(struct vendor_hdr, oui, 37, 0, 24);

/* The classes with RMPP, and the bytes of their headers. */
static const struct {
	uint8_t first, last, hdr_len;
} rmpp_classes[] = {
    {VB_MAD_CLASS_SA, VB_MAD_CLASS_SA, 56},
    {CLASS_DEVICE, CLASS_DEVICE, 64},
    {CLASS_DEVICE_ADM, CLASS_DEVICE_ADM, 64},
    {CLASS_BIS, CLASS_BIS, 64},
    {VB_MAD_CLASS_VENDOR2_FIRST, VB_MAD_CLASS_VENDOR2_LAST, 40},
};
#define RMPP_CLASSES (sizeof rmpp_classes / sizeof rmpp_classes[0])

void vb_rmpp_parse(struct vb_rmpp *r, const uint8_t mad[VB_MAD_LEN])
{
	vb_mad_fields_read(rmpp_fields, RMPP_FIELDS, mad, r);
}

void vb_rmpp_emit(const struct vb_rmpp *r, uint8_t mad[VB_MAD_LEN])
{
	vb_mad_fields_write(rmpp_fields, RMPP_FIELDS, r, mad);
}

uint32_t vb_mad_class_hdr_len(uint8_t mgmt_class)
{
	for (size_t i = 0; i < RMPP_CLASSES; i++)
		if (mgmt_class >= rmpp_classes[i].first && mgmt_class <= rmpp_classes[i].last)
			return rmpp_classes[i].hdr_len;
	return VB_MAD_HDR_LEN;
}

bool vb_mad_class_has_rmpp(uint8_t mgmt_class)
{
	return vb_mad_class_hdr_len(mgmt_class) != VB_MAD_HDR_LEN;
}

uint32_t vb_mad_oui(const uint8_t mad[VB_MAD_LEN])
{
	struct vendor_hdr h = {0};

	vb_mad_fields_read(&oui_field, 1, mad, &h);
	return h.oui;
}
