/* SPDX-License-Identifier: BSD-2-Clause */
/* The connection manager of the host, see cm.h. CMP-23, CMP-31, CMP-45, CMP-51 */
#include "node/cm/cm.h"

#include "link/memory.h"
#include "node/cm/channel.h"
#include "node/cm/env.h"
#include "node/host/pace.h"
#include "ucma/command/ahead.h"
#include "ucma/ucma.h"
#include "ucma/view.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define IDS_MAX VB_UCMA_KEPT_IDS
#define CONNS_MAX 65536u
#define EVENTS_MAX 4096u
#define ACK_DELAY 15 /* 4.096 us * 2^n: what a kernel's software adapter tells. CMP-06 */
/* A lost message is repeated after this much, long before the peer was told to expect it. */
#define EARLY_RESEND_NS (100 * VB_MSEC)
/* Calls that come after less than this are of a program that makes more of them. */
#define CALLS_NS VB_MSEC
/* Rounds of sending and receiving in one go: what this host sends itself comes at once. */
#define PUMP_ROUNDS 64

static void *cm_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void cm_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static void take_mad(void *ctx, const struct vb_path *path, const uint8_t *mad, uint32_t len,
		     vb_time now)
{
	struct vb_broker *b = ctx;
	struct vb_mad_hdr h;

	vb_mad_hdr_parse(&h, mad);
	if (h.mgmt_class != VB_MAD_CLASS_CM)
		vb_asks_take_mad(b, path, mad, len, now);
	else if (len == VB_MAD_LEN)
		vb_ucma_handle_mad(b->cm->ucma, path, mad, now);
}

/* Sends what there is to send, takes what came of it, and tells who has events. */
static void cm_pump(struct vb_broker *b, vb_time now)
{
	struct vb_broker_cm *cm = b->cm;
	struct vb_ucma_file *f;
	uint8_t mad[VB_MAD_LEN];
	struct vb_path path;

	for (int i = 0; i < PUMP_ROUNDS && cm->gsi; i++) {
		uint32_t cnt = 0;

		/* What cannot be sent counts as lost. */
		while (vb_gsi_has_room(cm->gsi) && vb_ucma_poll_transmit(cm->ucma, &path, mad)) {
			(void)vb_gsi_send(cm->gsi, &path, mad, VB_MAD_LEN);
			cnt++;
		}
		if (!cnt)
			break;
		vb_gsi_step(cm->gsi, now);
	}
	/* An event is kept before anybody has it; then it is kept that somebody may have. */
	vb_ucma_keep(cm->ucma);
	while ((f = vb_ucma_poll_file(cm->ucma)))
		vb_channel_tell(b, vb_ucma_file_owner(f));
	vb_ucma_keep(cm->ucma);
}

static void versions_open(struct vb_broker_cm *cm)
{
	void *p;

	cm->versions_fd = vb_memory_create("verbena-cm-ids", VB_CM_VERSIONS_BYTES);
	if (cm->versions_fd < 0)
		return;
	if (vb_memory_map(cm->versions_fd, VB_CM_VERSIONS_BYTES, true, &p)) {
		close(cm->versions_fd);
		cm->versions_fd = -1;
		return;
	}
	(void)fcntl(cm->versions_fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE);
	cm->version = p;
	vb_ucma_set_versions(cm->ucma, cm->version);
}

static void versions_close(struct vb_broker_cm *cm)
{
	if (cm->versions_fd < 0)
		return;
	vb_memory_unmap(cm->version, VB_CM_VERSIONS_BYTES);
	close(cm->versions_fd);
}

uint64_t vb_broker_cm_number(const struct vb_broker *b)
{
	return b->cm->number;
}

int vb_broker_cm_versions(const struct vb_broker *b)
{
	return b->cm->versions_fd;
}

