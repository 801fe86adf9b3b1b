/* SPDX-License-Identifier: BSD-2-Clause */
/* Attributes of performance management, as tables of fields. IBA 16.1.3 */
#include "wire/mad/pma.h"

#include "wire/be.h"

#include <assert.h>
#include <string.h>

#define INFO(member, byte, bit, bits)                                                              \
	VB_MAD_FIELD(struct vb_class_port_info, member, VB_PMA_DATA_AT + (byte), bit, bits)
#define COUNTER(name, bit, bits)                                                                   \
	[VB_PMA_##name] =                                                                          \
	    VB_MAD_FIELD(struct vb_pma_counts, value[VB_PMA_##name], VB_PMA_DATA_AT, bit, bits)

static const struct vb_mad_field info_fields[] = {
    INFO(base_version, 0, 0, 8), INFO(class_version, 1, 0, 8),    INFO(cap_mask, 2, 0, 16),
    INFO(cap_mask2, 4, 0, 27),   INFO(resp_time, 4, 27, 5),       INFO(traps.prefix, 40, 0, 64),
    INFO(traps.guid, 48, 0, 64), INFO(traps.sl, 56, 8, 4),        INFO(traps.lid, 60, 0, 16),
    INFO(traps.pkey, 62, 0, 16), INFO(traps.hop_limit, 64, 0, 8), INFO(traps.qpn, 65, 0, 24),
    INFO(traps.qkey, 68, 0, 32),
};

/* IBA 16.1.3.5 */
static const struct vb_mad_field counter_fields[] = {
    COUNTER(SYMBOL_ERRORS, 32, 16),
    COUNTER(LINK_ERROR_RECOVERY, 48, 8),
    COUNTER(LINK_DOWNED, 56, 8),
    COUNTER(RCV_ERRORS, 64, 16),
    COUNTER(RCV_REMOTE_PHYSICAL_ERRORS, 80, 16),
    COUNTER(RCV_SWITCH_RELAY_ERRORS, 96, 16),
    COUNTER(XMIT_DISCARDS, 112, 16),
    COUNTER(XMIT_CONSTRAINT_ERRORS, 128, 8),
    COUNTER(RCV_CONSTRAINT_ERRORS, 136, 8),
    COUNTER(LINK_INTEGRITY_ERRORS, 152, 4),
    COUNTER(BUFFER_OVERRUN_ERRORS, 156, 4),
    COUNTER(VL15_DROPPED, 176, 16),
    COUNTER(XMIT_DATA, 192, 32),
    COUNTER(RCV_DATA, 224, 32),
    COUNTER(XMIT_PACKETS, 256, 32),
    COUNTER(RCV_PACKETS, 288, 32),
    COUNTER(XMIT_WAIT, 320, 32),
};

/* IBA 16.1.4.10 */
static const struct vb_mad_field ext_fields[] = {
    COUNTER(EXT_XMIT_DATA, 64, 64),       COUNTER(EXT_RCV_DATA, 128, 64),
    COUNTER(EXT_XMIT_PACKETS, 192, 64),   COUNTER(EXT_RCV_PACKETS, 256, 64),
    COUNTER(EXT_UNICAST_XMIT, 320, 64),   COUNTER(EXT_UNICAST_RCV, 384, 64),
    COUNTER(EXT_MULTICAST_XMIT, 448, 64), COUNTER(EXT_MULTICAST_RCV, 512, 64),
};

/* IBA 16.1.3.2, as the qib driver of Linux has it. */
#define CONTROL(member, byte, bit, bits)                                                           \
	VB_MAD_FIELD(struct vb_pma_control, member, VB_PMA_DATA_AT + (byte), bit, bits)
static const struct vb_mad_field control_fields[] = {
    CONTROL(port, 1, 0, 8),     CONTROL(tick, 2, 0, 8),       CONTROL(width, 3, 5, 3),
    CONTROL(mask0_9, 4, 2, 30), CONTROL(mask10_14, 8, 1, 15), CONTROL(status, 11, 6, 2),
    CONTROL(start, 28, 0, 32),  CONTROL(interval, 32, 0, 32), CONTROL(tag, 36, 0, 16),
};
#define CONTROL_SELECT_AT (VB_PMA_DATA_AT + 38)

/* IBA 16.1.3.4 */
#define RESULT(member, byte, bit, bits)                                                            \
	VB_MAD_FIELD(struct vb_pma_result, member, VB_PMA_DATA_AT + (byte), bit, bits)
static const struct vb_mad_field result_fields[] = {
    RESULT(tag, 0, 0, 16),
    RESULT(status, 3, 6, 2),
};
#define RESULT_COUNTER_AT (VB_PMA_DATA_AT + 4)

/* Fields before the counters of either; PortCounters has its 17th bit of selection elsewhere. */
struct counts_hdr {
	uint8_t port;
	uint16_t select;
	uint8_t select2;
};
#define COUNTS_HDR(member, bit, bits)                                                              \
	VB_MAD_FIELD(struct counts_hdr, member, VB_PMA_DATA_AT, bit, bits)
static const struct vb_mad_field hdr_fields[] = {
    COUNTS_HDR(port, 8, 8),
    COUNTS_HDR(select, 16, 16),
    COUNTS_HDR(select2, 144, 8),
};
#define SELECT2_SHIFT 16

#define CNT(table) (sizeof(table) / sizeof(table)[0])

static_assert(CNT(counter_fields) == VB_PMA_COUNTERS, "each counter has a field");
static_assert(CNT(ext_fields) == VB_PMA_EXT_COUNTERS, "each counter has a field");

void vb_class_port_info_parse(struct vb_class_port_info *c, const uint8_t mad[VB_MAD_LEN])
{
	vb_mad_fields_read(info_fields, CNT(info_fields), mad, c);
}

void vb_class_port_info_emit(const struct vb_class_port_info *c, uint8_t mad[VB_MAD_LEN])
{
	vb_mad_fields_write(info_fields, CNT(info_fields), c, mad);
}

static const struct vb_mad_field *attr_fields(enum vb_pma_attr attr, size_t *cnt, size_t *hdr_cnt)
{
	bool ext = attr == VB_PMA_PORT_COUNTERS_EXT;

	assert(ext || attr == VB_PMA_PORT_COUNTERS);
	*cnt = ext ? CNT(ext_fields) : CNT(counter_fields);
	*hdr_cnt = ext ? CNT(hdr_fields) - 1 : CNT(hdr_fields);
	return ext ? ext_fields : counter_fields;
}

void vb_pma_counts_parse(struct vb_pma_counts *c, enum vb_pma_attr attr,
			 const uint8_t mad[VB_MAD_LEN])
{
	size_t cnt, hdr_cnt;
	const struct vb_mad_field *f = attr_fields(attr, &cnt, &hdr_cnt);
	struct counts_hdr h = {0};

	memset(c, 0, sizeof *c);
	vb_mad_fields_read(f, cnt, mad, c);
	vb_mad_fields_read(hdr_fields, hdr_cnt, mad, &h);
	c->port = h.port;
	c->select = h.select | (uint32_t)h.select2 << SELECT2_SHIFT;
}

void vb_pma_counts_emit(const struct vb_pma_counts *c, enum vb_pma_attr attr,
			uint8_t mad[VB_MAD_LEN])
{
	size_t cnt, hdr_cnt;
	const struct vb_mad_field *f = attr_fields(attr, &cnt, &hdr_cnt);
	struct counts_hdr h = {.port = c->port,
			       .select = (uint16_t)c->select,
			       .select2 = (uint8_t)(c->select >> SELECT2_SHIFT)};
	struct vb_pma_counts fit = *c;

	for (size_t i = 0; i < cnt; i++)
		if (f[i].bits < 64 && fit.value[i] >> f[i].bits)
			fit.value[i] = (UINT64_C(1) << f[i].bits) - 1;
	vb_mad_fields_write(f, cnt, &fit, mad);
	vb_mad_fields_write(hdr_fields, hdr_cnt, &h, mad);
}

void vb_pma_control_parse(struct vb_pma_control *c, const uint8_t mad[VB_MAD_LEN])
{
	vb_mad_fields_read(control_fields, CNT(control_fields), mad, c);
	for (uint32_t i = 0; i < VB_PMA_SAMPLES; i++)
		c->select[i] = be16_get(mad + CONTROL_SELECT_AT + 2 * i);
}

void vb_pma_control_emit(const struct vb_pma_control *c, uint8_t mad[VB_MAD_LEN])
{
	vb_mad_fields_write(control_fields, CNT(control_fields), c, mad);
	for (uint32_t i = 0; i < VB_PMA_SAMPLES; i++)
		be16_put(mad + CONTROL_SELECT_AT + 2 * i, c->select[i]);
}

void vb_pma_result_parse(struct vb_pma_result *r, const uint8_t mad[VB_MAD_LEN])
{
	vb_mad_fields_read(result_fields, CNT(result_fields), mad, r);
	for (uint32_t i = 0; i < VB_PMA_SAMPLES; i++)
		r->counter[i] = be32_get(mad + RESULT_COUNTER_AT + 4 * i);
}

void vb_pma_result_emit(const struct vb_pma_result *r, uint8_t mad[VB_MAD_LEN])
{
	vb_mad_fields_write(result_fields, CNT(result_fields), r, mad);
	for (uint32_t i = 0; i < VB_PMA_SAMPLES; i++)
		be32_put(mad + RESULT_COUNTER_AT + 4 * i, r->counter[i]);
}

const char *vb_pma_counter_name(enum vb_pma_counter i)
{
	static const char *const names[VB_PMA_COUNTERS] = {
	    [VB_PMA_SYMBOL_ERRORS] = "SymbolErrorCounter",
	    [VB_PMA_LINK_ERROR_RECOVERY] = "LinkErrorRecoveryCounter",
	    [VB_PMA_LINK_DOWNED] = "LinkDownedCounter",
	    [VB_PMA_RCV_ERRORS] = "PortRcvErrors",
	    [VB_PMA_RCV_REMOTE_PHYSICAL_ERRORS] = "PortRcvRemotePhysicalErrors",
	    [VB_PMA_RCV_SWITCH_RELAY_ERRORS] = "PortRcvSwitchRelayErrors",
	    [VB_PMA_XMIT_DISCARDS] = "PortXmitDiscards",
	    [VB_PMA_XMIT_CONSTRAINT_ERRORS] = "PortXmitConstraintErrors",
	    [VB_PMA_RCV_CONSTRAINT_ERRORS] = "PortRcvConstraintErrors",
	    [VB_PMA_LINK_INTEGRITY_ERRORS] = "LocalLinkIntegrityErrors",
	    [VB_PMA_BUFFER_OVERRUN_ERRORS] = "ExcessiveBufferOverrunErrors",
	    [VB_PMA_VL15_DROPPED] = "VL15Dropped",
	    [VB_PMA_XMIT_DATA] = "PortXmitData",
	    [VB_PMA_RCV_DATA] = "PortRcvData",
	    [VB_PMA_XMIT_PACKETS] = "PortXmitPkts",
	    [VB_PMA_RCV_PACKETS] = "PortRcvPkts",
	    [VB_PMA_XMIT_WAIT] = "PortXmitWait",
	};

	return (unsigned)i < VB_PMA_COUNTERS ? names[i] : "?";
}
