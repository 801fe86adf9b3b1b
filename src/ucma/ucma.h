/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The RDMA connection manager as a kernel shows it by /dev/infiniband/rdma_cm (ABI 4), as a
 * machine: commands, management datagrams and time in, replies, events and datagrams out.
 *
 * It knows IP addresses, ports and port spaces, the state of each id, and which events a file has;
 * the messages themselves are the connection manager's of InfiniBand (cm/cm.h), which it owns. It
 * opens nothing and asks nobody: addresses, routes and groups are its environment's.
 *
 * The contract is that of cm/cm.h: after each call take all messages by vb_ucma_poll_transmit() and
 * all files whose events have changed by vb_ucma_poll_file(), then wait until
 * vb_ucma_poll_timeout(). @now must not decrease. Items CMP-28 to CMP-51; docs/cm.md
 */
#ifndef VB_UCMA_UCMA_H
#define VB_UCMA_UCMA_H

#include "cm/cm.h"

struct vb_ucma;
struct vb_ucma_file; /* an open file of the device */

/* The largest reply, and the largest command without what it points at. */
#define VB_UCMA_REPLY_MAX 1024u
#define VB_UCMA_COMMAND_MAX 512u

/* An address with its port. family 0: none. */
struct vb_ucma_addr {
	uint16_t family;   /* 2: IPv4, 10: IPv6, 27: AF_IB, as Linux counts */
	uint16_t port;     /* host order; of AF_IB: of its service ID */
	struct vb_gid gid; /* the address; of IPv4 ::ffff:a.b.c.d */
	uint32_t scope;    /* of IPv6: the interface of a link-local address, 0: none */
	/* AF_IB alone, as struct sockaddr_ib has them, in host order. */
	uint16_t pkey;
	uint32_t flow_info;
	uint64_t sid, sid_mask;
};

bool vb_ucma_addr_is_any(const struct vb_ucma_addr *a); /* 0.0.0.0, ::, or none */
bool vb_ucma_addr_is_loopback(const struct vb_ucma_addr *a);

/* A local end: the device that has an address. */
struct vb_ucma_local {
	uint8_t hca_port;      /* port of cm paths, 1... */
	uint8_t mtu;           /* 1...5: 256...4096 */
	uint16_t gid_index;    /* of gid in the device's table */
	uint32_t device_index; /* as ibv_get_device_index() tells it */
	uint64_t node_guid;    /* host order, not 0 */
	struct vb_gid gid;
};

/* A port of an InfiniBand fabric, as the subnet manager has set it. */
struct vb_ucma_ib_port {
	struct vb_ucma_local local; /* with its first GID */
	uint16_t lid, sm_lid;       /* 0: none was given */
	uint8_t lmc, sm_sl;
	const uint16_t *pkey; /* the table, which stays where it is */
	uint32_t pkey_cnt;
};

struct vb_ucma_env {
	/* Which device has the address @a. 0; -EADDRNOTAVAIL: this host has not got it; -ENODEV: it
	 * is no device's. */
	int (*local)(void *ctx, const struct vb_ucma_addr *a, struct vb_ucma_local *out);
	/*
	 * The way to @dst, from @src or, when that is the unspecified address or its family is 0,
	 * from the address that this host chooses, which goes to @src; its port stays. 0 or a
	 * negative errno: -ENETUNREACH ..., -ENODEV: the way begins at no device.
	 */
	int (*route)(void *ctx, struct vb_ucma_addr *src, const struct vb_ucma_addr *dst,
		     struct vb_ucma_local *out);
	/* The host joins (@join) or leaves the group @g at the device. 0 or a negative errno. */
	int (*group)(void *ctx, const struct vb_ucma_local *l, const struct vb_gid *g, bool join);
	/* Whether ports below 1024 may be bound. */
	bool (*may_bind_low)(void *ctx);
	void *ctx;
	/*
	 * On InfiniBand alone, NULL on RoCE: port @port of the device, 0 or -ENODEV; and the GID
	 * that has the address @a, 0 or -ENETUNREACH, as route. There routes are PathRecords of the
	 * subnet administrator and groups are its, so that @group is not called.
	 */
	int (*ib_port)(void *ctx, uint8_t port, struct vb_ucma_ib_port *out);
	int (*ib_gid)(void *ctx, const struct vb_ucma_addr *a, struct vb_gid *out);
	/* A program has (@on), or no longer has, the service @service_id at the address @gid, zero:
	 * at each, as often. -EADDRINUSE: another user of this host has it; or another negative
	 * errno. NULL: there is no other user. */
	int (*claim)(void *ctx, uint64_t service_id, const struct vb_gid *gid, bool on);
};

struct vb_ucma_config {
	struct vb_cm_config cm; /* alloc, free and seed are this machine's as well */
	uint32_t ids;           /* ids at most, all files together */
	uint32_t events;        /* that wait, of one file; more are lost with their ids */
	uint16_t port_first,
	    port_last; /* that are given by themselves. ip(7) ip_local_port_range */
	struct vb_ucma_env env;
};

int vb_ucma_create(struct vb_ucma **out, const struct vb_ucma_config *cfg);
void vb_ucma_destroy(struct vb_ucma *u); /* and every file, without a word to the peers */

/* The upper 8 bits of the communication IDs from now on, @part not 0; 0: all bits are random. */
void vb_ucma_set_id_part(struct vb_ucma *u, uint8_t part);
/* Services that programs have are claimed again: whoever kept them has forgotten. */
void vb_ucma_claim_again(struct vb_ucma *u);

