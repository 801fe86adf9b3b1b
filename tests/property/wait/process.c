/* SPDX-License-Identifier: BSD-2-Clause */
/* The actions of process.h: each follows the driver of that name in src/node. */
#include "process.h"

#include <assert.h>
#include <string.h>

/* A work request's timer, as a retransmission timer may be. */
#define TIMER_NS (4 * VB_MSEC)
#define THREAD 7

const char *const action_names[ACTIONS] = {
    "packet",      "poll",  "poll steadily", "poll takes",   "post idle", "post busy",  "arm",
    "event",       "sleep", "sleeper runs",  "sleeper ends", "wake",      "yield long", "held up",
    "thread runs", "1 us",  "30 us",         "600 us",       "5 ms",      "150 ms"};

static struct vb_wait_work work_of(const struct process *p)
{
	return (struct vb_wait_work){
	    .timer = p->timer, .other = VB_NEVER, .has_transmit = p->has_transmit};
}

static void kick_if(struct process *p, bool kick)
{
	p->kick |= kick;
}

/* Sends what there is; a request has a timer then. */
static void transmit(struct process *p)
{
	vb_wait_sent(&p->wait);
	if (p->has_transmit)
		p->timer = p->now + TIMER_NS;
	p->has_transmit = false;
}

/* vb_engine_step(). Returns whether it received. */
static bool step_engine(struct process *p)
{
	bool received = p->packet;

	p->packet = false;
	if (p->timer <= p->now && p->wait.held != VB_HELD_ANSWER)
		p->timer = VB_NEVER;
	if (received) /* an acknowledgement is owed */
		p->has_transmit = true;
	if (!p->has_transmit) {
		vb_wait_sent(&p->wait);
	} else if (!vb_wait_holds(&p->wait, received, p->now)) {
		bool was_held = p->wait.held == VB_HELD_ANSWER;

		transmit(p);
		if (received || was_held)
			vb_wait_unreplied(&p->wait, was_held, p->now);
	}
	return received;
}

/* vb_progress_thread_notice() */
static void notice(struct process *p)
{
	struct vb_wait_work work = work_of(p);

	kick_if(p, vb_wait_kicks(&p->wait, &work, p->now));
}

/* vb_engine_progress() */
static void progress(struct process *p)
{
	uint32_t looks = vb_wait_poll(&p->wait, 1, p->now);
	bool received = step_engine(p);

	kick_if(p, vb_wait_polled(&p->wait, received, looks, p->now));
	notice(p);
	if (received)
		vb_wait_found(&p->wait);
}

/* wait_once() up to where the lock is given up */
static void thread_waits(struct process *p)
{
	struct vb_wait_work work = work_of(p);
	bool is_parked = p->wait.thread == VB_THREAD_PARKED;

	vb_wait_plan(&p->wait, &work, p->now, VB_NEVER);
	vb_nap_begin(&p->nap, &p->wait, p->now);
	p->looks_on = vb_wait_looks_on(&p->wait);
	p->until = is_parked ? p->now + p->nap.length : p->wait.wake_at;
	if (p->looks_on)
		p->until = vb_time_min(p->until, p->now + VB_WAIT_LOOK_ON_NS);
	p->place = THREAD_WAITS;
	p->saw_packet = false;
}

void process_begin(struct process *p)
{
	memset(p, 0, sizeof *p);
	p->now = 1000 * VB_SEC;
	p->timer = VB_NEVER;
	vb_wait_init(&p->wait, 1, false);
	thread_waits(p);
}

/* A packet that nobody was told of: an epoll instance is level-triggered, and shows it to whoever
 * waits there next. */
bool process_thread_runs(const struct process *p)
{
	bool hears = p->wait.thread != VB_THREAD_PARKED && p->packet && !p->sleeper_hears;

	return p->place == THREAD_WOKEN || p->kick || hears || p->until <= p->now;
}

bool process_sleeper_runs(const struct process *p)
{
	return (p->wait.sleeper == VB_SLEEPER_PARKED || p->wait.sleeper == VB_SLEEPER_WOKEN) &&
	       (p->wake || p->sleeper_hears || p->sleeper_until <= p->now);
}

vb_time process_next(const struct process *p)
{
	bool sleeps = p->wait.sleeper != VB_SLEEPER_NONE;

	return sleeps ? vb_time_min(p->until, p->sleeper_until) : p->until;
}

/* vb_sleeper_park() */
static void sleeper_waits(struct process *p)
{
	struct vb_wait_work work = work_of(p);

	p->sleeper_until = vb_wait_due(&p->wait, &work, p->now, 0);
	vb_wait_park(&p->wait);
	p->sleeper_hears = p->packet; /* what it is told of by being there */
	p->wake = false;
}

