/* SPDX-License-Identifier: BSD-2-Clause */
/* Layouts of subnet management packets. Byte offsets of attributes count from the data. IBA 14.2 */
#include "wire/mad/smp.h"

#include "wire/be.h"

#include <assert.h>

#define ROUTE(member, byte, bit, bits) VB_MAD_FIELD(struct vb_smp_route, member, byte, bit, bits)

static const struct vb_mad_field route_fields[] = {
    ROUTE(returning, 4, 0, 1), ROUTE(status, 4, 1, 15), ROUTE(hop_ptr, 6, 0, 8),
    ROUTE(hop_cnt, 7, 0, 8),   ROUTE(mkey, 24, 0, 64),  ROUTE(dr_slid, 32, 0, 16),
    ROUTE(dr_dlid, 34, 0, 16),
};

#define NODE(member, byte, bits)                                                                   \
	VB_MAD_FIELD(struct vb_node_info, member, VB_SMP_DATA_AT + (byte), 0, bits)

static const struct vb_mad_field node_fields[] = {
    NODE(base_version, 0, 8), NODE(class_version, 1, 8), NODE(type, 2, 8),
    NODE(port_cnt, 3, 8),     NODE(system_guid, 4, 64),  NODE(node_guid, 12, 64),
    NODE(port_guid, 20, 64),  NODE(pkey_cap, 28, 16),    NODE(device_id, 30, 16),
    NODE(revision, 32, 32),   NODE(local_port, 36, 8),   NODE(vendor_id, 37, 24),
};

#define SWITCH(member, byte, bit, bits)                                                            \
	VB_MAD_FIELD(struct vb_switch_info, member, VB_SMP_DATA_AT + (byte), bit, bits)

static const struct vb_mad_field switch_fields[] = {
    SWITCH(linear_cap, 0, 0, 16),          SWITCH(random_cap, 2, 0, 16),
    SWITCH(multicast_cap, 4, 0, 16),       SWITCH(linear_top, 6, 0, 16),
    SWITCH(default_port, 8, 0, 8),         SWITCH(default_mcast_primary, 9, 0, 8),
    SWITCH(default_mcast_other, 10, 0, 8), SWITCH(life_time, 11, 0, 5),
    SWITCH(port_state_change, 11, 5, 1),   SWITCH(sl2vl_optimized, 11, 6, 2),
    SWITCH(lids_per_port, 12, 0, 16),      SWITCH(enforce_cap, 14, 0, 16),
    SWITCH(inbound_enforce, 16, 0, 1),     SWITCH(outbound_enforce, 16, 1, 1),
    SWITCH(filter_raw_in, 16, 2, 1),       SWITCH(filter_raw_out, 16, 3, 1),
    SWITCH(enhanced_port0, 16, 4, 1),      SWITCH(multicast_top, 18, 0, 16),
};

#define PORT(member, byte, bit, bits)                                                              \
	VB_MAD_FIELD(struct vb_port_info, member, VB_SMP_DATA_AT + (byte), bit, bits)

