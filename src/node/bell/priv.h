/* SPDX-License-Identifier: BSD-2-Clause */
/* The declarations that the files of this folder share. */
#ifndef VB_NODE_BELL_PRIV_H
#define VB_NODE_BELL_PRIV_H

#include "node/bell/bell.h"
#include "wait/stay.h"

#include <pthread.h>
#include <stdatomic.h>

#define BELLS_MAX 16384u

/* The thread that rings what a program has stored. */
enum vb_bells_way {
	VB_BELLS_CHOOSE, /* the thread; on a crowded machine as the next */
	VB_BELLS_TRAP,   /* the thread that stores, where that is possible */
	VB_BELLS_SPIN    /* the doorbells' thread alone */
};

struct vb_bells {
	struct vb_engine *engine;
	uint8_t *pages;            /* BELLS_MAX of them, side by side, as the program has them */
	uint8_t *words;            /* the same memory, which is never protected */
	_Atomic uint32_t high;     /* of these so many have ever been open; only rises */
	struct vb_bell **at;       /* by page; NULL: free */
	uint32_t noted, looked_at; /* see vb_bells_note() */
	vb_time look_due;
	struct vb_bell *held; /* that hold something back; NULL: none */
	bool is_restless;     /* some bell may have something of which no doorbell tells */
	enum vb_bells_way way;
	vb_time crowded_until; /* the thread's own, as is... */
	uint32_t crowds;       /* ... how often that was set */
	pthread_t thread;
	_Atomic bool stop;
	_Atomic bool traps; /* threads ring by themselves when they store: trap.c */
	struct vb_stay stay;
	int kick_fd;  /* an eventfd: look again */
	int fault_fd; /* a userfaultfd; -1: naps instead */
};

/* A page that may be read at any time, by its number. */
static inline _Atomic uint64_t *vb_bell_word(const struct vb_bells *all, uint32_t page, uint16_t at)
{
	return (_Atomic uint64_t *)(void *)(all->words + (size_t)page * VB_BELL_PAGE + at);
}

#define VB_BELL_WORDS 3
extern const uint16_t vb_bell_words[VB_BELL_WORDS];

/* look.c: a look without the lock. A page without a doorbell has no words either. */
bool vb_bells_have_rung(const struct vb_bells *all);

/* Rings what was written to the page of @b. True: there was something. */
bool vb_bells_look_at(const struct vb_bells *all, struct vb_bell *b, vb_time now);
/* A number that changes when something has come that a program can see in its memory. */
uint64_t vb_bells_seen(const struct vb_bells *all);
/* A handler may call it. */
void vb_bells_kick(const struct vb_bells *all);

/* trap.c */
/* From now on a thread that stores rings by itself. False: that is not possible here. */
bool vb_bells_trap(struct vb_bells *all);
/* Before the pages go, or once they have stayed with the parent of a forked child. */
void vb_bells_trap_close(struct vb_bells *all);

/* park.c */
/* A descriptor that tells of stores to protected pages, or -1. */
int vb_bells_open_faults(uint8_t *pages, size_t size);
/* The first @cnt pages are protected, or are not, and whoever waits goes on. False: that failed. */
bool vb_bells_protect(const struct vb_bells *all, uint32_t cnt, bool on);

/* watch.c */
int vb_bells_start(struct vb_bells *all);

#endif
