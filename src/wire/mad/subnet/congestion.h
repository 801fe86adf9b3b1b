/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MADs of congestion control: the key of a node, how its switch marks packets, and how an adapter
 * slows down by a table. IBA A10.4; item FAB-45
 */
#ifndef VB_WIRE_IBCC_H
#define VB_WIRE_IBCC_H

#include "wire/mad/mad.h"

#define VB_MAD_CLASS_IBCC 0x21
#define VB_IBCC_CLASS_VERSION 2
#define VB_IBCC_LOG_AT 32  /* CongestionLog has all of the MAD from here on */
#define VB_IBCC_DATA_AT 64 /* every other attribute begins here */

#define VB_IBCC_PORTS 32u   /* of a switch in one MAD */
#define VB_IBCC_ENTRIES 64u /* of a table in one MAD */
#define VB_IBCC_LEVELS 16u  /* service levels of an adapter */

enum vb_ibcc_attr {
	VB_IBCC_CLASS_PORT_INFO = VB_MAD_CLASS_PORT_INFO,
	VB_IBCC_NOTICE = 0x0002,
	VB_IBCC_INFO = 0x0011,
	VB_IBCC_KEY_INFO = 0x0012,
	VB_IBCC_LOG = 0x0013,
	VB_IBCC_SWITCH_SETTING = 0x0014,
	VB_IBCC_PORT_SETTING = 0x0015,
	VB_IBCC_CA_SETTING = 0x0016,
	VB_IBCC_TABLE = 0x0017,
	VB_IBCC_TIMESTAMP = 0x0018,
};

struct vb_ibcc_info {
	uint16_t info;     /* bit 0: credit starvation is noticed */
	uint8_t table_cap; /* blocks of VB_IBCC_ENTRIES that a table has; of switches 0 */
};

struct vb_ibcc_key_info {
	uint64_t key;
	uint8_t protect;     /* 1: a Get needs the key as well */
	uint16_t lease;      /* seconds; 0: for ever */
	uint16_t violations; /* stays at its most */
};

enum vb_ibcc_log_type { VB_IBCC_LOG_OF_SWITCH = 1, VB_IBCC_LOG_OF_CA = 2 };

#define VB_IBCC_EVENTS 15u    /* of a switch in a log */
#define VB_IBCC_CA_EVENTS 13u /* of an adapter */

/* Of a switch a packet that it marked; of an adapter a QP that was slowed down. */
struct vb_ibcc_event {
	uint16_t slid, dlid; /* of an adapter slid alone: where the other end is */
	uint8_t sl;
	uint8_t service; /* of an adapter: the transport, 0 RC, 1 UC, 2 RD, 3 UD */
	uint32_t qp;     /* of an adapter: its own, and the other end's; 0: unknown */
	uint32_t remote_qp;
	uint32_t now; /* 1.024 us */
};

struct vb_ibcc_log {
	uint8_t type, flags;
	uint16_t events;   /* since the log was last read, up to the most */
	uint32_t now;      /* 1.024 us */
	uint16_t levels;   /* of an adapter: service levels with events */
	uint8_t ports[32]; /* of a switch: ports with events, as bits */
	struct vb_ibcc_event event[VB_IBCC_EVENTS]; /* the last ones, all 0: none */
};

/* Bits of a switch's control map: which fields a Set means. */
enum vb_ibcc_switch_map {
	VB_IBCC_VICTIMS = 1 << 0,
	VB_IBCC_CREDITS = 1 << 1,
	VB_IBCC_THRESHOLD = 1 << 2, /* and the size of packets */
	VB_IBCC_STARVATION = 1 << 3,
	VB_IBCC_MARKING_RATE = 1 << 4,
};

struct vb_ibcc_switch_setting {
	uint32_t control_map;
	uint8_t victims[32], credits[32]; /* bits of ports */
	uint8_t threshold;                /* 0: nothing is marked; 15: the soonest */
	uint8_t packet_size;              /* smaller ones are not marked, 64 bytes */
	uint8_t starvation;               /* threshold of a lane without credits */
	uint16_t return_delay;            /* as an entry of a table */
	uint16_t marking_rate;            /* packets between two that are marked, on average */
};

