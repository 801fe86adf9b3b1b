/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MADs of device management, by which a node tells of its I/O controllers and of the services
 * that they offer; the class of baseboard management has the same places. IBA 16.2, 16.3; items
 * FAB-08, FAB-49
 */
#ifndef VB_WIRE_DEVICE_H
#define VB_WIRE_DEVICE_H

#include "wire/mad/mad.h"

#define VB_MAD_CLASS_BASEBOARD 0x05
#define VB_MAD_CLASS_DEVICE 0x06
#define VB_DEVICE_CLASS_VERSION 1
#define VB_DEVICE_DATA_AT 64 /* every attribute begins here */

#define VB_IO_SLOTS_MAX 255u    /* of an I/O unit */
#define VB_IO_SERVICES_MAX 255u /* of a controller */
#define VB_IO_ID_LEN 64u        /* bytes of a controller's description, the last one is 0 */
#define VB_IO_SERVICE_LEN 40u   /* bytes of a service's name, the last one is 0 */
#define VB_IO_ENTRIES 4u        /* services in one MAD */
#define VB_IO_TRAP_LEN 32u      /* bytes of ClassPortInfo that say where traps go */

enum vb_device_attr {
	VB_DEVICE_CLASS_PORT_INFO = VB_MAD_CLASS_PORT_INFO,
	VB_DEVICE_IO_UNIT_INFO = 0x0010,
	VB_DEVICE_IO_CONTROLLER_PROFILE = 0x0011,
	VB_DEVICE_SERVICE_ENTRIES = 0x0012,
};

/* Statuses of this class alone. IBA 16.3.1.1 */
enum vb_device_status {
	VB_DEVICE_NO_CONTROLLER = 0x0100,
	VB_DEVICE_NO_SERVICE = 0x0200,
};

/* The states of a slot. IBA 16.3.3.3 */
enum vb_io_slot { VB_IO_SLOT_EMPTY = 0x0, VB_IO_SLOT_PRESENT = 0x1, VB_IO_SLOT_NONE = 0xf };

struct vb_io_unit_info {
	uint16_t change_id;      /* another one whenever the list has changed */
	uint8_t max_controllers; /* slots */
	uint8_t list[128]; /* four bits for each slot, enum vb_io_slot; see vb_io_slot_set() */
};

/* The description of a controller. IBA 16.3.3.4 */
struct vb_io_controller_profile {
	uint64_t guid;
	uint32_t vendor_id; /* 24 bits */
	uint32_t device_id;
	uint16_t device_version;
	uint32_t subsystem_vendor_id; /* 24 bits */
	uint32_t subsystem_id;
	uint16_t io_class, io_subclass;
	uint16_t protocol, protocol_version;
	uint16_t send_depth; /* messages that it takes at once */
	uint8_t read_depth;  /* READs that it has outstanding */
	uint32_t send_size;  /* bytes of a message */
	uint32_t rdma_size;  /* bytes of an RDMA transfer */
	uint8_t operations;  /* enum vb_io_operation */
	uint8_t service_cnt;
	uint8_t id[VB_IO_ID_LEN]; /* its description */
};

/* The operations that a controller does. */
enum vb_io_operation {
	VB_IO_SEND_TO = 1 << 7,
	VB_IO_SEND_FROM = 1 << 6,
	VB_IO_READ_FROM = 1 << 5,
	VB_IO_WRITE_FROM = 1 << 4,
};

/* A service of a controller. IBA 16.3.3.5 */
struct vb_io_service {
	uint8_t name[VB_IO_SERVICE_LEN];
	uint64_t id;
};

struct vb_io_services {
	struct vb_io_service entry[VB_IO_ENTRIES];
};

/* Slot @slot, from 1 on, has this state from now on. */
static inline void vb_io_slot_set(struct vb_io_unit_info *u, uint32_t slot, enum vb_io_slot state)
{
	uint32_t high = slot & 1; /* of two slots the first has the upper half of the byte */
	uint8_t *byte = &u->list[(slot - 1) / 2];

	*byte = high ? (uint8_t)((uint32_t)state << 4 | (*byte & 0x0f))
		     : (uint8_t)((*byte & 0xf0) | (uint32_t)state);
}

void vb_io_unit_info_parse(struct vb_io_unit_info *u, const uint8_t mad[VB_MAD_LEN]);
void vb_io_unit_info_emit(const struct vb_io_unit_info *u, uint8_t mad[VB_MAD_LEN]);
void vb_io_controller_profile_parse(struct vb_io_controller_profile *p,
				    const uint8_t mad[VB_MAD_LEN]);
void vb_io_controller_profile_emit(const struct vb_io_controller_profile *p,
				   uint8_t mad[VB_MAD_LEN]);
void vb_io_services_parse(struct vb_io_services *s, const uint8_t mad[VB_MAD_LEN]);
void vb_io_services_emit(const struct vb_io_services *s, uint8_t mad[VB_MAD_LEN]);

/* The part of ClassPortInfo that says where traps go: TrapGID to TrapQ_Key. IBA 13.4.8.1 */
static inline uint8_t *vb_io_trap(uint8_t mad[VB_MAD_LEN])
{
	return mad + VB_DEVICE_DATA_AT + 40;
}

#endif
