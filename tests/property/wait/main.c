/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks at every state of src/wait that is within reach, and at what follows from each when the
 * program does nothing any more: no packet, no work request and no timer may wait while everyone
 * sleeps.
 *
 *   wait_states [STATES]     at most so many states of each case; without it there must be no more
 *
 * Breadth first, from a process that has just begun, by all actions of process.h. Two states are
 * one here if they differ in nothing but ages that lie between the same two constants. Prints the
 * actions that led to a state that is wrong.
 */
#include "process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How late a packet is taken at most: two naps, of which the first began just before the last poll.
 */
#define LATE_NS (2 * (vb_dur)VB_WAIT_NAP_MAX_NS)
#define LATE_ARMED_NS (2 * (vb_dur)VB_WAIT_NAP_MIN_NS)
#define LATE_OVERSUBSCRIBED_NS ((vb_dur)VB_WAIT_OVERSUBSCRIBED_POLLS_NS + LATE_NS)
#define TABLE (1u << 23)

struct node {
	struct process process;
	uint32_t from;
	uint8_t action;
};

static struct node *node;
static uint32_t node_cnt, node_max = 2500000;
static uint64_t *seen;

/* The constants between which ages lie; of what is to come only how soon it is. */
static const vb_dur ages[] = {VB_WAIT_POLLS_GAP_NS, VB_WAIT_NAP_MAX_NS, VB_WAIT_PASSIVE_NS,
			      VB_WAIT_OVERSUBSCRIBED_POLLS_NS, VB_WAIT_ACTIVE_NS};
static const vb_dur waits[] = {VB_WAIT_NAP_MIN_NS, VB_WAIT_NAP_MAX_NS};

static uint8_t count_below(const vb_dur *bound, size_t cnt, vb_dur d)
{
	uint8_t i = 0;

	while (i < cnt && d >= bound[i])
		i++;
	return i;
}

static uint8_t age_of(vb_time t, vb_time now)
{
	return count_below(ages, sizeof ages / sizeof *ages, vb_time_since(t, now));
}

static uint8_t wait_of(vb_time t, vb_time now)
{
	return t <= now ? 0
			: (uint8_t)(1 + count_below(waits, sizeof waits / sizeof *waits, t - now));
}

static uint64_t key_of(const struct process *p)
{
	const struct vb_wait *w = &p->wait;
	const uint8_t k[] = {
	    age_of(w->progress_at, p->now),
	    vb_wait_is_oversubscribed(w, p->now),
	    p->now < w->oversubscribed_until,
	    wait_of(w->wake_at, p->now),
	    wait_of(p->until, p->now),
	    wait_of(p->timer, p->now),
	    w->sleeper ? wait_of(p->sleeper_until, p->now) : 0,
	    w->held && p->now - w->held_since > VB_WAIT_HELD_MAX_NS,
	    w->awaits_reply && p->now - w->answered_at > VB_WAIT_REPLY_PROMPT_NS,
	    w->polls >= VB_WAIT_POLLS_MIN,
	    w->idle_polls >= VB_WAIT_IDLE_POLLS_MIN,
	    (uint8_t)w->armed,
	    (uint8_t)(w->announced | w->held_up << 1 | w->kicked << 2 | w->handover << 3 |
		      w->awaits_reply << 4 | p->packet << 5 | p->kick << 6 | p->wake << 7),
	    (uint8_t)(p->sleeper_hears | p->looks_on << 1 | p->has_transmit << 2 |
		      p->nap.once << 3 | w->begins_list << 4),
	    (uint8_t)(w->sleeper | w->thread << 2 | w->held << 4 | p->place << 6),
	    (uint8_t)(w->outrun == VB_WAIT_OUTRUN_MAX ? 2 : w->outrun > 0),
	    w->reply_score >= VB_WAIT_REPLY_SCORE_MIN,
	    w->list_score >= VB_WAIT_LIST_SCORE_MIN,
	    (uint8_t)(w->trust >= VB_WAIT_TRUST_MIN),
	    (uint8_t)w->request_cnt,
	    (uint8_t)(w->look_on_skip > 0),
	    (uint8_t)(w->thread == VB_THREAD_PARKED && p->nap.seen == vb_wait_glance(w)),
	    w->thread == VB_THREAD_PARKED && p->nap.length > VB_WAIT_NAP_MIN_NS,
	};
	uint64_t h = 1469598103934665603u;

	for (size_t i = 0; i < sizeof k; i++)
		h = (h ^ k[i]) * 1099511628211u, h ^= h >> 29;
	return h ? h : 1;
}

static bool is_new(uint64_t key)
{
	uint32_t at = (uint32_t)(key & (TABLE - 1));

	while (seen[at] && seen[at] != key)
		at = (at + 1) & (TABLE - 1);
	if (seen[at])
		return false;
	seen[at] = key;
	return true;
}

static void print_way(uint32_t at)
{
	if (at) {
		print_way(node[at].from);
		fprintf(stderr, "  %s\n", action_names[node[at].action]);
	}
}

