/* SPDX-License-Identifier: BSD-2-Clause */
/* Layouts of subnet administration. Byte offsets of records count from the data. IBA 15.2 */
#include "wire/mad/subnet/sa.h"

#include <errno.h>
#include <string.h>

#define CLASS_VERSION 2
#define ROWS(table) (table), sizeof(table) / sizeof(table)[0]

static const struct vb_mad_field msg_fields[] = {
    VB_MAD_FIELD(struct vb_sa_msg, mask, 48, 0, 64),
};

#define PATH(member, byte, bit, bits)                                                              \
	VB_MAD_FIELD(struct vb_sa_path, member, VB_SA_DATA_AT + (byte), bit, bits)

static const struct vb_mad_field path_fields[] = {
    PATH(service_id, 0, 0, 64), PATH(dgid, 8, 0, 128),
    PATH(sgid, 24, 0, 128),     PATH(dlid, 40, 0, 16),
    PATH(slid, 42, 0, 16),      PATH(flow_label, 44, 4, 20),
    PATH(hop_limit, 47, 0, 8),  PATH(traffic_class, 48, 0, 8),
    PATH(reversible, 49, 0, 1), PATH(numb_path, 49, 1, 7),
    PATH(pkey, 50, 0, 16),      PATH(qos_class, 52, 0, 12),
    PATH(sl, 53, 4, 4),         PATH(mtu_selector, 54, 0, 2),
    PATH(mtu, 54, 2, 6),        PATH(rate_selector, 55, 0, 2),
    PATH(rate, 55, 2, 6),       PATH(lifetime_selector, 56, 0, 2),
    PATH(lifetime, 56, 2, 6),   PATH(preference, 57, 0, 8),
};

#define MEMBER(member, byte, bit, bits)                                                            \
	VB_MAD_FIELD(struct vb_sa_mcmember, member, VB_SA_DATA_AT + (byte), bit, bits)

static const struct vb_mad_field member_fields[] = {
    MEMBER(mgid, 0, 0, 128),
    MEMBER(port_gid, 16, 0, 128),
    MEMBER(qkey, 32, 0, 32),
    MEMBER(mlid, 36, 0, 16),
    MEMBER(mtu_selector, 38, 0, 2),
    MEMBER(mtu, 38, 2, 6),
    MEMBER(traffic_class, 39, 0, 8),
    MEMBER(pkey, 40, 0, 16),
    MEMBER(rate_selector, 42, 0, 2),
    MEMBER(rate, 42, 2, 6),
    MEMBER(lifetime_selector, 43, 0, 2),
    MEMBER(lifetime, 43, 2, 6),
    MEMBER(sl, 44, 0, 4),
    MEMBER(flow_label, 44, 4, 20),
    MEMBER(hop_limit, 47, 0, 8),
    MEMBER(scope, 48, 0, 4),
    MEMBER(join_state, 48, 4, 4),
};

void vb_sa_emit(const struct vb_sa_msg *m, uint8_t mad[VB_MAD_LEN])
{
	const struct vb_mad_hdr h = {.base_version = VB_MAD_BASE_VERSION,
				     .mgmt_class = VB_MAD_CLASS_SUBN_ADM,
				     .class_version = CLASS_VERSION,
				     .method = m->method,
				     .status = m->status,
				     .tid = m->tid,
				     .attr_id = m->attr_id};

	memset(mad, 0, VB_MAD_LEN);
	vb_mad_hdr_emit(&h, mad);
	vb_mad_fields_write(ROWS(msg_fields), m, mad);
	if (m->attr_id == VB_SA_PATH_RECORD)
		vb_mad_fields_write(ROWS(path_fields), &m->path, mad);
	else if (m->attr_id == VB_SA_MCMEMBER_RECORD)
		vb_mad_fields_write(ROWS(member_fields), &m->member, mad);
}

int vb_sa_parse(struct vb_sa_msg *m, const uint8_t mad[VB_MAD_LEN])
{
	struct vb_mad_hdr h;

	vb_mad_hdr_parse(&h, mad);
	if (h.base_version != VB_MAD_BASE_VERSION || h.mgmt_class != VB_MAD_CLASS_SUBN_ADM ||
	    h.class_version != CLASS_VERSION)
		return -EPROTONOSUPPORT;
	*m = (struct vb_sa_msg){
	    .tid = h.tid, .method = h.method, .attr_id = h.attr_id, .status = h.status};
	vb_mad_fields_read(ROWS(msg_fields), mad, m);
	if (m->attr_id == VB_SA_PATH_RECORD)
		vb_mad_fields_read(ROWS(path_fields), mad, &m->path);
	else if (m->attr_id == VB_SA_MCMEMBER_RECORD)
		vb_mad_fields_read(ROWS(member_fields), mad, &m->member);
	return 0;
}

void vb_sa_path_emit(const struct vb_sa_path *p, uint8_t record[VB_SA_PATH_LEN])
{
	uint8_t mad[VB_MAD_LEN] = {0};

	vb_mad_fields_write(ROWS(path_fields), p, mad);
	memcpy(record, mad + VB_SA_DATA_AT, VB_SA_PATH_LEN);
}

void vb_sa_path_parse(struct vb_sa_path *p, const uint8_t record[VB_SA_PATH_LEN])
{
	uint8_t mad[VB_MAD_LEN] = {0};

	memcpy(mad + VB_SA_DATA_AT, record, VB_SA_PATH_LEN);
	vb_mad_fields_read(ROWS(path_fields), mad, p);
}
