/* SPDX-License-Identifier: BSD-2-Clause */
/* Open umad files of the host's devices, see host.h. Kernel: drivers/infiniband/core/user_mad.c */
#include "node/umad/host.h"

#include "mgmt/agents.h"
#include "node/broker/state.h"
#include "node/umad/claim.h"
#include "node/umad/file.h"
#include "wire/mad/vendor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FILES_MAX 1024u /* of the host, open at once */
#define QP1 1u
#define CM_CLASS_VERSION 2
#define MADS_IN_A_TURN 64

/* An open file. */
struct host_file {
	struct vb_umad_file umad;
	uint64_t token;
	uint8_t port; /* of the HCA; 0: the place is free */
	bool is_full; /* its reader is slow: the loop says when there is room */
	struct vb_agent_request claimed[VB_UMAD_AGENTS]; /* by agent; of class 0: there is none */
};

struct vb_umad_host {
	struct vb_agents *agents[VB_HCA_PORTS_MAX + 1]; /* by port; NULL: it has no open file */
	uint32_t file_cnt[VB_HCA_PORTS_MAX + 1];
	uint32_t used;
	struct host_file file[FILES_MAX];
};

static void *host_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void host_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

/* The device of an HCA port that has QP1: a virtual function has none. NULL: there is none. */
static const struct vb_device *device_of(const struct vb_broker *b, uint32_t port)
{
	const struct vb_host_shm *host = b->slots.host;

	if (port < 1 || port > host->device_cnt || port > VB_HCA_PORTS_MAX)
		return NULL;
	return host->device[port - 1].ifindex && !host->device[port - 1].parent
		   ? &host->device[port - 1]
		   : NULL;
}

/* The classes that are the host's own. MAD-07, MAD-08 */
static int classes_reserve(struct vb_agents *a)
{
	const struct vb_agent_request cm = {.qpn = QP1,
					    .mgmt_class = VB_MAD_CLASS_CM,
					    .class_version = CM_CLASS_VERSION,
					    .methods = {1u << VB_MAD_METHOD_SEND}};
	const struct vb_agent_request own = {
	    .qpn = QP1,
	    .mgmt_class = VB_MAD_CLASS_VERBENA,
	    .class_version = VB_VENDOR_CLASS_VERSION,
	    .methods = {1u << VB_MAD_METHOD_GET | 1u << VB_MAD_METHOD_SET},
	    .oui = VB_VENDOR_OUI};
	int rc = vb_agents_reserve(a, &cm);

	return rc ? rc : vb_agents_reserve(a, &own);
}

static int agents_open(struct vb_broker *b, uint8_t port)
{
	struct vb_umad_host *h = b->umad;
	const struct vb_gsi *gsi = vb_broker_cm_gsi(b);
	const struct vb_agents_config config = {
	    .alloc = host_alloc, .free = host_free, .tid_part = gsi ? vb_gsi_part(gsi) : 0};

	if (h->agents[port])
		return 0;
	h->agents[port] = vb_agents_create(&config);
	if (h->agents[port] && classes_reserve(h->agents[port]) == 0)
		return 0;
	if (h->agents[port])
		vb_agents_destroy(h->agents[port]);
	h->agents[port] = NULL;
	return -ENOMEM;
}

static void agents_leave(struct vb_umad_host *h, uint8_t port)
{
	if (h->file_cnt[port] || !h->agents[port])
		return;
	vb_agents_destroy(h->agents[port]);
	h->agents[port] = NULL;
}

static void file_close(struct vb_broker *b, struct host_file *f)
{
	struct vb_umad_host *h = b->umad;
	uint8_t port = f->port;

	for (uint32_t i = 0; i < VB_UMAD_AGENTS; i++)
		vb_umad_release(b, &f->claimed[i]);
	vb_agents_file_close(h->agents[port], f->umad.number);
	vb_broker_unwatch(b, f->umad.sock);
	close(f->umad.sock);
	*f = (struct host_file){.port = 0};
	h->used--;
	h->file_cnt[port]--;
	agents_leave(h, port);
}