/* The end of the wait, work_once(), and the next wait. */
static bool run_thread(struct process *p)
{
	struct vb_wait_work work;
	bool packet = p->wait.thread != VB_THREAD_PARKED && p->packet && !p->sleeper_hears;

	if (!process_thread_runs(p))
		return false;
	if (p->looks_on)
		vb_wait_looked_on(&p->wait, packet || p->kick);
	if (p->wait.thread == VB_THREAD_PARKED && !p->kick &&
	    vb_nap_goes_on(&p->nap, vb_wait_glance(&p->wait), false)) {
		p->until = p->now + p->nap.length;
		return true;
	}
	p->kick = false;
	work = work_of(p);
	if (vb_wait_woke(&p->wait, &work, packet, p->now)) {
		bool received = step_engine(p);

		vb_wait_stepped(&p->wait, packet, received, p->now);
	}
	thread_waits(p);
	return true;
}

static bool post(struct process *p, enum vb_wait_flight flight)
{
	if (p->wait.request_cnt >= 2 || p->wait.sleeper != VB_SLEEPER_NONE)
		return false;
	p->has_transmit = true;
	if (vb_wait_doorbell(&p->wait, flight, 1, p->now))
		transmit(p);
	vb_wait_posted(&p->wait, p->now);
	notice(p);
	return true;
}

static bool sleep_begins(struct process *p)
{
	if (!vb_wait_sleep(&p->wait))
		return false;
	if (p->wait.held != VB_HELD_NOTHING)
		transmit(p);
	sleeper_waits(p);
	return true;
}

static bool run_sleeper(struct process *p, bool ends)
{
	if (!process_sleeper_runs(p))
		return false;
	p->sleeper_hears = p->wake = false;
	vb_wait_unpark(&p->wait);
	(void)step_engine(p);
	vb_wait_idled(&p->wait, p->now);
	if (!ends) {
		sleeper_waits(p);
		return true;
	}
	kick_if(p, vb_wait_sleep_end(&p->wait));
	notice(p);
	return true;
}

static bool poll_often(struct process *p, bool takes)
{
	if (p->wait.sleeper != VB_SLEEPER_NONE)
		return false;
	for (int i = 0; i < VB_WAIT_POLLS_MIN + 1; i++) {
		process_age(p, VB_USEC);
		p->packet |= takes;
		progress(p);
	}
	return true;
}

static bool yield_for_long(struct process *p)
{
	if (p->wait.sleeper != VB_SLEEPER_NONE)
		return false;
	vb_wait_yielded(&p->wait, p->now - VB_MSEC, p->now);
	return true;
}

void process_age(struct process *p, vb_dur d)
{
	p->now += d;
}

static bool age(struct process *p, vb_dur d)
{
	process_age(p, d);
	return true;
}

/* At an idle moment: whoever is told of a packet first. */
static bool packet_arrives(struct process *p)
{
	if (p->packet)
		return false;
	p->packet = true;
	p->sleeper_hears =
	    p->wait.sleeper == VB_SLEEPER_PARKED || p->wait.sleeper == VB_SLEEPER_WOKEN;
	return true;
}

static bool program_calls(struct process *p, enum action what)
{
	switch (what) {
	case ACT_POLL:
		progress(p);
		return true;
	case ACT_ARM:
		if (p->wait.armed)
			return false;
		vb_wait_arm(&p->wait, true);
		if (p->wait.held == VB_HELD_REQUESTS)
			transmit(p);
		kick_if(p, vb_wait_announce(&p->wait));
		return true;
	case ACT_EVENT:
		if (!p->wait.armed)
			return false;
		vb_wait_arm(&p->wait, false);
		return true;
	case ACT_HELD_UP:
		p->wait.held_up = true;
		return true;
	default:
		assert(what == ACT_WAKE);
		if (p->wait.sleeper == VB_SLEEPER_NONE || !vb_wait_wake(&p->wait))
			return false;
		p->wake = true;
		return true;
	}
}

bool process_act(struct process *p, enum action what)
{
	switch (what) {
	case ACT_PACKET:
		return packet_arrives(p);
	case ACT_POLL_STEADILY:
		return poll_often(p, false);
	case ACT_POLL_TAKES:
		return poll_often(p, true);
	case ACT_POST_IDLE:
		return post(p, VB_FLIGHT_NONE);
	case ACT_POST_BUSY:
		return post(p, VB_FLIGHT_SOME);
	case ACT_SLEEP:
		return sleep_begins(p);
	case ACT_SLEEPER_RUNS:
		return run_sleeper(p, false);
	case ACT_SLEEPER_ENDS:
		return run_sleeper(p, true);
	case ACT_YIELD_LONG:
		return yield_for_long(p);
	case ACT_THREAD_RUNS:
		return run_thread(p);
	case ACT_AGE_US:
		return age(p, VB_USEC);
	case ACT_AGE_30US:
		return age(p, 30 * VB_USEC);
	case ACT_AGE_600US:
		return age(p, 600 * VB_USEC);
	case ACT_AGE_5MS:
		return age(p, 5 * VB_MSEC);
	case ACT_AGE_150MS:
		return age(p, 150 * VB_MSEC);
	default:
		return program_calls(p, what);
	}
}