static const struct vb_mad_field port_fields[] = {
    PORT(mkey, 0, 0, 64),
    PORT(prefix, 8, 0, 64),
    PORT(lid, 16, 0, 16),
    PORT(sm_lid, 18, 0, 16),
    PORT(cap_mask, 20, 0, 32),
    PORT(diag, 24, 0, 16),
    PORT(mkey_lease, 26, 0, 16),
    PORT(local_port, 28, 0, 8),
    PORT(width_enabled, 29, 0, 8),
    PORT(width_supported, 30, 0, 8),
    PORT(width_active, 31, 0, 8),
    PORT(speed_supported, 32, 0, 4),
    PORT(state, 32, 4, 4),
    PORT(phys_state, 33, 0, 4),
    PORT(down_default, 33, 4, 4),
    PORT(mkey_protect, 34, 0, 2),
    PORT(lmc, 34, 5, 3),
    PORT(speed_active, 35, 0, 4),
    PORT(speed_enabled, 35, 4, 4),
    PORT(neighbor_mtu, 36, 0, 4),
    PORT(sm_sl, 36, 4, 4),
    PORT(vl_cap, 37, 0, 4),
    PORT(init_type, 37, 4, 4),
    PORT(high_limit, 38, 0, 8),
    PORT(arb_high_cap, 39, 0, 8),
    PORT(arb_low_cap, 40, 0, 8),
    PORT(init_reply, 41, 0, 4),
    PORT(mtu_cap, 41, 4, 4),
    PORT(vl_stall_count, 42, 0, 3),
    PORT(hoq_life, 42, 3, 5),
    PORT(oper_vls, 43, 0, 4),
    PORT(enforce_in, 43, 4, 1),
    PORT(enforce_out, 43, 5, 1),
    PORT(filter_raw_in, 43, 6, 1),
    PORT(filter_raw_out, 43, 7, 1),
    PORT(mkey_violations, 44, 0, 16),
    PORT(pkey_violations, 46, 0, 16),
    PORT(qkey_violations, 48, 0, 16),
    PORT(guid_cap, 50, 0, 8),
    PORT(client_reregister, 51, 0, 1),
    PORT(mcast_pkey_trap, 51, 1, 2),
    PORT(subnet_timeout, 51, 3, 5),
    PORT(resp_time, 52, 3, 5),
    PORT(local_errors, 53, 0, 4),
    PORT(overrun_errors, 53, 4, 4),
    PORT(credit_hint, 54, 0, 16),
    PORT(round_trip, 57, 0, 24),
    PORT(cap_mask2, 60, 0, 16),
    PORT(ext_speed_active, 62, 0, 4),
    PORT(ext_speed_supported, 62, 4, 4),
    PORT(ext_speed_enabled, 63, 3, 5),
};

#define SM(member, byte, bit, bits)                                                                \
	VB_MAD_FIELD(struct vb_sm_info, member, VB_SMP_DATA_AT + (byte), bit, bits)

static const struct vb_mad_field sm_fields[] = {
    SM(guid, 0, 0, 64),     SM(sm_key, 8, 0, 64), SM(activity, 16, 0, 32),
    SM(priority, 20, 0, 4), SM(state, 20, 4, 4),
};

#define NOTICE(member, byte, bit, bits)                                                            \
	VB_MAD_FIELD(struct vb_notice, member, VB_SMP_DATA_AT + (byte), bit, bits)

static const struct vb_mad_field notice_fields[] = {
    NOTICE(is_generic, 0, 0, 1), NOTICE(type, 0, 1, 7),        NOTICE(producer, 1, 0, 24),
    NOTICE(trap, 4, 0, 16),      NOTICE(issuer_lid, 6, 0, 16), NOTICE(toggle, 8, 0, 1),
    NOTICE(count, 8, 1, 15),
};

VB_MAD_ATTRIBUTE(vb_smp_route, vb_smp_route, route_fields)
VB_MAD_ATTRIBUTE(vb_node_info, vb_node_info, node_fields)
VB_MAD_ATTRIBUTE(vb_switch_info, vb_switch_info, switch_fields)
VB_MAD_ATTRIBUTE(vb_port_info, vb_port_info, port_fields)
VB_MAD_ATTRIBUTE(vb_sm_info, vb_sm_info, sm_fields)
VB_MAD_ATTRIBUTE(vb_notice, vb_notice, notice_fields)

uint16_t vb_smp_get16(const uint8_t mad[VB_MAD_LEN], uint32_t index)
{
	assert(index < VB_SMP_DATA_LEN / 2);
	return be16_get(mad + VB_SMP_DATA_AT + index * 2);
}

void vb_smp_put16(uint8_t mad[VB_MAD_LEN], uint32_t index, uint16_t v)
{
	assert(index < VB_SMP_DATA_LEN / 2);
	be16_put(mad + VB_SMP_DATA_AT + index * 2, v);
}

uint64_t vb_smp_get64(const uint8_t mad[VB_MAD_LEN], uint32_t index)
{
	assert(index < VB_SMP_DATA_LEN / 8);
	return be64_get(mad + VB_SMP_DATA_AT + index * 8);
}

void vb_smp_put64(uint8_t mad[VB_MAD_LEN], uint32_t index, uint64_t v)
{
	assert(index < VB_SMP_DATA_LEN / 8);
	be64_put(mad + VB_SMP_DATA_AT + index * 8, v);
}
