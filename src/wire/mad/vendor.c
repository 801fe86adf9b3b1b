/* SPDX-License-Identifier: BSD-2-Clause */
/* Layouts of Verbena's own management class. Bytes 24 to 36 are those of RMPP, which it does not
 * use; the OUI is in bytes 37 to 39. IBA 16.5 */
#include "wire/mad/vendor.h"

#include <errno.h>
#include <string.h>

#define OUI_AT 37
#define DATA_AT 40

#define ADAPTER(member, byte, bits)                                                                \
	VB_MAD_FIELD(struct vb_vendor_adapter, member, DATA_AT + (byte), 0, bits)
#define QP(member, byte, bit, bits)                                                                \
	VB_MAD_FIELD(struct vb_vendor_qp, member, DATA_AT + (byte), bit, bits)
#define FIELD_CNT(fields) (sizeof(fields) / sizeof(fields)[0])

static const struct vb_mad_field adapter_fields[] = {
    ADAPTER(clock, 0, 64),   ADAPTER(version, 8, 8 * VB_VENDOR_VERSION_MAX), ADAPTER(mtu, 32, 8),
    ADAPTER(gid_cnt, 33, 8), ADAPTER(gid, 40, 128 * VB_VENDOR_GIDS),
};

static const struct vb_mad_field qp_fields[] = {
    QP(from_qpn, 0, 8, 24), QP(qpn, 4, 8, 24),         QP(standing, 8, 0, 8), QP(state, 9, 0, 8),
    QP(stopped, 10, 7, 1),  QP(is_qpn, 12, 8, 24),     QP(rq_psn, 16, 8, 24), QP(age, 24, 0, 64),
    QP(denial, 32, 0, 256), QP(denial_age, 64, 0, 64),
};

static const struct vb_mad_field oui_field = {
    .size = sizeof(uint32_t), .bit = OUI_AT * 8, .bits = 24};

int vb_vendor_parse(struct vb_vendor_msg *m, const uint8_t mad[VB_MAD_LEN])
{
	struct vb_mad_hdr h;
	uint32_t oui;

	memset(m, 0, sizeof *m);
	vb_mad_hdr_parse(&h, mad);
	vb_mad_fields_read(&oui_field, 1, mad, &oui);
	m->is_response = h.method == VB_MAD_METHOD_GET_RESP;
	m->status = h.status;
	m->tid = h.tid;
	m->attr = h.attr_id;
	if (h.base_version != VB_MAD_BASE_VERSION || h.mgmt_class != VB_MAD_CLASS_VERBENA ||
	    h.class_version != VB_VENDOR_CLASS_VERSION || oui != VB_VENDOR_OUI ||
	    (h.method != VB_MAD_METHOD_GET && !m->is_response))
		return -EPROTO;
	if (m->attr == VB_VENDOR_ADAPTER)
		vb_mad_fields_read(adapter_fields, FIELD_CNT(adapter_fields), mad, &m->adapter);
	else if (m->attr == VB_VENDOR_QP)
		vb_mad_fields_read(qp_fields, FIELD_CNT(qp_fields), mad, &m->qp);
	else
		return -EPROTO;
	return 0;
}

void vb_vendor_emit(const struct vb_vendor_msg *m, uint8_t mad[VB_MAD_LEN])
{
	struct vb_mad_hdr h = {.base_version = VB_MAD_BASE_VERSION,
			       .mgmt_class = VB_MAD_CLASS_VERBENA,
			       .class_version = VB_VENDOR_CLASS_VERSION,
			       .method =
				   m->is_response ? VB_MAD_METHOD_GET_RESP : VB_MAD_METHOD_GET,
			       .status = m->status,
			       .tid = m->tid,
			       .attr_id = m->attr};
	uint32_t oui = VB_VENDOR_OUI;

	memset(mad, 0, VB_MAD_LEN);
	vb_mad_hdr_emit(&h, mad);
	vb_mad_fields_write(&oui_field, 1, &oui, mad);
	if (m->attr == VB_VENDOR_ADAPTER)
		vb_mad_fields_write(adapter_fields, FIELD_CNT(adapter_fields), &m->adapter, mad);
	else
		vb_mad_fields_write(qp_fields, FIELD_CNT(qp_fields), &m->qp, mad);
}
