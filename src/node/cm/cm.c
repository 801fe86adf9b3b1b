/* SPDX-License-Identifier: BSD-2-Clause */
/* The connection manager of the host, see cm.h. CMP-23, CMP-31, CMP-45, CMP-51 */
#include "node/cm/cm.h"

#include "base/spin.h"
#include "link/memory.h"
#include "node/broker/state.h"
#include "node/cm/call.h"
#include "node/cm/env.h"
#include "node/cm/memory.h"
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
/* Bytes of events that were taken, before the program has to take them although more wait. */
#define TOKENS_SPENT_MAX 32u

struct channel {
	struct vb_broker_cm *cm;
	uint32_t index;
	int fd; /* the broker's end */
	uint64_t token;
	struct vb_ucma_file *file;
	uint32_t tokens; /* bytes that the program's end has to read... */
	uint32_t spent;  /* ... so many of them of events that it has taken already */
};

struct vb_broker_cm {
	struct vb_ucma *ucma;
	struct vb_gsi *gsi;
	struct vb_cm_memory memory; /* what outlives this broker */
	int versions_fd;            /* -1: there is no memory for them, and nothing is read ahead */
	uint32_t *version;
	vb_time last_call;
	uint32_t slow; /* vb_pace_slowness() */
	struct vb_spin spin;
	bool spins; /* it looks, or has looked, for the next call */
	uint32_t channel_cnt;
	struct channel *channel[VB_CM_CHANNELS_MAX];
};

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

/* The next broker must not believe in bytes that are not there: it is told of them when they are,
 * and before they are taken. */
static void tokens_set(struct channel *ch, uint32_t cnt)
{
	ch->tokens = cnt;
	if (ch->cm->memory.kept)
		__atomic_store_n(&ch->cm->memory.kept->channel[ch->index].event_tokens, cnt,
				 __ATOMIC_RELEASE);
}

static uint32_t tokens_wanted(const struct channel *ch)
{
	uint32_t events = vb_ucma_file_events(ch->file);

	return events < VB_CM_TOKENS_MAX ? events : VB_CM_TOKENS_MAX;
}

