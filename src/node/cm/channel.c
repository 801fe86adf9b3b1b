/* SPDX-License-Identifier: BSD-2-Clause */
/* Channels and their events, see channel.h. CMP-23, CMP-31, CMP-45, CMP-51 */
#include "node/cm/channel.h"

#include "node/host/clock.h"
#include "ucma/abi.h"
#include "ucma/command/ahead.h"
#include "ucma/command/post.h"
#include "ucma/view.h"

#include <assert.h>
#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

/* A process that was taking events back when the broker was killed calls the next one at once. One
 * that has ended too, or is stopped for longer, has taken them. */
#define HOLD_NS VB_SEC

/* Bytes that wait in the pair of @fd for the reader at its other end. */
static uint32_t pair_bytes(int fd)
{
	int queued = 0;

	return ioctl(fd, SIOCOUTQ, &queued) == 0 && queued > 0 ? (uint32_t)queued : 0;
}

int vb_channels_open(struct vb_cm_host *cm)
{
	static const struct vb_cm_answer none;
	int pair[2], rc = 0;

	if (getrandom(&cm->number, sizeof cm->number, 0) != (ssize_t)sizeof cm->number)
		return -EIO;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	if (send(pair[0], &none, VB_CM_EVENT_LEN, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		rc = -errno;
	cm->event_bytes = pair_bytes(pair[0]);
	cm->hold_until = VB_NEVER;
	close(pair[0]);
	close(pair[1]);
	return rc || cm->event_bytes ? rc : -EPROTO;
}

struct vb_channel *vb_channel_find(const struct vb_cm_host *cm, uint64_t token)
{
	for (uint32_t i = 0; token && i < VB_CM_CHANNELS_MAX; i++)
		if (cm->channel[i] && cm->channel[i]->token == token)
			return cm->channel[i];
	return NULL;
}

/* A message is sent while what waits is less than the buffer. */
static uint32_t pair_room(const struct vb_cm_host *cm, int fd)
{
	int bytes = 0;
	socklen_t len = sizeof bytes;
	uint32_t room = 1;

	if (!getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, &len) && bytes > 0)
		room += ((uint32_t)bytes - 1) / cm->event_bytes;
	return room < VB_UCMA_OUT_MAX ? room : VB_UCMA_OUT_MAX;
}

/* Channel @index with the broker's end @fd, which it owns from then on. */
static int channel_make(struct vb_cm_host *cm, uint32_t index, uint64_t token, int fd)
{
	struct vb_channel *ch = calloc(1, sizeof *ch);
	int err;

	if (!ch)
		return -ENOMEM;
	*ch = (struct vb_channel){
	    .cm = cm, .index = index, .fd = fd, .token = token, .room = pair_room(cm, fd)};
	err = vb_ucma_file_open(cm->ucma, ch, &ch->file);
	if (!err) {
		vb_ucma_file_set_number(ch->file, index);
		err = cm->loop.watch(cm->loop.ctx, fd, index);
		if (err)
			vb_ucma_file_close(ch->file, 0);
	}
	if (err) {
		free(ch);
		return err;
	}
	cm->channel[index] = ch;
	cm->channel_cnt++;
	return 0;
}

int vb_channel_open(struct vb_cm_host *cm, int fd, uint64_t *token)
{
	uint32_t i = 0;
	int err;

	while (i < VB_CM_CHANNELS_MAX && cm->channel[i])
		i++;
	if (i == VB_CM_CHANNELS_MAX)
		return -ENFILE;
	if (getrandom(token, sizeof *token, 0) != (ssize_t)sizeof *token)
		return -EIO;
	*token |= 1; /* 0 is none */
	err = channel_make(cm, i, *token, fd);
	if (!err)
		vb_cm_memory_add(&cm->memory, i, *token, fd);
	return err;
}

void vb_channel_adopt(void *ctx, uint32_t index, uint64_t token, int fd)
{
	struct vb_cm_host *cm = ctx;
	char user[VB_CM_USER_BYTES];
	uint32_t pid;

	if (cm->channel[index] || channel_make(cm, index, token, fd)) {
		close(fd);
		return;
	}
	pid = vb_cm_memory_user(&cm->memory, index, user);
	vb_ucma_file_set_user(cm->channel[index]->file, pid, user);
	cm->channel[index]->is_held =
	    vb_cm_memory_is_held(&cm->memory, index, &cm->channel[index]->hold_serial);
	if (cm->channel[index]->is_held)
		cm->hold_until = vb_time_after(vb_clock_now(), cm->slow * HOLD_NS);
}

void vb_channel_set_user(struct vb_channel *ch, uint32_t pid, const char *name)
{
	vb_ucma_file_set_user(ch->file, pid, name);
	vb_cm_memory_set_user(&ch->cm->memory, ch->index, pid, name);
}

void vb_channel_close(struct vb_cm_host *cm, uint32_t index, vb_time now)
{
	struct vb_channel *ch = cm->channel[index];

	cm->channel[index] = NULL;
	cm->channel_cnt--;
	vb_cm_memory_remove(&cm->memory, index);
	/* Closing alone does not end it, for the store has it too. */
	cm->loop.unwatch(cm->loop.ctx, ch->fd);
	close(ch->fd);
	vb_ucma_file_close(ch->file, now);
	free(ch);
}

void vb_channel_sync(struct vb_channel *ch)
{
	uint32_t out = vb_ucma_events_out(ch->file), left;

	if (!out || ch->is_held)
		return;
	left = (pair_bytes(ch->fd) + ch->cm->event_bytes - 1) / ch->cm->event_bytes;
	if (left < out)
		vb_ucma_events_taken(ch->file, out - left);
}

void vb_channel_add_ahead(struct vb_channel *ch, const struct vb_ucma_command *c,
			  struct vb_cm_answer *a)
{
	uint32_t at = vb_cm_ahead_at(a);

	_Static_assert(VB_UCMA_REPLY_MAX + VB_UCMA_AHEAD_MAX <= VB_CM_ANSWER_BODY, "both fit");
	if (a->status >= 0 && vb_ucma_ahead(ch->file, c, a->body, &a->ahead_id, a->body + at,
					    VB_CM_ANSWER_BODY - at, &a->ahead_len))
		a->ahead_version = ch->cm->version[a->ahead_id];
}

/* The next event, as the answer to a GET_EVENT. False: there is none to give out. */
static bool next_event(struct vb_channel *ch, struct vb_cm_answer *a)
{
	static const struct vb_ucma_hdr get = {.cmd = VB_UCMA_GET_EVENT};
	const struct vb_ucma_command c = {.bytes = &get, .len = sizeof get};
	struct vb_ucma_event_reply reply;
	bool repeats;

	_Static_assert(sizeof reply + VB_UCMA_AHEAD_MAX <= VB_CM_EVENT_BODY, "all of it fits");
	if (vb_ucma_events_out(ch->file) >= ch->room ||
	    !vb_ucma_event_next(ch->file, &reply, &a->event, &repeats))
		return false;
	/* The program can name the id from then on, also when this broker is killed. */
	if (reply.event == VB_UCMA_EV_CONNECT_REQUEST)
		vb_ucma_keep(ch->cm->ucma);
	a->repeats = repeats;
	a->channel = ch->cm->number;
	a->grants = vb_ucma_post_grants(ch->file, &reply);
	a->len = sizeof reply;
	memcpy(a->body, &reply, sizeof reply);
	vb_channel_add_ahead(ch, &c, a);
	return true;
}

void vb_channel_tell(struct vb_channel *ch)
{
	const struct vb_cm_loop *loop = &ch->cm->loop;
	bool is_short;

	if (ch->is_held)
		return;
	vb_channel_sync(ch);
	for (;;) {
		struct vb_cm_answer a = {0};

		if (!next_event(ch, &a) ||
		    send(ch->fd, &a, VB_CM_EVENT_LEN, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			break;
		vb_ucma_event_given(ch->file);
	}
	/* A program that takes an event does not say so. */
	is_short = vb_ucma_events_out(ch->file) < vb_ucma_file_events(ch->file);
	if (is_short != ch->waits_room && !loop->watch_room(loop->ctx, ch->fd, ch->index, is_short))
		ch->waits_room = is_short;
}

static void channel_set_held(struct vb_channel *ch, bool is_held, uint64_t serial)
{
	ch->is_held = is_held;
	ch->hold_serial = serial;
	if (!is_held)
		ch->holder = NULL;
	vb_cm_memory_hold(&ch->cm->memory, ch->index, is_held, serial);
}

/* Whether @who, by its call @serial, is who takes the events back. */
static bool is_holder(const struct vb_channel *ch, const void *who, uint64_t serial)
{
	return ch->is_held && (ch->holder ? ch->holder == who : ch->hold_serial == serial);
}

bool vb_channel_hold(struct vb_channel *ch, const void *who, uint64_t serial)
{
	if (ch->is_held && !is_holder(ch, who, serial))
		return false;
	ch->holder = who;
	channel_set_held(ch, true, serial);
	vb_ucma_keep(ch->cm->ucma);
	return true;
}

void vb_channel_return(struct vb_channel *ch, const void *who, uint64_t serial, const uint8_t *seq,
		       uint32_t len)
{
	uint64_t back[VB_UCMA_OUT_MAX];

	if (!is_holder(ch, who, serial))
		return;
	if (len > sizeof back)
		len = sizeof back;
	memcpy(back, seq, len);
	channel_set_held(ch, false, 0);
	vb_ucma_events_return(ch->file, back, len / sizeof back[0]);
}

/* Events that it had taken back already go with it; all others still lie there. */
void vb_channels_release(struct vb_cm_host *cm, const void *who)
{
	for (uint32_t i = 0; cm->channel_cnt && i < VB_CM_CHANNELS_MAX; i++) {
		struct vb_channel *ch = cm->channel[i];

		if (!ch || !ch->is_held || ch->holder != who)
			continue;
		channel_set_held(ch, false, 0);
		vb_channel_tell(ch);
		vb_ucma_keep(cm->ucma);
	}
}

/* The channel at @index is readable: nobody has anything to say there but that it is closed. */
void vb_channel_event(struct vb_cm_host *cm, uint32_t index, vb_time now)
{
	uint8_t junk[64];
	ssize_t n;

	if (index >= VB_CM_CHANNELS_MAX || !cm->channel[index])
		return;
	/* A program that writes past the library is not heard. */
	n = recv(cm->channel[index]->fd, junk, sizeof junk, MSG_DONTWAIT);
	if (n > 0)
		return;
	if (n < 0 && errno == EAGAIN) {
		vb_channel_tell(cm->channel[index]);
		vb_ucma_keep(cm->ucma);
		return;
	}
	vb_channel_close(cm, index, now);
}

void vb_channels_timeouts(struct vb_cm_host *cm, vb_time now)
{
	if (cm->hold_until > now)
		return;
	cm->hold_until = VB_NEVER;
	vb_channels_release(cm, NULL);
}
