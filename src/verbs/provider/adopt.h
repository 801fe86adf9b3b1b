/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contexts that a copy of libibverbs has by a plug-in, and the descriptors of events that the copy
 * reads by itself: completion channels, which it makes by a command on the device file, and async
 * events. See provider.h.
 */
#ifndef VB_VERBS_PROVIDER_ADOPT_H
#define VB_VERBS_PROVIDER_ADOPT_H

#include "verbs/priv.h"
#include "verbs/provider/provider.h"

#include <sys/types.h>

/* The operations for plug-ins. calls.c */
extern const struct vb_provider_op vb_provider_ops[];

/* events.c: the calls of node/wait/uverbs.h. */
ssize_t vb_provider_command(int fd, const void *from, size_t len);
ssize_t vb_provider_read_event(int fd, void *to, size_t len);
void vb_provider_close_event(int fd);

/* The queue of @c for async events can be read from now on. 0 or an errno. */
int vb_provider_show_async(struct vb_ibv_context *c);
/* None of @c's descriptors gives events any more. */
void vb_provider_hide_events(const struct vb_ibv_context *c);
/* The channel of @c behind the one that the copy made, *channel; NULL stays NULL. False: @c has no
 * such channel. */
bool vb_provider_find_channel(struct vb_ibv_context *c, struct ibv_comp_channel **channel);

#endif
