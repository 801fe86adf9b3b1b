/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory that the processes of one host share, of two kinds that the broker makes (memfd):
 *
 * - host memory: the table of devices, written by the broker alone, read by all. A reader copies it
 *   under the sequence number, see vb_host_read().
 * - slot memory, one per client process: its counters, numbers of objects, and its capture
 *   ring, written by that client alone, read by the broker and the `verbena` command.
 *
 * Readers trust no index or length found in slot memory: its owner is another program.
 */
#ifndef VB_NODE_SHARED_SHM_H
#define VB_NODE_SHARED_SHM_H

#include "base/slot.h"
#include "core/hca.h"
#include "core/view.h"
#include "explain/history/qp_history.h"
#include "fault/fault.h"
#include "link/flow.h"
#include "link/middle/capture.h"
#include "link/shm/wakeup.h"
#include "node/shared/adapter.h"
#include "reg/csr/csr.h"
#include "trace/counters.h"
#include "wire/path.h"

#include <stdint.h>

#define VB_SHM_MAGIC 0x56426e61u
#define VB_SHM_VERSION 25u

#define VB_DEVICES_MAX VB_HCA_PORTS_MAX /* device i is HCA port i + 1 */
#define VB_GIDS_MAX 32
#define VB_NAME_MAX 32
#define VB_VFS_MAX 8 /* virtual functions of a device */

enum vb_gid_type { VB_GID_NONE, VB_GID_IPV6, VB_GID_IPV4, VB_GID_IB };

struct vb_gid_entry {
	struct vb_gid gid; /* zero: empty entry; an index keeps its GID as long as that lives */
	uint32_t type;     /* enum vb_gid_type */
};

/* A port of InfiniBand, as PortInfo has it. The ports of a node are one device of programs: its
 * entries in the table follow each other. IBA 14.2.5.6 */
struct vb_device_ib {
	uint8_t number;   /* of the port at its node; 0: this is no port of InfiniBand */
	uint8_t port_cnt; /* of the node */
	uint8_t state;    /* enum vb_link_state, 1 DOWN to 5 ACT_DEFER */
	uint8_t phys_state;
	uint8_t lmc, sm_sl;
	uint8_t vl_cap, mtu_cap; /* codes */
	uint8_t init_reply, subnet_timeout;
	uint8_t width; /* enum vb_ib_width */
	uint8_t gid_cnt, pkey_cnt;
	uint16_t lid, sm_lid;
	uint16_t speed; /* enum vb_ib_speed */
	uint32_t cap_mask;
	uint32_t reregisters; /* times that the manager asked clients to register again */
	uint32_t map_port;    /* its number in the map of the fabric, link/ib/map.h */
	uint64_t system_guid;
};

struct vb_device {
	char name[VB_NAME_MAX];   /* "verbena0" */
	char ifname[VB_NAME_MAX]; /* "eth0" */
	uint32_t ifindex;         /* 0: this entry is unused */
	uint32_t netdev_mtu;      /* bytes */
	uint32_t active_mtu;      /* enum vb_mtu: largest <= netdev_mtu - 80, at most 4096 */
	uint32_t is_up;           /* 1: port ACTIVE, 0: port DOWN */
	uint32_t speed_mbps;      /* 0: unknown */
	uint8_t mac[6];
	/* A virtual function: the device, counted from 1, of whose addresses it makes use. */
	uint32_t parent;
	uint64_t guid; /* host order; from the MAC (EUI-64), or from the boot id for "lo" */
	struct vb_gid_entry gid[VB_GIDS_MAX];
	uint16_t pkey[VB_PORT_PKEYS_MAX]; /* 0: empty entry; of the register PKEY_TABLE, or a
					     manager's */
	struct vb_device_ib ib;
	struct vb_cct_rules cct; /* of InfiniBand in real time: how its QPs slow down */
};

/* The entry begins a device of programs: it is no further port of the one before. */
static inline bool vb_device_is_first(const struct vb_device *d)
{
	return d->ifindex && d->ib.number <= 1;
}

/* Rules of the fault layer (fault/fault.h), as text. */
#define VB_FAULT_TEXT_MAX 400
struct vb_fault_rules {
	uint64_t seed;
	char text[VB_FAULT_TEXT_MAX]; /* empty: none */
};

/* The effects of a device's rules in one process. */
struct vb_fault_status {
	struct vb_fault_rules rules;
	uint64_t matched[VB_FAULT_RULES_MAX]; /* packets that passed the rule's filter */
	uint64_t hits[VB_FAULT_RULES_MAX];
};

/* The last hits in one process: entry k of them is at k modulo the size. */
#define VB_FAULT_LOG_CNT 1024u
struct vb_fault_log {
	uint64_t cnt; /* ever written; release-stored after each entry */
	struct {
		uint64_t time_ns; /* CLOCK_REALTIME */
		uint32_t pid, rsv;
		struct vb_trace_event event;
	} hit[VB_FAULT_LOG_CNT];
};

