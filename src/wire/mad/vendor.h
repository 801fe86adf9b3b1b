/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Verbena's own management class, by which `verbena explain` and `verbena ping` ask the adapter of
 * another host: a vendor class of the second range, with an OUI (IBA 16.5). The questions are of
 * the method Get, the answers GetResp of the same length, so that no answer is longer than its
 * question. Behind 256 bytes stands padding, by which the largest packet is found out.
 */
#ifndef VB_WIRE_VENDOR_H
#define VB_WIRE_VENDOR_H

#include "wire/mad/mad.h"
#include "wire/path.h"

#include <stdbool.h>

#define VB_MAD_CLASS_VERBENA 0x36
#define VB_VENDOR_CLASS_VERSION 1
#define VB_VENDOR_OUI 0x025642 /* locally administered: nobody's */
#define VB_VENDOR_GIDS 8       /* of an answer; the port may have more */
#define VB_VENDOR_VERSION_MAX 24

enum vb_vendor_attr {
	VB_VENDOR_ADAPTER = 0x10, /* a description of the adapter */
	VB_VENDOR_QP = 0x11,      /* how the QP stands that is connected to one of the asker's */
};

/* The answer about the adapter; the question has zeros. */
struct vb_vendor_adapter {
	uint64_t clock; /* CLOCK_REALTIME of the answer, ns */
	char version[VB_VENDOR_VERSION_MAX];
	uint8_t mtu; /* enum vb_mtu, of the port that was asked */
	uint8_t gid_cnt;
	struct vb_gid gid[VB_VENDOR_GIDS]; /* of that port */
};

/* How the QP stands. The answer is about the asker alone: it tells nothing of a QP that is
 * connected to another one, not even that it is there. */
enum vb_vendor_standing {
	VB_VENDOR_UNCONNECTED, /* no QP is, or lately was, connected to the asker's */
	VB_VENDOR_NOT_READY,   /* the QP of that number is in INIT: it has no peer yet */
	VB_VENDOR_TARGET,      /* ... is a DC target, which is connected to nobody for good */
	VB_VENDOR_CONNECTED,   /* is connected to the asker's, in @state */
	VB_VENDOR_RESET,       /* was connected to it, and is destroyed or reset */
	VB_VENDOR_ENDED,       /* ... and its process has ended */
	VB_VENDOR_STANDING_CNT
};

struct vb_vendor_qp {
	/* The question: QP from_qpn sends to qpn. */
	uint32_t from_qpn, qpn;
	/* The answer. */
	uint8_t standing; /* enum vb_vendor_standing; below: CONNECTED, RESET and ENDED alone */
	uint8_t state;    /* enum vb_qp_state; TARGET too */
	uint8_t stopped;  /* 1: its process does not run; TARGET too */
	uint32_t is_qpn;  /* its number, which may not be the one asked for */
	uint32_t rq_psn;  /* as it was connected */
	uint64_t age;     /* ns since it came to that state */
	uint64_t
	    denial[4]; /* arguments of the last REFUSED event (core/denial.h); 0: there is none */
	uint64_t denial_age; /* ns since that */
};

struct vb_vendor_msg {
	bool is_response;
	uint16_t status; /* of a response; 0: answered */
	uint64_t tid;
	uint16_t attr; /* enum vb_vendor_attr */
	union {
		struct vb_vendor_adapter adapter;
		struct vb_vendor_qp qp;
	};
};

/* Reads a question or an answer. -EPROTO: it is of another class, version, OUI or method, or of an
 * attribute that there is not; the header's fields are set as far as they are of the class. */
int vb_vendor_parse(struct vb_vendor_msg *m, const uint8_t mad[VB_MAD_LEN]);
void vb_vendor_emit(const struct vb_vendor_msg *m, uint8_t mad[VB_MAD_LEN]);

#endif
