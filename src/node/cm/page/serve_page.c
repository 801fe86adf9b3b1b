/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of the connection manager that come by shared memory, see page.h. The broker looks at
 * the pages of those that have just called, as long as it does not sleep between calls anyway
 * (VB_CM_SPIN_NS); all others tell it.
 */
#include "link/memory.h"
#include "node/broker/state.h"
#include "node/cm/cm.h"
#include "node/host/clock.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

/* Looks at the pages for one at the sockets, which costs so much more. */
#define LOOKS 64
/* Calls in a row before it. */
#define CALLS_MAX 16
/* Posted commands before others have their turn: those of one program that posts without an end. */
#define POSTS_MAX (4 * VB_CM_POSTS)

int vb_broker_page_open(const struct vb_broker *b, struct vb_conn *c)
{
	void *p;
	int fd = vb_memory_new("verbena-cm-calls", VB_CM_PAGE_BYTES, &p);

	if (fd < 0)
		return fd;
	c->page = p;
	c->page->broker = vb_broker_cm_number(b);
	c->served = c->carried_out = 0;
	return fd;
}

/* While it looks at all, at this one, too. */
static void begin_looking(struct vb_broker *b, struct vb_conn *c, vb_time now)
{
	uint32_t index = (uint32_t)(c - b->conn);

	if (now >= b->spin_until || b->looked_cnt == VB_BROKER_LOOKED_MAX)
		return;
	for (uint32_t i = 0; i < b->looked_cnt; i++)
		if (b->looked[i] == index)
			return;
	b->looked[b->looked_cnt++] = index;
	vb_cm_page_look(c->page, true);
}

/* Carries out what was posted, and sends and tells all of it together. False: the connection is to
 * be ended. */
static bool posts_serve(struct vb_broker *b, struct vb_conn *c, vb_time now)
{
	static struct vb_cm_call call;
	uint32_t cnt = 0, left;

	while ((left = vb_cm_page_posts(c->page, c->carried_out)) && left <= VB_CM_POSTS &&
	       cnt < POSTS_MAX) {
		size_t n = vb_cm_page_take_post(c->page, c->carried_out, &call);

		if (n)
			vb_broker_cm_posted(b, c, &call, n, now);
		vb_cm_page_posts_done(c->page, ++c->carried_out);
		cnt++;
	}
	if (cnt) {
		vb_broker_cm_pump(b, now);
		begin_looking(b, c, now);
	}
	return left <= VB_CM_POSTS;
}

void vb_broker_page_posts(struct vb_broker *b, vb_time now)
{
	for (uint32_t i = 0; i < b->conn_end; i++)
		if (b->conn[i].page)
			(void)posts_serve(b, &b->conn[i], now);
}

static void stop_looking(struct vb_broker *b, uint32_t at)
{
	vb_cm_page_look(b->conn[b->looked[at]].page, false);
	b->looked[at] = b->looked[--b->looked_cnt];
}

void vb_broker_page_close(struct vb_broker *b, struct vb_conn *c)
{
	if (!c->page)
		return;
	/* A program that is killed has done what it has posted. */
	if (b->cm)
		(void)posts_serve(b, c, vb_clock_now());
	for (uint32_t i = 0; i < b->looked_cnt; i++)
		if (b->looked[i] == (uint32_t)(c - b->conn))
			stop_looking(b, i);
	vb_cm_page_end(c->page);
	vb_memory_unmap(c->page, VB_CM_PAGE_BYTES);
	c->page = NULL;
}

/* False: nobody can be told of the answer any more. */
static bool page_serve(struct vb_broker *b, struct vb_conn *c, vb_time now)
{
	static struct vb_cm_call call;
	static struct vb_cm_answer answer;
	struct vb_fds none = {.cnt = 0};
	size_t n = vb_cm_page_take(c->page, &c->served, &call), size;
	const uint8_t kick = 0;

	if (vb_broker_cm_is_shared(b, call.channel))
		vb_broker_page_posts(b, now);
	else if (!posts_serve(b, c, now))
		return false;
	size = vb_broker_cm_serve(b, c, &call, (ssize_t)n, &none, &answer, now);
	begin_looking(b, c, now);
	return !vb_cm_page_give(c->page, c->served, &answer, size) ||
	       send(c->sock, &kick, VB_CM_KICK_LEN, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 ||
	       errno == EAGAIN;
}

/* Whether there is something to do. */
static bool page_is_used(const struct vb_conn *c)
{
	return vb_cm_page_is_called(c->page, c->served) ||
	       vb_cm_page_posts(c->page, c->carried_out);
}

/* Does what there is. False: the connection is to be ended. */
static bool page_step(struct vb_broker *b, struct vb_conn *c, vb_time now)
{
	if (vb_cm_page_is_called(c->page, c->served))
		return page_serve(b, c, now);
	return posts_serve(b, c, now);
}

/* One look at each. Returns how many had something to do. */
static uint32_t look_once(struct vb_broker *b)
{
	uint32_t cnt = 0;

	for (uint32_t i = b->looked_cnt; i-- > 0;) {
		uint32_t index = b->looked[i];
		struct vb_conn *c = &b->conn[index];

		if (!page_is_used(c))
			continue;
		cnt++;
		if (!page_step(b, c, vb_clock_now()))
			vb_conn_end(b, index);
	}
	return cnt;
}

void vb_broker_page_look(struct vb_broker *b)
{
	uint32_t cnt = 0;

	for (int i = 0; i < LOOKS && cnt < CALLS_MAX; i++)
		cnt += look_once(b);
}

bool vb_broker_page_rest(struct vb_broker *b, vb_time now)
{
	bool is_called = false;

	while (b->looked_cnt) {
		uint32_t index = b->looked[0];
		struct vb_conn *c = &b->conn[index];

		stop_looking(b, 0);
		if (!page_is_used(c))
			continue;
		is_called = true;
		if (!page_step(b, c, now))
			vb_conn_end(b, index);
		if (now < b->spin_until)
			break;
	}
	return is_called;
}

bool vb_broker_page_kick(struct vb_broker *b, struct vb_conn *c, vb_time now)
{
	bool is_good;

	if (!c->page)
		return false;
	is_good = page_step(b, c, now);
	/* One that posts faster than it is served is looked at in the next round, too. */
	if (is_good && vb_cm_page_posts(c->page, c->carried_out)) {
		b->spin_until = vb_time_after(now, VB_MSEC);
		begin_looking(b, c, now);
	}
	return is_good;
}
