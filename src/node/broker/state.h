/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The broker's state, shared by its main loop (broker.c) and by what serves its connections
 * (conn.c). One thread.
 */
#ifndef VB_NODE_BROKER_STATE_H
#define VB_NODE_BROKER_STATE_H

#include "node/client/msg.h"
#include "node/cm/cm.h"
#include "node/cm/page/page.h"
#include "node/gsi/agent.h"
#include "node/gsi/ask.h"
#include "node/gsi/gsi.h"
#include "node/netdev/netdev.h"
#include "node/store/slots.h"
#include "node/sysfs/sysfs.h"
#include "node/umad/host.h"

/* Two of each process, with RDMA CM, and observers. */
#define VB_CONNS_MAX (2 * VB_SLOT_CNT + 512)
/* Pages of calls that are looked at; programs beyond say when there is one. */
#define VB_BROKER_LOOKED_MAX 8

enum vb_conn_kind {
	VB_CONN_NEW,     /* has not said yet what it is */
	VB_CONN_WAITING, /* a client that waits until the group is made */
	VB_CONN_CLIENT,
	VB_CONN_OBSERVER,
	VB_CONN_KEEPER, /* see keeper.h */
	VB_CONN_CM,     /* calls of node/cm/call.h */
	VB_CONN_UMAD,   /* calls of node/subnet/call.h */
	VB_CONN_ORPHAN, /* owner of an adopted slot that has not reattached; no socket */
};

struct vb_conn {
	bool in_use;
	enum vb_conn_kind kind;
	int sock;  /* -1: ORPHAN */
	int pidfd; /* readable when the process ends; -1: not known */
	pid_t pid; /* 0: of another pid namespace */
	uint32_t slot;
	bool capture;
	struct vb_cm_page *page; /* CM: calls by shared memory; NULL: there is none... */
	uint32_t served;         /* ... the last call that was answered there, and */
	uint32_t carried_out;    /* how many posted commands were carried out */
	uint32_t wants;          /* WAITING: enum vb_broker_op that it began with, @slot that it
				  * has from the shared broker, or 0, */
	uint32_t others;         /* and how many processes of this user had slots there before */
	vb_time since;
	char comm[16];
	/* An observer's request that a client has not answered. */
	struct {
		uint32_t slot; /* of the client; 0: there is none */
		uint32_t tag, device;
		bool is_write;
	} asks;
};

/* The settings of congestion control as files, see params.c. */
enum vb_params_folder { VB_PARAMS_DEBUGFS, VB_PARAMS_RP, VB_PARAMS_NP, VB_PARAMS_FOLDERS };

#define VB_PARAMS_MAX 32 /* of the table of names */

struct vb_params {
	int fd; /* inotify; -1: files only show */
	int watch[VB_DEVICES_MAX][VB_PARAMS_FOLDERS];
	uint64_t shown[VB_DEVICES_MAX][VB_PARAMS_FOLDERS][VB_PARAMS_MAX]; /* by the files */
	uint32_t generation; /* of the adapter's state that is shown */
};

struct vb_umad_host;

struct vb_broker {
	int listen_fd, epoll_fd, netlink_fd, signal_fd;
	int spare_fd; /* given up to turn a client away when descriptors run out */
	bool is_ending;
	bool is_resting; /* nobody has used it since it gave up the adapter; it keeps histories */
	struct vb_slots slots;
	struct vb_cm_host *cm;     /* NULL: there was no group yet, or no room for it */
	struct vb_agent agent;     /* answers other adapters... */
	struct vb_asks asks;       /* ... and what observers ask them */
	struct vb_umad_host *umad; /* NULL: no program has opened a umad file yet */
	struct vb_sysfs sysfs;
	struct vb_params params;
	vb_time spin_until; /* the next call may be near: the loop does not sleep. cm/call.h */
	uint32_t looked[VB_BROKER_LOOKED_MAX]; /* connections whose pages are looked at meanwhile */
	uint32_t looked_cnt;
	vb_time idle_since;   /* VB_NEVER: there are connections */
	vb_time devices_due;  /* when the device table is read again; VB_NEVER: nothing changed */
	vb_time counters_due; /* when the counter files are written again */
	vb_time retry_due;    /* when WAITING connections are looked at again */
	vb_time
	    keeper_due;    /* when a keeper is started; VB_NEVER: there is one, or none is wanted */
	uint32_t conn_end; /* connections from here on are not in use */
	uint32_t conn_cnt, client_cnt, keeper_cnt;
	uint32_t tag; /* of the last request to a client */
	struct vb_conn conn[VB_CONNS_MAX];
};

/* The source of an epoll event: one of these in the upper half, an index in the lower. */
enum vb_broker_source {
	VB_SOURCE_LISTEN,
	VB_SOURCE_NETLINK,
	VB_SOURCE_SIGNAL,
	VB_SOURCE_SINK,    /* the socket of the group for what nobody takes */
	VB_SOURCE_GSI,     /* QP1's */
	VB_SOURCE_CHANNEL, /* of the connection manager */
	VB_SOURCE_CONN,
	VB_SOURCE_PIDFD,
	VB_SOURCE_PARAMS,
	VB_SOURCE_UMAD, /* an open umad file */
};