static int ucma_open(struct vb_broker *b, struct vb_broker_cm *cm)
{
	struct vb_ucma_config cfg = {
	    .cm = {.conns = CONNS_MAX,
		   .ports = VB_HCA_PORTS_MAX,
		   .ack_delay = ACK_DELAY,
		   .early_resend_ns = EARLY_RESEND_NS,
		   .alloc = cm_alloc,
		   .free = cm_free},
	    .ids = IDS_MAX,
	    .events = EVENTS_MAX,
	};
	int rc;

	if (getrandom(&cfg.cm.seed, sizeof cfg.cm.seed, 0) != (ssize_t)sizeof cfg.cm.seed ||
	    getrandom(&cfg.cm.hi_tid, sizeof cfg.cm.hi_tid, 0) != (ssize_t)sizeof cfg.cm.hi_tid)
		return -EIO;
	vb_cm_env_ports(&cfg.port_first, &cfg.port_last);
	cfg.env = vb_cm_env(b);
	_Static_assert(IDS_MAX == VB_CM_VERSIONS, "one for each id");
	rc = vb_ucma_create(&cm->ucma, &cfg);
	if (!rc)
		versions_open(cm);
	return rc;
}

void vb_broker_cm_close(struct vb_broker *b)
{
	struct vb_broker_cm *cm = b->cm;

	if (!cm)
		return;
	/* The next broker goes on with the channels. */
	vb_broker_cm_rest(b);
	for (uint32_t i = 0; i < VB_CM_CHANNELS_MAX; i++)
		if (cm->channel[i])
			vb_channel_close(b, i, 0);
	vb_ucma_destroy(cm->ucma);
	versions_close(cm);
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
	struct vb_broker_cm *cm = b->cm;

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
	cm_pump(b, vb_cm_env_now());
}

/* From here on what happens is kept; what an earlier broker kept goes on. */
static void memory_open(struct vb_broker *b, vb_time now)
{
	struct vb_broker_cm *cm = b->cm;
	int rc = vb_cm_memory_open(&cm->memory, &b->slots);
	struct vb_ucma_region region;

	if (rc < 0)
		return;
	region = vb_cm_memory_region(&cm->memory);
	vb_ucma_set_region(cm->ucma, &region);
	if (rc == 0)
		return;
	vb_cm_memory_walk(&cm->memory, vb_channel_adopt, b);
	vb_ucma_restore(cm->ucma, now);
	for (uint32_t i = 0; i < VB_CM_CHANNELS_MAX; i++)
		if (cm->channel[i]) {
			vb_channel_sync(cm->channel[i]);
			vb_ucma_events_void(cm->channel[i]->file);
		}
}

void vb_broker_cm_open(struct vb_broker *b)
{
	struct vb_broker_cm *cm = b->cm ? b->cm : calloc(1, sizeof *cm);
	char why[256];

	if (!cm || (!cm->ucma && (vb_channels_open(cm) || ucma_open(b, cm)))) {
		free(cm);
		return;
	}
	b->cm = cm;
	cm->slow = vb_pace_slowness();
	if (!cm->gsi && vb_gsi_open(&cm->gsi, &b->slots, take_mad, b, why, sizeof why))
		cm->gsi = NULL;
	if (!cm->memory.kept)
		memory_open(b, vb_cm_env_now());
	cm_pump(b, vb_cm_env_now());
}

void vb_broker_cm_rest(struct vb_broker *b)
{
	struct vb_broker_cm *cm = b->cm;

	if (!cm)
		return;
	if (cm->gsi) {
		vb_gsi_close(cm->gsi);
		cm->gsi = NULL;
	}
	vb_ucma_set_region(cm->ucma, NULL);
	vb_cm_memory_close(&cm->memory);
}

static void call_open(struct vb_broker *b, struct vb_fds *fds, struct vb_cm_answer *a)
{
	a->status = fds->cnt == 1 ? vb_channel_open(b, fds->fd[0], &a->channel) : -EINVAL;
	if (a->status == 0)
		fds->cnt = 0;
}

/* What became of the events that are out comes before the command. */
static void events_settle(struct vb_channel *ch, struct vb_channel *other, const struct vb_conn *c,
			  const struct vb_cm_call *call)
{
	if (call->returns)
		vb_channel_return(other ? other : ch, c, call->serial, call->body + call->len,
				  call->extra_len);
	vb_channel_sync(ch);
	if (other)
		vb_channel_sync(other);
}

