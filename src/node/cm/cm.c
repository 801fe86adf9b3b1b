/* SPDX-License-Identifier: BSD-2-Clause */
/* The connection manager of the host, see cm.h. CMP-23, CMP-31, CMP-45, CMP-51 */
#include "node/cm/cm.h"

#include "node/broker/state.h"
#include "node/cm/env.h"
#include "node/cm/serve.h"
#include "node/host/clock.h"
#include "ucma/view.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Calls that come after less than this are of a program that makes more of them. */
#define CALLS_NS VB_MSEC
/* Rounds of sending in one go, each as much as QP1 has room for. */
#define PUMP_ROUNDS 64
/* The shared broker is asked for QP1 so often while there is none. */
#define GSI_AGAIN_NS (100 * VB_MSEC)

static void take_mad(void *ctx, const struct vb_path *path, const uint8_t *mad, uint32_t len,
		     vb_time now)
{
	struct vb_broker *b = ctx;
	struct vb_mad_hdr h;

	vb_mad_hdr_parse(&h, mad);
	/* The messages of connections are Sends; others of the class are for programs. MAD-08 */
	if (h.mgmt_class == VB_MAD_CLASS_CM && h.method == VB_MAD_METHOD_SEND) {
		if (len == VB_MAD_LEN)
			vb_ucma_handle_mad(b->cm->ucma, path, mad, now);
		return;
	}
	/* An answer that an observer waits for is not one of a program's. */
	if (len == VB_MAD_LEN && !vb_asks_expect(b, path, &h) &&
	    vb_broker_umad_take(b, path, mad, now))
		return;
	vb_asks_take_mad(b, path, mad, len, now);
}

/* Sends what there is to send, and tells who has events. */
static void cm_pump(struct vb_broker *b, vb_time now)
{
	struct vb_cm_host *cm = b->cm;
	uint8_t mad[VB_MAD_LEN];
	struct vb_path path;
	uint16_t pkey; /* RoCE has one partition for QP1. IBA A17.9 */

	for (int i = 0; i < PUMP_ROUNDS && cm->gsi; i++) {
		uint32_t cnt = 0;

		/* A MAD that cannot be sent counts as lost. */
		while (vb_gsi_has_room(cm->gsi) &&
		       vb_ucma_poll_transmit(cm->ucma, &path, &pkey, mad)) {
			(void)vb_gsi_send(cm->gsi, &path, mad, VB_MAD_LEN);
			cnt++;
		}
		if (!cnt)
			break;
		vb_gsi_flush(cm->gsi, now);
	}
	vb_cm_tell(cm);
}

uint64_t vb_broker_cm_number(const struct vb_broker *b)
{
	return b->cm->number;
}

int vb_broker_cm_versions(const struct vb_broker *b)
{
	return b->cm->versions_fd;
}

void vb_broker_cm_close(struct vb_broker *b)
{
	struct vb_cm_host *cm = b->cm;

	if (!cm)
		return;
	/* The next broker goes on with the channels. */
	vb_broker_cm_rest(b);
	for (uint32_t i = 0; i < VB_CM_CHANNELS_MAX; i++)
		if (cm->channel[i])
			vb_channel_close(cm, i, 0);
	vb_cm_host_close(cm);
	free(cm);
	b->cm = NULL;
}

void vb_broker_cm_reload(struct vb_broker *b)
{
	if (vb_broker_cm_gsi(b))
		vb_gsi_follow(b->cm->gsi);
}

void vb_broker_cm_follow(struct vb_broker *b, const struct vb_device *before)
{
	struct vb_cm_host *cm = b->cm;

	if (!cm)
		return;
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++) {
		const struct vb_device *is = &b->slots.host->device[i];

		if (before[i].ifindex && before[i].ifindex != is->ifindex)
			vb_ucma_device_removed(cm->ucma, (uint8_t)(i + 1));
		else if (before[i].ifindex && memcmp(before[i].mac, is->mac, sizeof is->mac) != 0)
			vb_ucma_device_changed(cm->ucma, (uint8_t)(i + 1));
	}
	if (cm->gsi)
		vb_gsi_follow(cm->gsi);
	cm_pump(b, vb_clock_now());
}

