/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests that come before their listener. A program that ends one connection and listens for the
 * next one, as perftest's servers do, is a moment behind a client that does not wait for it. With
 * a kernel's connection manager the client takes longer than that moment; here its request would be
 * refused. So a request without a listener is parked for a short while
 * (vb_cm_config.listen_wait_ns), and is refused then. CMP-17, CMP-24
 */
#ifndef VB_CM_PARK_PARK_H
#define VB_CM_PARK_PARK_H

#include "base/time.h"
#include "wire/mad/cm.h"
#include "wire/path.h"

#include <stdbool.h>

/* Requests that are parked at most, whoever sends them. One more is refused at once. */
#define VB_CM_PARK_MAX 32

struct vb_cm_parked {
	struct vb_path path;  /* by which it came */
	struct vb_cm_msg msg; /* REQ or SIDR_REQ */
	vb_time due;          /* 0: somebody listens now */
};

struct vb_cm_park {
	struct vb_cm_parked request[VB_CM_PARK_MAX]; /* in the order they came */
	uint32_t cnt;
};

/* Whether the request with the communication ID @id of the sender of @path is parked. */
bool vb_cm_park_has(const struct vb_cm_park *p, const struct vb_path *path, uint32_t id);
/* Parks the request @m until @due. False: there is no place. */
bool vb_cm_park_add(struct vb_cm_park *p, const struct vb_path *path, const struct vb_cm_msg *m,
		    vb_time due);
/* The sender of @path gives up what it began by the ID @id. False: that is not parked. */
bool vb_cm_park_forget(struct vb_cm_park *p, const struct vb_path *path, uint32_t id);
/* Somebody listens for @service_id: its requests are due now. */
void vb_cm_park_hear(struct vb_cm_park *p, uint64_t service_id);
/* When the next one is due; VB_NEVER: none is parked. */
vb_time vb_cm_park_due(const struct vb_cm_park *p);
/* Takes a request that is due. False: none is. */
bool vb_cm_park_take(struct vb_cm_park *p, struct vb_cm_parked *out, vb_time now);

#endif
