/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The broker's connections: a process that connects gets a slot (client), host memory (observer)
 * or, after the death of an earlier broker, its old slot back (client that reattaches).
 */
#include "link/carried/carried.h"
#include "node/broker/state.h"
#include "node/cm/view.h"
#include "node/host/error_hints.h"
#include "node/host/port_owner.h"
#include "node/netdev/devices.h"
#include "node/store/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define OWNERS_MAX 16

/* The last descriptor is gone: give up the spare one to take the connection and close it. */
static void turn_away(struct vb_broker *b)
{
	struct vb_broker_msg m;

	close(b->spare_fd);
	int sock = accept4(b->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (sock >= 0) {
		vb_broker_msg_init(&m, VB_BROKER_WELCOME);
		m.status =
		    vb_error_hint(m.text, sizeof m.text, -EMFILE, "the broker cannot serve more");
		(void)vb_fds_send(sock, &m, sizeof m, NULL);
		vb_stranger_close(sock); /* nobody has asked whose it is */
	}
	b->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void refuse_stranger(int sock)
{
	struct vb_broker_msg m;

	vb_broker_msg_init(&m, VB_BROKER_WELCOME);
	m.status = -EACCES;
	snprintf(m.text, sizeof m.text, "this broker serves another user");
	(void)vb_fds_send(sock, &m, sizeof m, NULL);
	vb_stranger_close(sock);
}

void vb_conn_accept(struct vb_broker *b, vb_time now)
{
	struct ucred cred;
	socklen_t len = sizeof cred;
	int sock = accept4(b->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (sock < 0) {
		if (errno == EMFILE || errno == ENFILE)
			turn_away(b);
		return;
	}
	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len)) {
		close(sock);
		return;
	}
	if (cred.uid != geteuid() && cred.uid != 0) {
		refuse_stranger(sock);
		return;
	}
	struct vb_conn *c = vb_conn_new(b, sock, cred.pid);
	if (!c) {
		close(sock);
		return;
	}
	c->since = now;
	if (vb_broker_watch(b, sock, VB_SOURCE_CONN, (uint32_t)(c - b->conn)))
		vb_conn_refuse(b, c, -ENOMEM, "the broker is out of kernel memory");
}

static void welcome_client(struct vb_broker *b, struct vb_conn *c)
{
	int slot = vb_slots_take(&b->slots, c->pid, c->comm);

	if (slot == -ENOSPC) {
		char text[VB_BROKER_TEXT_MAX];

		snprintf(
		    text, sizeof text,
		    "all %u slots of the adapter are taken; end one of the programs that use it",
		    VB_SLOT_PROCESSES);
		vb_conn_refuse(b, c, slot, text);
		return;
	}
	if (slot < 0) {
		char text[VB_BROKER_TEXT_MAX];

		slot = vb_error_hint(
		    text, sizeof text, slot,
		    "the broker, whose limits are those of the program that started it, "
		    "cannot make a slot");
		vb_conn_refuse(b, c, slot, text);
		return;
	}
	vb_conn_welcome(b, c, (uint32_t)slot, b->slots.group.fd[slot]);
}

/* From here on it is a command connection of the connection manager. */
static void welcome_cm(struct vb_broker *b, struct vb_conn *c)
{
	struct vb_broker_msg m;
	struct vb_fds fds;
	int page;

	if (!b->cm) {
		vb_conn_refuse(b, c, -ENOMEM,
			       "the broker has no memory for the connection manager");
		return;
	}
	c->kind = VB_CONN_CM;
	vb_broker_msg_init(&m, VB_BROKER_WELCOME);
	fds.fd[VB_CM_WELCOME_VERSIONS] = vb_broker_cm_versions(b);
	fds.fd[VB_CM_WELCOME_PAGE] = page = vb_broker_page_open(b, c);
	/* Without them it goes on, slower. */
	fds.cnt = fds.fd[VB_CM_WELCOME_VERSIONS] >= 0 ? VB_CM_WELCOME_PAGE : 0;
	if (fds.cnt && page >= 0)
		fds.cnt = VB_CM_WELCOME_CNT;
	if (vb_conn_send(c, &m, &fds))
		vb_conn_end(b, (uint32_t)(c - b->conn));
	if (page >= 0)
		close(page);
}

/* From here on it makes calls about umad files. */
static void welcome_umad(struct vb_broker *b, struct vb_conn *c)
{
	struct vb_broker_msg m;

	c->kind = VB_CONN_UMAD;
	vb_broker_msg_init(&m, VB_BROKER_WELCOME);
	if (vb_conn_send(c, &m, NULL))
		vb_conn_end(b, (uint32_t)(c - b->conn));
}

/* Owners of adopted slots may be dead already, or may not know yet that their broker is. */
static void orphans_make(struct vb_broker *b)
{
	for (uint32_t k = VB_SLOT_FIRST; k < b->slots.group.cnt; k++) {
		struct vb_slot *slot = &b->slots.slot[k];

		if (!slot->is_taken)
			continue;
		struct vb_conn *c = vb_conn_new(b, -1, (pid_t)slot->shm->pid);
		if (!c)
			return;
		c->kind = VB_CONN_ORPHAN;
		c->slot = k;
		if (!vb_conn_watch_process(b, c))
			vb_conn_end(b, (uint32_t)(c - b->conn));
	}
}

static void observers_end(struct vb_broker *b)
{
	for (uint32_t i = 0; i < b->conn_end; i++)
		if (b->conn[i].in_use && b->conn[i].kind == VB_CONN_OBSERVER)
			vb_conn_end(b, i);
}

static void welcome_keeper(struct vb_broker *b, struct vb_conn *c)
{
	struct vb_broker_msg m;

	c->kind = VB_CONN_KEEPER;
	b->keeper_cnt++;
	vb_broker_msg_init(&m, VB_BROKER_WELCOME);
	if (!vb_conn_watch_process(b, c) || vb_conn_send(c, &m, NULL))
		vb_conn_end(b, (uint32_t)(c - b->conn));
}

static void reattach_client(struct vb_broker *b, struct vb_conn *c, uint32_t slot,
			    struct vb_fds *fds)
{
	struct vb_broker_msg m;

	if (b->slots.fd_store < 0 && fds->cnt == 1) {
		int rc = vb_slots_adopt(&b->slots, fds->fd[0]);

		fds->cnt = 0;
		if (rc) {
			vb_conn_refuse(b, c, rc,
				       "the group of the earlier broker cannot be taken over");
			return;
		}
		/* The memory that they have mapped is no longer the host memory. */
		observers_end(b);
		orphans_make(b);
		vb_broker_group_ready(b);
	}
	if (slot == VB_KEEPER_SLOT) {
		welcome_keeper(b, c);
		return;
	}
	for (uint32_t i = 0; i < b->conn_end; i++) {
		struct vb_conn *o = &b->conn[i];

		if (!o->in_use || o->kind != VB_CONN_ORPHAN || o->slot != slot || o->pid != c->pid)
			continue;
		vb_conn_close(b, o); /* the slot stays taken: it is this connection's now */
		c->kind = VB_CONN_CLIENT;
		c->slot = slot;
		b->client_cnt++;
		vb_broker_msg_init(&m, VB_BROKER_WELCOME);
		m.slot = slot;
		if (!vb_conn_watch_process(b, c) || vb_conn_send(c, &m, NULL))
			vb_conn_end(b, (uint32_t)(c - b->conn));
		return;
	}
	vb_conn_refuse(b, c, -ESTALE, "the slot has another owner");
}

/* The shared broker has the port, or had it: a program that has no slot from it cannot be served,
 * but by the connection manager and QP1. True: @c has been told. */
static bool refuse_beside_carrier(struct vb_broker *b, struct vb_conn *c)
{
	bool is_program = c->wants == VB_BROKER_CLIENT;

	if (b->slots.is_carried && b->client_cnt == 0 && is_program && vb_broker_rest(b) == 0)
		return false;
	if (b->slots.is_carried && is_program) {
		vb_conn_refuse(b, c, -EAGAIN,
			       "programs of yours have the adapter from the shared broker, which "
			       "does not run now; wait until it does, or end them");
		return true;
	}
	return false;
}

/* Tries to make the group for a client. Returns false when the client has to wait. */
static bool serve_client(struct vb_broker *b, struct vb_conn *c, vb_time now)
{
	struct vb_port_owner owner[OWNERS_MAX];
	char text[VB_BROKER_TEXT_MAX];

	if (c->wants == VB_BROKER_CLIENT && c->slot)
		return vb_conn_serve_carried(b, c, now);
	if (refuse_beside_carrier(b, c))
		return true;
	if (c->wants != VB_BROKER_CLIENT && !vb_conn_begin_carried(b, c, now))
		return false;
	if (!c->in_use)
		return true;

	if (b->slots.fd_store < 0) {
		int rc = vb_slots_start(&b->slots);

		if (rc == -EADDRINUSE) {
			int cnt = vb_port_owners(owner, OWNERS_MAX);
			bool survivors = false;

			/* Clients of an earlier broker may have it; they will bring the descriptor
			 * store. */
			for (int i = 0; i < cnt; i++)
				survivors |=
				    owner[i].uid == geteuid() &&
				    (owner[i].is_client || (owner[i].inode && !owner[i].pid));
			if (survivors && vb_time_since(c->since, now) < VB_SURVIVORS_NS) {
				b->retry_due = now + VB_RETRY_NS;
				return false;
			}
			vb_port_explain(owner, cnt, text, sizeof text);
			vb_conn_refuse(b, c, rc, text);
			return true;
		}
		if (rc) {
			rc = vb_error_hint(text, sizeof text, rc,
					   "the broker cannot bind UDP port %d", VB_ROCE_PORT);
			vb_conn_refuse(b, c, rc, text);
			return true;
		}
		vb_broker_group_ready(b);
	}
	if (c->wants == VB_BROKER_CM)
		welcome_cm(b, c);
	else if (c->wants == VB_BROKER_UMAD)
		welcome_umad(b, c);
	else
		welcome_client(b, c);
	return true;
}

void vb_conn_retry(struct vb_broker *b, vb_time now)
{
	b->retry_due = VB_NEVER;
	for (uint32_t i = 0; i < b->conn_end; i++)
		if (b->conn[i].in_use && b->conn[i].kind == VB_CONN_WAITING)
			(void)serve_client(b, &b->conn[i], now);
}

static void send_slots(struct vb_broker *b, struct vb_conn *c)
{
	struct vb_broker_msg m;
	struct vb_fds fds = {.cnt = 0};
	uint32_t k = VB_SLOT_GSI;

	do {
		vb_broker_msg_init(&m, VB_BROKER_SLOTS);
		fds.cnt = 0;
		for (; k < b->slots.group.cnt && m.cnt < VB_BROKER_SLOTS_MAX; k++)
			if (vb_slots_is_used(&b->slots, k)) {
				m.slots[m.cnt++] = (uint16_t)k;
				fds.fd[fds.cnt++] = b->slots.slot[k].mem_fd;
			}
		m.more = k < b->slots.group.cnt;
		if (vb_conn_send(c, &m, &fds)) {
			vb_conn_end(b, (uint32_t)(c - b->conn));
			return;
		}
	} while (m.more);
}

static void welcome_observer(struct vb_broker *b, struct vb_conn *c)
{
	struct vb_broker_msg m;
	struct vb_fds fds = {.cnt = 1, .fd = {b->slots.host_fd}};

	c->kind = VB_CONN_OBSERVER;
	vb_broker_msg_init(&m, VB_BROKER_WELCOME);
	if (vb_conn_send(c, &m, &fds))
		vb_conn_end(b, (uint32_t)(c - b->conn));
}

static void access_adapter(struct vb_broker *b, struct vb_conn *c, struct vb_broker_msg *m)
{
	if (m->op == VB_BROKER_REGISTER)
		vb_broker_register(b, m);
	else
		vb_broker_keep(b, m);
	if (vb_conn_send(c, m, NULL))
		vb_conn_end(b, (uint32_t)(c - b->conn));
}

static void set_capture(struct vb_broker *b, struct vb_conn *c, bool on)
{
	struct vb_broker_msg m;

	c->capture = on;
	vb_conns_capture(b);
	vb_broker_msg_init(&m, VB_BROKER_DONE);
	if (vb_conn_send(c, &m, NULL))
		vb_conn_end(b, (uint32_t)(c - b->conn));
}

/* Its sender has checked the text; a wrong one is refused all the same. */
static int fault_check(const struct vb_broker_msg *m)
{
	struct vb_fault_spec spec;
	struct vb_fault_error err;

	if (m->slot >= VB_DEVICES_MAX || !memchr(m->text, 0, VB_FAULT_TEXT_MAX))
		return -EINVAL;
	return vb_fault_parse(m->text, &spec, &err);
}

static void set_fault(struct vb_broker *b, struct vb_conn *c, const struct vb_broker_msg *from)
{
	struct vb_host_shm *host = b->slots.host;
	struct vb_broker_msg m;

	vb_broker_msg_init(&m, VB_BROKER_DONE);
	m.status = fault_check(from);
	if (m.status == 0) {
		struct vb_fault_rules *to = &host->fault[from->slot];

		vb_host_write_begin(host);
		to->seed = from->seed;
		memcpy(to->text, from->text, sizeof to->text);
		host->fault_generation++;
		host->generation++;
		vb_host_write_end(host);
		vb_broker_wake_clients(b);
	}
	if (vb_conn_send(c, &m, NULL))
		vb_conn_end(b, (uint32_t)(c - b->conn));
}

static void ask_views(struct vb_broker *b, struct vb_conn *c, uint32_t qpn)
{
	struct vb_host_shm *host = b->slots.host;
	struct vb_broker_msg m;

	vb_broker_msg_init(&m, VB_BROKER_DONE);
	vb_host_write_begin(host);
	host->explain_qpn = qpn;
	host->explain_asked++;
	vb_host_write_end(host);
	m.slot = host->explain_asked;
	vb_broker_wake_clients(b);
	if (vb_conn_send(c, &m, NULL))
		vb_conn_end(b, (uint32_t)(c - b->conn));
}

static void show_connections(struct vb_broker *b, struct vb_conn *c)
{
	struct vb_fds fds = {.cnt = 0};
	struct vb_broker_msg m;
	int fd = vb_broker_cm_table(b);

	vb_broker_msg_init(&m, VB_BROKER_DONE);
	m.status = fd < 0 ? fd : 0;
	if (fd >= 0)
		fds.fd[fds.cnt++] = fd;
	if (vb_conn_send(c, &m, &fds))
		vb_conn_end(b, (uint32_t)(c - b->conn));
	vb_fds_close(&fds);
}

/* The beginning of a connection of a program that uses the adapter. */
static bool op_is_program(uint32_t op)
{
	return op == VB_BROKER_CLIENT || op == VB_BROKER_CM || op == VB_BROKER_UMAD;
}

/*
 * Somebody of another version. A program that would use the adapter while nobody does gets one of
 * its own: this broker ends, though it had histories of trouble to tell.
 */
static void meet_other_version(struct vb_broker *b, struct vb_conn *c,
			       const struct vb_broker_msg *m)
{
	bool is_program = m->magic == VB_BROKER_MAGIC && op_is_program(m->op);
	bool is_kept = vb_adapter_state(vb_slots_adapter(&b->slots))->is_kept;
	bool is_used = b->client_cnt || vb_broker_cm_is_used(b) || vb_broker_umad_is_used(b);
	char text[VB_BROKER_TEXT_MAX];

	if (is_program && !is_used && !is_kept) {
		b->is_ending = true;
		vb_conn_end(b, (uint32_t)(c - b->conn));
		return;
	}
	snprintf(text, sizeof text, "the broker (process %d) is of another version of verbena; %s",
		 (int)getpid(),
		 is_used ? "it ends when the programs that use it have ended"
		 : is_kept
		     ? "it keeps the adapter, since its 'hca start', until it is killed"
		     : "it ends within ten minutes, or when a program of this version starts");
	vb_conn_refuse(b, c, -EPROTO, text);
}

void vb_conn_handle(struct vb_broker *b, uint32_t index, vb_time now)
{
	struct vb_conn *c = &b->conn[index];
	struct vb_broker_msg m = {.magic = 0};
	struct vb_fds fds;

	if (!c->in_use)
		return;
	if (c->kind == VB_CONN_CM || c->kind == VB_CONN_UMAD) {
		if (c->kind == VB_CONN_CM ? !vb_broker_cm_call(b, c, now)
					  : !vb_broker_umad_call(b, c, now))
			vb_conn_end(b, index);
		return;
	}
	int rc = vb_broker_msg_recv(c->sock, &m, &fds, MSG_DONTWAIT);
	if (rc == -EAGAIN)
		return;
	if (rc == -EPROTO && c->kind == VB_CONN_NEW) {
		meet_other_version(b, c, &m);
		return;
	}
	if (rc <= 0) {
		vb_conn_end(b, index);
		return;
	}
	if (c->kind == VB_CONN_NEW && op_is_program(m.op)) {
		memcpy(c->comm, m.comm, sizeof c->comm);
		c->wants = m.op;
		c->slot = m.slot;
		c->others = m.cnt;
		c->kind = VB_CONN_WAITING;
		(void)serve_client(b, c, now);
	} else if (c->kind == VB_CONN_NEW && m.op == VB_BROKER_REATTACH) {
		reattach_client(b, c, m.slot, &fds);
	} else if (c->kind == VB_CONN_NEW && m.op == VB_BROKER_OBSERVER) {
		welcome_observer(b, c);
	} else if (c->kind == VB_CONN_OBSERVER && m.op == VB_BROKER_GET_SLOTS) {
		send_slots(b, c);
	} else if (c->kind == VB_CONN_OBSERVER && m.op == VB_BROKER_CAPTURE) {
		set_capture(b, c, m.slot);
	} else if (c->kind == VB_CONN_OBSERVER &&
		   (m.op == VB_BROKER_REGISTER || m.op == VB_BROKER_KEEP)) {
		access_adapter(b, c, &m);
	} else if (c->kind == VB_CONN_OBSERVER && m.op == VB_BROKER_FAULT) {
		set_fault(b, c, &m);
	} else if (c->kind == VB_CONN_OBSERVER && m.op == VB_BROKER_CSR) {
		vb_broker_csr(b, c, &m);
	} else if (c->kind == VB_CONN_CLIENT && m.op == VB_BROKER_CSR) {
		vb_broker_csr_answer(b, c, &m);
	} else if (c->kind == VB_CONN_OBSERVER && m.op == VB_BROKER_EXPLAIN) {
		ask_views(b, c, m.slot);
	} else if (c->kind == VB_CONN_OBSERVER && m.op == VB_BROKER_ASK) {
		vb_asks_begin(b, c, &m, now);
	} else if (c->kind == VB_CONN_OBSERVER && m.op == VB_BROKER_CONNECTIONS) {
		show_connections(b, c);
	} else {
		vb_conn_end(b, index);
	}
	vb_fds_close(&fds);
}
