/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The steps of threads that wait at which the engine's lock is free: anything may happen there. A
 * test stops a thread at each of them and lets packets, requests and timers come
 * (test_wait_stops.c); it compiles this folder with VB_WAIT_STOPS. Elsewhere there is nothing of
 * it.
 */
#ifndef VB_NODE_WAIT_STOP_H
#define VB_NODE_WAIT_STOP_H

enum vb_wait_step {
	/* The progress thread is about to... */
	VB_STEP_THREAD_PARKS,    /* ... nap, parked */
	VB_STEP_THREAD_LOOKS_ON, /* ... look for the next packet of a stream */
	VB_STEP_THREAD_WAITS,    /* ... wait on duty */
	VB_STEP_THREAD_NAPS,     /* ... wait for its wakeup endpoint (shared memory) */
	VB_STEP_THREAD_WOKE,     /* ... take the lock, having waited */
	/* A sleeper is about to... */
	VB_STEP_SLEEPER_PARKS, /* ... wait for packets and its event */
	VB_STEP_SLEEPER_WOKE,  /* ... take the lock, having waited */
	VB_STEP_SLEEPER_GONE,  /* ... return to the program */
	VB_STEPS
};

#ifdef VB_WAIT_STOPS
void vb_wait_stop(enum vb_wait_step step);
#else
#define vb_wait_stop(step) ((void)0)
#endif

#endif
