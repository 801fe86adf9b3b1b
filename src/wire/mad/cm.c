/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Layouts of the communication manager's messages. Byte offsets count from the end of the MAD's
 * header, as in the standard's tables. IBA 12.6.5 to 12.6.10, 12.11; CMP-03, CMP-06, CMP-07, CMP-24
 */
#include "wire/mad/cm.h"

#include "base/assert.h"
#include "wire/be.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define FIELD(member, byte, bit, bits)                                                             \
	VB_MAD_FIELD(struct vb_cm_msg, member, VB_MAD_HDR_LEN + (byte), bit, bits)

/* The communication IDs, of all messages but SIDR's and of REQ, which has the first only. */
static const struct vb_mad_field id_fields[] = {FIELD(local_id, 0, 0, 32),
						FIELD(remote_id, 4, 0, 32)};

static const struct vb_mad_field req_fields[] = {
    FIELD(req.ece_vendor, 5, 0, 24),
    FIELD(req.service_id, 8, 0, 64),
    FIELD(req.ca_guid, 16, 0, 64),
    FIELD(req.qkey, 28, 0, 32),
    FIELD(req.qpn, 32, 0, 24),
    FIELD(req.resp_resources, 35, 0, 8),
    FIELD(req.local_eecn, 36, 0, 24),
    FIELD(req.init_depth, 39, 0, 8),
    FIELD(req.remote_eecn, 40, 0, 24),
    FIELD(req.remote_cm_timeout, 43, 0, 5),
    FIELD(req.transport, 43, 5, 2),
    FIELD(req.flow_control, 43, 7, 1),
    FIELD(req.psn, 44, 0, 24),
    FIELD(req.local_cm_timeout, 47, 0, 5),
    FIELD(req.retry_cnt, 47, 5, 3),
    FIELD(req.pkey, 48, 0, 16),
    FIELD(req.mtu, 50, 0, 4),
    FIELD(req.rdc_exists, 50, 4, 1),
    FIELD(req.rnr_retry, 50, 5, 3),
    FIELD(req.max_cm_retries, 51, 0, 4),
    FIELD(req.srq, 51, 4, 1),
    FIELD(req.ext_transport, 51, 5, 3),
    FIELD(req.primary.local_lid, 52, 0, 16),
    FIELD(req.primary.remote_lid, 54, 0, 16),
    FIELD(req.primary.local_gid, 56, 0, 128),
    FIELD(req.primary.remote_gid, 72, 0, 128),
    FIELD(req.primary.flow_label, 88, 0, 20),
    FIELD(req.primary.rate, 91, 2, 6),
    FIELD(req.primary.traffic_class, 92, 0, 8),
    FIELD(req.primary.hop_limit, 93, 0, 8),
    FIELD(req.primary.sl, 94, 0, 4),
    FIELD(req.primary.subnet_local, 94, 4, 1),
    FIELD(req.primary.ack_timeout, 95, 0, 5),
    FIELD(req.alternate.local_lid, 96, 0, 16),
    FIELD(req.alternate.remote_lid, 98, 0, 16),
    FIELD(req.alternate.local_gid, 100, 0, 128),
    FIELD(req.alternate.remote_gid, 116, 0, 128),
    FIELD(req.alternate.flow_label, 132, 0, 20),
    FIELD(req.alternate.rate, 135, 2, 6),
    FIELD(req.alternate.traffic_class, 136, 0, 8),
    FIELD(req.alternate.hop_limit, 137, 0, 8),
    FIELD(req.alternate.sl, 138, 0, 4),
    FIELD(req.alternate.subnet_local, 138, 4, 1),
    FIELD(req.alternate.ack_timeout, 139, 0, 5),
    FIELD(req.alt_sap, 139, 5, 1),
};

static const struct vb_mad_field mra_fields[] = {
    FIELD(mra.about, 8, 0, 2),
    FIELD(mra.service_timeout, 9, 0, 5),
};

static const struct vb_mad_field rej_fields[] = {
    FIELD(rej.about, 8, 0, 2),
    FIELD(rej.info_len, 9, 0, 7),
    FIELD(rej.reason, 10, 0, 16),
    FIELD(rej.info, 12, 0, VB_CM_INFO_LEN * 8),
};

