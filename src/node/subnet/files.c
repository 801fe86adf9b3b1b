/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The open umad and issm files of programs. A program reads from one end of a pair of sockets, and
 * writes to it what is not answered; the other end is here, and when it says that nobody has the
 * program's end any more, the file is closed. Ioctls, and other writes, are calls. MAD-02 to
 * MAD-05, MAD-11, MAD-14 to MAD-17, MAD-23
 */
#include "node/subnet/state.h"

#include "node/host/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* The node's device management agent has its class, as a target driver's has it with a kernel.
 * MAD-07, FAB-08 */
static int device_reserve(const struct vb_subnet_daemon *d, struct vb_subnet_user *u)
{
	const struct vb_agent_request r = {
	    .qpn = 1,
	    .mgmt_class = VB_MAD_CLASS_DEVICE,
	    .class_version = VB_DEVICE_CLASS_VERSION,
	    .methods = {1u << VB_MAD_METHOD_GET | 1u << VB_MAD_METHOD_SET},
	};

	return d->topo->node[u->at.node].ioc ? vb_agents_reserve(u->agents, &r) : 0;
}

static struct vb_subnet_user *user_find(struct vb_subnet_daemon *d, struct vb_subnet_place at)
{
	const struct vb_agents_config config = {
	    .alloc = d->subnet.alloc,
	    .free = d->subnet.free,
	    .has_smi = true,
	    .port = at.port,
	    .node = {vb_subnet_at_switch(d, at.node), d->topo->node[at.node].port_cnt},
	};
	struct vb_subnet_user *u;

	for (struct vb_list *l = d->users.next; l != &d->users; l = l->next) {
		u = vb_container_of(l, struct vb_subnet_user, node);
		if (u->at.node == at.node && u->at.port == at.port)
			return u;
	}
	u = calloc(1, sizeof *u);
	if (!u)
		return NULL;
	u->at = at;
	vb_list_init(&u->files);
	u->agents = vb_agents_create(&config);
	if (!u->agents || device_reserve(d, u)) {
		if (u->agents)
			vb_agents_destroy(u->agents);
		free(u);
		return NULL;
	}
	vb_list_append(&d->users, &u->node);
	return u;
}

static void user_leave(struct vb_subnet_user *u)
{
	if (!vb_list_is_empty(&u->files))
		return;
	vb_list_remove(&u->node);
	vb_agents_destroy(u->agents);
	free(u);
}

static bool issm_is_open(const struct vb_subnet_user *u)
{
	for (const struct vb_list *l = u->files.next; l != &u->files; l = l->next)
		if (vb_container_of(l, const struct vb_subnet_file, node)->umad.number < 0)
			return true;
	return false;
}

void vb_subnet_file_close(struct vb_subnet_daemon *d, struct vb_subnet_file *f)
{
	struct vb_subnet_user *u = f->user;

	vb_subnet_page_leave(d, f);
	/* The analyser does not follow lists: the user is there. */
	if (f->umad.number >= 0)
		vb_agents_file_close(u->agents,
				     f->umad.number); /* NOLINT(clang-analyzer-unix.Malloc) */
	vb_list_remove(&f->node);
	close(f->watch.fd);
	f->watch.fd = -1;
	vb_list_append(&d->gone, &f->node);
	if (f->umad.number < 0)
		vb_subnet_set_manager(&d->subnet, u->at, false, vb_clock_now());
}

/* The pair of a new file: the program's end comes back. */
static int file_begin(struct vb_subnet_daemon *d, struct vb_subnet_user *u, int number,
		      uint64_t token)
{
	struct vb_subnet_file *f = calloc(1, sizeof *f);
	int pair[2];

	if (!f)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		free(f);
		return -errno;
	}
	struct epoll_event e = {.events = EPOLLRDHUP, .data.ptr = &f->watch};

	if (number >= 0)
		e.events |= EPOLLIN;
	f->watch = (struct vb_watch){VB_WATCH_FILE, pair[0]};
	if (epoll_ctl(d->epoll_fd, EPOLL_CTL_ADD, pair[0], &e)) {
		int rc = -errno;

		close(pair[0]);
		close(pair[1]);
		free(f);
		return rc;
	}
	f->user = u;
	f->umad = (struct vb_umad_file){.agents = u->agents, .number = number, .sock = pair[0]};
	f->token = token;
	vb_list_append(&u->files, &f->node);
	if (number >= 0)
		vb_subnet_page_enter(d, f);
	return pair[1];
}

/* The page of the new file, and the memory of all pages. */
static void page_answer(const struct vb_subnet_daemon *d, struct vb_subnet_answer *answer,
			struct vb_fds *back)
{
	const struct vb_subnet_file *f = vb_subnet_file_of(d, answer->token);
	int fd = f->page ? dup(d->pages_fd) : -1;

