/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Channels of the connection manager, with a loop of the test's own: the channel of a call, the
 * events in a pair, and the process that takes them back. node/cm/call.h; CMP-34, CMP-45
 */
#include "cmocka_env.h"
#include "descriptors.h"
#include "node/broker/state.h"
#include "node/cm/serve.h"
#include "node/host/clock.h"
#include "ucma/abi.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct vb_cm_host cm;
static struct vb_cm_call call;
static struct vb_cm_answer answer;
static vb_time now;
/* The last request to the loop. */
static struct {
	int err, fd, watch_cnt, unwatch_cnt, room_cnt;
	uint32_t index;
	bool room;
} loop;

static int on_watch(void *ctx, int fd, uint32_t index)
{
	assert_ptr_equal(ctx, &loop);
	loop.fd = fd;
	loop.index = index;
	loop.watch_cnt += !loop.err;
	return loop.err;
}

static int on_watch_room(void *ctx, int fd, uint32_t index, bool on)
{
	assert_ptr_equal(ctx, &loop);
	assert_int_equal(fd, cm.channel[index]->fd);
	loop.room = on;
	loop.room_cnt++;
	return 0;
}

static void on_unwatch(void *ctx, int fd)
{
	assert_ptr_equal(ctx, &loop);
	assert_true(fcntl(fd, F_GETFD) >= 0); /* before it is closed */
	loop.unwatch_cnt++;
}

/* All addresses are this host's. */
static int local_find(void *ctx, const struct vb_ucma_addr *a, struct vb_ucma_local *out)
{
	(void)ctx;
	*out = (struct vb_ucma_local){.hca_port = 1, .mtu = 3, .node_guid = 7, .gid = a->gid};
	return 0;
}

static int route_find(void *ctx, struct vb_ucma_addr *src, const struct vb_ucma_addr *dst,
		      struct vb_ucma_local *out)
{
	src->family = dst->family;
	src->gid = dst->gid;
	return local_find(ctx, dst, out);
}

static int setup(void **state)
{
	const struct vb_cm_loop own = {
	    .watch = on_watch, .watch_room = on_watch_room, .unwatch = on_unwatch, .ctx = &loop};
	const struct vb_ucma_env env = {.local = local_find, .route = route_find};

	(void)state;
	memset(&cm, 0, sizeof cm);
	memset(&loop, 0, sizeof loop);
	now = VB_SEC;
	return vb_cm_host_open(&cm, &own, &env, NULL);
}

static int teardown(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < VB_CM_CHANNELS_MAX; i++)
		if (cm.channel[i])
			vb_channel_close(&cm, i, now);
	vb_cm_host_close(&cm);
	return 0;
}

/* A process with one channel. */
struct program {
	struct vb_cm_caller who;
	int fd;
	uint64_t token;
};

static int served(const struct program *p, size_t n, struct vb_fds *fds)
{
	struct vb_fds none = {.cnt = 0};

	vb_cm_serve(&cm, &p->who, &call, (ssize_t)(offsetof(struct vb_cm_call, body) + n),
		    fds ? fds : &none, &answer, now);
	vb_cm_tell(&cm);
	return answer.status;
}

static void program_open(struct program *p, int room)
{
	struct vb_fds fds = {.cnt = 1};
	int pair[2];

	p->who = (struct vb_cm_caller){p, 77, "test"};
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	if (room) /* more than others may have, where root asks */
		(void)(setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof room) ||
		       setsockopt(pair[1], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room));
	fds.fd[0] = pair[1];
	call = (struct vb_cm_call){.op = VB_CM_CALL_OPEN};
	assert_int_equal(served(p, 0, &fds), 0);
	assert_int_equal(fds.cnt, 0);
	p->fd = pair[0];
	p->token = answer.channel;
}

/* Makes the call in @call a command. */
static void call_make(const struct program *p, uint64_t other, uint32_t cmd, const void *body,
		      uint16_t len, uint16_t out)
{
	const struct vb_ucma_hdr h = {cmd, len, out};

	call = (struct vb_cm_call){.op = VB_CM_CALL_COMMAND,
				   .channel = p->token,
				   .other = other,
				   .len = (uint32_t)sizeof h + len};
	memcpy(call.body, &h, sizeof h);
	memcpy(call.body + sizeof h, body, len);
}

