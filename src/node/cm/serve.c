/* SPDX-License-Identifier: BSD-2-Clause */
/* The connection manager behind its calls, see serve.h. CMP-31, CMP-45 */
#include "node/cm/serve.h"

#include "link/memory.h"
#include "node/cm/env.h"
#include "node/host/pace.h"
#include "ucma/command/ahead.h"
#include "ucma/command/post.h"
#include "ucma/view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define IDS_MAX VB_UCMA_KEPT_IDS
#define CONNS_MAX 65536u
#define EVENTS_MAX 4096u
#define ACK_DELAY 15 /* 4.096 us * 2^n: as a kernel's software adapter tells. CMP-06 */
/* A lost message is repeated after this much, long before the peer was told to expect it. */
#define EARLY_RESEND_NS (100 * VB_MSEC)

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

static void versions_open(struct vb_cm_host *cm)
{
	void *p;

	cm->versions_fd = vb_memory_new("verbena-cm-ids", VB_CM_VERSIONS_BYTES, &p);
	if (cm->versions_fd < 0)
		return;
	(void)fcntl(cm->versions_fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE);
	cm->version = p;
	vb_ucma_set_versions(cm->ucma, cm->version);
}

static void versions_close(struct vb_cm_host *cm)
{
	if (cm->versions_fd < 0)
		return;
	vb_memory_unmap(cm->version, VB_CM_VERSIONS_BYTES);
	close(cm->versions_fd);
}

static int ucma_open(struct vb_cm_host *cm, const struct vb_ucma_env *env,
		     bool (*gid_is_local)(void *ctx, const struct vb_gid *gid))
{
	struct vb_ucma_config cfg = {
	    .cm = {.conns = CONNS_MAX,
		   .ports = VB_HCA_PORTS_MAX,
		   .ack_delay = ACK_DELAY,
		   .early_resend_ns = EARLY_RESEND_NS,
		   .listen_wait_ns = cm->slow * VB_CM_LISTEN_WAIT_NS,
		   .gid_is_local = gid_is_local,
		   .gid_ctx = env->ctx,
		   .alloc = cm_alloc,
		   .free = cm_free},
	    .ids = IDS_MAX,
	    .events = EVENTS_MAX,
	    .env = *env,
	};

	if (getrandom(&cfg.cm.seed, sizeof cfg.cm.seed, 0) != (ssize_t)sizeof cfg.cm.seed ||
	    getrandom(&cfg.cm.hi_tid, sizeof cfg.cm.hi_tid, 0) != (ssize_t)sizeof cfg.cm.hi_tid)
		return -EIO;
	cfg.cm.hi_tid |= VB_CM_HOST_TID;
	vb_cm_env_ports(&cfg.port_first, &cfg.port_last);
	_Static_assert(IDS_MAX == VB_CM_VERSIONS, "one for each id");
	return vb_ucma_create(&cm->ucma, &cfg);
}

int vb_cm_host_open(struct vb_cm_host *cm, const struct vb_cm_loop *loop,
		    const struct vb_ucma_env *env,
		    bool (*gid_is_local)(void *ctx, const struct vb_gid *gid))
{
	int rc;

	cm->loop = *loop;
	cm->versions_fd = -1;
	cm->slow = vb_pace_slowness();
	rc = vb_channels_open(cm);
	if (!rc)
		rc = ucma_open(cm, env, gid_is_local);
	if (rc)
		return rc;
	versions_open(cm);
	return 0;
}

void vb_cm_host_close(struct vb_cm_host *cm)
{
	vb_ucma_destroy(cm->ucma);
	versions_close(cm);
}

static void call_open(struct vb_cm_host *cm, struct vb_fds *fds, struct vb_cm_answer *a)
{
	a->status = fds->cnt == 1 ? vb_channel_open(cm, fds->fd[0], &a->channel) : -EINVAL;
	if (a->status == 0)
		fds->cnt = 0;
}

