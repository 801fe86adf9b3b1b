/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How processes of one host get rings to each other, and wake each other.
 *
 * Each process that takes packets by shared memory has a wakeup endpoint: a datagram socket in the
 * abstract namespace, which belongs to a random token that the process shows in memory that all
 * processes of the host, of one user, share. The name of the socket follows from the token, and
 * each message begins with it: the kernel drops any other one. A process that wants to send makes a
 * ring and hands it in at the wakeup endpoint. A slot's next owner has another token, so nobody
 * takes it for the last one. No third process is needed for any of it. unix(7)
 *
 * A reader that is about to sleep says so in `asleep`, and then looks at its rings once more; a
 * writer writes to its ring, and then looks at `asleep`. Both in one total order, so that at least
 * one of them sees the other. A reader that waits for its wakeup endpoint is woken by a message;
 * the writer sends it first and then takes the word back, so that one that dies in between has
 * woken, too. A reader that sleeps for a moment only, because packets come all the time, waits for
 * the word itself, which costs both sides a fraction of that. futex(2)
 */
#ifndef VB_LINK_SHM_WAKEUP_H
#define VB_LINK_SHM_WAKEUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* In memory that every process of the host may write: a hint, which is checked. */
struct vb_wakeup {
	uint64_t token;  /* 0: this slot's owner takes no packets by shared memory */
	uint32_t asleep; /* not 0: wake me, see enum vb_wakeup_sleep; another number each time */
	uint32_t rings;  /* rings handed in, ever */
	uint8_t rsv[48];
};
_Static_assert(sizeof(struct vb_wakeup) == 64, "shared between processes");

/* The low bit of asleep. */
enum vb_wakeup_sleep {
	VB_WAKEUP_WAITS, /* for a message */
	VB_WAKEUP_NAPS,  /* for the word to change */
};

enum vb_wakeup_kind { VB_WAKEUP_WAKE = 1, VB_WAKEUP_RING };

struct vb_wakeup_msg {
	uint32_t magic;
	uint32_t kind;  /* enum vb_wakeup_kind */
	uint32_t slot;  /* of the sender... */
	uint32_t rsv;   /* 0 */
	uint64_t token; /* ... and its own wakeup endpoint's */
};

/* Makes a wakeup endpoint with a new token in *token. Returns the descriptor, or a negative errno.
 */
int vb_wakeup_open(uint64_t *token);

/*
 * Sends a wakeup to the endpoint @token from the endpoint @fd; with a RING goes the descriptor of
 * its memory. Returns 0; -EAGAIN: there are many messages that have not been taken; -ECONNREFUSED:
 * nobody lives there.
 */
int vb_wakeup_notify(int fd, uint64_t token, enum vb_wakeup_kind kind, uint32_t slot,
		     uint64_t own_token, int mem_fd);

/*
 * The next wakeup at the endpoint @fd; rings of processes of another user are passed over.
 * *mem_fd is a descriptor that came along, the caller's to close, or -1. False: there is no other.
 */
bool vb_wakeup_take(int fd, struct vb_wakeup_msg *k, int *mem_fd);

/*
 * Wakeup endpoints take other datagrams as well, where those who meet there have agreed on them.
 * Sends @cnt parts in one; the errors of vb_wakeup_notify(), and -EMSGSIZE.
 */
#define VB_WAKEUP_PARTS 2 /* at most */
int vb_wakeup_send(int fd, uint64_t token, const struct iovec *part, size_t cnt);
/* The next datagram from a process of the same user, which fits into @size. 0: there is none. */
size_t vb_wakeup_receive(int fd, void *buf, size_t size);

/* The reader at @wakeup is about to sleep. @turn is kept by the reader. Returns what asleep is now.
 */
static inline uint32_t vb_wakeup_park(struct vb_wakeup *wakeup, uint32_t *turn,
				      enum vb_wakeup_sleep how)
{
	*turn += 2;
	if (*turn == 0)
		*turn = 2;
	__atomic_store_n(&wakeup->asleep, *turn | how, __ATOMIC_SEQ_CST);
	return *turn | how;
}

/* The reader is awake. */
static inline void vb_wakeup_unpark(struct vb_wakeup *wakeup)
{
	__atomic_store_n(&wakeup->asleep, 0, __ATOMIC_SEQ_CST);
}

/* The reader sleeps for at most @ns, or until asleep is no longer @word. */
void vb_wakeup_nap(struct vb_wakeup *wakeup, uint32_t word, uint64_t ns);

/* Ends the reader's nap if asleep is still @word. True: it was. */
bool vb_wakeup_end_nap(struct vb_wakeup *wakeup, uint32_t word);

#endif
