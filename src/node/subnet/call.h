/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls to the process that runs a fabric, and their answers: from programs whose files stand for
 * umad and issm devices of a node, and from `verbena fabric`. SOCK_SEQPACKET keeps the borders; one
 * call is answered before the next one is read. A connection is of one node, which ATTACH names.
 */
#ifndef VB_NODE_SUBNET_CALL_H
#define VB_NODE_SUBNET_CALL_H

#include "node/client/msg.h"
#include "ucma/view.h"
#include "wire/mad/umad.h"

#include <stddef.h>
#include <stdint.h>

#define VB_SUBNET_CALL_VERSION 2u
#define VB_SUBNET_NAME_MAX 32 /* of a fabric */
#define VB_SUBNET_NODE_MAX 72 /* of a node: its name, description or GUID */
/* Longer messages to or from a file come as memory. */
#define VB_SUBNET_INLINE_MAX 8192u

enum vb_subnet_op {
	VB_SUBNET_ATTACH = 1, /* @text is the node; the answer's text is where its tree is */
	/* @number of the port; the file's socket and the memory of all pages come back */
	VB_SUBNET_UMAD_OPEN,
	VB_SUBNET_ISSM_OPEN,  /* @number of the port; -EAGAIN: another one has it open */
	VB_SUBNET_UMAD_WRITE, /* @body: header and MAD, or memory comes along */
	VB_SUBNET_UMAD_IOCTL, /* @number is the request; @body its argument, back with the answer */
	VB_SUBNET_COMMAND,    /* @text is a command; memory with its output comes back */
	VB_SUBNET_DOWN,       /* ends the fabric */
	/* @text is the name of the program: its adapter at the node. @token of the answer is its
	 * slot, and descriptors come along, see below. From then on each message on the connection
	 * says that the device table has changed; the slot is the program's until it closes. */
	VB_SUBNET_ADAPTER,
	/* @text is the name of the program: from the answer on, with which the memory of versions
	 * comes, the connection is one of calls of node/cm/call.h. */
	VB_SUBNET_CM,
	VB_SUBNET_WATCH, /* each message after the answer is a line of what happens */
	/* All programs write views of their QPs, of QPN @number before all others; @token of the
	 * answer is what slot->explain.answered becomes, and host memory with the histories of
	 * programs that have ended comes back. */
	VB_SUBNET_VIEWS,
	/* The answer's @text is the node of the program of slot @number, whose memory comes back;
	 * from VB_SLOT_CNT on, of a place among those histories, and no memory. -ENOENT: there is
	 * none.
	 */
	VB_SUBNET_SLOT_SHOW,
	/* For a capture: @text is a node, or empty; the descriptors of enum vb_subnet_observed come
	 * back, and with a node @token: number of its port 0 in the map, above that of its ports.
	 */
	VB_SUBNET_OBSERVE,
	/* @body has a bit for each slot whose memory the caller has. That of others comes back, as
	 * many as fit: @slots are their numbers, @token is 1 where there are more. */
	VB_SUBNET_OBSERVE_SLOTS,
	/* Packets are captured from now on (@number 1), or no longer (0), for this connection. */
	VB_SUBNET_CAPTURE,
};

/* The descriptors that come with the answer of ADAPTER: the memory of the slot, that of the node
 * with the device table, that of all nodes, and the map of the fabric (link/ib/map.h). */
enum { VB_SUBNET_SLOT, VB_SUBNET_NODE, VB_SUBNET_COMMON, VB_SUBNET_MAP, VB_SUBNET_FD_CNT };

/* The descriptors that come with the answer of OBSERVE: the ring of the fabric's process
 * (link/ib/capture.h), the names of the nodes, and the map of the fabric. */
enum vb_subnet_observed {
	VB_SUBNET_RING,
	VB_SUBNET_NAMES,
	VB_SUBNET_OBSERVED_MAP,
	VB_SUBNET_OBSERVED_CNT
};

#define VB_SUBNET_KNOWN_LEN (256 / 8) /* the bits of OBSERVE_SLOTS */

/* The memory with the names of nodes has one of these for each. */
struct vb_subnet_name {
	char text[VB_SUBNET_NODE_MAX];
};

struct vb_subnet_call {
	uint32_t version, op;
	uint64_t token; /* of an open file */
	uint32_t number, len;
	union {
		char text[256];
		uint8_t body[VB_SUBNET_INLINE_MAX];
	};
};

struct vb_subnet_answer {
	int32_t status; /* 0 or a negative errno, then @text has a line for the user */
	uint32_t len;
	uint64_t token;
	uint32_t page; /* of the umad file that was opened, from 1 on; 0: it has none */
	union {
		char text[256];
		uint8_t body[VB_UMAD_REG2_LEN];
		uint8_t slots[VB_BROKER_FDS_MAX];
	};
};

/* The lengths before each message on the descriptor of an open umad file. */
struct vb_subnet_prefix {
	uint32_t hdr_len; /* of the message, by the form that the file has */
	uint32_t len;     /* header and MAD; more than what follows: memory comes along */
};

/* The entry that the command "connections" prints for each id of RDMA CM at a node. */
struct vb_subnet_connection {
	char node[64]; /* its name */
	struct vb_ucma_view view;
};

#define VB_SUBNET_CALL_HEADER offsetof(struct vb_subnet_call, text)

/* The abstract address of the fabric @name of user @uid. Returns its length. */
struct sockaddr_un;
unsigned vb_subnet_address(struct sockaddr_un *a, uid_t uid, const char *name);

/* Whether @name may be one: letters, digits, '-', '_' and '.'. */
bool vb_subnet_name_is_good(const char *name);

#endif
