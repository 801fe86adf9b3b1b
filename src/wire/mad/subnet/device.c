/* SPDX-License-Identifier: BSD-2-Clause */
/* Attributes of device management, as tables of fields. IBA 16.3.3 */
#include "wire/mad/subnet/device.h"

#define CNT(table) (sizeof(table) / sizeof(table)[0])
#define FIELD(type, member, bit, bits)                                                             \
	VB_MAD_FIELD(struct vb_io_##type, member, VB_DEVICE_DATA_AT, bit, bits)

static const struct vb_mad_field unit_fields[] = {
    FIELD(unit_info, change_id, 0, 16),
    FIELD(unit_info, max_controllers, 16, 8),
    FIELD(unit_info, list, 32, 1024),
};

static const struct vb_mad_field profile_fields[] = {
    FIELD(controller_profile, guid, 0, 64),
    FIELD(controller_profile, vendor_id, 64, 24),
    FIELD(controller_profile, device_id, 96, 32),
    FIELD(controller_profile, device_version, 128, 16),
    FIELD(controller_profile, subsystem_vendor_id, 160, 24),
    FIELD(controller_profile, subsystem_id, 192, 32),
    FIELD(controller_profile, io_class, 224, 16),
    FIELD(controller_profile, io_subclass, 240, 16),
    FIELD(controller_profile, protocol, 256, 16),
    FIELD(controller_profile, protocol_version, 272, 16),
    FIELD(controller_profile, send_depth, 320, 16),
    FIELD(controller_profile, read_depth, 344, 8),
    FIELD(controller_profile, send_size, 352, 32),
    FIELD(controller_profile, rdma_size, 384, 32),
    FIELD(controller_profile, operations, 416, 8),
    FIELD(controller_profile, service_cnt, 432, 8),
    FIELD(controller_profile, id, 512, 512),
};

#define SERVICE(i)                                                                                 \
	FIELD(services, entry[i].name, 384 * (i), 320),                                            \
	    FIELD(services, entry[i].id, 384 * (i) + 320, 64)
static const struct vb_mad_field service_fields[] = {SERVICE(0), SERVICE(1), SERVICE(2),
						     SERVICE(3)};

void vb_io_unit_info_parse(struct vb_io_unit_info *u, const uint8_t mad[VB_MAD_LEN])
{
	vb_mad_fields_read(unit_fields, CNT(unit_fields), mad, u);
}

void vb_io_unit_info_emit(const struct vb_io_unit_info *u, uint8_t mad[VB_MAD_LEN])
{
	vb_mad_fields_write(unit_fields, CNT(unit_fields), u, mad);
}

void vb_io_controller_profile_parse(struct vb_io_controller_profile *p,
				    const uint8_t mad[VB_MAD_LEN])
{
	vb_mad_fields_read(profile_fields, CNT(profile_fields), mad, p);
}

void vb_io_controller_profile_emit(const struct vb_io_controller_profile *p,
				   uint8_t mad[VB_MAD_LEN])
{
	vb_mad_fields_write(profile_fields, CNT(profile_fields), p, mad);
}

void vb_io_services_parse(struct vb_io_services *s, const uint8_t mad[VB_MAD_LEN])
{
	vb_mad_fields_read(service_fields, CNT(service_fields), mad, s);
}

void vb_io_services_emit(const struct vb_io_services *s, uint8_t mad[VB_MAD_LEN])
{
	vb_mad_fields_write(service_fields, CNT(service_fields), s, mad);
}