/* From here on all changes are kept; the state that an earlier broker kept goes on. */
static void memory_open(struct vb_broker *b, vb_time now)
{
	struct vb_cm_host *cm = b->cm;
	int rc = vb_cm_memory_open(&cm->memory, &b->slots);
	struct vb_ucma_region region;

	if (rc < 0)
		return;
	region = vb_cm_memory_region(&cm->memory);
	vb_ucma_set_region(cm->ucma, &region);
	if (rc == 0)
		return;
	vb_cm_memory_walk(&cm->memory, vb_channel_adopt, cm);
	vb_ucma_restore(cm->ucma, now);
	for (uint32_t i = 0; i < VB_CM_CHANNELS_MAX; i++)
		if (cm->channel[i]) {
			vb_channel_sync(cm->channel[i]);
			vb_ucma_events_void(cm->channel[i]->file);
		}
}

static int channel_watch(void *ctx, int fd, uint32_t index)
{
	return vb_broker_watch(ctx, fd, VB_SOURCE_CHANNEL, index);
}

static int channel_watch_room(void *ctx, int fd, uint32_t index, bool on)
{
	return vb_broker_watch_room(ctx, fd, VB_SOURCE_CHANNEL, index, on);
}

static void channel_unwatch(void *ctx, int fd)
{
	vb_broker_unwatch(ctx, fd);
}

static int host_open(struct vb_broker *b, struct vb_cm_host *cm)
{
	const struct vb_cm_loop loop = {channel_watch, channel_watch_room, channel_unwatch, b};
	const struct vb_ucma_env env = vb_cm_env(b);

	return vb_cm_host_open(cm, &loop, &env, NULL);
}

/* The shared broker that has taken QP1 in knows nothing of what programs of this user have. */
static void gsi_greet(struct vb_broker *b)
{
	struct vb_cm_host *cm = b->cm;

	if (!cm->gsi || cm->attached == vb_gsi_attached(cm->gsi))
		return;
	cm->attached = vb_gsi_attached(cm->gsi);
	vb_ucma_set_id_part(cm->ucma, vb_gsi_part(cm->gsi));
	vb_ucma_claim_again(cm->ucma);
	vb_broker_umad_claim_again(b);
}

static void gsi_open(struct vb_broker *b, vb_time now)
{
	struct vb_cm_host *cm = b->cm;
	char why[256];

	cm->gsi_due = 0;
	cm->attached = 0;
	if (vb_gsi_open(&cm->gsi, &b->slots, take_mad, b, why, sizeof why)) {
		cm->gsi = NULL;
		if (b->slots.is_carried)
			cm->gsi_due = now + GSI_AGAIN_NS;
		return;
	}
	if (b->slots.is_carried)
		(void)vb_broker_watch(b, vb_gsi_fd(cm->gsi), VB_SOURCE_GSI, 0);
	gsi_greet(b);
}

void vb_broker_cm_open(struct vb_broker *b)
{
	struct vb_cm_host *cm = b->cm ? b->cm : calloc(1, sizeof *cm);
	vb_time now = vb_clock_now();

	if (!cm || (!cm->ucma && host_open(b, cm))) {
		free(cm);
		return;
	}
	b->cm = cm;
	if (!cm->gsi)
		gsi_open(b, now);
	if (!cm->memory.kept)
		memory_open(b, now);
	cm_pump(b, vb_clock_now());
}

void vb_broker_cm_rest(struct vb_broker *b)
{
	struct vb_cm_host *cm = b->cm;

	if (!cm)
		return;
	if (cm->gsi) {
		if (b->slots.is_carried)
			vb_broker_unwatch(b, vb_gsi_fd(cm->gsi));
		vb_gsi_close(cm->gsi);
		cm->gsi = NULL;
	}
	cm->gsi_due = 0;
	vb_ucma_set_region(cm->ucma, NULL);
	vb_cm_memory_close(&cm->memory);
}

/* After a call that came soon another one may come. */
static void expect_call(struct vb_broker *b, vb_time now)
{
	struct vb_cm_host *cm = b->cm;

	if (cm->spins)
		vb_spin_done(&cm->spin, now < b->spin_until);
	cm->spins = now - cm->last_call < cm->slow * CALLS_NS && vb_spin_wanted(&cm->spin);
	if (cm->spins)
		b->spin_until = vb_time_after(now, VB_CM_SPIN_NS(cm->slow));
	cm->last_call = now;
}

size_t vb_broker_cm_serve(struct vb_broker *b, struct vb_conn *c, const struct vb_cm_call *call,
			  ssize_t n, struct vb_fds *fds, struct vb_cm_answer *answer, vb_time now)
{
	const struct vb_cm_caller who = {c, c->pid, c->comm};

	vb_cm_serve(b->cm, &who, call, n, fds, answer, now);
	/* The peer hears of it before the program does: it may end at once. */
	cm_pump(b, now);
	expect_call(b, now);
	return vb_cm_answer_size(answer);
}

