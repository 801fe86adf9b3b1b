/* SPDX-License-Identifier: BSD-2-Clause */
/* The loop of a fabric's process, and the calls on its connections, see daemon.h. epoll(7) */
#include "node/host/clock.h"
#include "node/subnet/adapter/adapter.h"
#include "node/subnet/capture/capture.h"
#include "node/subnet/cm/cm.h"
#include "node/subnet/live/live.h"
#include "node/subnet/state.h"
#include "node/subnet/watch.h"

#include "link/memory.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 128
#define EVENTS 64

static void *zeroed_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void plain_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static int watch_begin(struct vb_subnet_daemon *d, struct vb_watch *w, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = w};

	return epoll_ctl(d->epoll_fd, EPOLL_CTL_ADD, w->fd, &e) ? -errno : 0;
}

static int nodes_add(struct vb_subnet_daemon *d)
{
	int rc = vb_subnet_open(&d->subnet, d->topo->node_cnt);

	for (uint32_t i = 0; rc >= 0 && i < d->topo->node_cnt; i++) {
		const struct vb_topo_node *n = &d->topo->node[i];
		uint64_t guid[VB_TOPO_PORT_CNT_MAX + 1];
		const struct vb_subnet_node_config config = {
		    .type = n->type,
		    .port_cnt = n->port_cnt,
		    .node_guid = n->node_guid,
		    .system_guid = n->system_guid,
		    .port_guid = guid,
		    .vendor_id = n->vendor_id,
		    .device_id = n->device_id,
		    .enhanced_port0 = n->enhanced_port0,
		    .ioc = n->ioc,
		    .description = n->desc,
		};

		for (unsigned p = 0; p <= n->port_cnt; p++)
			guid[p] = n->port[p].guid;
		rc = vb_subnet_add(&d->subnet, &config);
	}
	return rc < 0 ? rc : 0;
}

static int cables_join(struct vb_subnet_daemon *d)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < d->topo->node_cnt; i++)
		for (unsigned p = 1; !rc && p <= d->topo->node[i].port_cnt; p++) {
			const struct vb_topo_port *port = &d->topo->node[i].port[p];
			struct vb_subnet_place a = {i, (uint8_t)p};
			struct vb_subnet_place b = {port->peer, port->peer_port};

			/* Each cable once, from its lower end. */
			if (port->peer == VB_TOPO_NO_PEER || port->peer < i ||
			    (port->peer == i && port->peer_port <= p))
				continue;
			rc = vb_subnet_join(&d->subnet, a, b, port->speed, port->width,
					    vb_clock_now());
		}
	return rc;
}

static int listen_begin(struct vb_subnet_daemon *d)
{
	struct sockaddr_un a;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	d->listen = (struct vb_watch){VB_WATCH_LISTEN, fd};
	if (bind(fd, (struct sockaddr *)&a, vb_subnet_address(&a, geteuid(), d->name)) ||
	    listen(fd, BACKLOG))
		return -errno;
	return watch_begin(d, &d->listen, EPOLLIN);
}

/* The signals that end the daemon wait until it serves. */
static sigset_t signals_block(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return set;
}

/* In the process that serves: epoll tells of the signals of the process that has added their
 * descriptor, and that may be the parent of this one. signalfd(2) */
static int signals_begin(struct vb_subnet_daemon *d)
{
	const sigset_t set = signals_block();
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);

	if (fd < 0)
		return -errno;
	d->signals = (struct vb_watch){VB_WATCH_SIGNAL, fd};
	return watch_begin(d, &d->signals, EPOLLIN);
}

static void say_failure(int rc, const char *name, char *why, size_t why_size)
{
	if (rc == -EADDRINUSE)
		snprintf(why, why_size,
			 "a fabric '%s' runs already; 'verbena fabric down %s' ends it, --name "
			 "gives this one another name",
			 name, name);
	else
		snprintf(why, why_size, "the fabric '%s' cannot begin: %s", name, strerror(-rc));
}