/* watch.c: adds @fd to the loop. Returns 0 or a negative errno. */
int vb_broker_watch(struct vb_broker *b, int fd, enum vb_broker_source source, uint32_t index);

/* With @on, also when there is room to send again. */
int vb_broker_watch_room(struct vb_broker *b, int fd, enum vb_broker_source source, uint32_t index,
			 bool on);

/* Takes it out again, before it is closed: a copy elsewhere would keep it in. */
void vb_broker_unwatch(struct vb_broker *b, int fd);

/* follow.c: called when the group has been made or adopted. */
void vb_broker_group_ready(struct vb_broker *b);

/* The adapter goes as if the broker did, but for the histories of processes that are
 * gone.
 */
int vb_broker_rest(struct vb_broker *b);

/* Writes the device table and the tree again. */
void vb_broker_refresh_devices(struct vb_broker *b);

/* Writes the tree as host memory has it. */
void vb_broker_publish_tree(struct vb_broker *b);

/* Tells in host memory where the tree is. */
void vb_broker_tell_tree(struct vb_broker *b);

/* adapter.c: answer in place what an observer asks of registers, and for the adapter to
 * stay.
 */
void vb_broker_register(struct vb_broker *b, struct vb_broker_msg *m);
void vb_broker_keep(struct vb_broker *b, struct vb_broker_msg *m);
/* The adapter stays, with @vf_cnt virtual functions of each device, or no longer does. It gets its
 * port if it has none; where that fails nothing changes, and the negative errno of vb_slots_start()
 * is returned. */
int vb_broker_set_kept(struct vb_broker *b, bool on, uint32_t vf_cnt);

/* params.c: begins; makes the files in a tree that is new; shows what has changed since;
 * takes over what was written to them. */
int vb_broker_params_start(struct vb_broker *b);
void vb_broker_params_publish(struct vb_broker *b);
void vb_broker_params_show(struct vb_broker *b);
void vb_broker_params_handle(struct vb_broker *b);

/* csr.c: @m of observer @c; the answer may come later. */
void vb_broker_csr(struct vb_broker *b, struct vb_conn *c, struct vb_broker_msg *m);
/* A client's answer. */
void vb_broker_csr_answer(struct vb_broker *b, const struct vb_conn *client,
			  struct vb_broker_msg *m);

/* conns.c */

/* A new connection, with @sock -1 of an owner that has not come; NULL: there are too many. */
struct vb_conn *vb_conn_new(struct vb_broker *b, int sock, pid_t pid);
/* The client that has slot @slot; NULL: none is connected. */
struct vb_conn *vb_conn_of_slot(struct vb_broker *b, uint32_t slot);
/* Sends @m without waiting; 0 or a negative errno. */
int vb_conn_send(struct vb_conn *c, struct vb_broker_msg *m, const struct vb_fds *fds);
/* Answers an access to the CSR space; a connection that takes no answer ends. */
void vb_conn_answer(struct vb_broker *b, struct vb_conn *c, struct vb_broker_msg *m);
/* A message without a meaning of its own: clients look at host memory when one comes. */
void vb_broker_wake_clients(struct vb_broker *b);
/* Capture is on while any connection wants it. */
void vb_conns_capture(struct vb_broker *b);
/* Closes the connection alone: a slot of it stays taken. */
void vb_conn_close(struct vb_broker *b, struct vb_conn *c);
/* The connection ends with its process, too: that may leave its socket to a child that it forked.
 * False: the process has ended already. */
bool vb_conn_watch_process(struct vb_broker *b, struct vb_conn *c);
/* Client @c has slot @slot, and gets @rx_fd for its socket of the group. */
void vb_conn_welcome(struct vb_broker *b, struct vb_conn *c, uint32_t slot, int rx_fd);
/* Answers with an error and ends the connection. */
void vb_conn_refuse(struct vb_broker *b, struct vb_conn *c, int status, const char *text);
/* The connection, or the process behind it, is gone. */
void vb_conn_end(struct vb_broker *b, uint32_t index);

/* carried.c: serves a client that has a slot from the shared broker. Returns false when it has to
 * wait. */
bool vb_conn_serve_carried(struct vb_broker *b, struct vb_conn *c, vb_time now);
/* ... and one that needs no slot, where the shared broker runs: there is QP1 from it then, or @c
 * has been refused. Returns false when it has to wait. */
bool vb_conn_begin_carried(struct vb_broker *b, struct vb_conn *c, vb_time now);

/* conn.c */

/* How long a new client waits for survivors of an earlier broker to bring the descriptor store. */
#define VB_SURVIVORS_NS (3 * VB_SEC)
#define VB_RETRY_NS (50 * VB_MSEC)
void vb_conn_accept(struct vb_broker *b, vb_time now);
void vb_conn_handle(struct vb_broker *b, uint32_t index, vb_time now);
/* Serves the WAITING connections, or turns them away when they have waited long enough. */
void vb_conn_retry(struct vb_broker *b, vb_time now);

#endif