static int command(const struct program *p, uint64_t other, uint32_t cmd, const void *body,
		   uint16_t len, uint16_t out)
{
	call_make(p, other, cmd, body, len, out);
	return served(p, call.len, NULL);
}

static uint32_t id_new(const struct program *p)
{
	struct vb_ucma_create_id b = {.ps = VB_UCMA_PS_TCP};
	struct vb_ucma_number_reply r;

	assert_int_equal(command(p, 0, VB_UCMA_CREATE_ID, &b, sizeof b, sizeof r), 8 + sizeof b);
	memcpy(&r, answer.body, sizeof r);
	return r.n;
}

/* A new id, with the event that its address was found. */
static uint32_t event_make(const struct program *p)
{
	struct vb_ucma_resolve_addr a = {.id = id_new(p), .timeout_ms = 1000, .dst_size = 16};

	a.dst[0] = AF_INET;
	memcpy(a.dst + 4, (uint8_t[4]){127, 0, 0, 1}, 4);
	assert_int_equal(command(p, 0, VB_UCMA_RESOLVE_ADDR, &a, sizeof a, 0), 8 + sizeof a);
	return a.id;
}

/* The id of the next event in the pair, UINT32_MAX: there is none. Its number goes to @number. */
static uint32_t event_take(const struct program *p, uint64_t *number)
{
	struct vb_cm_answer a;
	struct vb_ucma_event_reply r;

	if (recv(p->fd, &a, sizeof a, MSG_DONTWAIT) < 0)
		return UINT32_MAX;
	memcpy(&r, a.body, sizeof r);
	*number = a.event;
	return r.id;
}

/* Calls need an open channel and the right arguments. */
static void calls__need_a_channel(void **state)
{
	struct program p;
	struct vb_fds fds = {.cnt = 2, .fd = {-1, -1}};
	struct vb_ucma_create_id b = {.ps = VB_UCMA_PS_TCP};
	const struct program none = {.who = {&none, 1, "none"}, .token = 6};

	(void)state;
	program_open(&p, 0);
	assert_int_equal(loop.watch_cnt, 1);
	call = (struct vb_cm_call){.op = VB_CM_CALL_OPEN};
	assert_int_equal(served(&p, 0, NULL), -EINVAL);
	assert_int_equal(served(&p, 0, &fds), -EINVAL);
	call = (struct vb_cm_call){.op = VB_CM_CALL_ATTACH, .channel = p.token ^ 2};
	assert_int_equal(served(&p, 0, NULL), -ENOENT);
	call.channel = 0;
	assert_int_equal(served(&p, 0, NULL), -ENOENT);
	assert_false(cm.channel[0]->is_shared);
	call.channel = p.token;
	assert_int_equal(served(&p, 0, NULL), 0);
	assert_true(cm.channel[0]->is_shared);
	assert_int_equal(command(&none, 0, VB_UCMA_CREATE_ID, &b, sizeof b, 4), -EBADF);
	call.op = 99;
	assert_int_equal(served(&p, call.len, NULL), -EINVAL);
	call.op = VB_CM_CALL_COMMAND;
	assert_int_equal(served(&p, call.len - 1, NULL), -EINVAL);
	assert_int_equal(served(&p, call.len + 1, NULL), -EINVAL);
	close(p.fd);
}