static void call_attach(struct vb_cm_host *cm, const struct vb_cm_call *call,
			struct vb_cm_answer *a)
{
	struct vb_channel *ch = vb_channel_find(cm, call->channel);

	a->status = ch ? 0 : -ENOENT;
	if (ch)
		ch->is_shared = true;
}

/* Settles the events that are out before the command. */
static void events_settle(struct vb_channel *ch, struct vb_channel *other, const void *who,
			  const struct vb_cm_call *call)
{
	if (call->returns)
		vb_channel_return(other ? other : ch, who, call->serial, call->body + call->len,
				  call->extra_len);
	vb_channel_sync(ch);
	if (other)
		vb_channel_sync(other);
}

static void call_command(struct vb_cm_host *cm, const struct vb_cm_caller *who,
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
	/* The process that opened it may have handed it on. */
	vb_channel_set_user(ch, (uint32_t)who->pid, who->comm);
	other = vb_channel_find(cm, call->other);
	if (other)
		c.other = other->file;
	events_settle(ch, other, who->id, call);
	a->status = vb_ucma_command(ch->file, &c, a->body, &a->len, now);
	if (a->status == -EINPROGRESS) {
		if (!vb_channel_hold(other ? other : ch, who->id, call->serial))
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

/* Nobody waits for the answer, so a failure is told by an event. */
static void call_post(struct vb_cm_host *cm, const struct vb_cm_caller *who,
		      const struct vb_cm_call *call, struct vb_cm_answer *a, vb_time now)
{
	struct vb_channel *ch = vb_channel_find(cm, call->channel);
	const struct vb_ucma_command c = {.bytes = call->body, .len = call->len};
	struct vb_ucma_post post;

	if (!ch || !vb_ucma_post_parse(call->body, call->len, &post) ||
	    vb_cm_memory_answer(&cm->memory, ch->index, call->serial))
		return;
	vb_channel_set_user(ch, (uint32_t)who->pid, who->comm);
	a->status = vb_ucma_command(ch->file, &c, a->body, &a->len, now);
	if (a->status < 0)
		vb_ucma_post_failed(ch->file, &post, a->status);
	vb_cm_memory_put_answer(&cm->memory, ch->index, call->serial, a);
	vb_ucma_keep(cm->ucma);
}

void vb_cm_serve(struct vb_cm_host *cm, const struct vb_cm_caller *who,
		 const struct vb_cm_call *call, ssize_t n, struct vb_fds *fds,
		 struct vb_cm_answer *answer, vb_time now)
{
	size_t head = offsetof(struct vb_cm_call, body);

	memset(answer, 0, offsetof(struct vb_cm_answer, body));
	answer->status = n == -EMFILE ? -EMFILE : -EINVAL;
	if (n >= (ssize_t)head && call->len <= (size_t)n - head &&
	    call->extra_len == (size_t)n - head - call->len) {
		switch ((enum vb_cm_call_op)call->op) {
		case VB_CM_CALL_OPEN:
			call_open(cm, fds, answer);
			break;
		case VB_CM_CALL_ATTACH:
			call_attach(cm, call, answer);
			break;
		case VB_CM_CALL_COMMAND:
			call_command(cm, who, call, answer, now);
			break;
		case VB_CM_CALL_POST:
			call_post(cm, who, call, answer, now);
			break;
		}
	}
}

size_t vb_cm_answer_size(const struct vb_cm_answer *a)
{
	return offsetof(struct vb_cm_answer, body) +
	       (a->ahead_len ? vb_cm_ahead_at(a) + a->ahead_len : a->len);
}

void vb_cm_tell(struct vb_cm_host *cm)
{
	struct vb_ucma_file *f;

	/* An event is kept before anybody has it; then it is kept that somebody may have. */
	vb_ucma_keep(cm->ucma);
	while ((f = vb_ucma_poll_file(cm->ucma)))
		vb_channel_tell(vb_ucma_file_owner(f));
	vb_ucma_keep(cm->ucma);
}
