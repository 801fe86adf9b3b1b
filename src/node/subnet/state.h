/* SPDX-License-Identifier: BSD-2-Clause */
/* The state and functions that the files of the fabric's process share. */
#ifndef VB_NODE_SUBNET_STATE_H
#define VB_NODE_SUBNET_STATE_H

#include "base/list.h"
#include "mgmt/agents.h"
#include "mgmt/subnet.h"
#include "node/client/dial.h"
#include "node/subnet/call.h"
#include "node/subnet/daemon.h"
#include "node/subnet/page.h"
#include "node/umad/file.h"
#include "ucma/ucma.h"
#include "wire/ib/hop.h"

#include <stdbool.h>

struct vb_subnet_daemon;
struct vb_subnet_adapter;
struct vb_subnet_addresses;
struct vb_subnet_capture;
struct vb_subnet_live;
struct vb_subnet_cm;

#define VB_SUBNET_COUNTER_FILES 21

enum vb_watch_kind {
	VB_WATCH_LISTEN,
	VB_WATCH_SIGNAL,
	VB_WATCH_CONN,
	VB_WATCH_FILE,
	VB_WATCH_CHANNEL,
	VB_WATCH_LIVE,       /* programs wake the process of a fabric in real time... */
	VB_WATCH_LIVE_TIMER, /* ... or its clock does */
	VB_WATCH_TUNNEL,
};

/* A descriptor of the loop. The events of epoll(7) point here. */
struct vb_watch {
	enum vb_watch_kind kind;
	int fd;
};

/* The agents of a port at which a program has opened a file. */
struct vb_subnet_user {
	struct vb_list node; /* of the daemon's */
	struct vb_subnet_place at;
	struct vb_agents *agents;
	struct vb_list files;
};

/* An open umad or issm file. */
struct vb_subnet_file {
	struct vb_watch watch;
	struct vb_list node; /* of the user's */
	struct vb_subnet_user *user;
	uint64_t token;
	struct vb_umad_file umad;    /* number -1: an issm file */
	struct vb_subnet_page *page; /* NULL: all pages are in use */
	bool is_full;                /* its reader is slow: the loop says when there is room */
};

/* A node that programs are at. */
struct vb_subnet_seat {
	struct vb_list node; /* of the daemon's */
	uint32_t index;
	uint32_t conn_cnt;
	char root[256];
	/* The device table of its programs; NULL: none has asked for the adapter. */
	struct vb_host_memory *host;
	int host_fd;
	/* By port: the values in the files of its counters. */
	uint64_t shown[VB_HCA_PORTS_MAX + 1][VB_SUBNET_COUNTER_FILES];
	struct vb_cm_port_counters cm_shown[VB_HCA_PORTS_MAX + 1];
};

struct vb_subnet_conn {
	struct vb_watch watch;
	struct vb_list node;         /* of the daemon's */
	struct vb_subnet_seat *seat; /* NULL: it is at no node */
	uint32_t slot;               /* of the adapter; 0: none */
	struct vb_subnet_cm *cm;     /* its calls are those of node/cm/call.h; NULL: they are not */
	bool watches;                /* watch.h... */
	uint32_t lines_lost;         /* ... and was too slow for so many lines */
	bool observes, captures;     /* capture/capture.h */
	pid_t pid;                   /* who makes the calls of cm */
	char comm[16];
};

struct vb_subnet_daemon {
	char name[VB_SUBNET_NAME_MAX];
	const struct vb_topo *topo;
	struct vb_subnet subnet;
	struct vb_watch listen, signals;
	struct vb_list conns, users, seats, cms;
	struct vb_list
	    gone; /* files, connections and channels that were closed in this turn of the loop */
	int epoll_fd;
	int base_fd, root_fd; /* where the trees are; -1: nowhere */
	char root[192], root_name[64];
	struct vb_subnet_page *pages;
	bool page_used[VB_SUBNET_PAGES];
	int pages_fd;
	vb_time counters_due; /* when the files of counters are written again */
	bool is_ending;
	uint8_t *told; /* states of links that watchers know; NULL: there has been none */
	struct vb_subnet_adapter *adapter;     /* NULL: no program has asked for it */
	uint32_t real_time;                    /* see vb_subnet_daemon_set_real_time() */
	struct vb_subnet_live *live;           /* with it, and with an adapter; else NULL */
	struct vb_subnet_addresses *addresses; /* of IP, cm/env.c */
	struct vb_subnet_capture *capture;     /* NULL: nobody observes */
	struct vb_list tunnels;                /* tunnel/tunnel.h... */
	vb_time tunnels_due;                   /* ... whose next period begins then */
	bool far_changed;                      /* what they tell of addresses may be another now */
	struct vb_far_routers far;             /* tunnel/routers.c: their tables... */
	struct vb_far_router *far_router;
	struct vb_router_port *far_port;
	uint32_t far_port_cnt;
	void (*routes_told)(void *ctx,
			    const struct vb_subnet_routes *r); /* NULL: nobody wants it */
	void *routes_ctx;
	struct vb_subnet_call call;
};

/* files.c: the requests of a connection about open files. Each returns the status of the answer. */
int vb_subnet_file_open(struct vb_subnet_daemon *d, struct vb_subnet_seat *seat, uint32_t port,
			bool is_issm, struct vb_subnet_answer *answer, struct vb_fds *back);
int vb_subnet_file_ioctl(struct vb_subnet_daemon *d, const struct vb_subnet_call *call,
			 struct vb_subnet_answer *answer);