/* QPs of one process that a view is written of at once. */
#define VB_VIEWS 1024u
/* Addresses of which is known what sending to them met. */
#define VB_SEND_ERRORS 32u

struct vb_send_error {
	struct vb_gid gid; /* the remote address */
	int32_t err;       /* errno; 0: this place is free */
	uint32_t rsv;
	uint64_t cnt;
	vb_time at; /* the last one, CLOCK_MONOTONIC */
};

/* Verbs that were refused in one process, the last ones. */
#define VB_REFUSED_CNT 32u
#define VB_REFUSED_TEXT_MAX 320u
struct vb_refused {
	vb_time at;   /* the last time, CLOCK_MONOTONIC */
	int32_t err;  /* errno; 0: this place is free */
	uint32_t cnt; /* times in a row, the same words */
	char text[VB_REFUSED_TEXT_MAX];
};

/*
 * To whom each QP of a process is connected, so that its peer on another host can be told how it
 * stands even when the process is stopped or has ended (node/gsi/agent.h). Number
 * vb_slot_qpn_index() modulo the size; the newer QP has the place. The broker marks what ended with
 * the process.
 */
#define VB_QP_ENTRIES 1024u
struct vb_qp_entry {
	uint32_t qpn; /* 0: this place is free */
	uint32_t dest_qpn, rq_psn;
	uint8_t state;     /* enum vb_qp_state; RESET: destroyed, too */
	uint8_t has_ended; /* 1: its process has */
	uint16_t type;     /* enum vb_qp_type */
	vb_time at;        /* when it came to that, CLOCK_MONOTONIC */
	struct vb_gid dgid;
};

/*
 * For `verbena explain`. Histories and errors are written as things happen, the views when host
 * memory asks for them (explain_asked). All under seq.
 */
struct vb_explain_shm {
	uint32_t seq;      /* odd while the owner writes */
	uint32_t answered; /* the explain_asked that the views answer */
	uint32_t qp_cnt;   /* QPs there were then... */
	uint32_t view_cnt; /* ... and views of them */
	uint32_t link_full;
	uint32_t refused_cnt; /* ever written: entry k is at k modulo the size */
	struct vb_send_error error[VB_SEND_ERRORS];
	struct vb_refused refused[VB_REFUSED_CNT];
	struct vb_qp_histories histories;
	struct vb_qp_view view[VB_VIEWS];
};

/*
 * How the QPs of a process came on, the last samples of all of them: entry k is at k modulo the
 * size. Written as they run, whether somebody looks or not (node/control/rates.c); they stay
 * when the process has ended, until another has its slot.
 */
#define VB_RATES 8192u /* a power of two */
struct vb_rates_shm {
	uint64_t cnt; /* ever written; release-stored after each entry */
	struct vb_qp_sample entry[VB_RATES];
};

/* Histories of processes that are gone, the last ones; kept for VB_PAST_NS. Written by the broker
 * under its seq. */
#define VB_PAST_QPS 128u
#define VB_PAST_PER_PROCESS 32u
#define VB_PAST_NS (600 * VB_SEC)
struct vb_past_qp {
	vb_time ended; /* the process, CLOCK_MONOTONIC; 0: this place is free */
	uint32_t pid;
	uint32_t slot;
	char comm[16];
	struct vb_send_error error; /* of the history's remote address, as the process knew it */
	struct vb_fault_status fault;
	struct vb_qp_history history;
};
struct vb_past {
	uint32_t next; /* the place to be used next */
	struct vb_past_qp history[VB_PAST_QPS];
};

enum vb_slot_taken {
	VB_SLOT_NEW,    /* no process has had the slot: its memory says nothing */
	VB_SLOT_TAKEN,  /* a process has it */
	VB_SLOT_VACANT, /* a process had it */
};

struct vb_host_shm {
	uint32_t magic, version;
	uint32_t seq;        /* odd while the broker writes */
	uint32_t generation; /* +1 whenever a device or GID changes */
	uint32_t broker_pid;
	uint32_t device_cnt;  /* entries in use are 0 ... device_cnt - 1, with holes */
	char sysfs_path[256]; /* root of the sysfs-like tree: $path/class/infiniband/... */
	char sysfs_note[256]; /* owner of the tree's usual name, when it has another; or empty */
	struct vb_device device[VB_DEVICES_MAX];
	/* The rules that `verbena fault` has set, by device, and how often it has. */
	struct vb_fault_rules fault[VB_DEVICES_MAX];
	uint32_t fault_generation;
	uint32_t is_open;           /* 1: the adapter has its UDP port */
	uint32_t explain_asked;     /* +1 whenever views are wanted... */
	uint32_t explain_qpn;       /* ... of this QP before all others; 0: of none */
	uint8_t taken[VB_SLOT_CNT]; /* enum vb_slot_taken, by slot; to be read atomically */
	/* Sums of the clients that are gone, by HCA port; entry 0 is unused. Changes under seq
	 * together with the slot it came from, see vb_broker_totals(). */
	struct vb_counters past[VB_HCA_PORTS_MAX + 1];
	/* Of each HCA port, all processes together, as of a second ago: for ibv_query_port(). To be
	 * read atomically. */
	struct vb_port_violations {
		uint64_t bad_pkey, bad_qkey;
	} violations[VB_HCA_PORTS_MAX + 1];
};