/* There are 4096 channels; the last works as any other. */
static void channels__up_to_the_last(void **state)
{
	static struct vb_channel other = {.token = 2};
	struct program p;
	struct vb_fds fds = {.cnt = 1};
	unsigned before;
	int pair[2];

	(void)state;
	for (uint32_t i = 0; i < VB_CM_CHANNELS_MAX - 1; i++)
		cm.channel[i] = &other;
	program_open(&p, 0);
	assert_int_equal(loop.index, VB_CM_CHANNELS_MAX - 1);
	assert_ptr_equal(vb_channel_find(&cm, p.token), cm.channel[VB_CM_CHANNELS_MAX - 1]);
	(void)id_new(&p);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	before = descriptors_of(getpid());
	fds.fd[0] = pair[1];
	call = (struct vb_cm_call){.op = VB_CM_CALL_OPEN};
	assert_int_equal(served(&p, 0, &fds), -ENFILE);
	assert_int_equal(fds.cnt, 1); /* the caller's still */
	memset(cm.channel, 0, (VB_CM_CHANNELS_MAX - 1) * sizeof cm.channel[0]);
	/* A channel the loop refuses is not kept. */
	loop.err = -ENOMEM;
	assert_int_equal(served(&p, 0, &fds), -ENOMEM);
	assert_int_equal(fds.cnt, 1);
	assert_null(cm.channel[0]);
	assert_int_equal(cm.channel_cnt, 1);
	assert_int_equal(descriptors_of(getpid()), before);
	close(pair[0]);
	close(pair[1]);
	/* The loop reports a channel's end by index: the watch ends, its token is void. */
	close(p.fd);
	vb_channel_event(&cm, VB_CM_CHANNELS_MAX, now);
	vb_channel_event(&cm, VB_CM_CHANNELS_MAX - 1, now);
	assert_int_equal(loop.unwatch_cnt, 1);
	assert_int_equal(cm.channel_cnt, 0);
	assert_null(vb_channel_find(&cm, p.token));
	vb_channel_event(&cm, VB_CM_CHANNELS_MAX - 1, now);
}

/* Events that a pair has no room for wait in order until the program takes some; the loop tells of
 * the room. */
static void events__wait_for_room(void **state)
{
	enum { EVENTS = 40 };
	struct program p;
	uint32_t id[EVENTS], at = 0, found;
	uint64_t last = 0, number;
	char byte = 0;

	(void)state;
	program_open(&p, 10000);
	for (uint32_t i = 0; i < EVENTS; i++)
		id[i] = event_make(&p);
	assert_true(loop.room);
	assert_int_equal(loop.room_cnt, 1);
	while (at < EVENTS) {
		uint32_t before = at;

		while ((found = event_take(&p, &number)) != UINT32_MAX) {
			assert_int_equal(found, id[at++]);
			assert_true(number > last);
			last = number;
		}
		assert_true(at > before);
		/* Writes past the library are ignored. */
		assert_int_equal(send(p.fd, &byte, 1, 0), 1);
		vb_channel_event(&cm, 0, now);
		vb_channel_event(&cm, 0, now);
	}
	assert_false(loop.room);
	assert_int_equal(loop.room_cnt, 2);
	close(p.fd);
}

/* Takes all events from the pair, and makes the call in @call again with the numbers. */
static int events_return(const struct program *p, int fd)
{
	struct vb_cm_answer a;

	call.returns = true;
	for (call.extra_len = 0; recv(fd, &a, sizeof a, MSG_DONTWAIT) > 0; call.extra_len += 8)
		memcpy(call.body + call.len + call.extra_len, &a.event, 8);
	return served(p, call.len + call.extra_len, NULL);
}

/* While one process takes back an id's events, no process gets events or takes any back; other ids'
 * events come again. */
static void events__are_taken_back_by_one(void **state)
{
	struct program p, q = {.who = {&q, 78, "other"}};
	struct vb_ucma_destroy_id d;
	uint32_t first, second, third;
	uint64_t number;

	(void)state;
	program_open(&p, 0);
	q.token = p.token;
	first = event_make(&p);
	second = event_make(&p);
	d = (struct vb_ucma_destroy_id){.id = first};
	assert_int_equal(command(&p, 0, VB_UCMA_DESTROY_ID, &d, sizeof d, 4), -EINPROGRESS);
	assert_int_equal(command(&q, 0, VB_UCMA_DESTROY_ID, &d, sizeof d, 4), -EALREADY);
	third = event_make(&p); /* waits */
	assert_int_equal(command(&p, 0, VB_UCMA_DESTROY_ID, &d, sizeof d, 4), -EINPROGRESS);
	assert_int_equal(events_return(&p, p.fd), 8 + sizeof d);
	assert_int_equal(event_take(&p, &number), second);
	assert_int_equal(event_take(&p, &number), third);
	assert_int_equal(event_take(&p, &number), UINT32_MAX);
	close(p.fd);
}