static void call_command(struct vb_broker_cm *cm, struct vb_conn *conn,
			 const struct vb_cm_call *call, struct vb_cm_answer *a, vb_time now)
{
	struct vb_channel *ch = vb_channel_find(cm, call->channel), *other;
	const struct vb_cm_answer *before =
	    ch ? vb_cm_memory_answer(&cm->memory, ch->index, call->serial) : NULL;
	struct vb_ucma_command c = {.bytes = call->body,
				    .len = call->len,
				    .extra = call->body + call->len,
				    .extra_len = call->extra_len};
	struct vb_ucma_read read;

	if (!ch) {
		a->status = -EBADF;
		return;
	}
	if (before) {
		*a = *before;
		return;
	}
	/* Who opened it may have handed it on. */
	vb_ucma_file_set_user(ch->file, (uint32_t)conn->pid, conn->comm);
	other = vb_channel_find(cm, call->other);
	if (other)
		c.other = other->file;
	events_settle(ch, other, conn, call);
	a->status = vb_ucma_command(ch->file, &c, a->body, &a->len, now);
	if (a->status == -EINPROGRESS) {
		if (!vb_channel_hold(other ? other : ch, conn, call->serial))
			a->status = -EALREADY;
		return;
	}
	/* A question may be asked again. */
	if (!vb_ucma_read_parse(c.bytes, c.len, &read)) {
		/* Before anybody hears of it. */
		vb_cm_memory_put_answer(&cm->memory, ch->index, call->serial, a);
		vb_ucma_keep(cm->ucma);
	}
	vb_channel_add_ahead(ch, &c, a);
}

/* After a call that came soon another one may come. */
static void expect_call(struct vb_broker *b, vb_time now)
{
	struct vb_broker_cm *cm = b->cm;

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
	size_t head = offsetof(struct vb_cm_call, body);

	memset(answer, 0, offsetof(struct vb_cm_answer, body));
	answer->status = n == -EMFILE ? -EMFILE : -EINVAL;
	if (n >= (ssize_t)head && call->len <= (size_t)n - head &&
	    call->extra_len == (size_t)n - head - call->len) {
		switch ((enum vb_cm_call_op)call->op) {
		case VB_CM_CALL_OPEN:
			call_open(b, fds, answer);
			break;
		case VB_CM_CALL_ATTACH:
			answer->status = vb_channel_find(b->cm, call->channel) ? 0 : -ENOENT;
			break;
		case VB_CM_CALL_COMMAND:
			call_command(b->cm, c, call, answer, now);
			break;
		}
	}
	/* The peer hears of it before the program does: it may end at once. */
	cm_pump(b, now);
	expect_call(b, now);
	return offsetof(struct vb_cm_answer, body) +
	       (answer->ahead_len ? vb_cm_ahead_at(answer) + answer->ahead_len : answer->len);
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
	size = vb_broker_cm_serve(b, c, &call, n, &fds, &answer, now);
	if (n > 0)
		vb_fds_close(&fds);
	return vb_fds_send(c->sock, &answer, size, NULL) == 0;
}

void vb_broker_cm_channel(struct vb_broker *b, uint32_t index, vb_time now)
{
	struct vb_broker_cm *cm = b->cm;
	uint8_t junk[64];
	ssize_t n;

	if (!cm || index >= VB_CM_CHANNELS_MAX || !cm->channel[index])
		return;
	/* Nobody has anything to say here; who writes past the library is not heard. */
	n = recv(cm->channel[index]->fd, junk, sizeof junk, MSG_DONTWAIT);
	if (n > 0)
		return;
	if (n < 0 && errno == EAGAIN) {
		vb_channel_tell(b, cm->channel[index]);
		vb_ucma_keep(cm->ucma);
		return;
	}
	vb_channel_close(b, index, now);
	cm_pump(b, now);
}

void vb_broker_cm_packets(struct vb_broker *b, vb_time now)
{
	if (!vb_broker_cm_gsi(b))
		return;
	vb_gsi_step(b->cm->gsi, now);
	cm_pump(b, now);
}

void vb_broker_cm_timeouts(struct vb_broker *b, vb_time now)
{
	struct vb_broker_cm *cm = b->cm;

	if (!cm || vb_broker_cm_due(b, now) > now)
		return;
	vb_asks_timeouts(b, now);
	vb_channels_timeouts(b, now);
	if (cm->gsi)
		vb_gsi_step(cm->gsi, now);
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

int vb_broker_cm_group(struct vb_broker *b, uint8_t port, const struct vb_gid *gid, bool join)
{
	struct vb_gsi *gsi = vb_broker_cm_gsi(b);

	return gsi ? vb_gsi_group(gsi, port, gid, join) : -ENODEV;
}