void vb_broker_cm_posted(struct vb_broker *b, struct vb_conn *c, const struct vb_cm_call *call,
			 size_t n, vb_time now)
{
	const struct vb_cm_caller who = {c, c->pid, c->comm};
	struct vb_fds none = {.cnt = 0};
	static struct vb_cm_answer unread;

	vb_cm_serve(b->cm, &who, call, (ssize_t)n, &none, &unread, now);
}

void vb_broker_cm_pump(struct vb_broker *b, vb_time now)
{
	cm_pump(b, now);
	expect_call(b, now);
}

bool vb_broker_cm_is_shared(const struct vb_broker *b, uint64_t token)
{
	const struct vb_channel *ch = vb_channel_find(b->cm, token);

	return ch && ch->is_shared;
}

bool vb_broker_cm_call(struct vb_broker *b, struct vb_conn *c, vb_time now)
{
	static struct vb_cm_call call;
	static struct vb_cm_answer answer;
	struct vb_fds fds;
	ssize_t n = vb_fds_recv(c->sock, &call, sizeof call, &fds, MSG_DONTWAIT);
	size_t size;

	if (n == -EAGAIN)
		return true;
	if (n == VB_CM_KICK_LEN) {
		vb_fds_close(&fds);
		return vb_broker_page_kick(b, c, now);
	}
	if (n < (ssize_t)offsetof(struct vb_cm_call, body) && n != -EMFILE) {
		if (n > 0)
			vb_fds_close(&fds);
		return false;
	}
	vb_broker_page_posts(b, now);
	size = vb_broker_cm_serve(b, c, &call, n, &fds, &answer, now);
	if (n > 0)
		vb_fds_close(&fds);
	return vb_fds_send(c->sock, &answer, size, NULL) == 0;
}

void vb_broker_cm_channel(struct vb_broker *b, uint32_t index, vb_time now)
{
	if (!b->cm)
		return;
	vb_channel_event(b->cm, index, now);
	cm_pump(b, now);
}

void vb_broker_cm_release(struct vb_broker *b, const struct vb_conn *c)
{
	if (b->cm)
		vb_channels_release(b->cm, c);
}

void vb_broker_cm_packets(struct vb_broker *b, vb_time now)
{
	if (!vb_broker_cm_gsi(b))
		return;
	vb_gsi_step(b->cm->gsi, now);
	gsi_greet(b);
	cm_pump(b, now);
}

void vb_broker_cm_timeouts(struct vb_broker *b, vb_time now)
{
	struct vb_cm_host *cm = b->cm;

	if (!cm || vb_broker_cm_due(b, now) > now)
		return;
	vb_asks_timeouts(b, now);
	vb_channels_timeouts(cm, now);
	if (cm->gsi_due && cm->gsi_due <= now)
		gsi_open(b, now);
	if (cm->gsi)
		vb_gsi_step(cm->gsi, now);
	gsi_greet(b);
	vb_ucma_handle_timeout(cm->ucma, now);
	cm_pump(b, now);
}

vb_time vb_broker_cm_due(const struct vb_broker *b, vb_time now)
{
	vb_time due;

	if (!b->cm)
		return VB_NEVER;
	due = vb_time_min(vb_ucma_poll_timeout(b->cm->ucma), vb_asks_due(&b->asks));
	due = vb_time_min(due, b->cm->hold_until);
	if (b->cm->gsi_due)
		due = vb_time_min(due, b->cm->gsi_due);
	return b->cm->gsi ? vb_time_min(due, vb_gsi_due(b->cm->gsi, now)) : due;
}

const struct vb_cm_port_counters *vb_broker_cm_counters(const struct vb_broker *b)
{
	return b->cm ? vb_ucma_port_counters(b->cm->ucma) : NULL;
}

uint32_t vb_broker_cm_views(struct vb_broker *b, struct vb_ucma_view *to, uint32_t room)
{
	for (uint32_t i = 0; b->cm && b->cm->channel_cnt && i < VB_CM_CHANNELS_MAX; i++)
		if (b->cm->channel[i])
			vb_channel_sync(b->cm->channel[i]);
	return b->cm ? vb_ucma_views(b->cm->ucma, to, room) : 0;
}

struct vb_gsi *vb_broker_cm_gsi(const struct vb_broker *b)
{
	return b->cm ? b->cm->gsi : NULL;
}

bool vb_broker_cm_is_used(const struct vb_broker *b)
{
	return b->cm && b->cm->channel_cnt;
}