/* A process that has ended meanwhile holds nothing up. */
static void events__go_on_without_who_took_them_back(void **state)
{
	struct program p, q = {.who = {&q, 78, "other"}};
	struct vb_ucma_destroy_id d;
	uint32_t first, second;
	uint64_t number;

	(void)state;
	program_open(&p, 0);
	first = event_make(&p);
	d = (struct vb_ucma_destroy_id){.id = first};
	assert_int_equal(command(&p, 0, VB_UCMA_DESTROY_ID, &d, sizeof d, 4), -EINPROGRESS);
	second = event_make(&p);
	vb_channels_release(&cm, &q); /* q, not p */
	assert_int_equal(event_take(&p, &number), first);
	assert_int_equal(event_take(&p, &number), UINT32_MAX);
	vb_channels_release(&cm, &p);
	assert_int_equal(event_take(&p, &number), second);
	assert_false(cm.channel[0]->is_held);
	close(p.fd);
}

/* An id that goes to another channel takes its events along: they leave the pair of the old
 * channel. */
static void events__go_with_their_id(void **state)
{
	struct program from, to;
	struct vb_ucma_migrate_id b = {.fd = 9};
	uint64_t number;
	uint32_t stays;

	(void)state;
	program_open(&from, 0);
	program_open(&to, 0);
	b.id = event_make(&from);
	stays = event_make(&from);
	assert_int_equal(command(&to, from.token, VB_UCMA_MIGRATE_ID, &b, sizeof b, 4),
			 -EINPROGRESS);
	assert_true(cm.channel[0]->is_held);
	assert_false(cm.channel[1]->is_held);
	assert_int_equal(events_return(&to, from.fd), 8 + sizeof b);
	assert_false(cm.channel[0]->is_held);
	assert_int_equal(event_take(&to, &number), b.id);
	assert_int_equal(event_take(&to, &number), UINT32_MAX);
	assert_int_equal(event_take(&from, &number), stays);
	assert_int_equal(event_take(&from, &number), UINT32_MAX);
	close(from.fd);
	close(to.fd);
}

/* Events are told also where the broker has no QP1, because it could not be made or rests: nobody
 * else would tell them. */
static void events__are_told_without_qp1(void **state)
{
	static struct vb_broker b;
	struct vb_ucma_resolve_addr a = {.timeout_ms = 1000, .dst_size = 16};
	struct program p;
	uint64_t number;

	(void)state;
	b.cm = &cm;
	assert_null(cm.gsi);
	program_open(&p, 0);
	a.id = id_new(&p);
	a.dst[0] = AF_INET;
	memcpy(a.dst + 4, (uint8_t[4]){127, 0, 0, 1}, 4);
	call_make(&p, 0, VB_UCMA_RESOLVE_ADDR, &a, sizeof a, 0);
	vb_cm_serve(&cm, &p.who, &call, (ssize_t)(offsetof(struct vb_cm_call, body) + call.len),
		    &(struct vb_fds){.cnt = 0}, &answer, now);
	assert_int_equal(answer.status, 8 + sizeof a);
	assert_int_equal(event_take(&p, &number), UINT32_MAX);
	vb_broker_cm_pump(&b, now);
	assert_int_equal(event_take(&p, &number), a.id);
	close(p.fd);
}

/* A channel of the broker before goes on at its place, and takes no other's. One that cannot be
 * watched is closed. */