static void fail(uint32_t at, const char *what)
{
	const struct vb_wait *w = &node[at].process.wait;

	fprintf(stderr, "%s, thread %d, sleeper %d, held %d, after:\n", what, w->thread, w->sleeper,
		w->held);
	print_way(at);
	exit(1);
}

/* How late what waits in @p may be. */
static vb_dur late_of(const struct process *p)
{
	bool once = p->wait.thread == VB_THREAD_PARKED && p->nap.once;

	if (once || vb_wait_is_oversubscribed(&p->wait, p->now))
		return LATE_OVERSUBSCRIBED_NS;
	if (p->wait.armed)
		return LATE_ARMED_NS;
	return LATE_NS;
}

/* The service that follows when the program, its sleeper apart, does nothing any more. */
static void check_service(uint32_t at)
{
	struct process p = node[at].process;
	vb_dur late = late_of(&p);
	vb_time packet_until = p.now + late;
	vb_time send_until = p.now + late + VB_WAIT_REPLY_HOLD_NS + VB_WAIT_LEEWAY_NS;
	vb_time timer = p.timer, timer_until = VB_NEVER;
	bool packet = p.packet, sends = p.has_transmit;

	if (timer != VB_NEVER)
		timer_until =
		    vb_time_max(timer, p.now) + late + VB_WAIT_LEEWAY_NS + VB_WAIT_REPLY_HOLD_NS;
	for (int turns = 0; packet || sends || timer != VB_NEVER; turns++) {
		if (turns > 10000)
			fail(at, "threads run without end");
		if (process_sleeper_runs(&p))
			(void)process_act(&p, ACT_SLEEPER_RUNS);
		else if (process_thread_runs(&p))
			(void)process_act(&p, ACT_THREAD_RUNS);
		else if (process_next(&p) == VB_NEVER)
			fail(at, packet  ? "a packet waits while everyone sleeps"
				 : sends ? "a request waits while everyone sleeps"
					 : "a timer is not served");
		else
			p.now = process_next(&p);
		packet &= p.packet;
		sends &= p.has_transmit;
		if (p.timer != timer)
			timer = VB_NEVER;
		if (packet && p.now > packet_until)
			fail(at, "a packet waits too long");
		if (sends && p.now > send_until)
			fail(at, "what there is to send waits too long");
		if (timer != VB_NEVER && p.now > timer_until)
			fail(at, "a timer is late");
	}
}

/* The rules that hold in each state. */
static void check_state(uint32_t at)
{
	const struct process *p = &node[at].process;
	const struct vb_wait *w = &p->wait;

	if (w->thread == VB_THREAD_STEPS)
		fail(at, "the thread waits and steps");
	if ((w->held == VB_HELD_REQUESTS) != (w->request_cnt != 0))
		fail(at, "requests are held, and are not");
	if (w->thread == VB_THREAD_PARKED && p->until - p->now > LATE_OVERSUBSCRIBED_NS &&
	    p->until > p->now)
		fail(at, "a nap is too long");
}

static void visit_next(uint32_t at, uint8_t action)
{
	struct process p = node[at].process;

	if (!process_act(&p, (enum action)action) || !is_new(key_of(&p)))
		return;
	node[node_cnt] = (struct node){p, at, action};
	check_state(node_cnt);
	check_service(node_cnt);
	node_cnt++;
}

/* Actions that a case is without, so that each has so few states that all can be looked at. */
#define WITHOUT(action) (1u << (action))
static const struct {
	const char *name;
	uint32_t without;
} cases[] = {
    {"nothing is posted", WITHOUT(ACT_POST_IDLE) | WITHOUT(ACT_POST_BUSY) | WITHOUT(ACT_HELD_UP)},
    {"the machine is not oversubscribed",
     WITHOUT(ACT_YIELD_LONG) | WITHOUT(ACT_HELD_UP) | WITHOUT(ACT_POST_IDLE)},
    {"nobody arms or sleeps", WITHOUT(ACT_ARM) | WITHOUT(ACT_EVENT) | WITHOUT(ACT_SLEEP)},
    {"all of it", 0},
};

/* Returns whether there are no more. */
static bool explore(const char *name, uint32_t without)
{
	uint32_t at;

	memset(seen, 0, TABLE * sizeof *seen);
	process_begin(&node[0].process);
	(void)is_new(key_of(&node[0].process));
	node_cnt = 1;
	for (at = 0; at < node_cnt && node_cnt < node_max; at++)
		for (unsigned a = 0; a < ACTIONS; a++)
			if (!(without & WITHOUT(a)))
				visit_next(at, a);
	printf("%s: %u states, %s\n", name, node_cnt,
	       at == node_cnt ? "all of them" : "and there are more");
	return at == node_cnt;
}

int main(int argc, char **argv)
{
	bool all = true;

	if (argc > 1)
		node_max = (uint32_t)strtoul(argv[1], NULL, 10);
	node = calloc(node_max + ACTIONS, sizeof *node);
	seen = calloc(TABLE, sizeof *seen);
	if (!node || !seen || node_max > TABLE / 2) {
		fprintf(stderr, "wait_states: no memory for so many states\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		all &= explore(cases[i].name, cases[i].without);
	free(node);
	free(seen);
	return all || argc > 1 ? 0 : 1;
}
