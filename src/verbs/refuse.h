/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why verbs refuse. Code that finds a mistake of the caller's notes it for its thread with
 * VB_IBV_WHY() or vb_ibv_why_core(); the verb that refuses ends with vb_ibv_refuse(), which keeps
 * what was noted for `verbena explain`, and prints it where VERBENA_LOG is set. Nothing here runs
 * when a verb succeeds. tests/structure looks for errnos without a reason.
 */
#ifndef VB_VERBS_REFUSE_H
#define VB_VERBS_REFUSE_H

#include "verbs/object.h"

struct vb_ibv_context;

/* Notes a reason for @err, an errno. */
__attribute__((cold, format(printf, 2, 3))) void vb_ibv_note_why(int err, const char *format, ...);
/* ... and gives @err, which it takes twice. */
#define VB_IBV_WHY(err, ...) (vb_ibv_note_why((err), __VA_ARGS__), (err))
/* The reason that this thread has noted stands for @err. Returns @err. */
__attribute__((cold)) int vb_ibv_why_as(int err);
/* Drops what this thread has noted: a verb refuses without a reason. */
__attribute__((cold)) void vb_ibv_forget_why(void);
/* Notes that there is no such object, or that it is of another context. Return ENOENT. */
__attribute__((cold)) int vb_ibv_why_gone(enum vb_object_kind kind);
__attribute__((cold)) int vb_ibv_why_elsewhere(enum vb_object_kind kind);
/* Notes that @port is none of the device of @c. Returns EINVAL. */
__attribute__((cold)) int vb_ibv_why_port(const struct vb_ibv_context *c, uint32_t port);
/* Notes the reason of the core's last refusal. Under the lock. Returns @err. */
__attribute__((cold)) int vb_ibv_why_core(struct vb_ibv_context *c, int err);
/*
 * A verb, named by @format with the object that it is about, refuses with @err: keeps the reason
 * that was noted, or else the errno's words. @c is NULL where no object says which it is. Not under
 * the lock. Sets errno and returns @err.
 */
__attribute__((cold, format(printf, 3, 4))) int vb_ibv_refuse(struct vb_ibv_context *c, int err,
							      const char *format, ...);

/*
 * For libverbena-trace.so: why this thread's last verb was refused, told once; NULL: no verb was
 * since, or it had no reason but its errno.
 */
const char *verbena_refusal(void);

/* The same of a verb that returns NULL. */
#define VB_IBV_REFUSE_NULL(...) ((void)vb_ibv_refuse(__VA_ARGS__), NULL)
/* ... of a verb that returns -1. */
#define VB_IBV_REFUSE_FAIL(...) ((void)vb_ibv_refuse(__VA_ARGS__), -1)

#endif