static void adopt__at_its_place(void **state)
{
	struct program p;
	unsigned before;
	int pair[2];

	(void)state;
	program_open(&p, 0);
	before = descriptors_of(getpid());
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	vb_channel_adopt(&cm, 0, 99, pair[1]);
	assert_int_equal(descriptors_of(getpid()), before + 1);
	assert_true(cm.channel[0]->token == p.token);
	loop.err = -ENOMEM;
	assert_int_equal(close(pair[0]), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	vb_channel_adopt(&cm, VB_CM_CHANNELS_MAX - 1, 99, pair[1]);
	assert_int_equal(descriptors_of(getpid()), before + 1);
	assert_null(cm.channel[VB_CM_CHANNELS_MAX - 1]);
	assert_int_equal(cm.channel_cnt, 1);
	loop.err = 0;
	assert_int_equal(close(pair[0]), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	vb_channel_adopt(&cm, VB_CM_CHANNELS_MAX - 1, 99, pair[1]);
	assert_ptr_equal(vb_channel_find(&cm, 99), cm.channel[VB_CM_CHANNELS_MAX - 1]);
	assert_false(cm.channel[VB_CM_CHANNELS_MAX - 1]->is_held);
	assert_int_equal(cm.hold_until, VB_NEVER);
	close(pair[0]);
	close(p.fd);
}

/* One whose events were being taken back is held for that, longer on a slow machine. */
static void adopt__while_events_come_back(void **state)
{
	struct vb_cm_kept *kept = calloc(1, sizeof *kept);
	vb_time before = vb_clock_now();
	int pair[2];

	(void)state;
	assert_non_null(kept);
	cm.memory.kept = kept;
	kept->channel[3].token = 99;
	kept->channel[3].is_held = 1;
	kept->channel[3].hold_serial = 55;
	cm.slow = 3;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	vb_channel_adopt(&cm, 3, 99, pair[1]);
	assert_true(cm.channel[3]->is_held);
	assert_true(cm.channel[3]->hold_serial == 55);
	assert_null(cm.channel[3]->holder);
	assert_true(cm.hold_until >= before + 3 * VB_SEC &&
		    cm.hold_until <= vb_clock_now() + 3 * VB_SEC);
	/* The program that asked before goes on by its call, and nobody else does. */
	assert_false(vb_channel_hold(cm.channel[3], &pair[0], 56));
	vb_channels_timeouts(&cm, cm.hold_until - 1);
	assert_true(cm.channel[3]->is_held);
	vb_channels_timeouts(&cm, cm.hold_until);
	assert_false(cm.channel[3]->is_held);
	assert_int_equal(cm.hold_until, VB_NEVER);
	assert_true(vb_channel_hold(cm.channel[3], &pair[0], 56));
	assert_false(vb_channel_hold(cm.channel[3], &pair[1], 56));
	assert_true(vb_channel_hold(cm.channel[3], &pair[0], 57));
	/* A program whose call it no longer is returns nothing. */
	vb_channel_return(cm.channel[3], &pair[1], 57, NULL, 0);
	assert_true(cm.channel[3]->is_held);
	vb_channels_timeouts(&cm, VB_NEVER);
	assert_true(cm.channel[3]->is_held); /* its holder lives */
	vb_channel_close(&cm, 3, 0);
	cm.memory.kept = NULL;
	free(kept);
	close(pair[0]);
}

/* More numbers of events than there can be out are not looked at. */
static void events__more_come_back_than_are_out(void **state)
{
	struct program p;
	struct vb_ucma_destroy_id d;
	uint64_t number;
	uint32_t stays;

	(void)state;
	program_open(&p, 0);
	d = (struct vb_ucma_destroy_id){.id = event_make(&p)};
	stays = event_make(&p);
	assert_int_equal(command(&p, 0, VB_UCMA_DESTROY_ID, &d, sizeof d, 4), -EINPROGRESS);
	call.returns = true;
	call.extra_len = VB_CM_CALL_BODY - call.len;
	memset(call.body + call.len, 0xff, call.extra_len);
	assert_int_equal(served(&p, call.len + call.extra_len, NULL), 8 + sizeof d);
	/* They were not among these: so they have been taken. */
	while (recv(p.fd, &answer, sizeof answer, MSG_DONTWAIT) > 0)
		;
	d.id = stays;
	assert_int_equal(command(&p, 0, VB_UCMA_DESTROY_ID, &d, sizeof d, 4), 8 + sizeof d);
	assert_int_equal(event_take(&p, &number), UINT32_MAX);
	close(p.fd);
}

/* A pair has room for as many events as its buffer holds, and one; 64 at most. */
static void events__as_many_as_the_pair_holds(void **state)
{
	static const int sizes[] = {1, 20000, 1 << 20};

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct program p;
		int bytes = 0;
		socklen_t len = sizeof bytes;
		uint32_t wanted;

		program_open(&p, sizes[i]);
		assert_int_equal(getsockopt(cm.channel[0]->fd, SOL_SOCKET, SO_SNDBUF, &bytes, &len),
				 0);
		wanted = 1 + ((uint32_t)bytes - 1) / cm.event_bytes;
		assert_int_equal(cm.channel[0]->room,
				 wanted < VB_UCMA_OUT_MAX ? wanted : VB_UCMA_OUT_MAX);
		for (uint32_t n = 0; n < cm.channel[0]->room; n++)
			(void)event_make(&p);
		assert_int_equal(vb_ucma_events_out(cm.channel[0]->file), cm.channel[0]->room);
		(void)event_make(&p);
		assert_int_equal(vb_ucma_events_out(cm.channel[0]->file), cm.channel[0]->room);
		vb_channel_close(&cm, 0, now);
		close(p.fd);
	}
}

/* A message that is no call is answered so: without its descriptors, or not to be posted. */
static void calls__that_are_none(void **state)
{
	const struct vb_ucma_hdr get = {.cmd = VB_UCMA_GET_EVENT};
	struct program p;

	(void)state;
	program_open(&p, 0);
	vb_cm_serve(&cm, &p.who, &call, -EMFILE, &(struct vb_fds){.cnt = 0}, &answer, now);
	assert_int_equal(answer.status, -EMFILE);
	vb_cm_serve(&cm, &p.who, &call, 0, &(struct vb_fds){.cnt = 0}, &answer, now);
	assert_int_equal(answer.status, -EINVAL);
	call = (struct vb_cm_call){.op = VB_CM_CALL_POST, .channel = p.token, .len = sizeof get};
	memcpy(call.body, &get, sizeof get);
	assert_int_equal(served(&p, call.len, NULL), -EINVAL);
	call.channel ^= 4;
	assert_int_equal(served(&p, call.len, NULL), -EINVAL);
	close(p.fd);
}

/* A REQ has an ID that no program gives, and is repeated after a tenth of a second. IBA 13.4.6.4 */
static void request__leaves_and_is_repeated(void **state)
{
	struct vb_ucma_resolve_route r = {.timeout_ms = 1000};
	struct vb_ucma_connect c = {.param = {.qp_num = 5, .valid = 1}};
	uint8_t mad[VB_MAD_LEN];
	struct vb_mad_hdr h;
	struct vb_path path;
	struct program p;
	uint16_t pkey;

	(void)state;
	program_open(&p, 0);
	r.id = c.id = event_make(&p);
	assert_int_equal(command(&p, 0, VB_UCMA_RESOLVE_ROUTE, &r, sizeof r, 0), 8 + sizeof r);
	assert_int_equal(command(&p, 0, VB_UCMA_CONNECT, &c, sizeof c, 0), 8 + sizeof c);
	assert_true(vb_ucma_poll_transmit(cm.ucma, &path, &pkey, mad));
	vb_mad_hdr_parse(&h, mad);
	assert_true(h.tid >> 32 & VB_CM_HOST_TID);
	assert_true(vb_ucma_poll_timeout(cm.ucma) == now + 100 * VB_MSEC);
	close(p.fd);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(calls__need_a_channel),
	    T(channels__up_to_the_last),
	    T(events__wait_for_room),
	    T(events__are_taken_back_by_one),
	    T(events__go_on_without_who_took_them_back),
	    T(events__go_with_their_id),
	    T(events__are_told_without_qp1),
	    T(adopt__at_its_place),
	    T(adopt__while_events_come_back),
	    T(events__more_come_back_than_are_out),
	    T(events__as_many_as_the_pair_holds),
	    T(calls__that_are_none),
	    T(request__leaves_and_is_repeated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