/* The socket of the new file @f, which the loop watches; the program's end comes back. */
static int pair_make(struct vb_broker *b, struct host_file *f)
{
	int pair[2], rc;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	rc = vb_broker_watch(b, pair[0], VB_SOURCE_UMAD, (uint32_t)(f - b->umad->file));
	if (rc) {
		close(pair[0]);
		close(pair[1]);
		return rc;
	}
	f->umad.sock = pair[0];
	return pair[1];
}

static struct host_file *free_file(struct vb_umad_host *h)
{
	for (uint32_t i = 0; i < FILES_MAX; i++)
		if (!h->file[i].port)
			return &h->file[i];
	return NULL;
}

/* Opens the file of the device at HCA port @port. MAD-01: one that is gone gives ENXIO. */
static int file_open(struct vb_broker *b, uint32_t port, struct vb_subnet_answer *answer,
		     struct vb_fds *back)
{
	struct vb_umad_host *h = b->umad;
	struct host_file *f = free_file(h);
	int rc = f ? vb_umad_token_draw(&answer->token) : -ENFILE, number = -1;

	if (!device_of(b, port))
		return -ENXIO;
	if (!rc)
		rc = agents_open(b, (uint8_t)port);
	if (rc)
		return rc;
	rc = number = vb_agents_file_open(h->agents[port]);
	if (rc >= 0)
		rc = pair_make(b, f);
	if (rc < 0) {
		if (number >= 0)
			vb_agents_file_close(h->agents[port], number);
		agents_leave(h, (uint8_t)port);
		return rc;
	}
	f->umad.agents = h->agents[port];
	f->umad.number = number;
	f->umad.form = (struct vb_umad_form){0};
	f->token = answer->token;
	f->port = (uint8_t)port;
	h->used++;
	h->file_cnt[port]++;
	back->fd[back->cnt++] = rc;
	return 0;
}

static struct host_file *file_find(struct vb_umad_host *h, uint64_t token)
{
	for (uint32_t i = 0; i < FILES_MAX; i++)
		if (h->file[i].port && h->file[i].token == token)
			return &h->file[i];
	return NULL;
}

static int file_register(struct vb_broker *b, struct host_file *f,
			 const struct vb_subnet_call *call, struct vb_subnet_answer *answer)
{
	struct vb_agent_request r;
	int id = vb_umad_file_register(&f->umad, call, answer, &r), rc;

	if (id < 0)
		return id;
	rc = vb_umad_claim(b, &r);
	if (rc)
		(void)vb_agent_unregister(f->umad.agents, f->umad.number, (uint32_t)id);
	else
		f->claimed[id] = r;
	return rc;
}

static int file_unregister(struct vb_broker *b, struct host_file *f, uint32_t id)
{
	int rc = vb_agent_unregister(f->umad.agents, f->umad.number, id);

	if (rc)
		return rc;
	vb_umad_release(b, &f->claimed[id]);
	f->claimed[id].mgmt_class = 0;
	return 0;
}

static int file_ioctl(struct vb_broker *b, const struct vb_subnet_call *call,
		      struct vb_subnet_answer *answer)
{
	struct host_file *f = file_find(b->umad, call->token);
	uint32_t id;

	if (!f)
		return -EIO;
	switch (call->number) {
	case VB_UMAD_REGISTER_AGENT:
	case VB_UMAD_REGISTER_AGENT2:
		return file_register(b, f, call, answer);
	case VB_UMAD_UNREGISTER_AGENT:
		if (call->len != sizeof id)
			return -EINVAL;
		memcpy(&id, call->body, sizeof id);
		return file_unregister(b, f, id);
	case VB_UMAD_ENABLE_PKEY:
		return vb_umad_enable_pkey(&f->umad.form);
	default:
		return -ENOTTY;
	}
}

/* The path of a MAD to @a from a port of device @d. -EINVAL: the address is none of RoCE: without a
 * GRH, from an entry that the table of GIDs lacks, or to another QP than QP1, which a kernel would
 * let be. */
static int path_make(const struct vb_device *d, uint8_t port, const struct vb_mad_addr *a,
		     struct vb_path *p)
{
	if (!a->has_grh || a->qpn != QP1 || a->gid_index >= VB_GIDS_MAX ||
	    d->gid[a->gid_index].type == VB_GID_NONE)
		return -EINVAL;
	*p = (struct vb_path){.sgid = d->gid[a->gid_index].gid,
			      .port = port,
			      .sl = a->sl,
			      .traffic_class = a->traffic_class,
			      .hop_limit = a->hop_limit,
			      .flow_label = a->flow_label & 0xfffff};
	memcpy(p->dgid.b, a->gid, sizeof p->dgid.b);
	return 0;
}

