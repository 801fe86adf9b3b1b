/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How processes of one host get rings to each other, and wake each other.
 *
 * Each process that takes packets by shared memory has a door: a datagram socket in the abstract
 * namespace, named by a random token, which it shows in memory that all processes of the host
 * share. Who wants to send makes a ring and hands it in at the door. A slot's next owner has
 * another token, so nobody takes it for the last one. No third process is needed for any of it.
 * unix(7)
 *
 * A reader that is about to wait for its door says so in `asleep`, and then looks at its rings once
 * more; a writer writes to its ring, and then looks at `asleep`. Both in one total order, so that
 * at least one of them sees the other. The writer knocks first and then takes the word back, so
 * that one that dies in between has woken, too.
 */
#ifndef VB_LINK_SHM_DOOR_H
#define VB_LINK_SHM_DOOR_H

#include <stdbool.h>
#include <stdint.h>

/* In memory that every process of the host may write: a hint, which is checked. */
struct vb_shm_door {
	uint64_t token;  /* 0: this slot's owner takes no packets by shared memory */
	uint32_t asleep; /* not 0: knock; another number each time */
	uint32_t knocks; /* rings handed in, ever */
	uint8_t rsv[48];
};
_Static_assert(sizeof(struct vb_shm_door) == 64, "shared between processes");

enum vb_knock_kind { VB_KNOCK_WAKE = 1, VB_KNOCK_RING };

struct vb_knock {
	uint32_t magic;
	uint32_t kind;  /* enum vb_knock_kind */
	uint32_t slot;  /* of who knocks... */
	uint32_t rsv;   /* 0 */
	uint64_t token; /* ... and its own door's */
};

/* Makes a door with a new token in *token. Returns the descriptor, or a negative errno. */
int vb_door_open(uint64_t *token);

/*
 * Knocks at the door @token from the door @fd; with a RING goes the descriptor of its memory.
 * Returns 0; -EAGAIN: there are many knocks that have not been answered; -ECONNREFUSED: nobody
 * lives there.
 */
int vb_door_knock(int fd, uint64_t token, enum vb_knock_kind kind, uint8_t slot, uint64_t own_token,
		  int mem_fd);

/*
 * The next knock at the door @fd, from a process of the same user; others are passed over. *mem_fd
 * is a descriptor that came along, the caller's to close, or -1. False: there is no other.
 */
bool vb_door_answer(int fd, struct vb_knock *k, int *mem_fd);

/* The reader at @door is about to sleep, or no longer. @turn is kept by the reader. */
static inline void vb_door_doze(struct vb_shm_door *door, uint32_t *turn, bool on)
{
	if (on && ++*turn == 0)
		*turn = 1;
	__atomic_store_n(&door->asleep, on ? *turn : 0, __ATOMIC_SEQ_CST);
}

#endif
