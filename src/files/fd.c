/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of descriptors that stand for devices, see fd.h. */
#include "files/fd.h"

#include "files/inode.h"
#include "files/next.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

uint8_t vb_fd_kinds[VB_FDS_MAX];

static struct {
	pthread_mutex_t mutex;
	pid_t pid; /* whose numbers they are; 0: there has been none */
	struct vb_fd at[VB_FDS_MAX];
} table = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void lock_table(void)
{
	pthread_mutex_lock(&table.mutex);
}

static void unlock_table(void)
{
	pthread_mutex_unlock(&table.mutex);
}

static void own_table(void)
{
	table.mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	table.pid = getpid();
}

static void set_entry(int fd, const struct vb_fd *f)
{
	table.at[fd] = *f;
	__atomic_store_n(&vb_fd_kinds[fd], (uint8_t)f->kind, __ATOMIC_RELAXED);
}

static void clear_entry(int fd)
{
	static const struct vb_fd plain;

	set_entry(fd, &plain);
}

static void begin_table(void)
{
	if (table.pid)
		return;
	table.pid = getpid();
	(void)pthread_atfork(lock_table, unlock_table, own_table);
}

void vb_fd_begin(void)
{
	lock_table();
	begin_table();
	unlock_table();
}

int vb_fd_enter(int fd, const struct vb_fd *f)
{
	struct vb_fd entry = *f;
	struct stat st;

	if ((unsigned)fd >= VB_FDS_MAX)
		return -EMFILE;
	if (vb_inode_stat(fd, &st))
		return -errno;
	entry.dev = st.st_dev;
	entry.ino = st.st_ino;
	lock_table();
	begin_table();
	set_entry(fd, &entry);
	unlock_table();
	return 0;
}

int vb_fd_enter_opened(int fd, const struct vb_fd *f, int flags)
{
	if (!(flags & O_CLOEXEC) && VB_NEXT(fcntl)(fd, F_SETFD, 0))
		return -errno;
	if (flags & O_NONBLOCK && VB_NEXT(fcntl)(fd, F_SETFL, O_RDWR | O_NONBLOCK))
		return -errno;
	return vb_fd_enter(fd, f);
}

enum vb_fd_kind vb_fd_get(int fd, struct vb_fd *f)
{
	struct stat st;
	int was = errno;

	memset(f, 0, sizeof *f);
	if (vb_fd_is_plain(fd))
		return VB_FD_PLAIN;
	bool is_open = vb_inode_stat(fd, &st) == 0;
	lock_table();
	*f = table.at[fd];
	if (!is_open || st.st_dev != f->dev || st.st_ino != f->ino) {
		/* A child of vfork() has closed its own number, not its parent's. */
		if (table.pid == getpid())
			clear_entry(fd);
		f->kind = VB_FD_PLAIN;
	}
	unlock_table();
	errno = was;
	return f->kind;
}

void vb_fd_set_session(int fd, uint32_t session)
{
	lock_table();
	if (!vb_fd_is_plain(fd))
		table.at[fd].session = session;
	unlock_table();
}

static bool entry_is_channel(const struct vb_fd *f, uint64_t token)
{
	return f->kind == VB_FD_RDMA_CM && f->token == token;
}

bool vb_fd_is_still(int fd, uint64_t token)
{
	bool is_it;

	if (vb_fd_is_plain(fd))
		return false;
	lock_table();
	is_it = entry_is_channel(&table.at[fd], token);
	unlock_table();
	return is_it;
}

bool vb_fd_note_event(int fd, uint64_t token, uint64_t event, uint64_t *last)
{
	struct vb_fd *f;
	bool is_it;

	if (vb_fd_is_plain(fd))
		return false;
	lock_table();
	f = &table.at[fd];
	is_it = entry_is_channel(f, token);
	if (is_it) {
		*last = f->event;
		if (event > f->event)
			f->event = event;
	}
	unlock_table();
	return is_it;
}

void vb_fd_forget_range(unsigned first, unsigned last)
{
	if (last >= VB_FDS_MAX)
		last = VB_FDS_MAX - 1;
	if (!table.pid || first > last || table.pid != getpid())
		return;
	lock_table();
	for (unsigned fd = first; fd <= last; fd++)
		if (!vb_fd_is_plain((int)fd))
			clear_entry((int)fd);
	unlock_table();
}

void vb_fd_forget(int fd)
{
	if (!vb_fd_is_plain(fd))
		vb_fd_forget_range((unsigned)fd, (unsigned)fd);
}

int vb_fd_copy(int from, int to)
{
	struct vb_fd f;

	vb_fd_forget(to);
	return vb_fd_get(from, &f) == VB_FD_PLAIN ? 0 : vb_fd_enter(to, &f);
}
