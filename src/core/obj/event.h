/* SPDX-License-Identifier: BSD-2-Clause */
/* Events out of the core: the object that raises them, see event.c. IBA 11.6.3 */
#ifndef VB_CORE_OBJ_EVENT_H
#define VB_CORE_OBJ_EVENT_H

#include "base/cold.h"
#include "base/list.h"
#include "core/hca.h"

struct vb_hca;

/* An object that raises events: pending bits, and its place in the HCA's queue of such objects. */
struct vb_event_source {
	struct vb_list link;
	enum vb_event_kind async_kind;
	uint32_t async; /* bit (1 << enum vb_async) */
	bool notify;    /* a CQ_NOTIFY is due, */
	bool cnp;       /* or a CNP, ... */
	uint8_t cnp_port;
	uint32_t cnp_qpn; /* ... for this QP */
	void *owner;
};

void vb_event_source_init(struct vb_event_source *s, enum vb_event_kind kind, void *owner);
VB_COLD void vb_event_raise_async(struct vb_hca *h, struct vb_event_source *s, enum vb_async ev);
void vb_event_raise_cnp(struct vb_hca *h, struct vb_event_source *s, uint32_t qpn, uint8_t port);
void vb_event_raise_notify(struct vb_hca *h, struct vb_event_source *s);

#endif
