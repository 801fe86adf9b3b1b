/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The descriptors of this process that stand for devices: one byte for each number, which is all
 * that read(), write(), close() and ioctl() of a program's other files cost. A number above the
 * table never stands for a device.
 *
 * An entry can be stale, since not every way to close a descriptor passes here. The inode that it
 * remembers is compared before the entry means anything.
 */
#ifndef VB_FILES_FD_H
#define VB_FILES_FD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define VB_FDS_MAX 65536u

enum vb_fd_kind {
	VB_FD_PLAIN,
	VB_FD_RDMA_CM,
	VB_FD_UVERBS,
	VB_FD_NETLINK,
	VB_FD_UMAD,
	VB_FD_EVENTS
};

struct vb_fd {
	enum vb_fd_kind kind;
	dev_t dev; /* st_dev and st_ino of what is open */
	ino_t ino;
	uint64_t token;   /* of an open rdma_cm: which channel of the broker's it is; of a netlink
			   * socket: its port */
	uint32_t session; /* the connection by which the broker was told of it; of a umad file its
			     page */
	uint64_t event;   /* of an open rdma_cm: the number of the last event that was taken */
};

extern uint8_t vb_fd_kinds[VB_FDS_MAX]; /* enum vb_fd_kind */

static inline bool vb_fd_is_plain(int fd)
{
	return (unsigned)fd >= VB_FDS_MAX ||
	       __atomic_load_n(&vb_fd_kinds[fd], __ATOMIC_RELAXED) == VB_FD_PLAIN;
}

/*
 * fork() takes the table's lock after those of others, because they hold theirs while they ask the
 * table: whoever does calls this before the first pthread_atfork() of its own.
 */
void vb_fd_begin(void);

/* Enters @fd, whose dev and ino are filled in here. Returns 0, or -EMFILE: no number of the table.
 */
int vb_fd_enter(int fd, const struct vb_fd *f);

/* The same of a descriptor that the program opens with @flags: O_CLOEXEC, O_NONBLOCK. */
int vb_fd_enter_opened(int fd, const struct vb_fd *f, int flags);

/* Copies the entry of @fd. VB_FD_PLAIN: it has none, or had a stale one, which is gone now. */
enum vb_fd_kind vb_fd_get(int fd, struct vb_fd *f);

void vb_fd_set_session(int fd, uint32_t session);
/* Whether the entry of @fd is still channel @token, for a caller that has had it by vb_fd_get() a
 * moment ago: only the table is asked. */
bool vb_fd_is_still(int fd, uint64_t token);

/*
 * Event @event of channel @token was taken at @fd. *last: the number that the entry had, which it
 * keeps where that is higher. False: the number is not that channel's any more. Without a system
 * call: who has just received from the channel knows what the entry stands for.
 */
bool vb_fd_note_event(int fd, uint64_t token, uint64_t event, uint64_t *last);

/* @fd is being closed. In a child that shares memory with its parent (vfork(2)) nothing happens:
 * the numbers are those of the parent. */
void vb_fd_forget(int fd);
void vb_fd_forget_range(unsigned first, unsigned last);

/* @to is a copy of @from, or another file that took its number. Returns 0 or -EMFILE. */
int vb_fd_copy(int from, int to);

#endif
