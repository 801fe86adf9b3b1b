/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dynamically connected transport: an initiator (DCI) is RC's requester with a destination in every
 * work request, and connects to one target after the other; a target (DCT) serves any number of
 * initiators, with RC's responder in a context for each. The packets are RC's with 8 bytes more,
 * and a connect and a disconnect; their contents are this project's own: docs/dc.md. facts B.8;
 * IBT-25
 */
#ifndef VB_CORE_DC_DC_H
#define VB_CORE_DC_DC_H

#include "core/qp/qp.h"

/* Initiators that a target can have at one time, and READs and atomics of each. */
#define VB_DCT_CONTEXTS 64u
#define VB_DCT_RESOURCES 16u

/*
 * A context whose initiator was silent for so long may be given to another one; sooner when it has
 * failed: then its initiator asks at most whether it really has.
 */
#define VB_DCT_IDLE (10 * VB_SEC)
#define VB_DCT_FAILED_IDLE (1 * VB_SEC)

/* An initiator that has had nothing to send for so long disconnects. */
#define VB_DCI_LINGER (10 * VB_MSEC)

/* Where a WQE goes; begins with what UD has. */
struct vb_dc_dest {
	struct vb_ud_dest to; /* qkey is not used */
	uint64_t key;
	uint32_t stream;
	uint32_t nr; /* counts what was posted to the initiator */
};

enum vb_dci_state {
	VB_DCI_CLOSED,     /* the next packet is a connect */
	VB_DCI_CONNECTING, /* it was sent */
	VB_DCI_OPEN,       /* the target has answered */
};

#define VB_DCI_CHANNELS_MAX (1u << VB_DC_LOG_STREAMS_MAX)
#define VB_DCI_BAD_MAX (1u << VB_DC_LOG_ERRORED_MAX)

/*
 * The streams of an initiator, and the channels in which they run side by side. A channel is a QP
 * that no table knows, with a send queue, a requester and a connection of its own; the first one is
 * the initiator itself.
 */
struct vb_dci_streams {
	uint32_t bad_max, bad_cnt; /* streams that may be, and are, in error */
	uint32_t post_cnt;
	uint32_t channel_cnt; /* a power of two */
	struct vb_qp *channel[VB_DCI_CHANNELS_MAX];
	uint16_t bad[VB_DCI_BAD_MAX];
};

/* The connection of an initiator, or of one of its channels. */
struct vb_dci {
	enum vb_dci_state state;
	bool by_adapter; /* the adapter decides on full */
	bool full;       /* requests wait for the answer to the connect */
	bool has_dest;   /* dest is valid: where it is, or was, connected to */
	bool leaving;    /* left has to be told of the disconnect */
	struct vb_dc_dest dest, left;
	uint32_t left_connection;
	/* The stream that took the channel when it was empty, and the places in the send queue
	 * behind its newest WQE and behind that of others. */
	uint32_t stream, own_end, other_end;
	struct vb_dci_streams *streams; /* the same in all channels; NULL: without streams */
};

enum vb_dct_use {
	VB_DCT_FREE,
	VB_DCT_LEFT, /* disconnected; known so that no late packet begins it again */
	VB_DCT_LIVE,
};

/* An initiator that has a context of a target. */
struct vb_dct_entry {
	struct vb_gid gid; /* the initiator's */
	uint16_t lid;
	uint32_t qpn;
	uint8_t channel;
	enum vb_dct_use use;
	vb_time last; /* packet */
};

struct vb_dct {
	uint64_t key;
	uint32_t recent; /* entry that the last packet was for */
	struct vb_dct_entry entry[VB_DCT_CONTEXTS];
	/* Responders, in no table; the one more only says no to initiators that get none of the
	 * others. */
	struct vb_qp *context[VB_DCT_CONTEXTS + 1];
};

/* connect.c: the connection of an initiator or a channel begins to be. */
int vb_dci_begin(struct vb_qp *qp, const struct vb_dc_init *init);
/* It is connected, or connecting, to where a packet with @path came from. */
bool vb_dci_is_with(const struct vb_qp *qp, const struct vb_path *path);
/* The reason that holds back the next packet of @w. */
enum vb_block vb_dci_gate(const struct vb_qp *qp, const struct vb_swqe *w);
/* The gate lets @w pass: the initiator goes to its destination, unless it is there. */
void vb_dci_go(struct vb_qp *qp, const struct vb_swqe *w);
/* A disconnect has to leave; a connect has to leave before the next request. */
bool vb_dci_disconnects(const struct vb_qp *qp);
bool vb_dci_connects(const struct vb_qp *qp);
/* The disconnect or the connect leaves. */
VB_COLD void vb_dci_send(struct vb_qp *qp, struct vb_tx_batch *b, vb_time now);
/* Everything is acknowledged, and nothing is queued: the LINGER timer starts; it has fired. */
void vb_dci_on_idle(struct vb_qp *qp, vb_time now);
void vb_dci_on_linger(struct vb_qp *qp);
void vb_dci_rewound(struct vb_qp *qp, enum vb_rewind_why why);
const struct vb_path *vb_dci_receiver(const struct vb_qp *qp, uint32_t *dqpn);
/* The target is done with: the next request begins with a connect. */
VB_COLD void vb_dci_leave(struct vb_qp *qp);

/* streams.c */
int vb_dci_streams_create(struct vb_qp *qp, const struct vb_dc_init *init,
			  const struct vb_qp_cap *cap);
void vb_dci_streams_free(struct vb_qp *qp);
/* Lane @i of any QP: 0 is the QP itself; NULL: it has no more. A channel has itself only. */
static inline struct vb_qp *vb_qp_channel(const struct vb_qp *qp, uint32_t i)
{
	const struct vb_dci_streams *s = qp->dci && !qp->parent ? qp->dci->streams : NULL;

	if (i == 0)
		return (struct vb_qp *)(uintptr_t)qp;
	return s && i < s->channel_cnt ? s->channel[i] : NULL;
}
/* The QP of the channel, or of the context of a target. */
static inline struct vb_qp *vb_qp_whole(struct vb_qp *qp)
{
	return qp->parent ? qp->parent : qp;
}
/* The channel that takes the next work of @stream; it has been put into its send queue. */
struct vb_qp *vb_dci_choose(struct vb_qp *qp, uint32_t stream);
void vb_dci_posted(struct vb_qp *channel, struct vb_swqe *w);
/* The channel of any QP with what was posted first of all that is queued; NULL: nothing is. */
struct vb_qp *vb_qp_oldest(const struct vb_qp *qp);
/* The oldest WQE has failed: true when that ends its stream alone, which has been done then. */
VB_COLD bool vb_dci_fail(struct vb_qp *qp, enum vb_wc_status status, uint32_t vendor_err,
			 vb_time now);
bool vb_dci_is_bad(const struct vb_qp *qp, uint32_t stream);

#endif
