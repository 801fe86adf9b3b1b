/* SPDX-License-Identifier: BSD-2-Clause */
/* The shared-memory link as an object: opening and closing. The parts are tx.c, rx.c,
 * ring.c and wakeup.c. */
#include "link/shm/shm.h"

#include "link/shm/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

static int shm_fd(const struct vb_link *l)
{
	return vb_shm_of_const(l)->epoll_fd;
}

/* The wakeup endpoint's, and those of the link below. */
static uint32_t shm_fds(const struct vb_link *l, int *fd)
{
	fd[0] = vb_shm_of_const(l)->wakeup_fd;
	return 1 + vb_link_fds(l->lower, fd + 1);
}

static void shm_sweep(struct vb_link *l)
{
	struct vb_shm *s = vb_shm_of(l);

	for (uint32_t i = 0; i < s->source_cnt; i++)
		vb_ring_give_back(&s->source[i].ring);
	vb_shm_forget_gone(s);
	for (uint32_t i = 0; i < VB_SHM_SLOTS; i++)
		if (s->peer[i].token && s->peer[i].token != vb_shm_token_of(s, i))
			vb_shm_peer_forget(&s->peer[i]);
	vb_link_sweep(l->lower);
}

static void shm_follow_port(struct vb_link *l, uint8_t port, uint32_t ifindex)
{
	if (port < VB_LINK_PORTS_MAX)
		vb_shm_of(l)->cfg.ifindex[port] = ifindex;
	vb_link_follow_port(l->lower, port, ifindex);
}

static void shm_close(struct vb_link *l)
{
	struct vb_shm *s = vb_shm_of(l);

	for (uint32_t i = 0; i < VB_SHM_SLOTS; i++)
		vb_shm_peer_forget(&s->peer[i]);
	while (s->source_cnt)
		vb_shm_source_forget(s, 0);
	close(s->wakeup_fd);
	close(s->epoll_fd);
	l->lower->ops->close(l->lower);
	free(s);
}

static const struct vb_link_ops shm_ops = {
    .name = "shm",
    .send = vb_shm_send,
    .recv = vb_shm_recv,
    .fd = shm_fd,
    .fds = shm_fds,
    .has_packets = vb_shm_has_packets,
    .is_emptied = vb_shm_is_emptied,
    .park = vb_shm_park,
    .begin_nap = vb_shm_begin_nap,
    .nap = vb_shm_nap,
    .end_nap = vb_shm_end_nap,
    .rx_credit = vb_shm_rx_credit,
    .copy = vb_shm_copy,
    .follow_port = shm_follow_port,
    .sweep = shm_sweep,
    .tap_later = vb_shm_tap_later,
    .tap_received = vb_shm_tap_received,
    .close = shm_close,
};

/* One descriptor that is readable when the wakeup endpoint or the link below is. */
static int open_fds(struct vb_shm *s)
{
	struct epoll_event in = {.events = EPOLLIN};
	int rc;

	s->wakeup_fd = vb_wakeup_open(&s->token);
	if (s->wakeup_fd < 0)
		return s->wakeup_fd;
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd >= 0 && epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, s->wakeup_fd, &in) == 0 &&
	    epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, vb_link_fd(s->link.lower), &in) == 0)
		return 0;
	rc = -errno;
	close(s->wakeup_fd);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	return rc;
}

int vb_shm_open(struct vb_link **out, const struct vb_link_config *cfg)
{
	struct vb_shm *s = calloc(1, sizeof *s);
	struct vb_wakeup *wakeup = &cfg->wakeup[cfg->slot];
	int rc;

	if (!s)
		return -ENOMEM;
	s->link = vb_link_before(cfg->lower, &shm_ops);
	if (s->link.window_max > VB_SHM_WINDOW_BYTES)
		s->link.window_max = VB_SHM_WINDOW_BYTES;
	s->link.batch_max = 0; /* a packet in a ring costs the same wherever it stands */
	s->cfg = *cfg;
	rc = open_fds(s);
	if (rc) {
		free(s);
		return rc;
	}
	s->rings = __atomic_load_n(&wakeup->rings, __ATOMIC_RELAXED);
	__atomic_store_n(&wakeup->asleep, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&wakeup->token, s->token, __ATOMIC_RELEASE);
	*out = &s->link;
	return 0;
}