int vb_subnet_daemon_open(struct vb_subnet_daemon **out, const char *name,
			  const struct vb_topo *topo, char *why, size_t why_size)
{
	struct vb_subnet_daemon *d = calloc(1, sizeof *d);
	int rc;

	if (!d)
		return -ENOMEM;
	snprintf(d->name, sizeof d->name, "%s", name);
	d->topo = topo;
	d->subnet.alloc = zeroed_alloc;
	d->subnet.free = plain_free;
	d->listen.fd = d->signals.fd = d->base_fd = d->root_fd = -1;
	vb_list_init(&d->conns);
	vb_list_init(&d->users);
	vb_list_init(&d->seats);
	vb_list_init(&d->cms);
	vb_list_init(&d->tunnels);
	vb_subnet_far_routers_clear(d);
	d->tunnels_due = VB_NEVER;
	d->counters_due = VB_NEVER;
	vb_list_init(&d->gone);
	d->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	rc = d->epoll_fd < 0 ? -errno : listen_begin(d);
	if (!rc)
		rc = vb_subnet_trees_open(d);
	if (!rc)
		rc = vb_subnet_pages_open(d);
	if (!rc)
		rc = vb_subnet_addresses_make(d);
	if (!rc)
		rc = nodes_add(d);
	if (!rc)
		rc = cables_join(d);
	if (!rc) {
		(void)signals_block();
		*out = d;
		return 0;
	}
	say_failure(rc, name, why, why_size);
	vb_subnet_daemon_close(d);
	return rc;
}

void vb_subnet_daemon_set_real_time(struct vb_subnet_daemon *d, uint32_t scale)
{
	VB_ASSERT_ALL(!d->adapter && scale);
	d->real_time = scale;
}

void vb_subnet_daemon_tell_routes(struct vb_subnet_daemon *d,
				  void (*told)(void *ctx, const struct vb_subnet_routes *r),
				  void *ctx)
{
	d->routes_told = told;
	d->routes_ctx = ctx;
}

void vb_subnet_daemon_set_part(struct vb_subnet_daemon *d, uint32_t part)
{
	vb_subnet_addresses_part(d, part);
}

static void seat_leave(struct vb_subnet_daemon *d, struct vb_subnet_seat *s)
{
	if (!s)
		return;
	/* Programs that end at once have written, too. FAB-19 */
	vb_subnet_tree_read(d, s, vb_clock_now());
	if (--s->conn_cnt != 0)
		return;
	vb_subnet_tree_remove(d, s);
	vb_subnet_seat_close(s);
	vb_list_remove(&s->node);
	free(s);
}

static void conn_close(struct vb_subnet_daemon *d, struct vb_subnet_conn *c)
{
	vb_subnet_slot_release(d, c);
	vb_subnet_observe_leave(d, c);
	vb_subnet_cm_leave(c);
	seat_leave(d, c->seat);
	c->seat = NULL;
	vb_list_remove(&c->node);
	close(c->watch.fd);
	c->watch.fd = -1;
	vb_list_append(&d->gone, &c->node);
}

static int seat_take(struct vb_subnet_daemon *d, struct vb_subnet_conn *c, const char *name,
		     struct vb_subnet_answer *answer)
{
	const struct vb_topo_node *n = vb_topo_find(d->topo, name);
	struct vb_subnet_seat *s = NULL;
	int rc;

	if (!n) {
		snprintf(answer->text, sizeof answer->text,
			 "the fabric '%s' has no node '%.*s'; 'verbena fabric show %s' lists them",
			 d->name, VB_SUBNET_NODE_MAX, name, d->name);
		return -ENOENT;
	}
	for (struct vb_list *l = d->seats.next; l != &d->seats; l = l->next)
		if (vb_container_of(l, struct vb_subnet_seat, node)->index ==
		    (uint32_t)(n - d->topo->node))
			s = vb_container_of(l, struct vb_subnet_seat, node);
	if (!s) {
		s = calloc(1, sizeof *s);
		if (!s)
			return -ENOMEM;
		s->index = (uint32_t)(n - d->topo->node);
		s->host_fd = -1;
		rc = vb_subnet_tree_make(d, s);
		if (rc) {
			free(s);
			return rc;
		}
		vb_list_append(&d->seats, &s->node);
		vb_subnet_counter_files_make(d, s);
		d->counters_due = vb_time_min(d->counters_due, vb_clock_now());
	}
	s->conn_cnt++;
	seat_leave(d, c->seat);
	c->seat = s;
	snprintf(answer->text, sizeof answer->text, "%s", s->root);
	return 0;
}

/* Sends the program's earlier writes first, as a kernel does, by the agents that there were. */
static void writes_send(struct vb_subnet_daemon *d, struct vb_subnet_file *f)
{
	if (!f || f->umad.number < 0)
		return;
	vb_subnet_file_drain(f);
	vb_subnet_move(d, vb_clock_now());
}

