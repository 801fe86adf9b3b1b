/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine that decides which thread of a process makes progress and where each of the others
 * waits: the program's threads, the progress thread, and packets that wait for company. It makes no
 * call and knows no clock: src/node/wait/ and src/node/engine/run.c tell it, under the engine's
 * lock, of what happened, and carry out what it answers. docs/waiting.md has the states and their
 * diagram; all states that are within reach are looked at by tests/property/wait/.
 *
 * To be woken for a packet that the program takes anyway helps nobody and costs the sender dearly.
 * So the progress thread parks, blind for packets, while the program polls steadily, and nowhere
 * else. A packet must never wait while all threads sleep: a parked thread looks again after 50 to
 * 500 us, and each way for a program to say that it stops polling has the thread on duty at once.
 *
 * Times are those of tuned.def, or vb_wait.slow times as much.
 */
#ifndef VB_WAIT_WAIT_H
#define VB_WAIT_WAIT_H

#include "base/time.h"

#include <stdbool.h>
#include <stdint.h>

/* The program's activity. */
enum vb_wait_program {
	VB_PROGRAM_AWAY,  /* it computes, or sleeps by itself */
	VB_PROGRAM_POLLS, /* it polls steadily */
	VB_PROGRAM_ARMED, /* it has armed a CQ, and may sleep */
	VB_PROGRAM_SLEEPS /* a thread of it waits in a call of ours: the sleeper */
};

/* The progress thread. */
enum vb_wait_thread {
	VB_THREAD_ON_DUTY,  /* waits for packets, deadlines and kicks */
	VB_THREAD_LOOKS_ON, /* looks for the next packet of a stream before it does so */
	VB_THREAD_PARKED,   /* naps, and is blind for packets meanwhile */
	VB_THREAD_STEPS     /* was woken, and takes steps of the engine */
};

/* A thread of the program that sleeps until its event is there, and receives meanwhile. */
enum vb_wait_sleeper {
	VB_SLEEPER_NONE,
	VB_SLEEPER_AWAKE,  /* has the lock, or waits for it */
	VB_SLEEPER_PARKED, /* waits for packets */
	VB_SLEEPER_WOKEN   /* waits there, and has been told that its event is there */
};

/* The sends that wait for company. */
enum vb_wait_held {
	VB_HELD_NOTHING,
	VB_HELD_REQUESTS, /* work requests that were posted, for the next ones */
	VB_HELD_ANSWER    /* an acknowledgement, for a reply of the program */
};

/* The next step of a thread that polled and found nothing. */
enum vb_wait_idle {
	VB_IDLE_RETURN, /* it returns at once... */
	VB_IDLE_YIELD,  /* ... after it has let others run... */
	VB_IDLE_NAP     /* ... or has slept until a packet comes, a moment at most */
};

/* The work in flight where a work request was posted. */
enum vb_wait_flight {
	VB_FLIGHT_NONE,   /* nothing is in flight there */
	VB_FLIGHT_SOME,   /* something is, and its completion brings the program back */
	VB_FLIGHT_UNKNOWN /* UC, UD: nothing tells */
};

/* The engine's work that no packet announces; times, or VB_NEVER. */
struct vb_wait_work {
	vb_time timer;     /* of the core: may be late by VB_WAIT_LEEWAY_NS */
	vb_time other;     /* all else; a time that has passed: there is something to do now */
	bool has_transmit; /* there is something to send... */
	bool is_full;      /* ... and the link does not take more; @other says when it will */
};

struct vb_wait {
	uint32_t slow;  /* times as much as tuned.def says, at least 1 */
	bool is_silent; /* packets come that no descriptor shows (link/link.h) */

	/* The program */
	vb_time progress_at;   /* when its last progress, or doorbell, ended */
	uint64_t progress_cnt; /* how often it made progress */
	uint64_t poller;       /* the thread that did so last */
	uint32_t polls;        /* in a row, with little between them */
	uint32_t idle_polls;   /* in a row, with nothing between them and nothing to find */
	uint32_t in_vain;      /* looks in a row that found nothing */
	uint32_t armed;        /* CQs with a channel that are armed */
	bool announced;        /* it was about to sleep, and has not come back */
	bool held_up; /* a receiver of this host has to read before a GSO batch can leave */
	vb_time
	    oversubscribed_until; /* the machine is oversubscribed until then; 0: not known to be */
	vb_dur oversubscribed_for; /* ... and how long that was held to last */
	enum vb_wait_sleeper sleeper;

	/* The progress thread */
	enum vb_wait_thread thread;
	bool kicked;     /* it was, and has not yet come */
	bool handover;   /* the program armed a CQ since it came last */
	vb_time wake_at; /* when it wakes by itself; parked: VB_NEVER, naps end by themselves */
	uint32_t outrun; /* packets in a row for which it was woken in vain */
	uint32_t look_on_in_vain; /* times in a row that no other packet of a stream came... */
	uint32_t look_on_skip;    /* ... and packets to take without waiting for the next */

	/* Sends that wait for company */
	enum vb_wait_held held;
	vb_time held_since;   /* when the answer was ready, or the first request posted */
	uint32_t request_cnt; /* requests that are held */
	vb_time doorbell_at;  /* the last doorbell, whether it sent or not */
	uint32_t trust;       /* times in a row that the program came back in time to send */
	bool begins_list;     /* the last request was the first of an idle connection */
	uint32_t
	    list_score;    /* times in a row that the next one of a list followed such a request */
	bool awaits_reply; /* an answer has left alone: a prompt reply would count */
	vb_time answered_at;  /* when */
	uint32_t reply_score; /* prompt replies in a row */
};