static const struct vb_mad_field rep_fields[] = {
    FIELD(rep.qkey, 8, 0, 32),       FIELD(rep.qpn, 12, 0, 24),
    FIELD(rep.ece_high, 15, 0, 8),   FIELD(rep.eecn, 16, 0, 24),
    FIELD(rep.ece_middle, 19, 0, 8), FIELD(rep.psn, 20, 0, 24),
    FIELD(rep.ece_low, 23, 0, 8),    FIELD(rep.resp_resources, 24, 0, 8),
    FIELD(rep.init_depth, 25, 0, 8), FIELD(rep.target_ack_delay, 26, 0, 5),
    FIELD(rep.failover, 26, 5, 2),   FIELD(rep.flow_control, 26, 7, 1),
    FIELD(rep.rnr_retry, 27, 0, 3),  FIELD(rep.srq, 27, 3, 1),
    FIELD(rep.ca_guid, 28, 0, 64),
};

static const struct vb_mad_field dreq_fields[] = {FIELD(dreq.remote_qpn, 8, 0, 24)};

static const struct vb_mad_field sidr_req_fields[] = {
    FIELD(sidr_req.pkey, 4, 0, 16),
    FIELD(sidr_req.service_id, 8, 0, 64),
};

static const struct vb_mad_field sidr_rep_fields[] = {
    FIELD(sidr_rep.status, 4, 0, 8),    FIELD(sidr_rep.info_len, 5, 0, 8),
    FIELD(sidr_rep.ece_high, 6, 0, 16), FIELD(sidr_rep.qpn, 8, 0, 24),
    FIELD(sidr_rep.ece_low, 11, 0, 8),  FIELD(sidr_rep.service_id, 12, 0, 64),
    FIELD(sidr_rep.qkey, 20, 0, 32),    FIELD(sidr_rep.info, 24, 0, VB_CM_INFO_LEN * 8),
};

static const struct vb_mad_field lap_fields[] = {
    FIELD(lap.remote_qpn, 12, 0, 24),           FIELD(lap.remote_cm_timeout, 15, 0, 5),
    FIELD(lap.alternate.local_lid, 20, 0, 16),  FIELD(lap.alternate.remote_lid, 22, 0, 16),
    FIELD(lap.alternate.local_gid, 24, 0, 128), FIELD(lap.alternate.remote_gid, 40, 0, 128),
    FIELD(lap.alternate.flow_label, 56, 0, 20), FIELD(lap.alternate.traffic_class, 59, 0, 8),
    FIELD(lap.alternate.hop_limit, 60, 0, 8),   FIELD(lap.alternate.rate, 61, 2, 6),
    FIELD(lap.alternate.sl, 62, 0, 4),          FIELD(lap.alternate.subnet_local, 62, 4, 1),
    FIELD(lap.alternate.ack_timeout, 63, 0, 5),
};

static const struct vb_mad_field apr_fields[] = {
    FIELD(apr.info_len, 8, 0, 8),
    FIELD(apr.status, 9, 0, 8),
    FIELD(apr.info, 12, 0, VB_CM_INFO_LEN * 8),
};

