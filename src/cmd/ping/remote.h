/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The adapter at another host, as `verbena ping` and `verbena doctor` ask it: by MADs from the QP1
 * of the broker here to that there (wire/mad/vendor.h). The answers are another host's word.
 */
#ifndef VB_CMD_REMOTE_H
#define VB_CMD_REMOTE_H

#include "explain/explain.h"
#include "node/broker/broker.h"

#define VB_REMOTE_SIZES 5 /* path MTUs, 256 to 4096 bytes */

/* The kind of adapter that answered, if one did. */
enum vb_remote_kind { VB_REMOTE_SILENT, VB_REMOTE_FOREIGN /* no Verbena */, VB_REMOTE_VERBENA };

/* Whether packets of a path MTU came there and back. */
enum vb_remote_fit { VB_FIT_UNKNOWN, VB_FIT_YES, VB_FIT_NO };

struct vb_remote {
	char address[64]; /* of the host, in digits */
	struct vb_gid to, from;
	uint32_t device; /* as host.device counts */
	struct vb_broker_observer o;
	struct vb_host_shm host; /* a copy */
	int hold;                /* keeps the adapter */
	vb_time heeded;          /* errors count from then on, CLOCK_MONOTONIC */
	/* From the answers so far: */
	enum vb_remote_kind kind;
	struct vb_vendor_adapter adapter; /* VERBENA; texts and counts are made safe */
	vb_dur best;                      /* the shortest round trip, of which offset is */
	int64_t offset;                   /* ns by which the clock there is ahead, +- best / 2 */
	enum vb_remote_fit fit[VB_REMOTE_SIZES];
};

/* Finds @host, a name or an address, and the device that leads there; @device (NULL: any) is its
 * name, or that of its network device. Has the adapter of this host be there meanwhile. 0, or a
 * negative errno with a line in @why. */
int vb_remote_open(struct vb_remote *r, const char *host, const char *device, char *why,
		   size_t why_size);
void vb_remote_close(struct vb_remote *r);

/* A question in a packet with @bytes of payload, 256 or more, asked so many times. */
struct vb_broker_ask vb_remote_question(const struct vb_remote *r, uint32_t bytes,
					uint32_t attempts, vb_dur timeout);
/* Takes an answer. */
void vb_remote_take(struct vb_remote *r, const struct vb_broker_ask *a);

/* The largest path MTU that both ports have, or of a foreign adapter that of this port. */
enum vb_mtu vb_remote_mtu(const struct vb_remote *r);
/* The question whether packets of a path MTU, the size, come there and back. In round 0 that is the
 * largest one's, in round 1 those of all that are not known to. False: there is none to ask. */
bool vb_remote_probe(const struct vb_remote *r, uint32_t size, uint32_t round,
		     struct vb_broker_ask *a);
/* The largest one whose packets came there and back; 0: none is known. */
enum vb_mtu vb_remote_fitting(const struct vb_remote *r);

/* From here on errors count. An ICMP message is reported with the next packet, so those that the
 * first question meets are of packets of an earlier command. */
void vb_remote_heed(struct vb_remote *r);
/* The error that sending there has met since: errno, and how often in *cnt; 0: none. */
int vb_remote_error(const struct vb_remote *r, uint64_t *cnt);
/* Why there is no answer: words, advice and cause. */
void vb_remote_silence(const struct vb_remote *r, struct vb_explanation *out);

/* "4096: packets of 4124 bytes come there and back", or what keeps larger ones from it. True: the
 * largest that both adapters have. */
bool vb_remote_say_mtu(const struct vb_remote *r, struct vb_lines *what, struct vb_lines *advice);

#endif
