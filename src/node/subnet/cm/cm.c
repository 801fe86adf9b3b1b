/* SPDX-License-Identifier: BSD-2-Clause */
/* The connection managers of nodes: their calls, channels and MADs, see cm.h. CMP-01, CMP-23,
 * FAB-24 */
#include "node/subnet/cm/cm.h"

#include "node/host/clock.h"
#include "node/subnet/adapter/adapter.h"
#include "ucma/command/ahead.h"
#include "wire/pkey.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define QP1 1u

/* The socket of a channel. It begins as struct vb_subnet_conn does, and goes as one. */
struct cm_channel {
	struct vb_watch watch;
	struct vb_list node; /* of the node's */
	struct vb_subnet_cm *cm;
	uint32_t index;
};
_Static_assert(offsetof(struct cm_channel, node) == offsetof(struct vb_subnet_conn, node),
	       "what is in the list of gone ones has its node at one place");

static struct cm_channel *channel_of(const struct vb_subnet_cm *cm, int fd)
{
	for (struct vb_list *l = cm->channels.next; l != &cm->channels; l = l->next) {
		struct cm_channel *ch = vb_container_of(l, struct cm_channel, node);

		if (ch->watch.fd == fd)
			return ch;
	}
	return NULL;
}

static int channel_watch(void *ctx, int fd, uint32_t index)
{
	struct vb_subnet_cm *cm = ctx;
	struct cm_channel *ch = calloc(1, sizeof *ch);
	struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP};

	if (!ch)
		return -ENOMEM;
	*ch = (struct cm_channel){.watch = {VB_WATCH_CHANNEL, fd}, .cm = cm, .index = index};
	e.data.ptr = &ch->watch;
	if (epoll_ctl(cm->d->epoll_fd, EPOLL_CTL_ADD, fd, &e)) {
		int rc = -errno;

		free(ch);
		return rc;
	}
	vb_list_append(&cm->channels, &ch->node);
	return 0;
}

static int channel_watch_room(void *ctx, int fd, uint32_t index, bool on)
{
	struct vb_subnet_cm *cm = ctx;
	struct cm_channel *ch = channel_of(cm, fd);
	struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP | (on ? (uint32_t)EPOLLOUT : 0)};

	(void)index;
	if (!ch)
		return -ENOENT;
	e.data.ptr = &ch->watch;
	return epoll_ctl(cm->d->epoll_fd, EPOLL_CTL_MOD, fd, &e) ? -errno : 0;
}

