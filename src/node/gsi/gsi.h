/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QP1 of the broker: management datagrams from and to QP1 of other hosts. It is an engine as each
 * process has one, at slot 1 of the group, whose HCA has one QP1 for each device; so MADs are
 * counted, captured and met by faults as all packets are. It has no thread: the broker's loop takes
 * its steps.
 */
#ifndef VB_NODE_GSI_GSI_H
#define VB_NODE_GSI_GSI_H

#include "node/store/slots.h"
#include "wire/mad/mad.h"
#include "wire/path.h"

#include <stdbool.h>

struct vb_carrier_ask;
struct vb_gsi;

/* The longest message: a MAD, with padding behind it. */
#define VB_GSI_MESSAGE_MAX 4096u

/* A MAD of @len bytes, VB_MAD_LEN or with what stands behind it more, has come: @path is the
 * packet's, its port the HCA port. It is the caller's for the call. */
typedef void vb_gsi_handler(void *ctx, const struct vb_path *path, const uint8_t *mad, uint32_t len,
			    vb_time now);

/* Opens it on slot VB_SLOT_GSI of @s, which has been made. A failure is explained in @why. */
int vb_gsi_open(struct vb_gsi **out, struct vb_slots *s, vb_gsi_handler *handler, void *ctx,
		char *why, size_t why_size);
void vb_gsi_close(struct vb_gsi *g);
/* The descriptor that is readable when a step is due for a packet. */
int vb_gsi_fd(const struct vb_gsi *g);

/*
 * Where the shared broker has QP1 (link/carried/carried.h): this user's part of the communication
 * IDs, 1...255, which his requests of other classes have in their TIDs as well; 0: all are his.
 */
uint8_t vb_gsi_part(const struct vb_gsi *g);
/* How often the shared broker has taken this QP1 in: after each time it has to be asked again. */
uint32_t vb_gsi_attached(const struct vb_gsi *g);
/* Asks it for @ask; 0 where it is not there to be asked, or another negative errno. */
int vb_gsi_claim(struct vb_gsi *g, struct vb_carrier_ask *ask);

/* Host memory has another device table or other rules. */
void vb_gsi_follow(struct vb_gsi *g);

/* Receives, calls the handler for each MAD, and sends. */
void vb_gsi_step(struct vb_gsi *g, vb_time now);
/* Sends what is queued, and looks for nothing. */
void vb_gsi_flush(struct vb_gsi *g, vb_time now);
/* When the next step is due without a packet, or VB_NEVER. */
vb_time vb_gsi_due(const struct vb_gsi *g, vb_time now);

/* A MAD can be sent now. */
bool vb_gsi_has_room(const struct vb_gsi *g);
/*
 * Queues @mad from QP1 of HCA port path->port to QP1 of path->dgid, with zeros behind it up to @len
 * bytes, which are a multiple of 4; the next step or flush sends it.
 * -ENODEV: there is no such port; -EAGAIN: no room; -EMSGSIZE: more than the port's MTU.
 */
int vb_gsi_send(struct vb_gsi *g, const struct vb_path *path, const uint8_t mad[VB_MAD_LEN],
		uint32_t len);

/* Joins, or leaves, the group @gid at HCA port @port, as often as it is left again: the network
 * carries it here from then on. 0 or a negative errno. */
int vb_gsi_group(struct vb_gsi *g, uint8_t port, const struct vb_gid *gid, bool join);

#endif