static int carry_out(struct vb_subnet_daemon *d, struct vb_subnet_conn *c, const struct vb_fds *fds,
		     struct vb_subnet_answer *answer, struct vb_fds *back)
{
	const struct vb_subnet_call *call = &d->call;
	int fd;

	switch (call->op) {
	case VB_SUBNET_ATTACH:
		if (c->slot)
			return -EBUSY; /* the adapter is that of its node */
		return seat_take(d, c, call->text, answer);
	case VB_SUBNET_UMAD_OPEN:
	case VB_SUBNET_ISSM_OPEN:
		if (!c->seat)
			return -EINVAL;
		return vb_subnet_file_open(d, c->seat, call->number,
					   call->op == VB_SUBNET_ISSM_OPEN, answer, back);
	case VB_SUBNET_UMAD_WRITE:
		return vb_subnet_file_write(d, call, fds);
	case VB_SUBNET_UMAD_IOCTL:
		writes_send(d, vb_subnet_file_of(d, call->token));
		return vb_subnet_file_ioctl(d, call, answer);
	case VB_SUBNET_COMMAND:
		fd = memfd_create("verbena-fabric-text", MFD_CLOEXEC);
		if (fd < 0)
			return -errno;
		back->fd[back->cnt++] = fd;
		return vb_subnet_command(d, call->text, fd, answer->text, sizeof answer->text);
	case VB_SUBNET_ADAPTER:
		return vb_subnet_slot_take(d, c, answer, back);
	case VB_SUBNET_CM:
		return vb_subnet_cm_begin(d, c, back);
	case VB_SUBNET_WATCH:
		return vb_subnet_watch_begin(d, c);
	case VB_SUBNET_VIEWS:
		return vb_subnet_views_ask(d, call->number, &answer->token, back);
	case VB_SUBNET_SLOT_SHOW:
		return vb_subnet_slot_show(d, call->number, answer, back);
	case VB_SUBNET_OBSERVE:
		return vb_subnet_observe_begin(d, c, answer, back);
	case VB_SUBNET_OBSERVE_SLOTS:
		return vb_subnet_observe_give(d, call, answer, back);
	case VB_SUBNET_CAPTURE:
		return vb_subnet_capture_switch(d, c, call->number != 0);
	case VB_SUBNET_DOWN:
		d->is_ending = true;
		return 0;
	default:
		return -ENOSYS;
	}
}

/* A call that is cut, or of another version, ends the connection. */
static bool call_is_whole(const struct vb_subnet_call *call, ssize_t n)
{
	if (n < (ssize_t)VB_SUBNET_CALL_HEADER || call->version != VB_SUBNET_CALL_VERSION ||
	    call->len != (size_t)n - VB_SUBNET_CALL_HEADER)
		return false;
	return (call->op != VB_SUBNET_ATTACH && call->op != VB_SUBNET_COMMAND &&
		call->op != VB_SUBNET_ADAPTER && call->op != VB_SUBNET_CM &&
		call->op != VB_SUBNET_OBSERVE) ||
	       (call->len > 0 && call->len <= sizeof call->text && call->text[call->len - 1] == 0);
}

static void conn_event(struct vb_subnet_daemon *d, struct vb_subnet_conn *c)
{
	if (c->cm) {
		if (!vb_subnet_cm_call(d, c))
			conn_close(d, c);
		return;
	}
	struct vb_subnet_answer answer = {.status = 0};
	struct vb_fds fds, back = {.cnt = 0};
	ssize_t n = vb_fds_recv(c->watch.fd, &d->call, sizeof d->call, &fds, MSG_DONTWAIT);

	if (n == -EAGAIN)
		return;
	if (n <= 0 || !call_is_whole(&d->call, n)) {
		vb_fds_close(&fds);
		conn_close(d, c);
		return;
	}
	answer.status = carry_out(d, c, &fds, &answer, &back);
	vb_fds_close(&fds);
	vb_subnet_move(d, vb_clock_now());
	if (vb_fds_send(c->watch.fd, &answer, sizeof answer, &back))
		conn_close(d, c);
	vb_fds_close(&back);
}

static void conn_begin(struct vb_subnet_daemon *d)
{
	int fd = accept4(d->listen.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct vb_subnet_conn *c;
	struct ucred cred;
	socklen_t len = sizeof cred;

	if (fd < 0)
		return;
	c = calloc(1, sizeof *c);
	if (!c || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) || cred.uid != geteuid()) {
		free(c);
		vb_stranger_close(fd);
		return;
	}
	c->watch = (struct vb_watch){VB_WATCH_CONN, fd};
	vb_list_append(&d->conns, &c->node);
	if (watch_begin(d, &c->watch, EPOLLIN | EPOLLRDHUP))
		conn_close(d, c);
}