void vb_subnet_file_close(struct vb_subnet_daemon *d, struct vb_subnet_file *f);
/* Ends the agents of ports that have no open file any more; their last MADs have left. */
void vb_subnet_users_sweep(struct vb_subnet_daemon *d);
void vb_subnet_files_close(struct vb_subnet_daemon *d);

/* write.c: a write of a program by a call. */
int vb_subnet_file_write(struct vb_subnet_daemon *d, const struct vb_subnet_call *call,
			 const struct vb_fds *fds);
/* Takes all that the program wrote without a call; before anything else is done with the file. */
void vb_subnet_file_drain(struct vb_subnet_file *f);
/* The open umad file of the token, NULL: none. */
struct vb_subnet_file *vb_subnet_file_of(const struct vb_subnet_daemon *d, uint64_t token);
/* The pages that programs see. */
int vb_subnet_pages_open(struct vb_subnet_daemon *d);
void vb_subnet_pages_close(struct vb_subnet_daemon *d);
void vb_subnet_page_enter(struct vb_subnet_daemon *d, struct vb_subnet_file *f);
void vb_subnet_page_leave(struct vb_subnet_daemon *d, struct vb_subnet_file *f);
/* The file's form of the header, or an agent (@r NULL: it is gone), is another one now. */
void vb_subnet_page_form(struct vb_subnet_file *f);
void vb_subnet_page_agent(struct vb_subnet_file *f, uint32_t id, const struct vb_agent_request *r);

/* tunnel/tunnel.c: the port of a fabric in real time becomes the end of a tunnel from @local to
 * @peer, texts as the user writes them; or no longer is. 0, or a negative errno with a line in
 * @why. */
int vb_subnet_tunnel_open(struct vb_subnet_daemon *d, struct vb_subnet_place at, const char *local,
			  const char *peer, char *why, size_t why_size);
int vb_subnet_tunnel_shut(struct vb_subnet_daemon *d, struct vb_subnet_place at, char *why,
			  size_t why_size);
void vb_subnet_tunnels_close(struct vb_subnet_daemon *d);
/* The socket of the tunnel, whose watch is @w, is readable. */
void vb_subnet_tunnel_event(struct vb_watch *w, vb_time now);
/* Does what is due, at d->tunnels_due at the latest. */
void vb_subnet_tunnels_step(struct vb_subnet_daemon *d, vb_time now);
/* tunnel/pass.c: frames that have left the net leave the process. False: there were none. */
bool vb_subnet_tunnels_send(struct vb_subnet_daemon *d);
/* tunnel/far.c: the LID of the port behind a tunnel that has this GID, 0: there is none; @ctx is
 * the daemon. A call of struct vb_far_routers. */
uint16_t vb_subnet_far_lid(const void *ctx, uint64_t prefix, uint64_t guid);
/* tunnel/routers.c: the routers of the map and those that tunnels tell of, with the LIDs of ports
 * there. The adapter has to be there. */
struct vb_routers vb_subnet_map_routers(const struct vb_subnet_daemon *d);
/* There are no far ones; before any tunnel is made as well. */
void vb_subnet_far_routers_clear(struct vb_subnet_daemon *d);
/* The GID of the port behind a tunnel that has this address, in host order. False:
 * there is none. */
bool vb_subnet_far_gid(const struct vb_subnet_daemon *d, uint32_t ipv4, uint64_t *prefix,
		       uint64_t *guid);

/* traffic.c: a MAD comes in by port m->at, whose cable leads away. */
void vb_subnet_mad_arrive(struct vb_subnet_daemon *d, struct vb_subnet_mad *m, vb_time now);
/* Moves all MADs that wait, until nothing more can be moved now. */
void vb_subnet_move(struct vb_subnet_daemon *d, vb_time now);
vb_time vb_subnet_due(const struct vb_subnet_daemon *d);
/* Hands on what waits for the files of @u. */
void vb_subnet_deliver(struct vb_subnet_daemon *d, struct vb_subnet_user *u);

/* tree.c: the device as the programs at a node see it. */
int vb_subnet_trees_open(struct vb_subnet_daemon *d);
void vb_subnet_trees_close(struct vb_subnet_daemon *d);
int vb_subnet_tree_make(struct vb_subnet_daemon *d, struct vb_subnet_seat *seat);
void vb_subnet_tree_remove(struct vb_subnet_daemon *d, struct vb_subnet_seat *seat);
/* Takes over what programs at the node have written into files of the tree. FAB-19 */
void vb_subnet_tree_read(struct vb_subnet_daemon *d, const struct vb_subnet_seat *seat,
			 vb_time now);
/* Rewrites what the subnet manager changed. */
void vb_subnet_tree_update(struct vb_subnet_daemon *d, const struct vb_subnet_seat *seat);

/* command.c: carries out a command of `verbena fabric`, with its output to @fd. */
int vb_subnet_command(struct vb_subnet_daemon *d, const char *text, int fd, char *why,
		      size_t why_size);

static inline bool vb_subnet_at_switch(const struct vb_subnet_daemon *d, uint32_t node)
{
	return d->topo->node[node].type == VB_NODE_SWITCH;
}

/* It is an adapter: switches and routers have management alone. FAB-07, FAB-08 */
static inline bool vb_subnet_has_verbs(const struct vb_subnet_daemon *d, uint32_t node)
{
	return d->topo->node[node].type == VB_NODE_CA;
}

#endif
