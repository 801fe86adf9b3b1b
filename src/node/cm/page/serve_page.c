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

int vb_broker_page_open(const struct vb_broker *b, struct vb_conn *c)
{
	int fd = vb_memory_create("verbena-cm-calls", VB_CM_PAGE_BYTES);
	void *p;
	int rc;

	if (fd < 0)
		return fd;
	rc = vb_memory_map(fd, VB_CM_PAGE_BYTES, true, &p);
	if (rc) {
		close(fd);
		return rc;
	}
	c->page = p;
	c->page->broker = vb_broker_cm_number(b);
	c->served = 0;
	return fd;
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
	for (uint32_t i = 0; i < b->looked_cnt; i++)
		if (b->looked[i] == (uint32_t)(c - b->conn))
			stop_looking(b, i);
	vb_cm_page_end(c->page);
	vb_memory_unmap(c->page, VB_CM_PAGE_BYTES);
	c->page = NULL;
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

/* False: nobody can be told of the answer any more. */
static bool page_serve(struct vb_broker *b, struct vb_conn *c, vb_time now)
{
	static struct vb_cm_call call;
	static struct vb_cm_answer answer;
	struct vb_fds none = {.cnt = 0};
	size_t n = vb_cm_page_take(c->page, &c->served, &call), size;
	const uint8_t kick = 0;

	size = vb_broker_cm_serve(b, c, &call, (ssize_t)n, &none, &answer, now);
	begin_looking(b, c, now);
	return !vb_cm_page_give(c->page, c->served, &answer, size) ||
	       send(c->sock, &kick, VB_CM_KICK_LEN, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 ||
	       errno == EAGAIN;
}

/* One look at each. Returns how many calls there were. */
static uint32_t look_once(struct vb_broker *b)
{
	uint32_t cnt = 0;

	for (uint32_t i = b->looked_cnt; i-- > 0;) {
		uint32_t index = b->looked[i];
		struct vb_conn *c = &b->conn[index];

		if (!vb_cm_page_is_called(c->page, c->served))
			continue;
		cnt++;
		if (!page_serve(b, c, vb_clock_now()))
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
		if (!vb_cm_page_is_called(c->page, c->served))
			continue;
		is_called = true;
		if (!page_serve(b, c, now))
			vb_conn_end(b, index);
		if (now < b->spin_until)
			break;
	}
	return is_called;
}

bool vb_broker_page_kick(struct vb_broker *b, struct vb_conn *c, vb_time now)
{
	if (!c->page)
		return false;
	return !vb_cm_page_is_called(c->page, c->served) || page_serve(b, c, now);
}
