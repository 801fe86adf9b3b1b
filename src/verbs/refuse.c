/* SPDX-License-Identifier: BSD-2-Clause */
/* Why verbs refuse, see refuse.h. */
#include "verbs/refuse.h"

#include "verbs/priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A verb and its object. */
#define VERB_MAX 64

_Thread_local int vb_ibv_errno;

/* The reason that was noted and not yet told. */
static _Thread_local struct {
	int err; /* 0: nothing */
	char text[VB_REFUSED_TEXT_MAX - VERB_MAX - 2];
} noted;

/* The reason that libverbena-trace.so has not asked for yet. */
static _Thread_local struct {
	bool is_new;
	char text[sizeof noted.text];
} told;

const char *verbena_refusal(void)
{
	bool is_new = told.is_new;

	told.is_new = false;
	return is_new ? told.text : NULL;
}

void vb_ibv_note_why(int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(noted.text, sizeof noted.text, format, args);
	va_end(args);
	noted.err = err;
}

int vb_ibv_why_as(int err)
{
	noted.err = err;
	return err;
}

void vb_ibv_forget_why(void)
{
	noted.err = 0;
}

/* As their kinds are called in the standard. */
static const char *const kind_names[] = {
    [VB_OBJECT_PD] = "protection domain",
    [VB_OBJECT_TD] = "thread domain",
    [VB_OBJECT_MR] = "memory region",
    [VB_OBJECT_MW] = "memory window",
    [VB_OBJECT_DM] = "device memory",
    [VB_OBJECT_AH] = "address handle",
    [VB_OBJECT_CHANNEL] = "completion channel",
    [VB_OBJECT_CQ] = "CQ",
    [VB_OBJECT_SRQ] = "SRQ",
    [VB_OBJECT_QP] = "QP",
    [VB_OBJECT_XRCD] = "XRC domain",
    [VB_OBJECT_DMAH] = "DMA handle",
    [VB_OBJECT_BUF] = "buffer of ibv_alloc_buf()",
    [VB_OBJECT_COMP_CNTR] = "completion counter",
};

int vb_ibv_why_gone(enum vb_object_kind kind)
{
	return VB_IBV_WHY(ENOENT, "there is no such %s: it was destroyed, or never made",
			  kind_names[kind]);
}

int vb_ibv_why_elsewhere(enum vb_object_kind kind)
{
	return VB_IBV_WHY(ENOENT, "the %s is of another context", kind_names[kind]);
}

int vb_ibv_why_port(const struct vb_ibv_context *c, uint32_t port)
{
	if (c->port_cnt > 1)
		return VB_IBV_WHY(EINVAL, "port_num is %u, and the device has the ports 1 to %u",
				  port, c->port_cnt);
	return VB_IBV_WHY(EINVAL, "port_num is %u, and the device has port 1 alone", port);
}

int vb_ibv_why_core(struct vb_ibv_context *c, int err)
{
	vb_engine_refusal(c->engine, noted.text, sizeof noted.text);
	noted.err = noted.text[0] ? err : 0;
	return err;
}

/* VERBENA_LOG is set, and not to 0. */
static bool is_logged(void)
{
	const char *text = getenv("VERBENA_LOG");

	return text && *text && strcmp(text, "0") != 0;
}

int vb_ibv_refuse(struct vb_ibv_context *c, int err, const char *format, ...)
{
	struct vb_engine *e = vb_engine_borrow();
	char verb[VERB_MAX], text[VB_REFUSED_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(verb, sizeof verb, format, args);
	va_end(args);
	if (err == EIO && c && !vb_engine_is_alive(c->engine))
		vb_ibv_note_why(err, "a forked child has no adapter, it stayed with the parent");
	snprintf(text, sizeof text, "%s: %s", verb,
		 noted.err == err ? noted.text : strerrordesc_np(err));
	told.is_new = noted.err == err;
	memcpy(told.text, noted.text, sizeof told.text);
	noted.err = 0;
	if (e) {
		vb_engine_lock(e);
		vb_engine_note_refused(e, err, text);
		vb_engine_unlock(e);
		vb_engine_release(e);
	}
	if (is_logged())
		fprintf(stderr, "verbena: %s: %s\n", strerrorname_np(err), text);
	errno = err;
	return err;
}

void vb_ibv_complain(_Atomic bool *said, const char *format, ...)
{
	char line[256];
	va_list args;

	if (atomic_exchange(said, true))
		return;
	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	fprintf(stderr, "verbena: %s\n", line);
}
