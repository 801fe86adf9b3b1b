/* SPDX-License-Identifier: BSD-2-Clause */
/* How poll(2) and epoll_wait(2) show an open umad file whose device is gone, see umad.h. MAD-16 */
#include "files/umad/umad.h"

#include "files/next.h"

#include <pthread.h>

#define WATCHED_MAX 256u /* files in epoll instances; the oldest beyond are shown as sockets */

atomic_bool vb_umad_is_used;

/* The files that were put into epoll instances. An entry may be stale: the file is looked at before
 * it means anything. */
static struct {
	pthread_mutex_t mutex;
	uint32_t cnt, next;
	bool is_prepared;
	struct {
		int epoll_fd, fd;
		epoll_data_t data;
	} at[WATCHED_MAX];
} watched = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void lock_watched(void)
{
	pthread_mutex_lock(&watched.mutex);
}

static void unlock_watched(void)
{
	pthread_mutex_unlock(&watched.mutex);
}

static void renew_lock(void)
{
	watched.mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static bool is_umad(int fd)
{
	struct vb_fd f;

	return fd >= 0 && !vb_fd_is_plain(fd) && vb_fd_get(fd, &f) == VB_FD_UMAD;
}

void vb_umad_polled(struct pollfd *p, nfds_t n)
{
	for (nfds_t i = 0; i < n; i++)
		if (p[i].revents & POLLHUP && is_umad(p[i].fd))
			p[i].revents = POLLERR;
}

bool vb_umad_is_gone(int fd)
{
	struct pollfd p = {.fd = fd};

	return VB_NEXT(poll)(&p, 1, 0) == 1 && p.revents & POLLHUP;
}

void vb_umad_watched(int epoll_fd, int fd, epoll_data_t data)
{
	uint32_t i = 0;

	if (!is_umad(fd))
		return;
	lock_watched();
	if (!watched.is_prepared) {
		vb_fd_begin();
		watched.is_prepared = pthread_atfork(lock_watched, unlock_watched, renew_lock) == 0;
	}
	while (i < watched.cnt && (watched.at[i].epoll_fd != epoll_fd || watched.at[i].fd != fd))
		i++;
	if (i == watched.cnt) {
		i = watched.next;
		watched.next = (i + 1) % WATCHED_MAX;
		watched.cnt += watched.cnt < WATCHED_MAX;
	}
	watched.at[i].epoll_fd = epoll_fd;
	watched.at[i].fd = fd;
	watched.at[i].data = data;
	unlock_watched();
}

/* Whether @data is that of a file in the instance whose device is gone. */
static bool is_of_gone(int epoll_fd, epoll_data_t data)
{
	bool is_it = false;

	lock_watched();
	for (uint32_t i = 0; !is_it && i < watched.cnt; i++)
		is_it = watched.at[i].epoll_fd == epoll_fd && watched.at[i].data.u64 == data.u64 &&
			is_umad(watched.at[i].fd) && vb_umad_is_gone(watched.at[i].fd);
	unlock_watched();
	return is_it;
}

void vb_umad_epolled(int epoll_fd, struct epoll_event *ev, int n)
{
	for (int i = 0; i < n; i++)
		if (ev[i].events & EPOLLHUP && is_of_gone(epoll_fd, ev[i].data))
			ev[i].events = EPOLLERR;
}
