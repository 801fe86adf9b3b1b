/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events for a copy of libibverbs: it makes completion channels by a command on the device file,
 * reads their events and the async ones from descriptors, and closes those, all by calls of the C
 * library. The structures are the kernel's. <rdma/ib_user_verbs.h>
 *
 * A list of its own, under a mutex that is held alone, knows the descriptors: the program may close
 * one, or read from it, at any time.
 */
#include "node/wait/uverbs.h"
#include "node/wait/watch.h"
#include "verbs/provider/adopt.h"

#include <rdma/ib_user_verbs.h>
#include <stdlib.h>
#include <string.h>

struct event_file {
	struct vb_list link;
	int fd;
	struct vb_ibv_context *c;
	struct vb_ibv_channel *channel; /* NULL: of async events */
};

static struct {
	pthread_mutex_t mutex;
	struct vb_list head;
} files = {PTHREAD_MUTEX_INITIALIZER, {&files.head, &files.head}};

/* The child of a fork() has one thread, and the descriptors, whose events it cannot have: EIO. */
static void renew_mutex(void)
{
	files.mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static int enter_file(int fd, struct vb_ibv_context *c, struct vb_ibv_channel *channel)
{
	static bool is_prepared;
	int (*enter)(int) = atomic_load(&vb_uverbs_enter_event);
	struct event_file *f = enter ? calloc(1, sizeof *f) : NULL;

	if (!f)
		return enter ? ENOMEM : EOPNOTSUPP;

	int err = -enter(fd);

	if (err) {
		free(f);
		return err;
	}
	if (!is_prepared)
		is_prepared = pthread_atfork(NULL, NULL, renew_mutex) == 0;
	*f = (struct event_file){.fd = fd, .c = c, .channel = channel};
	pthread_mutex_lock(&files.mutex);
	vb_list_append(&files.head, &f->link);
	pthread_mutex_unlock(&files.mutex);
	return 0;
}

/* Under the mutex. */
static struct event_file *find_file(int fd)
{
	for (struct vb_list *l = files.head.next; l != &files.head; l = l->next) {
		struct event_file *f = vb_container_of(l, struct event_file, link);

		if (f->fd == fd)
			return f;
	}
	return NULL;
}

/* The entry of @fd, in *f; with @forget it is gone then. */
static bool get_file(int fd, struct event_file *f, bool forget)
{
	pthread_mutex_lock(&files.mutex);

	struct event_file *found = find_file(fd);

	if (found) {
		*f = *found;
		if (forget) {
			vb_list_remove(&found->link);
			free(found);
		}
	}
	pthread_mutex_unlock(&files.mutex);
	return found;
}

int vb_provider_show_async(struct vb_ibv_context *c)
{
	return enter_file(c->async.fd, c, NULL);
}

void vb_provider_hide_events(const struct vb_ibv_context *c)
{
	pthread_mutex_lock(&files.mutex);
	for (struct vb_list *l = files.head.next, *next; l != &files.head; l = next) {
		struct event_file *f = vb_container_of(l, struct event_file, link);

		next = l->next;
		if (f->c == c) {
			vb_list_remove(l);
			free(f);
		}
	}
	pthread_mutex_unlock(&files.mutex);
}

bool vb_provider_find_channel(struct vb_ibv_context *c, struct ibv_comp_channel **channel)
{
	struct event_file f;

	if (!*channel)
		return true;
	if (!get_file((*channel)->fd, &f, false) || f.c != c || !f.channel) {
		vb_ibv_note_why(EBADF, "channel was not made with this context");
		return false;
	}
	*channel = &f.channel->ibv;
	return true;
}

/* The context that a copy has on @fd. Its async queue is the one thing that all of them have. */
static struct vb_ibv_context *context_of(int fd)
{
	struct vb_ibv_context *c = NULL;

	pthread_mutex_lock(&files.mutex);
	for (struct vb_list *l = files.head.next; l != &files.head && !c; l = l->next) {
		struct event_file *f = vb_container_of(l, struct event_file, link);

		if (!f->channel && f->c->vctx.context.cmd_fd == fd)
			c = f->c;
	}
	pthread_mutex_unlock(&files.mutex);
	return c;
}

static ssize_t create_channel(struct vb_ibv_context *c, const void *from, size_t len)
{
	struct ib_uverbs_create_comp_channel cmd;
	struct ib_uverbs_create_comp_channel_resp answer;

	if (len < sizeof(struct ib_uverbs_cmd_hdr) + sizeof cmd)
		return -EINVAL;
	memcpy(&cmd, (const char *)from + sizeof(struct ib_uverbs_cmd_hdr), sizeof cmd);

	struct ibv_comp_channel *channel = ibv_create_comp_channel(&c->vctx.context);

	if (!channel)
		return -errno;

	int err = enter_file(channel->fd, c, (struct vb_ibv_channel *)channel);

	if (err) {
		(void)ibv_destroy_comp_channel(channel);
		return -err;
	}
	answer.fd = (uint32_t)channel->fd;
	memcpy((void *)(uintptr_t)cmd.response, &answer, sizeof answer);
	return (ssize_t)len;
}

ssize_t vb_provider_command(int fd, const void *from, size_t len)
{
	struct vb_ibv_context *c = context_of(fd);
	struct ib_uverbs_cmd_hdr head;

	if (!c || len < sizeof head)
		return c ? -EINVAL : -EOPNOTSUPP;
	memcpy(&head, from, sizeof head);
	return head.command == IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL ? create_channel(c, from, len)
								     : -EOPNOTSUPP;
}

static ssize_t read_completion(struct vb_ibv_channel *channel, void *to, size_t len)
{
	struct ib_uverbs_comp_event_desc event;
	struct ibv_cq *cq;
	void *cq_context;

	if (len < sizeof event)
		return -EINVAL;
	if (ibv_get_cq_event(&channel->ibv, &cq, &cq_context))
		return -errno;
	event.cq_handle = (uintptr_t)cq;
	memcpy(to, &event, sizeof event);
	return sizeof event;
}

static ssize_t read_async(struct vb_ibv_context *c, void *to, size_t len)
{
	struct ib_uverbs_async_event_desc desc = {0};
	struct ibv_async_event event = {0};

	if (len < sizeof desc)
		return -EINVAL;
	if (ibv_get_async_event(&c->vctx.context, &event))
		return -errno;
	desc.event_type = event.event_type;
	switch (event.event_type) {
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
	case IBV_EVENT_GID_CHANGE:
	case IBV_EVENT_DEVICE_FATAL:
		desc.element = (uint32_t)event.element.port_num;
		break;
	default:
		desc.element = (uintptr_t)event.element.qp; /* or another object: a pointer */
		break;
	}
	memcpy(to, &desc, sizeof desc);
	return sizeof desc;
}

ssize_t vb_provider_read_event(int fd, void *to, size_t len)
{
	struct event_file f;

	if (!get_file(fd, &f, false))
		return -ENOENT;
	return f.channel ? read_completion(f.channel, to, len) : read_async(f.c, to, len);
}

/*
 * With CQs still on it the channel stays until they are closed with the context, as the kernel
 * keeps the file; the number is the program's again.
 */
void vb_provider_close_event(int fd)
{
	struct event_file f;

	if (!get_file(fd, &f, true) || !f.channel)
		return;
	if (!vb_ibv_enter(f.c))
		return;
	vb_watch_channel(fd, false);
	vb_evq_abandon(&f.channel->events);

	bool is_used = f.channel->ibv.refcnt != 0;

	if (!is_used)
		vb_list_remove(&f.channel->link);
	vb_ibv_leave(f.c);
	if (!is_used) {
		vb_evq_close(&f.channel->events);
		vb_object_free(f.channel);
	}
}
