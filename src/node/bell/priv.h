/* SPDX-License-Identifier: BSD-2-Clause */
/* The declarations that the files of this folder share. */
#ifndef VB_NODE_BELL_PRIV_H
#define VB_NODE_BELL_PRIV_H

#include "node/bell/bell.h"

#include <pthread.h>
#include <stdatomic.h>

#define BELLS_MAX 16384u

struct vb_bells {
	struct vb_engine *engine;
	uint8_t *pages;            /* BELLS_MAX of them, side by side */
	_Atomic uint32_t high;     /* of these so many have ever been open; only rises */
	struct vb_bell **at;       /* by page; NULL: free */
	uint32_t noted, looked_at; /* see vb_bells_note() */
	vb_time look_due;
	struct vb_bell *held;  /* that hold something back; NULL: none */
	bool is_restless;      /* some bell may have something of which no doorbell tells */
	vb_time crowded_until; /* the thread's own */
	pthread_t thread;
	_Atomic bool stop;
	int kick_fd;  /* an eventfd: look again */
	int fault_fd; /* a userfaultfd; -1: naps instead */
};

/* A page that may be read at any time, by its number. */
static inline _Atomic uint64_t *vb_bell_word(const struct vb_bells *all, uint32_t page, uint16_t at)
{
	return (_Atomic uint64_t *)(void *)(all->pages + (size_t)page * VB_BELL_PAGE + at);
}

#define VB_BELL_WORDS 3
extern const uint16_t vb_bell_words[VB_BELL_WORDS];

/* look.c: a look without the lock. A page without a doorbell has no words either. */
bool vb_bells_have_rung(const struct vb_bells *all);

/* park.c */
/* A descriptor that tells of stores to protected pages, or -1. */
int vb_bells_open_faults(uint8_t *pages, size_t size);
/* The first @cnt pages are protected, or are not, and whoever waits goes on. False: that failed. */
bool vb_bells_protect(const struct vb_bells *all, uint32_t cnt, bool on);

/* watch.c */
int vb_bells_start(struct vb_bells *all);

#endif
