/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptors that are kept open among the program's, see own_fd.h. */
#include "files/own_fd.h"

#include "files/inode.h"
#include "files/next.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Above what programs use, and below what select(2) can have. */
#define HIGH_NUMBER 900

/*
 * A table of descriptors grows once, for the first number that is too high for it. In a process
 * with threads the kernel then waits until no processor can still be reading the old one: 16 ms in
 * the first call of OpenSM (bench/opensm.py fat-tree:k=4). At the start there are no threads.
 */
__attribute__((constructor)) static void make_room(void)
{
	int fd = -1;

	for (int i = STDIN_FILENO; i <= STDERR_FILENO && fd < 0; i++)
		fd = VB_NEXT(fcntl)(i, F_DUPFD_CLOEXEC, HIGH_NUMBER);
	if (fd >= 0)
		VB_NEXT(close)(fd);
}

/*
 * The number of this process, in memory that reads as 0 in a child: it is asked for at each
 * command, and getpid(2) is a system call. NULL: the kernel has no such memory (before 4.14).
 */
static pid_t *process_mark;

static void map_mark(void)
{
	void *p = mmap(NULL, sizeof *process_mark, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return;
	if (madvise(p, sizeof *process_mark, MADV_WIPEONFORK))
		munmap(p, sizeof *process_mark);
	else
		__atomic_store_n(&process_mark, p, __ATOMIC_RELEASE);
}

static void mark_process(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, map_mark);
	if (process_mark)
		__atomic_store_n(process_mark, getpid(), __ATOMIC_RELAXED);
}

static pid_t this_process(void)
{
	const pid_t *mark = __atomic_load_n(&process_mark, __ATOMIC_ACQUIRE);

	return mark ? __atomic_load_n(mark, __ATOMIC_RELAXED) : getpid();
}

ino_t vb_socket_inode(int fd)
{
	struct stat st;

	return fd >= 0 && vb_inode_stat(fd, &st) == 0 && S_ISSOCK(st.st_mode) ? st.st_ino : 0;
}

void vb_own_fd_take(struct vb_own_fd *h, int fd)
{
	int high = VB_NEXT(fcntl)(fd, F_DUPFD_CLOEXEC, HIGH_NUMBER);

	if (high >= 0) {
		VB_NEXT(close)(fd);
		fd = high;
	}
	mark_process();
	*h = (struct vb_own_fd){.fd = fd, .ino = vb_socket_inode(fd), .pid = getpid()};
}

bool vb_own_fd_is_ours(const struct vb_own_fd *h)
{
	return h->fd >= 0 && h->pid == this_process();
}

bool vb_own_fd_is_there(const struct vb_own_fd *h)
{
	return vb_own_fd_is_ours(h) && vb_socket_inode(h->fd) == h->ino;
}

void vb_own_fd_drop(struct vb_own_fd *h)
{
	if (h->fd >= 0 && vb_socket_inode(h->fd) == h->ino)
		VB_NEXT(close)(h->fd);
	h->fd = -1;
}