static void file_event(struct vb_subnet_daemon *d, struct vb_subnet_file *f, uint32_t events)
{
	if (events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR)) {
		writes_send(d, f);
		vb_subnet_file_close(d, f);
		return;
	}
	if (events & EPOLLIN)
		vb_subnet_file_drain(f);
	if (events & EPOLLOUT)
		vb_subnet_deliver(d, f->user);
}

static void watch_event(struct vb_subnet_daemon *d, struct vb_watch *w, uint32_t events)
{
	uint64_t ticks;

	if (w->fd < 0)
		return;
	switch (w->kind) {
	case VB_WATCH_LISTEN:
		conn_begin(d);
		break;
	case VB_WATCH_SIGNAL:
		d->is_ending = true;
		break;
	case VB_WATCH_CONN:
		conn_event(d, vb_container_of(w, struct vb_subnet_conn, watch));
		break;
	case VB_WATCH_CHANNEL:
		vb_subnet_cm_channel(w, vb_clock_now());
		break;
	case VB_WATCH_FILE:
		file_event(d, vb_container_of(w, struct vb_subnet_file, watch), events);
		break;
	case VB_WATCH_TUNNEL:
		vb_subnet_tunnel_event(w, vb_clock_now());
		break;
	case VB_WATCH_LIVE_TIMER:
		(void)read(w->fd, &ticks, sizeof ticks);
		break;
	case VB_WATCH_LIVE:
		break; /* each turn of the loop looks what there is */
	}
}

/* Frees connections and files that were closed while their events might still wait. */
static void gone_free(struct vb_subnet_daemon *d)
{
	while (!vb_list_is_empty(&d->gone)) {
		struct vb_list *l = d->gone.next;

		vb_list_remove(l); /* NOLINT(clang-analyzer-unix.Malloc): the next one */
		/* Both begin with their watch, and the list's node follows. */
		free((char *)l - offsetof(struct vb_subnet_conn, node));
	}
}
_Static_assert(offsetof(struct vb_subnet_conn, node) == offsetof(struct vb_subnet_file, node),
	       "what is in the list of gone ones has its node at one place");

static int wait_ms(vb_time due)
{
	vb_time now = vb_clock_now();

	if (due == VB_NEVER)
		return -1;
	return due <= now ? 0 : (int)vb_time_min((due - now + VB_MSEC - 1) / VB_MSEC, 1000);
}

int vb_subnet_daemon_serve(struct vb_subnet_daemon *d)
{
	int rc = signals_begin(d);

	if (rc)
		return rc;
	while (!d->is_ending) {
		struct epoll_event e[EVENTS];
		vb_time due = vb_time_min(vb_subnet_due(d), vb_subnet_adapter_due(d));
		int n;

		due = vb_time_min(vb_time_min(due, d->counters_due), d->tunnels_due);
		n = epoll_wait(d->epoll_fd, e, EVENTS, vb_subnet_live_wait(d, wait_ms(due)));

		if (n < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < n; i++)
			watch_event(d, e[i].data.ptr, e[i].events);
		vb_subnet_live_step(d);
		vb_subnet_move(d, vb_clock_now());
		vb_subnet_tunnels_step(d, vb_clock_now());
		vb_subnet_users_sweep(d);
		vb_subnet_adapter_step(d, vb_clock_now());
		vb_subnet_counter_files_step(d, vb_clock_now());
		gone_free(d);
	}
	return 0;
}

void vb_subnet_daemon_close(struct vb_subnet_daemon *d)
{
	/* The name is free before a caller of DOWN sees its connection end. */
	if (d->listen.fd >= 0)
		close(d->listen.fd);
	vb_subnet_files_close(d);
	while (!vb_list_is_empty(&d->conns))
		conn_close(d, vb_container_of(d->conns.next, struct vb_subnet_conn, node));
	vb_subnet_cms_close(d);
	vb_subnet_tunnels_close(d);
	gone_free(d);
	vb_subnet_adapter_close(d);
	vb_subnet_trees_close(d);
	vb_subnet_pages_close(d);
	vb_subnet_close(&d->subnet);
	free(d->addresses);
	free(d->told);
	if (d->signals.fd >= 0)
		close(d->signals.fd);
	if (d->epoll_fd >= 0)
		close(d->epoll_fd);
	free(d);
}