/* The thread shall come: true unless it was told already. */
static inline bool vb_wait_kick(struct vb_wait *w)
{
	bool was = w->kicked;

	w->kicked = true;
	return !was;
}

void vb_wait_init(struct vb_wait *w, uint32_t slow, bool is_silent);

/* program.c */

enum vb_wait_program vb_wait_program(const struct vb_wait *w, vb_time now);
/* The machine is oversubscribed: more programs poll than there are processors, and one that polls
 * may not have been able to for VB_WAIT_OVERSUBSCRIBED_POLLS_NS. */
bool vb_wait_is_oversubscribed(const struct vb_wait *w, vb_time now);

/* Thread @self is about to make progress. Returns how often to look at an empty socket meanwhile.
 */
uint32_t vb_wait_poll(struct vb_wait *w, uint64_t self, vb_time now);
/* It has, by @end, after @looks, and received @cnt packets. True: kick the thread, which is outrun.
 */
bool vb_wait_polled(struct vb_wait *w, uint32_t cnt, uint32_t looks, vb_time end);
/* The poll gave the program something, or nothing: returns what the thread does then. */
void vb_wait_found(struct vb_wait *w);
enum vb_wait_idle vb_wait_found_nothing(struct vb_wait *w);
/* After VB_IDLE_YIELD, which took from @before to @after. */
void vb_wait_yielded(struct vb_wait *w, vb_time before, vb_time after);
/* When VB_IDLE_NAP ends at the latest; and it is over. */
vb_time vb_wait_idle_until(const struct vb_wait *w, const struct vb_wait_work *work, vb_time now);
void vb_wait_idled(struct vb_wait *w, vb_time now);

/* One CQ more, or less, is armed and has a channel. */
void vb_wait_arm(struct vb_wait *w, bool is_armed);
/* The program has armed a CQ, or is about to sleep: from now on the thread is on duty. True: kick.
 */
bool vb_wait_announce(struct vb_wait *w);
/* A thread of the program is the sleeper from now on. False: another one is. */
bool vb_wait_sleep(struct vb_wait *w);
/* It parks, does so no more, is told of its event (true: write to it), and is no sleeper any more
 * (true: kick the thread). */
void vb_wait_park(struct vb_wait *w);
void vb_wait_unpark(struct vb_wait *w);
bool vb_wait_wake(struct vb_wait *w);
bool vb_wait_sleep_end(struct vb_wait *w);

/* thread.c */

/* Sets wake_at before the thread waits, as its state says; @latest: some other duty. */
void vb_wait_plan(struct vb_wait *w, const struct vb_wait_work *work, vb_time now, vb_time latest);
/* It woke up; @packet: for a packet. True: it takes steps of the engine. Else it waits again. */
bool vb_wait_woke(struct vb_wait *w, const struct vb_wait_work *work, bool packet, vb_time now);
/* It took steps, which began at @now, and received, or did not. */
void vb_wait_stepped(struct vb_wait *w, bool packet, bool received, vb_time now);
/* After the program's call: true when the thread would otherwise come too late. Sets kicked. */
bool vb_wait_kicks(struct vb_wait *w, const struct vb_wait_work *work, vb_time now);
/* It has looked on for the next packet of a stream, and found it, or did not. */
bool vb_wait_looks_on(struct vb_wait *w);
void vb_wait_looked_on(struct vb_wait *w, bool found);

/* A parked thread's naps. It looks at the program's progress without the lock between them. */
struct vb_nap {
	vb_dur length, most;
	uint64_t seen; /* vb_wait_glance() when the nap began */
	uint32_t busy; /* looks in a row that found the lock taken and no progress */
	bool once; /* on an oversubscribed machine: one nap, to the time when a poll is overdue */
};

/* Input of a look without the lock: the count of the program's progress, and whether it polls. */
uint64_t vb_wait_glance(const struct vb_wait *w);
void vb_nap_begin(struct vb_nap *n, const struct vb_wait *w, vb_time now);
/* The nap is over; the program's progress is @glance now, and somebody holds the lock, or does not.
 * True: another nap. */
bool vb_nap_goes_on(struct vb_nap *n, uint64_t glance, bool is_held);

/* hold.c */

/* A work request was posted. True: it leaves now; false: it is held. */
bool vb_wait_doorbell(struct vb_wait *w, enum vb_wait_flight flight, uint64_t self, vb_time now);
/* ... and the call ends. */
void vb_wait_posted(struct vb_wait *w, vb_time now);
/* The program makes progress, and what is held leaves: was it in time? */
void vb_wait_judge(struct vb_wait *w, vb_time now);
/* After receiving, or not, there is something to send. True: it is held for a reply. */
bool vb_wait_holds(struct vb_wait *w, bool received, vb_time now);
/* All has left that was held. */
void vb_wait_sent(struct vb_wait *w);
/* An answer has left without a reply, by @now; @was_held for one. */
void vb_wait_unreplied(struct vb_wait *w, bool was_held, vb_time now);

/* When @work is to be begun, timers late by @leeway; sends that are held count. */
vb_time vb_wait_due(const struct vb_wait *w, const struct vb_wait_work *work, vb_time now,
		    vb_dur leeway);

#endif