int vb_ucma_file_open(struct vb_ucma *u, void *owner, struct vb_ucma_file **out);
/* Ends all its ids as their states ask for. CMP-22, CMP-23 */
void vb_ucma_file_close(struct vb_ucma_file *f, vb_time now);
/* The number by which its ids are kept, 0 else. ucma/keep/keep.h */
void vb_ucma_file_set_number(struct vb_ucma_file *f, uint32_t number);
void *vb_ucma_file_owner(const struct vb_ucma_file *f);
/* Events that nobody has taken. */
uint32_t vb_ucma_file_events(const struct vb_ucma_file *f);
/*
 * Events can be given out, in order, to where the program takes them without GET_EVENT. They stay
 * the file's until it is said that they were taken, which is due before each command. At most
 * VB_UCMA_OUT_MAX may be out.
 */
#define VB_UCMA_OUT_MAX 64u
struct vb_ucma_event_reply;
/* The next event to be given out; false: there is none, or too many are out. @seq, never 0, grows
 * from event to event of a file, also when the machine is restored. @repeats: an earlier process
 * may have given it out before it ended. */
bool vb_ucma_event_next(struct vb_ucma_file *f, struct vb_ucma_event_reply *out, uint64_t *seq,
			bool *repeats);
/* That one was given out. */
void vb_ucma_event_given(struct vb_ucma_file *f);
/* After a restart, when it was said what was taken: requests and answers that are out still are of
 * connections that are gone. Programs throw them away, and they count as nothing; so do those that
 * were taken before, for nobody knows what the program made of them. The id of a request stays
 * until it is destroyed or its file is closed: accepting it says UNREACHABLE. */
void vb_ucma_events_void(struct vb_ucma_file *f);
/* How many are out; after a restart those that were out before are. */
uint32_t vb_ucma_events_out(const struct vb_ucma_file *f);
/* The first @cnt of those were taken. */
void vb_ucma_events_taken(struct vb_ucma_file *f, uint32_t cnt);
/* None is out any more: the @cnt at @back, by their seq, came back, and all others were taken. */
void vb_ucma_events_return(struct vb_ucma_file *f, const uint64_t *back, uint32_t cnt);
/* A file whose number of events may have changed since it was last given here; NULL: none. */
struct vb_ucma_file *vb_ucma_poll_file(struct vb_ucma *u);

/* A command that was written to a file. */
struct vb_ucma_command {
	const void *bytes; /* as written */
	uint32_t len;
	const void *extra; /* what it points at: the value of SET_OPTION */
	uint32_t extra_len;
	struct vb_ucma_file *other; /* MIGRATE_ID: the file that it names; NULL: not one of ours */
};
/*
 * Carries it out. Returns what write(2) does, the length or a negative errno; the reply is in
 * @reply, *reply_len bytes, already cut to what the caller has room for. GET_EVENT without one:
 * -EAGAIN. -EINPROGRESS: nothing was done, because an event that would go with an id or a group is
 * out; vb_ucma_events_return(), of the other file for MIGRATE_ID, comes first. CMP-31, CMP-32
 */
int vb_ucma_command(struct vb_ucma_file *f, const struct vb_ucma_command *c,
		    uint8_t reply[VB_UCMA_REPLY_MAX], uint32_t *reply_len, vb_time now);

/* Of the connection manager, or of the subnet administrator. */
void vb_ucma_handle_mad(struct vb_ucma *u, const struct vb_path *path,
			const uint8_t mad[VB_MAD_LEN], vb_time now);
/* Whether @mad answers a question to the subnet administrator that is this machine's. */
bool vb_ucma_has_asked(const struct vb_ucma *u, const uint8_t mad[VB_MAD_LEN]);
/* On InfiniBand a message has a GRH where its path has GIDs and a hop limit of more than 1, and the
 * P_Key that the port has of the partition @pkey; 0: of none in particular. */
bool vb_ucma_poll_transmit(struct vb_ucma *u, struct vb_path *path, uint16_t *pkey,
			   uint8_t mad[VB_MAD_LEN]);
vb_time vb_ucma_poll_timeout(const struct vb_ucma *u);
void vb_ucma_handle_timeout(struct vb_ucma *u, vb_time now);
const struct vb_cm_counters *vb_ucma_counters(const struct vb_ucma *u);
/* By HCA port, from 0 to that of the configuration. */
const struct vb_cm_port_counters *vb_ucma_port_counters(const struct vb_ucma *u);

/* The device of HCA port @port is gone: its ids get DEVICE_REMOVAL. CMP-51 */
void vb_ucma_device_removed(struct vb_ucma *u, uint8_t port);
/* The device of HCA port @port has another MAC address: its ids get ADDR_CHANGE. CMP-51 */
void vb_ucma_device_changed(struct vb_ucma *u, uint8_t port);

/* On InfiniBand the subnet manager of HCA port @port has asked clients to register again, or is
 * another one, or the port has another LID: groups joined through it are joined again. Programs
 * hear of those alone that cannot be as they were, MULTICAST_ERROR. FAB-24 */
void vb_ucma_groups_rejoin(struct vb_ucma *u, uint8_t port, vb_time now);

/* How many files and ids there are. */
uint32_t vb_ucma_file_cnt(const struct vb_ucma *u);
uint32_t vb_ucma_id_cnt(const struct vb_ucma *u);

#endif