/* One row for each message: its fields beside the IDs, and where its private data stands. */
static const struct message {
	const char *name;
	const struct vb_mad_field *field;
	uint8_t field_cnt;
	uint8_t id_cnt;     /* of id_fields */
	uint8_t private_at; /* bytes behind the MAD's header; to the end of the MAD */
} messages[] = {
#define ROW(name, table, ids, at)                                                                  \
	[VB_CM_##name - VB_CM_ATTR_FIRST] = {#name, table, sizeof table / sizeof table[0], ids, at}
    ROW(REQ, req_fields, 1, 140),
    ROW(MRA, mra_fields, 2, 10),
    ROW(REJ, rej_fields, 2, 84),
    ROW(REP, rep_fields, 2, 36),
    ROW(DREQ, dreq_fields, 2, 12),
    ROW(SIDR_REQ, sidr_req_fields, 1, 16),
    ROW(SIDR_REP, sidr_rep_fields, 1, 96),
    ROW(LAP, lap_fields, 2, 64),
    ROW(APR, apr_fields, 2, 84),
#undef ROW
    [VB_CM_RTU - VB_CM_ATTR_FIRST] = {"RTU", NULL, 0, 2, 8},
    [VB_CM_DREP - VB_CM_ATTR_FIRST] = {"DREP", NULL, 0, 2, 8},
};

static const struct reason_text {
	uint16_t reason;
	const char *text;
} reason_texts[] = {
#define REASON(number, text, cause, advice) {number, text},
#include "wire/mad/cm_reason.def"
#undef REASON
};

static const struct message *message_row(enum vb_cm_attr attr)
{
	assert(attr >= VB_CM_ATTR_FIRST && attr <= VB_CM_ATTR_LAST);
	return &messages[attr - VB_CM_ATTR_FIRST];
}

uint32_t vb_cm_private_len(enum vb_cm_attr attr)
{
	uint32_t len = VB_MAD_LEN - VB_MAD_HDR_LEN - message_row(attr)->private_at;

	VB_ASSERT_ALL(len <= VB_CM_PRIVATE_MAX);
	return len;
}

const char *vb_cm_attr_name(enum vb_cm_attr attr)
{
	return message_row(attr)->name;
}

void vb_cm_info_put_guid(uint8_t info[VB_CM_GUID_INFO_LEN], uint64_t guid)
{
	be64_put(info, guid);
}

uint64_t vb_cm_info_guid(const uint8_t info[VB_CM_GUID_INFO_LEN])
{
	return be64_get(info);
}

const char *vb_cm_reason_text(uint16_t reason)
{
	for (size_t i = 0; i < sizeof reason_texts / sizeof reason_texts[0]; i++) {
		if (reason_texts[i].reason == reason)
			return reason_texts[i].text;
	}
	return "unknown reason";
}

int vb_cm_msg_parse(struct vb_cm_msg *m, const uint8_t mad[VB_MAD_LEN])
{
	struct vb_mad_hdr h;
	const struct message *row;

	vb_mad_hdr_parse(&h, mad);
	if (h.base_version != VB_MAD_BASE_VERSION || h.mgmt_class != VB_MAD_CLASS_CM ||
	    h.class_version != VB_CM_CLASS_VERSION)
		return -EPROTONOSUPPORT;
	if (h.method != VB_MAD_METHOD_SEND || h.attr_id < VB_CM_ATTR_FIRST ||
	    h.attr_id > VB_CM_ATTR_LAST)
		return -EBADMSG;

	memset(m, 0, sizeof *m);
	m->tid = h.tid;
	m->attr_mod = h.attr_mod;
	m->attr = (enum vb_cm_attr)h.attr_id;
	row = message_row(m->attr);
	vb_mad_fields_read(id_fields, row->id_cnt, mad, m);
	vb_mad_fields_read(row->field, row->field_cnt, mad, m);
	memcpy(m->private_data, mad + VB_MAD_HDR_LEN + row->private_at, vb_cm_private_len(m->attr));
	return 0;
}

void vb_cm_msg_emit(const struct vb_cm_msg *m, uint8_t mad[VB_MAD_LEN])
{
	const struct message *row = message_row(m->attr);
	const struct vb_mad_hdr h = {.base_version = VB_MAD_BASE_VERSION,
				     .mgmt_class = VB_MAD_CLASS_CM,
				     .class_version = VB_CM_CLASS_VERSION,
				     .method = VB_MAD_METHOD_SEND,
				     .tid = m->tid,
				     .attr_id = (uint16_t)m->attr,
				     .attr_mod = m->attr_mod};

	memset(mad, 0, VB_MAD_LEN);
	vb_mad_hdr_emit(&h, mad);
	vb_mad_fields_write(id_fields, row->id_cnt, m, mad);
	vb_mad_fields_write(row->field, row->field_cnt, m, mad);
	memcpy(mad + VB_MAD_HDR_LEN + row->private_at, m->private_data, vb_cm_private_len(m->attr));
}