/*
 * The interrupt of CNPs, one for each device: a process that takes a CNP for a QP of a port with
 * cnp_irq_en adds one and wakes those who wait for @cnt to change, futex(2). CC-07
 */
struct vb_cnp_bell {
	uint32_t cnt; /* wraps */
	uint32_t qpn; /* the QP of the last CNP */
};

/* Where a process takes messages of others, see node/engine/mail.c. */
struct vb_mailbox {
	uint64_t token; /* of a wakeup endpoint (link/shm/wakeup.h); 0: it takes none */
	uint32_t sent;  /* messages handed in, wraps: to look for them costs the reader nothing */
	uint32_t rsv;
};

/* The whole of host memory: the table, the adapter's own state, and behind it what clients may
 * write too. */
struct vb_host_memory {
	struct vb_host_shm host;
	struct vb_adapter_shm adapter;
	struct vb_past past;
	_Alignas(4096) struct vb_flow flow[VB_SLOT_CNT]; /* receive sockets, by slot */
	struct vb_wakeup wakeup[VB_SLOT_CNT];            /* wakeup endpoints, by slot */
	/* QPs by their index in the CSR space less 1: QPN, and device + 1 above; 0: free. */
	uint32_t qp_index[VB_CSR_QPS];
	_Alignas(64) struct vb_cnp_bell bell[VB_HCA_PORTS_MAX]; /* by device */
	/* When the queue that fault rules make of each HCA port is idle, see fault/fault.h. */
	vb_time queue_idle[VB_HCA_PORTS_MAX + 1];
	struct vb_mailbox mailbox[VB_SLOT_CNT]; /* by slot */
};

struct vb_slot_shm {
	uint32_t magic, version;
	uint32_t slot;
	uint32_t pid; /* of the owner, as the broker sees it; 0: free */
	/* Index k (vb_hca_config.qpn_first) of the next QPN, kept up to date by the owner: the next
	 * owner of the slot starts there, so QPNs are not reused soon. */
	uint32_t qpn_next;
	uint32_t qp_cnt, cq_cnt, mr_cnt;
	char comm[16];
	uint64_t queues; /* address of a struct vb_queues there; 0: none */
	uint64_t own_cc; /* devices whose registers do not hold here: the process has its own
			  * settings of congestion control, VERBENA_CC */
	struct vb_counters counters[VB_HCA_PORTS_MAX + 1];     /* by HCA port; entry 0 is unused */
	struct vb_adp_fired fired[VB_HCA_PORTS_MAX + 1];       /* the same way */
	struct vb_bad_keys bad_keys[VB_HCA_PORTS_MAX + 1];     /* the same way */
	struct vb_cct_events cct_events[VB_HCA_PORTS_MAX + 1]; /* the same way */
	struct vb_fault_status fault[VB_DEVICES_MAX];          /* by device; under fault_seq */
	uint32_t fault_seq; /* odd while the owner writes rules */
	struct vb_fault_log fault_log;
	struct vb_explain_shm explain;
	struct vb_qp_entry qp_entry[VB_QP_ENTRIES]; /* under explain.seq */
	struct vb_rates_shm rates;
	struct vb_capture_ring capture;
};

/* rates.c: copies sample @at of @r, as cnt counts. False: it is not written yet, or another one has
 * its place. */
bool vb_rates_read(const struct vb_rates_shm *r, uint64_t at, struct vb_qp_sample *to);
/* The oldest sample that is surely there. */
uint64_t vb_rates_first(const struct vb_rates_shm *r);

/* A consistent copy of what process @s says of device @i; false when it does not hold still. */
bool vb_fault_status_read(const struct vb_slot_shm *s, uint32_t i, struct vb_fault_status *to);
/* How many packets the rules of @st, a copy, took away; makes their text end. */
uint64_t vb_fault_status_losses(struct vb_fault_status *st);

/* cnp_bell.c: QP @qpn got a CNP. */
void vb_cnp_ring(struct vb_cnp_bell *b, uint32_t qpn);

/* A consistent copy of the device table. Returns its generation. */
uint32_t vb_host_read(const struct vb_host_shm *host, struct vb_host_shm *copy);

/* Frees what the QPs of process slot @slot, whose owner has ended, have in the CSR space. */
void vb_host_forget_qps(struct vb_host_memory *m, uint32_t slot);

#endif
