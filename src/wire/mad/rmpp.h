/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reliable multi-packet protocol of management datagrams: the header that stands behind the
 * common one in classes that have it, and what the classes differ in. A message of several segments
 * has the headers of its class in each; the payload length of a segment counts what stands behind
 * the header of RMPP, so also the class's own header. IBA 13.6; items MAD-18 to MAD-21, FAB-55
 */
#ifndef VB_WIRE_RMPP_H
#define VB_WIRE_RMPP_H

#include "wire/mad/mad.h"

#include <stdbool.h>

#define VB_MAD_CLASS_SA 0x03
#define VB_MAD_CLASS_VENDOR_FIRST 0x09 /* vendor classes without one */
#define VB_MAD_CLASS_VENDOR_LAST 0x0f
#define VB_MAD_CLASS_VENDOR2_FIRST 0x30 /* vendor classes with an OUI */
#define VB_MAD_CLASS_VENDOR2_LAST 0x4f

#define VB_RMPP_HDR_LEN 36   /* the common header and that of RMPP */
#define VB_RMPP_DATA_LEN 220 /* of a segment, the class's own header included */
#define VB_RMPP_VERSION 1

enum vb_rmpp_type { VB_RMPP_DATA = 1, VB_RMPP_ACK, VB_RMPP_STOP, VB_RMPP_ABORT };

#define VB_RMPP_ACTIVE 1 /* flags; not active: an ordinary MAD */
#define VB_RMPP_FIRST 2
#define VB_RMPP_LAST 4

enum vb_rmpp_status {
	VB_RMPP_NO_RESOURCES = 1,      /* of a STOP */
	VB_RMPP_TOO_LONG = 118,        /* from here on of an ABORT: it took too long */
	VB_RMPP_BAD_LENGTH,            /* payload lengths contradict each other */
	VB_RMPP_BAD_SEGMENT,           /* segment number and flag FIRST contradict each other */
	VB_RMPP_BAD_TYPE,              /* no enum vb_rmpp_type */
	VB_RMPP_WINDOW_BEFORE_SEGMENT, /* an ACK's window ends before its segment */
	VB_RMPP_SEGMENT_BEYOND_WINDOW, /* an ACK of what was never sent */
	VB_RMPP_BAD_STATUS,            /* a status that the type does not have */
	VB_RMPP_BAD_VERSION,
	VB_RMPP_TOO_MANY_RETRIES,
	VB_RMPP_UNSPECIFIED,
};

struct vb_rmpp {
	uint8_t version;
	uint8_t type;      /* enum vb_rmpp_type */
	uint8_t resp_time; /* 5 bits */
	uint8_t flags;     /* 3 bits */
	uint8_t status;    /* enum vb_rmpp_status */
	uint32_t segment;  /* from 1; of an ACK the last one that came in order */
	uint32_t length;   /* of data the payload's; of an ACK the last segment of its window */
};

void vb_rmpp_parse(struct vb_rmpp *r, const uint8_t mad[VB_MAD_LEN]);
void vb_rmpp_emit(const struct vb_rmpp *r, uint8_t mad[VB_MAD_LEN]);

static inline bool vb_mad_class_has_oui(uint8_t mgmt_class)
{
	return mgmt_class >= VB_MAD_CLASS_VENDOR2_FIRST && mgmt_class <= VB_MAD_CLASS_VENDOR2_LAST;
}
/* A vendor says how MADs of the class are to be read. */
static inline bool vb_mad_class_is_vendors(uint8_t mgmt_class)
{
	return vb_mad_class_has_oui(mgmt_class) ||
	       (mgmt_class >= VB_MAD_CLASS_VENDOR_FIRST && mgmt_class <= VB_MAD_CLASS_VENDOR_LAST);
}
bool vb_mad_class_has_rmpp(uint8_t mgmt_class);
/* Bytes of all headers of the class, which stand in each segment: 24, 40, 56 or 64. */
uint32_t vb_mad_class_hdr_len(uint8_t mgmt_class);
/* The OUI of a MAD whose class has one. */
uint32_t vb_mad_oui(const uint8_t mad[VB_MAD_LEN]);

#endif