/* Makes as many bytes wait in the pair as there are events; fewer are not its business. */
static void channel_tell(struct channel *ch)
{
	uint32_t want = tokens_wanted(ch);
	const uint8_t token = 1;

	/* A pair that is full is readable, which is all that the bytes are for. */
	while (ch->tokens - ch->spent < want &&
	       send(ch->fd, &token, sizeof token, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof token)
		tokens_set(ch, ch->tokens + 1);
}

/* How many bytes the program has to take from its end now. While events wait it is readable
 * anyway, and the bytes can be taken together. */
static uint32_t channel_drain(struct channel *ch)
{
	uint32_t want = tokens_wanted(ch), live = ch->tokens - ch->spent, drain;

	if (live > want)
		ch->spent += live - want;
	if (want && ch->spent < TOKENS_SPENT_MAX)
		return 0;
	drain = ch->spent;
	ch->spent = 0;
	if (drain)
		tokens_set(ch, ch->tokens - drain);
	return drain;
}

/* Sends what there is to send, takes what came of it, and tells who has events. */
static void cm_pump(struct vb_broker_cm *cm, vb_time now)
{
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
	vb_ucma_keep(cm->ucma);
	while ((f = vb_ucma_poll_file(cm->ucma)))
		channel_tell(vb_ucma_file_owner(f));
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

static void channel_close(struct vb_broker *b, uint32_t index, vb_time now)
{
	struct vb_broker_cm *cm = b->cm;
	struct channel *ch = cm->channel[index];

	cm->channel[index] = NULL;
	cm->channel_cnt--;
	vb_cm_memory_remove(&cm->memory, index);
	/* Closing alone does not end it, for the store has it too. */
	vb_broker_unwatch(b, ch->fd);
	close(ch->fd);
	vb_ucma_file_close(ch->file, now);
	free(ch);
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
			channel_close(b, i, 0);
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
	cm_pump(cm, vb_cm_env_now());
}

/* The channel that @token names; NULL: none does. */
static struct channel *channel_find(const struct vb_broker_cm *cm, uint64_t token)
{
	for (uint32_t i = 0; token && i < VB_CM_CHANNELS_MAX; i++)
		if (cm->channel[i] && cm->channel[i]->token == token)
			return cm->channel[i];
	return NULL;
}

/* Channel @index with the broker's end @fd, which it owns from then on. */
static int channel_make(struct vb_broker *b, uint32_t index, uint64_t token, int fd)
{
	struct vb_broker_cm *cm = b->cm;
	struct channel *ch = calloc(1, sizeof *ch);
	int err;

	if (!ch)
		return -ENOMEM;
	*ch = (struct channel){.cm = cm, .index = index, .fd = fd, .token = token};
	err = vb_ucma_file_open(cm->ucma, ch, &ch->file);
	if (!err) {
		vb_ucma_file_set_number(ch->file, index);
		err = vb_broker_watch(b, fd, VB_SOURCE_CHANNEL, index);
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

/* A new channel. */
static int channel_open(struct vb_broker *b, int fd, uint64_t *token)
{
	struct vb_broker_cm *cm = b->cm;
	uint32_t i = 0;
	int err;

	while (i < VB_CM_CHANNELS_MAX && cm->channel[i])
		i++;
	if (i == VB_CM_CHANNELS_MAX)
		return -ENFILE;
	if (getrandom(token, sizeof *token, 0) != (ssize_t)sizeof *token)
		return -EIO;
	*token |= 1; /* 0 is none */
	err = channel_make(b, i, *token, fd);
	if (!err)
		vb_cm_memory_add(&cm->memory, i, *token, fd);
	return err;
}

/* A channel of the broker before. */
static void channel_adopt(void *ctx, uint32_t index, uint64_t token, int fd)
{
	struct vb_broker *b = ctx;

	if (b->cm->channel[index] || channel_make(b, index, token, fd)) {
		close(fd);
		return;
	}
	b->cm->channel[index]->tokens = b->cm->memory.kept->channel[index].event_tokens;
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
	vb_cm_memory_walk(&cm->memory, channel_adopt, b);
	vb_ucma_restore(cm->ucma, now);
}

void vb_broker_cm_open(struct vb_broker *b)
{
	struct vb_broker_cm *cm = b->cm ? b->cm : calloc(1, sizeof *cm);
	char why[256];

	if (!cm || (!cm->ucma && ucma_open(b, cm))) {
		free(cm);
		return;
	}
	b->cm = cm;
	cm->slow = vb_pace_slowness();
	if (!cm->gsi && vb_gsi_open(&cm->gsi, &b->slots, take_mad, b, why, sizeof why))
		cm->gsi = NULL;
	if (!cm->memory.kept)
		memory_open(b, vb_cm_env_now());
	cm_pump(cm, vb_cm_env_now());
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
	a->status = fds->cnt == 1 ? channel_open(b, fds->fd[0], &a->channel) : -EINVAL;
	if (a->status == 0)
		fds->cnt = 0;
}

/* Bytes that the program's end still has although no event waits: who was to take them was killed.
 */
static uint32_t channel_stale(const struct channel *ch)
{
	int queued = 0;

	return ch->tokens == 0 && ioctl(ch->fd, SIOCOUTQ, &queued) == 0 && queued > 0;
}

/* Where in the body of @a what is read ahead begins. */
static uint32_t ahead_at(const struct vb_cm_answer *a)
{
	return (a->len + 7u) & ~7u;
}

/* Adds the answers to what is likely to be asked next. */
static void add_ahead(struct channel *ch, const struct vb_ucma_command *c, struct vb_cm_answer *a)
{
	uint32_t at = ahead_at(a);

	_Static_assert(VB_UCMA_REPLY_MAX + VB_UCMA_AHEAD_MAX <= VB_CM_ANSWER_BODY, "both fit");
	if (a->status >= 0 && vb_ucma_ahead(ch->file, c, a->body, &a->ahead_id, a->body + at,
					    VB_CM_ANSWER_BODY - at, &a->ahead_len))
		a->ahead_version = ch->cm->version[a->ahead_id];
}

static void call_command(struct vb_broker_cm *cm, const struct vb_conn *conn,
			 const struct vb_cm_call *call, struct vb_cm_answer *a, vb_time now)
{
	struct channel *ch = channel_find(cm, call->channel), *other;
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
	other = channel_find(cm, call->other);
	if (other)
		c.other = other->file;
	a->status = vb_ucma_command(ch->file, &c, a->body, &a->len, now);
	a->drain = a->status == -EAGAIN && channel_stale(ch) ? 1 : channel_drain(ch);
	if (other && other != ch)
		a->drain_other = channel_drain(other);
	a->events = vb_ucma_file_events(ch->file);
	/* A question may be asked again. */
	if (!vb_ucma_read_parse(c.bytes, c.len, &read)) {
		/* Before anybody hears of it. */
		vb_cm_memory_put_answer(&cm->memory, ch->index, call->serial, a);
		vb_ucma_keep(cm->ucma);
	}
	add_ahead(ch, &c, a);
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
			answer->status = channel_find(b->cm, call->channel) ? 0 : -ENOENT;
			break;
		case VB_CM_CALL_COMMAND:
			call_command(b->cm, c, call, answer, now);
			break;
		}
	}
	/* The peer hears of it before the program does: it may end at once. */
	cm_pump(b->cm, now);
	expect_call(b, now);
	return offsetof(struct vb_cm_answer, body) +
	       (answer->ahead_len ? ahead_at(answer) + answer->ahead_len : answer->len);
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
	if (n > 0 || (n < 0 && errno == EAGAIN))
		return;
	channel_close(b, index, now);
	cm_pump(cm, now);
}

void vb_broker_cm_packets(struct vb_broker *b, vb_time now)
{
	if (!vb_broker_cm_gsi(b))
		return;
	vb_gsi_step(b->cm->gsi, now);
	cm_pump(b->cm, now);
}

void vb_broker_cm_timeouts(struct vb_broker *b, vb_time now)
{
	struct vb_broker_cm *cm = b->cm;

	if (!cm || vb_broker_cm_due(b, now) > now)
		return;
	vb_asks_timeouts(b, now);
	if (cm->gsi)
		vb_gsi_step(cm->gsi, now);
	vb_ucma_handle_timeout(cm->ucma, now);
	cm_pump(cm, now);
}

vb_time vb_broker_cm_due(const struct vb_broker *b, vb_time now)
{
	vb_time due;

	if (!b->cm)
		return VB_NEVER;
	due = vb_time_min(vb_ucma_poll_timeout(b->cm->ucma), vb_asks_due(&b->asks));
	return b->cm->gsi ? vb_time_min(due, vb_gsi_due(b->cm->gsi, now)) : due;
}

const struct vb_cm_port_counters *vb_broker_cm_counters(const struct vb_broker *b)
{
	return b->cm ? vb_ucma_port_counters(b->cm->ucma) : NULL;
}

uint32_t vb_broker_cm_views(const struct vb_broker *b, struct vb_ucma_view *to, uint32_t room)
{
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