	if (fd < 0)
		return;
	back->fd[back->cnt++] = fd;
	answer->page = (uint32_t)(f->page - d->pages) + 1;
}

int vb_subnet_file_open(struct vb_subnet_daemon *d, struct vb_subnet_seat *seat, uint32_t port,
			bool is_issm, struct vb_subnet_answer *answer, struct vb_fds *back)
{
	struct vb_subnet_user *u;
	int number = -1, rc;
	bool is_switch = vb_subnet_at_switch(d, seat->index);

	if (is_switch ? port != 0 : port == 0 || port > d->topo->node[seat->index].port_cnt)
		return -ENOENT;
	u = user_find(d, (struct vb_subnet_place){seat->index, (uint8_t)port});
	if (!u)
		return -ENOMEM;
	rc = is_issm && issm_is_open(u) ? -EAGAIN : vb_umad_token_draw(&answer->token);
	if (!rc && !is_issm)
		rc = number = vb_agents_file_open(u->agents);
	if (rc >= 0)
		rc = file_begin(d, u, number, answer->token);
	if (rc < 0) {
		if (number >= 0)
			vb_agents_file_close(u->agents, number);
		user_leave(u);
		return rc;
	}
	back->fd[back->cnt++] = rc;
	if (is_issm)
		vb_subnet_set_manager(&d->subnet, u->at, true, vb_clock_now());
	else
		page_answer(d, answer, back);
	return 0;
}

static int register_agent(struct vb_subnet_file *f, const struct vb_subnet_call *call,
			  struct vb_subnet_answer *answer)
{
	struct vb_agent_request r;
	int rc = vb_umad_file_register(&f->umad, call, answer, &r);

	if (rc < 0)
		return rc;
	vb_subnet_page_agent(f, (uint32_t)rc, &r);
	return 0;
}

int vb_subnet_file_ioctl(struct vb_subnet_daemon *d, const struct vb_subnet_call *call,
			 struct vb_subnet_answer *answer)
{
	struct vb_subnet_file *f = vb_subnet_file_of(d, call->token);
	uint32_t id;
	int rc;

	if (!f)
		return -EIO;
	switch (call->number) {
	case VB_UMAD_REGISTER_AGENT:
	case VB_UMAD_REGISTER_AGENT2:
		return register_agent(f, call, answer);
	case VB_UMAD_UNREGISTER_AGENT:
		if (call->len != sizeof id)
			return -EINVAL;
		memcpy(&id, call->body, sizeof id);
		vb_subnet_page_agent(f, id, NULL);
		return vb_agent_unregister(f->user->agents, f->umad.number, id);
	case VB_UMAD_ENABLE_PKEY:
		rc = vb_umad_enable_pkey(&f->umad.form);
		vb_subnet_page_form(f);
		return rc;
	default:
		return -ENOTTY;
	}
}

static void file_watch(struct vb_subnet_daemon *d, struct vb_subnet_file *f, bool is_full)
{
	struct epoll_event e = {.events = EPOLLRDHUP | EPOLLIN | (is_full ? (uint32_t)EPOLLOUT : 0),
				.data.ptr = &f->watch};

	if (f->is_full == is_full)
		return;
	f->is_full = is_full;
	(void)epoll_ctl(d->epoll_fd, EPOLL_CTL_MOD, f->watch.fd, &e);
}

void vb_subnet_deliver(struct vb_subnet_daemon *d, struct vb_subnet_user *u)
{
	for (struct vb_list *l = u->files.next; l != &u->files; l = l->next) {
		struct vb_subnet_file *f = vb_container_of(l, struct vb_subnet_file, node);
		const struct vb_mad_message *m;
		int rc = 0;

		if (f->umad.number < 0)
			continue;
		while (!rc && (m = vb_agents_peek(u->agents, f->umad.number)) != NULL) {
			rc = vb_umad_file_send(&f->umad, m);
			if (!rc)
				vb_agents_take(u->agents, f->umad.number);
		}
		file_watch(d, f, rc == -EAGAIN);
	}
}

void vb_subnet_users_sweep(struct vb_subnet_daemon *d)
{
	for (struct vb_list *l = d->users.next, *next; l != &d->users; l = next) {
		next = l->next;
		user_leave(vb_container_of(l, struct vb_subnet_user, node));
	}
}

void vb_subnet_files_close(struct vb_subnet_daemon *d)
{
	for (struct vb_list *l = d->users.next; l != &d->users; l = l->next) {
		struct vb_subnet_user *u = vb_container_of(l, struct vb_subnet_user, node);

		while (!vb_list_is_empty(&u->files))
			vb_subnet_file_close(
			    d, vb_container_of(u->files.next, struct vb_subnet_file, node));
	}
	vb_subnet_users_sweep(d);
}