struct vb_ibcc_port_setting {
	uint8_t valid;
	uint8_t starves; /* the setting is that of a lane without credits */
	uint8_t threshold, packet_size;
	uint16_t marking_rate;
};

/* A block of a switch's ports. */
struct vb_ibcc_ports {
	struct vb_ibcc_port_setting port[VB_IBCC_PORTS];
};

/* Of a service level. */
struct vb_ibcc_level {
	uint16_t timer;   /* 1.024 us, from one step back to the next */
	uint8_t increase; /* of the index, by a BECN */
	uint8_t trigger;  /* index at which an event is logged */
	uint8_t index_min;
};

#define VB_IBCC_BY_LEVEL 1u /* bit 0 of port_control: levels have indices, and not QPs */
struct vb_ibcc_ca_setting {
	uint16_t port_control;
	uint16_t control_map; /* levels that a Set means */
	struct vb_ibcc_level level[VB_IBCC_LEVELS];
};

/* A block of a table. An entry has two bits of shift and 14 of a multiplier. */
struct vb_ibcc_table {
	uint16_t limit; /* of the index, in all blocks */
	uint16_t entry[VB_IBCC_ENTRIES];
};

/* Notice 0: a request had another CC_Key. The layout is that of Linux, qib_mad.h. */
#define VB_IBCC_TRAP_KEY 0
struct vb_ibcc_key_trap {
	uint16_t slid; /* of the request */
	uint8_t method;
	uint16_t attr_id;
	uint32_t attr_mod;
	uint32_t qpn; /* that it came from */
	uint64_t key;
	uint64_t prefix, guid; /* of its SGID; 0: it had no GRH */
};

/* The details of the notice. */
void vb_ibcc_key_trap_emit(const struct vb_ibcc_key_trap *t, uint8_t mad[VB_MAD_LEN]);

uint64_t vb_ibcc_key(const uint8_t mad[VB_MAD_LEN]);
void vb_ibcc_set_key(uint8_t mad[VB_MAD_LEN], uint64_t key);

void vb_ibcc_info_emit(const struct vb_ibcc_info *i, uint8_t mad[VB_MAD_LEN]);
void vb_ibcc_key_info_parse(struct vb_ibcc_key_info *k, const uint8_t mad[VB_MAD_LEN]);
void vb_ibcc_key_info_emit(const struct vb_ibcc_key_info *k, uint8_t mad[VB_MAD_LEN]);
void vb_ibcc_log_emit(const struct vb_ibcc_log *l, uint8_t mad[VB_MAD_LEN]);
void vb_ibcc_switch_setting_parse(struct vb_ibcc_switch_setting *s, const uint8_t mad[VB_MAD_LEN]);
void vb_ibcc_switch_setting_emit(const struct vb_ibcc_switch_setting *s, uint8_t mad[VB_MAD_LEN]);
void vb_ibcc_ports_parse(struct vb_ibcc_ports *p, const uint8_t mad[VB_MAD_LEN]);
void vb_ibcc_ports_emit(const struct vb_ibcc_ports *p, uint8_t mad[VB_MAD_LEN]);
void vb_ibcc_ca_setting_parse(struct vb_ibcc_ca_setting *s, const uint8_t mad[VB_MAD_LEN]);
void vb_ibcc_ca_setting_emit(const struct vb_ibcc_ca_setting *s, uint8_t mad[VB_MAD_LEN]);
void vb_ibcc_table_parse(struct vb_ibcc_table *t, const uint8_t mad[VB_MAD_LEN]);
void vb_ibcc_table_emit(const struct vb_ibcc_table *t, uint8_t mad[VB_MAD_LEN]);
void vb_ibcc_timestamp_emit(uint32_t now, uint8_t mad[VB_MAD_LEN]);

#endif