static void channel_unwatch(void *ctx, int fd)
{
	struct vb_subnet_cm *cm = ctx;
	struct cm_channel *ch = channel_of(cm, fd);

	if (!ch)
		return;
	(void)epoll_ctl(cm->d->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	ch->watch.fd = -1;
	vb_list_remove(&ch->node);
	vb_list_append(&cm->d->gone, &ch->node);
}

void vb_subnet_cm_channel(struct vb_watch *w, vb_time now)
{
	struct cm_channel *ch = vb_container_of(w, struct cm_channel, watch);

	vb_channel_event(&ch->cm->host, ch->index, now);
}

struct vb_subnet_cm *vb_subnet_cm_find(struct vb_subnet_daemon *d, uint32_t index)
{
	for (struct vb_list *l = d->cms.next; l != &d->cms; l = l->next) {
		struct vb_subnet_cm *cm = vb_container_of(l, struct vb_subnet_cm, node);

		if (cm->index == index)
			return cm;
	}
	return NULL;
}

static struct vb_subnet_cm_port port_of(const struct vb_subnet_cm *cm, uint8_t port)
{
	const struct vb_sma_port *p =
	    vb_subnet_sma_port(&cm->d->subnet, (struct vb_subnet_place){cm->index, port});

	return (struct vb_subnet_cm_port){
	    .lid = p->info.lid, .sm_lid = p->info.sm_lid, .reregisters = p->reregisters};
}

/* Notes how port @port is. True: it is not as it was. */
static bool port_note(struct vb_subnet_cm *cm, uint8_t port)
{
	struct vb_subnet_cm_port was = cm->port[port], is = port_of(cm, port);

	cm->port[port] = is;
	return is.lid != was.lid || is.sm_lid != was.sm_lid || is.reregisters != was.reregisters;
}

void vb_subnet_cm_follow(struct vb_subnet_daemon *d, uint32_t node, vb_time now)
{
	struct vb_subnet_cm *cm = vb_subnet_cm_find(d, node);

	for (uint8_t i = 1; cm && i <= vb_subnet_cm_ports(cm); i++)
		if (port_note(cm, i))
			vb_ucma_groups_rejoin(cm->host.ucma, i, now);
}

struct vb_subnet_cm *vb_subnet_cm_at(struct vb_subnet_daemon *d, uint32_t index)
{
	const struct vb_cm_loop loop = {
	    .watch = channel_watch, .watch_room = channel_watch_room, .unwatch = channel_unwatch};
	struct vb_subnet_cm *cm = vb_subnet_cm_find(d, index);
	struct vb_cm_loop own = loop;
	struct vb_ucma_env env;

	if (cm)
		return cm;
	cm = calloc(1, sizeof *cm);
	if (!cm)
		return NULL;
	cm->d = d;
	cm->index = index;
	vb_list_init(&cm->channels);
	for (uint8_t i = 1; i <= vb_subnet_cm_ports(cm); i++)
		(void)port_note(cm, i);
	own.ctx = cm;
	env = vb_subnet_cm_env(cm);
	if (vb_cm_host_open(&cm->host, &own, &env, vb_subnet_cm_gid_is_local)) {
		free(cm);
		return NULL;
	}
	vb_list_append(&d->cms, &cm->node);
	return cm;
}

void vb_subnet_cms_close(struct vb_subnet_daemon *d)
{
	while (!vb_list_is_empty(&d->cms)) {
		struct vb_list *l = d->cms.next;
		struct vb_subnet_cm *cm = vb_container_of(l, struct vb_subnet_cm, node);

		vb_list_remove(l);
		for (uint32_t i = 0; i < VB_CM_CHANNELS_MAX; i++)
			if (cm->host.channel[i])
				vb_channel_close(&cm->host, i, vb_clock_now());
		vb_cm_host_close(&cm->host);
		free(cm);
	}
}

int vb_subnet_cm_begin(struct vb_subnet_daemon *d, struct vb_subnet_conn *c, struct vb_fds *back)
{
	struct ucred cred = {.pid = 0};
	socklen_t len = sizeof cred;
	int fd;

	if (!c->seat || c->slot || c->cm)
		return -EINVAL;
	if (!vb_subnet_has_verbs(d, c->seat->index))
		return -ENODEV;
	c->cm = vb_subnet_cm_at(d, c->seat->index);
	if (!c->cm)
		return -ENOMEM;
	(void)getsockopt(c->watch.fd, SOL_SOCKET, SO_PEERCRED, &cred, &len);
	c->pid = cred.pid;
	snprintf(c->comm, sizeof c->comm, "%.15s", d->call.text);
	fd = c->cm->host.versions_fd < 0 ? -1 : fcntl(c->cm->host.versions_fd, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0)
		back->fd[back->cnt++] = fd;
	return 0;
}

bool vb_subnet_cm_call(struct vb_subnet_daemon *d, struct vb_subnet_conn *c)
{
	static struct vb_cm_call call;
	static struct vb_cm_answer answer;
	const struct vb_cm_caller who = {c, c->pid, c->comm};
	struct vb_fds fds = {.cnt = 0};
	ssize_t n = vb_fds_recv(c->watch.fd, &call, sizeof call, &fds, MSG_DONTWAIT);
	vb_time now = vb_clock_now();

	if (n == -EAGAIN)
		return true;
	if (n < (ssize_t)offsetof(struct vb_cm_call, body) && n != -EMFILE) {
		vb_fds_close(&fds);
		return false;
	}
	vb_cm_serve(&c->cm->host, &who, &call, n, &fds, &answer, now);
	vb_fds_close(&fds);
	/* The peer hears of it before the program does: it may end at once. */
	vb_subnet_move(d, now);
	return vb_fds_send(c->watch.fd, &answer, vb_cm_answer_size(&answer), NULL) == 0;
}

void vb_subnet_cm_leave(struct vb_subnet_conn *c)
{
	if (c->cm)
		vb_channels_release(&c->cm->host, c);
	c->cm = NULL;
}

bool vb_subnet_cm_transmit(struct vb_subnet_cm *cm, struct vb_subnet_mad *m)
{
	const struct vb_sma_port *p;
	struct vb_path path;
	uint8_t mad[VB_MAD_LEN];
	uint16_t pkey;

	if (!vb_ucma_poll_transmit(cm->host.ucma, &path, &pkey, mad))
		return false;
	*m = (struct vb_subnet_mad){
	    .at = {cm->index, path.port},
	    .has_grh = path.hop_limit > 1 && vb_path_has_grh(&path),
	    .sl = path.sl,
	    .slid = path.slid,
	    .dlid = path.dlid,
	    .src_qp = QP1,
	    .dst_qp = QP1,
	    .qkey = VB_MAD_QKEY,
	    .hop_limit = path.hop_limit,
	    .traffic_class = path.traffic_class,
	    .flow_label = path.flow_label,
	};
	p = vb_subnet_sma_port(&cm->d->subnet, m->at);
	m->pkey = p->pkey[pkey ? vb_pkey_index(p->pkey, VB_SUBNET_PKEYS, pkey) : 0];
	memcpy(m->mad, mad, sizeof m->mad);
	memcpy(m->sgid, path.sgid.b, sizeof m->sgid);
	memcpy(m->dgid, path.dgid.b, sizeof m->dgid);
	return true;
}

static struct vb_path path_of(const struct vb_subnet_mad *m)
{
	struct vb_path p = {.slid = m->slid,
			    .dlid = m->dlid,
			    .port = m->at.port,
			    .sl = m->sl,
			    .traffic_class = m->traffic_class,
			    .flow_label = m->flow_label,
			    .hop_limit = m->hop_limit};

	if (m->has_grh) {
		memcpy(p.sgid.b, m->sgid, sizeof p.sgid.b);
		memcpy(p.dgid.b, m->dgid, sizeof p.dgid.b);
	}
	return p;
}

bool vb_subnet_cm_take(struct vb_subnet_daemon *d, const struct vb_subnet_mad *m, vb_time now)
{
	struct vb_subnet_cm *cm = vb_subnet_cm_find(d, m->at.node);
	struct vb_path path = path_of(m);
	struct vb_mad_hdr h;
	bool is_ours;

	vb_mad_hdr_parse(&h, m->mad);
	if (m->on_qp0 || !vb_subnet_has_verbs(d, m->at.node))
		return false;
	/* The messages of connections are Sends; others of the class are for programs. MAD-08 */
	is_ours = h.mgmt_class == VB_MAD_CLASS_CM && h.method == VB_MAD_METHOD_SEND;
	if (is_ours && !cm)
		cm = vb_subnet_cm_at(d, m->at.node);
	if (!cm || (!is_ours && !vb_ucma_has_asked(cm->host.ucma, m->mad)))
		return false;
	vb_ucma_handle_mad(cm->host.ucma, &path, m->mad, now);
	return true;
}