struct sender {
	const struct vb_device *device;
	uint8_t port;
};

static int address_check(void *ctx, const struct vb_mad_message *m)
{
	const struct sender *s = ctx;
	struct vb_path p;

	return s->device ? path_make(s->device, s->port, &m->addr, &p) : -EIO;
}

static int file_write(struct vb_broker *b, const struct vb_subnet_call *call,
		      const struct vb_fds *fds)
{
	struct host_file *f = file_find(b->umad, call->token);
	struct sender s;

	if (!f)
		return -EIO;
	s = (struct sender){device_of(b, f->port), f->port};
	return vb_umad_file_write(&f->umad, call, fds, address_check, &s);
}

static void call_serve(struct vb_broker *b, const struct vb_subnet_call *call,
		       const struct vb_fds *fds, struct vb_subnet_answer *answer,
		       struct vb_fds *back)
{
	if (!b->umad)
		b->umad = calloc(1, sizeof *b->umad);
	if (!b->umad) {
		answer->status = -ENOMEM;
		return;
	}
	switch (call->op) {
	case VB_SUBNET_UMAD_OPEN:
		answer->status = file_open(b, call->number, answer, back);
		break;
	case VB_SUBNET_UMAD_IOCTL:
		answer->status = file_ioctl(b, call, answer);
		break;
	case VB_SUBNET_UMAD_WRITE:
		answer->status = file_write(b, call, fds);
		break;
	default:
		answer->status = -EINVAL;
	}
}

bool vb_broker_umad_call(struct vb_broker *b, struct vb_conn *c, vb_time now)
{
	static struct vb_subnet_call call;
	struct vb_subnet_answer answer = {.status = -EPROTO};
	struct vb_fds fds = {.cnt = 0}, back = {.cnt = 0};
	ssize_t n = vb_fds_recv(c->sock, &call, sizeof call, &fds, MSG_DONTWAIT);
	bool is_sent;

	if (n == -EAGAIN)
		return true;
	if (n >= (ssize_t)VB_SUBNET_CALL_HEADER && call.version == VB_SUBNET_CALL_VERSION &&
	    call.len <= sizeof call.body && (size_t)n == VB_SUBNET_CALL_HEADER + call.len)
		call_serve(b, &call, &fds, &answer, &back);
	if (n > 0)
		vb_fds_close(&fds);
	is_sent = n > 0 && vb_fds_send(c->sock, &answer, sizeof answer, &back) == 0;
	vb_fds_close(&back);
	vb_broker_umad_move(b, now);
	return is_sent;
}

static void file_room(struct vb_broker *b, struct host_file *f, bool is_full)
{
	if (f->is_full != is_full)
		(void)vb_broker_watch_room(b, f->umad.sock, VB_SOURCE_UMAD,
					   (uint32_t)(f - b->umad->file), is_full);
	f->is_full = is_full;
}

static void file_deliver(struct vb_broker *b, struct host_file *f)
{
	const struct vb_mad_message *m;
	int rc = 0;

	while (!rc && (m = vb_agents_peek(f->umad.agents, f->umad.number)) != NULL) {
		rc = vb_umad_file_send(&f->umad, m);
		if (!rc)
			vb_agents_take(f->umad.agents, f->umad.number);
	}
	file_room(b, f, rc == -EAGAIN);
}

void vb_broker_umad_file(struct vb_broker *b, uint32_t index)
{
	struct host_file *f = b->umad && index < FILES_MAX ? &b->umad->file[index] : NULL;
	char byte;
	ssize_t n;

	if (!f || !f->port)
		return;
	/* Nothing is written there: writes are calls. */
	n = recv(f->umad.sock, &byte, 1, MSG_DONTWAIT | MSG_TRUNC);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		file_close(b, f);
	else
		file_deliver(b, f);
}

