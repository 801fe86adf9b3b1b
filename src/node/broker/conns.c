/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of connections: who is connected, what each holds, and the questions of observers that
 * a client has not answered. A connection that ends gives back all of it.
 */
#include "node/broker/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct vb_conn *vb_conn_new(struct vb_broker *b, int sock, pid_t pid)
{
	for (uint32_t i = 0; i < VB_CONNS_MAX; i++) {
		struct vb_conn *c = &b->conn[i];

		if (c->in_use)
			continue;
		if (i == b->conn_end)
			b->conn_end++;
		*c = (struct vb_conn){.in_use = true, .sock = sock, .pid = pid, .pidfd = -1};
		if (sock >= 0)
			b->conn_cnt++;
		return c;
	}
	return NULL;
}

int vb_conn_send(struct vb_conn *c, struct vb_broker_msg *m, const struct vb_fds *fds)
{
	return vb_fds_send(c->sock, m, sizeof *m, fds);
}

void vb_conn_close(struct vb_broker *b, struct vb_conn *c)
{
	if (c->sock >= 0) {
		close(c->sock);
		b->conn_cnt--;
	}
	if (c->pidfd >= 0)
		close(c->pidfd);
	if (c->kind == VB_CONN_CLIENT)
		b->client_cnt--;
	if (c->kind == VB_CONN_KEEPER)
		b->keeper_cnt--;
	memset(c, 0, sizeof *c);
	while (b->conn_end && !b->conn[b->conn_end - 1].in_use)
		b->conn_end--;
}

void vb_conns_capture(struct vb_broker *b)
{
	bool on = false;

	for (uint32_t i = 0; i < b->conn_end; i++)
		on |= b->conn[i].in_use && b->conn[i].capture;
	if (on != b->slots.capture)
		vb_slots_capture(&b->slots, on);
}

void vb_conn_answer(struct vb_broker *b, struct vb_conn *c, struct vb_broker_msg *m)
{
	m->op = VB_BROKER_DONE;
	if (vb_conn_send(c, m, NULL))
		vb_conn_end(b, (uint32_t)(c - b->conn));
}

/* Nobody answers what observers have asked of the client that had slot @slot. */
static void end_questions(struct vb_broker *b, uint32_t slot)
{
	struct vb_broker_msg m;

	for (uint32_t i = 0; i < b->conn_end; i++) {
		struct vb_conn *c = &b->conn[i];

		if (!c->in_use || c->asks.slot != slot)
			continue;
		c->asks.slot = 0;
		vb_broker_msg_init(&m, VB_BROKER_DONE);
		m.status = -ENXIO;
		snprintf(m.text, sizeof m.text, "the program whose QP this is has ended");
		vb_conn_answer(b, c, &m);
	}
}

void vb_conn_end(struct vb_broker *b, uint32_t index)
{
	struct vb_conn *c = &b->conn[index];

	if (!c->in_use)
		return;
	enum vb_conn_kind kind = c->kind;
	uint32_t slot = c->slot;

	if (kind == VB_CONN_CLIENT || kind == VB_CONN_ORPHAN)
		vb_slots_release(&b->slots, slot);
	vb_broker_page_close(b, c);
	vb_broker_cm_release(b, c);
	vb_conn_close(b, c);
	if (kind == VB_CONN_CLIENT)
		end_questions(b, slot);
	vb_conns_capture(b);
}

bool vb_conn_watch_process(struct vb_broker *b, struct vb_conn *c)
{
	if (c->pid == 0)
		return true;
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	if (c->pidfd < 0)
		return errno != ESRCH;
	/* Without room for one more descriptor the socket alone has to tell. */
	if (vb_broker_watch(b, c->pidfd, VB_SOURCE_PIDFD, (uint32_t)(c - b->conn))) {
		close(c->pidfd);
		c->pidfd = -1;
	}
	return true;
}

void vb_conn_refuse(struct vb_broker *b, struct vb_conn *c, int status, const char *text)
{
	struct vb_broker_msg m;

	vb_broker_msg_init(&m, VB_BROKER_WELCOME);
	m.status = status;
	snprintf(m.text, sizeof m.text, "%s", text);
	(void)vb_conn_send(c, &m, NULL);
	vb_conn_close(b, c);
}

void vb_conn_welcome(struct vb_broker *b, struct vb_conn *c, uint32_t slot, int rx_fd)
{
	struct vb_fds fds = {.cnt = VB_WELCOME_CNT};
	struct vb_broker_msg m;

	fds.fd[VB_WELCOME_RX] = rx_fd;
	fds.fd[VB_WELCOME_SLOT] = b->slots.slot[slot].mem_fd;
	fds.fd[VB_WELCOME_HOST] = b->slots.host_fd;
	fds.fd[VB_WELCOME_FD_STORE] = b->slots.fd_store;
	c->kind = VB_CONN_CLIENT;
	c->slot = slot;
	b->client_cnt++;
	vb_broker_msg_init(&m, VB_BROKER_WELCOME);
	m.slot = c->slot;
	if (!vb_conn_watch_process(b, c) || vb_conn_send(c, &m, &fds))
		vb_conn_end(b, (uint32_t)(c - b->conn));
}

struct vb_conn *vb_conn_of_slot(struct vb_broker *b, uint32_t slot)
{
	for (uint32_t i = 0; i < b->conn_end; i++)
		if (b->conn[i].in_use && b->conn[i].kind == VB_CONN_CLIENT &&
		    b->conn[i].slot == slot)
			return &b->conn[i];
	return NULL;
}

void vb_broker_wake_clients(struct vb_broker *b)
{
	struct vb_broker_msg m;

	vb_broker_cm_reload(b); /* QP1's engine is none of theirs */
	vb_broker_msg_init(&m, VB_BROKER_DONE);
	for (uint32_t i = 0; i < b->conn_end; i++)
		if (b->conn[i].in_use && b->conn[i].kind == VB_CONN_CLIENT)
			(void)vb_conn_send(&b->conn[i], &m, NULL);
}
