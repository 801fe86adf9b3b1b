/* SPDX-License-Identifier: BSD-2-Clause */
/* Attributes of congestion control, as tables of fields. IBA A10.4.3 */
#include "wire/mad/subnet/congestion.h"

#include "wire/be.h"
#include "wire/mad/smp.h"

#include <assert.h>

#define KEY_AT 24
#define CNT(table) (sizeof(table) / sizeof(table)[0])
#define FIELD(type, member, bit, bits)                                                             \
	VB_MAD_FIELD(struct vb_ibcc_##type, member, VB_IBCC_DATA_AT, bit, bits)
#define LOG(member, bit, bits) VB_MAD_FIELD(struct vb_ibcc_log, member, VB_IBCC_LOG_AT, bit, bits)

static const struct vb_mad_field info_fields[] = {
    FIELD(info, info, 0, 16),
    FIELD(info, table_cap, 16, 8),
};

#define NOTICE(member, byte, bits)                                                                 \
	VB_MAD_FIELD(struct vb_ibcc_key_trap, member,                                              \
		     VB_IBCC_DATA_AT + VB_NOTICE_DETAILS_AT + (byte), 0, bits)
static const struct vb_mad_field key_trap_fields[] = {
    NOTICE(slid, 0, 16), NOTICE(method, 2, 8), NOTICE(attr_id, 4, 16), NOTICE(attr_mod, 6, 32),
    NOTICE(qpn, 11, 24), NOTICE(key, 14, 64),  NOTICE(prefix, 22, 64), NOTICE(guid, 30, 64),
};

static const struct vb_mad_field key_fields[] = {
    FIELD(key_info, key, 0, 64),
    FIELD(key_info, protect, 64, 1),
    FIELD(key_info, lease, 80, 16),
    FIELD(key_info, violations, 96, 16),
};

/* Rows of @row with the numbers from @n on. */
#define ROWS_4(row, n) row((n)), row((n) + 1), row((n) + 2), row((n) + 3)
#define ROWS_16(row, n)                                                                            \
	ROWS_4(row, n), ROWS_4(row, (n) + 4), ROWS_4(row, (n) + 8), ROWS_4(row, (n) + 12)

#define ROWS_13(row) ROWS_4(row, 0), ROWS_4(row, 4), ROWS_4(row, 8), row(12)

#define SWITCH_EVENT(i)                                                                            \
	LOG(event[i].slid, 320 + 96 * (i), 16), LOG(event[i].dlid, 336 + 96 * (i), 16),            \
	    LOG(event[i].sl, 352 + 96 * (i), 4), LOG(event[i].now, 384 + 96 * (i), 32)
#define CA_EVENT(i)                                                                                \
	LOG(event[i].qp, 96 + 128 * (i), 24), LOG(event[i].sl, 120 + 128 * (i), 4),                \
	    LOG(event[i].service, 124 + 128 * (i), 4),                                             \
	    LOG(event[i].remote_qp, 128 + 128 * (i), 24), LOG(event[i].slid, 176 + 128 * (i), 16), \
	    LOG(event[i].now, 192 + 128 * (i), 32)

/* The time stands behind the map of events in an adapter's. */
static const struct vb_mad_field switch_log_fields[] = {
    LOG(type, 0, 8),     LOG(flags, 8, 8),      LOG(events, 16, 16), LOG(now, 32, 32),
    LOG(ports, 64, 256), ROWS_13(SWITCH_EVENT), SWITCH_EVENT(13),    SWITCH_EVENT(14),
};
static const struct vb_mad_field ca_log_fields[] = {
    LOG(type, 0, 8),     LOG(flags, 8, 8), LOG(events, 16, 16),
    LOG(levels, 32, 16), LOG(now, 64, 32), ROWS_13(CA_EVENT),
};

static const struct vb_mad_field switch_fields[] = {
    FIELD(switch_setting, control_map, 0, 32),    FIELD(switch_setting, victims, 32, 256),
    FIELD(switch_setting, credits, 288, 256),     FIELD(switch_setting, threshold, 544, 4),
    FIELD(switch_setting, packet_size, 552, 8),   FIELD(switch_setting, starvation, 560, 4),
    FIELD(switch_setting, return_delay, 576, 16), FIELD(switch_setting, marking_rate, 592, 16),
};

#define PORT(i)                                                                                    \
	FIELD(ports, port[i].valid, 32 * (i), 1), FIELD(ports, port[i].starves, 32 * (i) + 1, 1),  \
	    FIELD(ports, port[i].threshold, 32 * (i) + 4, 4),                                      \
	    FIELD(ports, port[i].packet_size, 32 * (i) + 8, 8),                                    \
	    FIELD(ports, port[i].marking_rate, 32 * (i) + 16, 16)
static const struct vb_mad_field port_fields[] = {ROWS_16(PORT, 0), ROWS_16(PORT, 16)};

#define LEVEL(i)                                                                                   \
	FIELD(ca_setting, level[i].timer, 32 + 64 * (i), 16),                                      \
	    FIELD(ca_setting, level[i].increase, 48 + 64 * (i), 8),                                \
	    FIELD(ca_setting, level[i].trigger, 56 + 64 * (i), 8),                                 \
	    FIELD(ca_setting, level[i].index_min, 64 + 64 * (i), 8)
static const struct vb_mad_field ca_fields[] = {
    FIELD(ca_setting, port_control, 0, 16),
    FIELD(ca_setting, control_map, 16, 16),
    ROWS_16(LEVEL, 0),
};

#define ENTRY(i) FIELD(table, entry[i], 32 + 16 * (i), 16)
static const struct vb_mad_field table_fields[] = {
    FIELD(table, limit, 0, 16), ROWS_16(ENTRY, 0),  ROWS_16(ENTRY, 16),
    ROWS_16(ENTRY, 32),         ROWS_16(ENTRY, 48),
};

static_assert(CNT(port_fields) == 5 * VB_IBCC_PORTS, "each port has its fields");
static_assert(CNT(ca_fields) == 2 + 4 * VB_IBCC_LEVELS, "each level has its fields");
static_assert(CNT(table_fields) == 1 + VB_IBCC_ENTRIES, "each entry has a field");

uint64_t vb_ibcc_key(const uint8_t mad[VB_MAD_LEN])
{
	return be64_get(mad + KEY_AT);
}

void vb_ibcc_set_key(uint8_t mad[VB_MAD_LEN], uint64_t key)
{
	be64_put(mad + KEY_AT, key);
}

void vb_ibcc_info_emit(const struct vb_ibcc_info *i, uint8_t mad[VB_MAD_LEN])
{
	vb_mad_fields_write(info_fields, CNT(info_fields), i, mad);
}

void vb_ibcc_key_trap_emit(const struct vb_ibcc_key_trap *t, uint8_t mad[VB_MAD_LEN])
{
	vb_mad_fields_write(key_trap_fields, CNT(key_trap_fields), t, mad);
}

void vb_ibcc_key_info_parse(struct vb_ibcc_key_info *k, const uint8_t mad[VB_MAD_LEN])
{
	vb_mad_fields_read(key_fields, CNT(key_fields), mad, k);
}

void vb_ibcc_key_info_emit(const struct vb_ibcc_key_info *k, uint8_t mad[VB_MAD_LEN])
{
	assert(k->protect <= 1);
	vb_mad_fields_write(key_fields, CNT(key_fields), k, mad);
}

void vb_ibcc_log_emit(const struct vb_ibcc_log *l, uint8_t mad[VB_MAD_LEN])
{
	assert(l->type == VB_IBCC_LOG_OF_SWITCH || l->type == VB_IBCC_LOG_OF_CA);
	if (l->type == VB_IBCC_LOG_OF_SWITCH)
		vb_mad_fields_write(switch_log_fields, CNT(switch_log_fields), l, mad);
	else
		vb_mad_fields_write(ca_log_fields, CNT(ca_log_fields), l, mad);
}

VB_MAD_ATTRIBUTE(vb_ibcc_switch_setting, vb_ibcc_switch_setting, switch_fields)
VB_MAD_ATTRIBUTE(vb_ibcc_ports, vb_ibcc_ports, port_fields)
VB_MAD_ATTRIBUTE(vb_ibcc_ca_setting, vb_ibcc_ca_setting, ca_fields)
VB_MAD_ATTRIBUTE(vb_ibcc_table, vb_ibcc_table, table_fields)

void vb_ibcc_timestamp_emit(uint32_t now, uint8_t mad[VB_MAD_LEN])
{
	be32_put(mad + VB_IBCC_DATA_AT, now);
}