bool vb_broker_umad_take(struct vb_broker *b, const struct vb_path *path,
			 const uint8_t mad[VB_MAD_LEN], vb_time now)
{
	struct vb_agents *a =
	    b->umad && path->port <= VB_HCA_PORTS_MAX ? b->umad->agents[path->port] : NULL;
	const struct vb_device *d = device_of(b, path->port);
	struct vb_mad_addr from = {.qpn = QP1,
				   .qkey = VB_MAD_QKEY,
				   .sl = path->sl,
				   .has_grh = true,
				   .hop_limit = path->hop_limit,
				   .traffic_class = path->traffic_class,
				   .flow_label = path->flow_label};

	if (!a || !d)
		return false;
	memcpy(from.gid, path->sgid.b, sizeof from.gid);
	for (uint8_t i = 0; i < VB_GIDS_MAX && from.gid_index == 0; i++)
		if (d->gid[i].type != VB_GID_NONE && vb_gid_eq(&d->gid[i].gid, &path->dgid))
			from.gid_index = i;
	return vb_agents_handle(a, false, &from, mad, now);
}

/* Sends what the agents of a port have. False: nothing more is to be sent now. */
static bool port_send(struct vb_broker *b, uint8_t port, vb_time now)
{
	struct vb_gsi *gsi = vb_broker_cm_gsi(b);
	const struct vb_device *d = device_of(b, port);
	struct vb_agents_out out;
	struct vb_path path;

	for (int i = 0; i < MADS_IN_A_TURN; i++) {
		if ((gsi && !vb_gsi_has_room(gsi)) ||
		    !vb_agents_poll_transmit(b->umad->agents[port], &out, now))
			return i != 0;
		/* A MAD that cannot be sent counts as lost. */
		if (gsi && d && path_make(d, port, &out.addr, &path) == 0)
			(void)vb_gsi_send(gsi, &path, out.mad, VB_MAD_LEN);
	}
	return true;
}

void vb_broker_umad_move(struct vb_broker *b, vb_time now)
{
	struct vb_umad_host *h = b->umad;
	bool sent = h && h->used;

	for (uint8_t port = 1; sent && port <= VB_HCA_PORTS_MAX; port++)
		if (h->agents[port])
			vb_agents_handle_timeout(h->agents[port], now);
	for (int round = 0; sent && round < MADS_IN_A_TURN; round++) {
		sent = false;
		for (uint8_t port = 1; port <= VB_HCA_PORTS_MAX; port++)
			if (h->agents[port])
				sent |= port_send(b, port, now);
		if (sent && vb_broker_cm_gsi(b))
			vb_gsi_flush(vb_broker_cm_gsi(b), now);
	}
	for (uint32_t i = 0; h && h->used && i < FILES_MAX; i++)
		if (h->file[i].port && !h->file[i].is_full)
			file_deliver(b, &h->file[i]);
}

vb_time vb_broker_umad_due(const struct vb_broker *b)
{
	vb_time due = VB_NEVER;

	for (uint32_t port = 1; b->umad && port <= VB_HCA_PORTS_MAX; port++)
		if (b->umad->agents[port])
			due = vb_time_min(due, vb_agents_poll_timeout(b->umad->agents[port]));
	return due;
}

bool vb_broker_umad_is_used(const struct vb_broker *b)
{
	return b->umad && b->umad->used;
}

void vb_broker_umad_follow(struct vb_broker *b, const struct vb_device *before)
{
	for (uint32_t i = 0; b->umad && i < FILES_MAX; i++) {
		struct host_file *f = &b->umad->file[i];
		const struct vb_device *d = f->port ? device_of(b, f->port) : NULL;

		if (f->port && (!d || d->ifindex != before[f->port - 1].ifindex))
			file_close(b, f);
	}
}

void vb_broker_umad_claim_again(struct vb_broker *b)
{
	for (uint32_t i = 0; b->umad && i < FILES_MAX; i++)
		for (uint32_t k = 0; b->umad->file[i].port && k < VB_UMAD_AGENTS; k++)
			(void)vb_umad_claim(b, &b->umad->file[i].claimed[k]);
}

void vb_broker_umad_close(struct vb_broker *b)
{
	for (uint32_t i = 0; b->umad && i < FILES_MAX; i++)
		if (b->umad->file[i].port)
			file_close(b, &b->umad->file[i]);
	free(b->umad);
	b->umad = NULL;
}
