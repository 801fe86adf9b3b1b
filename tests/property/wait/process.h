/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process whose threads wait as src/wait says: a model of what src/node/wait, the program and the
 * kernel do between two takings of the engine's lock. Each action is what happens under the lock
 * once, or outside of it; any of them may come at any time. Relies on src/wait alone.
 */
#ifndef PROCESS_H
#define PROCESS_H

#include "wait/tuned.h"
#include "wait/wait.h"

/* Where the progress thread is while it has not the lock. */
enum thread_place { THREAD_WAITS, THREAD_WOKEN };

struct process {
	struct vb_wait wait;
	vb_time now;
	/* The kernel */
	bool packet;        /* the socket has one */
	bool kick;          /* the eventfd was written */
	bool wake;          /* ... that of the sleeper */
	bool sleeper_hears; /* the sleeper was woken for a packet */
	/* The threads, and the engine's work */
	enum thread_place place;
	bool saw_packet;       /* the thread was woken for one */
	vb_time until;         /* when its wait ends by itself */
	vb_time sleeper_until; /* ... and the sleeper's */
	bool looks_on;
	struct vb_nap nap;
	vb_time timer; /* of the core */
	bool has_transmit;
};

enum action {
	ACT_PACKET,        /* one arrives */
	ACT_POLL,          /* the program polls once */
	ACT_POLL_STEADILY, /* ... and so often, 1 us apart, that it polls steadily */
	ACT_POLL_TAKES,    /* ... and a packet arrives before each poll */
	ACT_POST_IDLE,     /* it posts a work request on a QP with nothing in flight */
	ACT_POST_BUSY,     /* ... with something in flight */
	ACT_ARM,           /* it arms a CQ */
	ACT_EVENT,         /* the armed CQ's event fires */
	ACT_SLEEP,         /* it sleeps in a call of ours */
	ACT_SLEEPER_RUNS,  /* the sleeper takes what woke it, and sleeps on */
	ACT_SLEEPER_ENDS,  /* ... and its event was there */
	ACT_WAKE,          /* another thread found the sleeper's event */
	ACT_YIELD_LONG,    /* a poll in vain yields, and others run for long */
	ACT_HELD_UP,       /* a receiver of this host is full */
	ACT_THREAD_RUNS,   /* the progress thread takes the lock and does what there is */
	ACT_AGE_US,        /* time passes: 1 us... */
	ACT_AGE_30US,      /* ... 30 us */
	ACT_AGE_600US,     /* ... 600 us */
	ACT_AGE_5MS,       /* ... 5 ms */
	ACT_AGE_150MS,     /* ... 150 ms */
	ACTIONS
};
extern const char *const action_names[ACTIONS];

void process_begin(struct process *p);
/* False: that cannot happen now. */
bool process_act(struct process *p, enum action what);
/* The progress thread, or the sleeper, would run now. */
bool process_thread_runs(const struct process *p);
bool process_sleeper_runs(const struct process *p);
/* When one of their waits ends by itself. */
vb_time process_next(const struct process *p);
void process_age(struct process *p, vb_dur d);

#endif
