/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets of data between frames of a fabric and bytes as they stand on a link, LRH through VCRC,
 * where a cable leads out of the process. Frames have no CRCs; so both are made for what leaves,
 * and checked of what comes. IBA 7.8, 8.3; items LNK-01 to LNK-10
 */
#ifndef VB_FABRIC_TUNNEL_PACKET_H
#define VB_FABRIC_TUNNEL_PACKET_H

#include "fabric/frame.h"
#include "wire/ib/tunnel.h"

/* Writes the packet in @f, a data frame whose lane is f->prio, to @out, which has
 * VB_TUNNEL_PACKET_MAX bytes. Returns its length; 0: it does not consist of whole words, as only a
 * program can have made it that does not use the library. */
uint32_t vb_tunnel_packet_emit(const struct vb_frame *f, uint8_t *out);

/*
 * Reads the packet of @len bytes at @in into @f, which is as the pool gave it and has room for the
 * headers and VB_PAYLOAD_MAX bytes. -EBADMSG: it is none that may travel on a data lane: a length,
 * a CRC, an opcode or the form of a header is wrong. A bad ICRC counts here as a bad VCRC does,
 * because no port behind this one looks at it. LNK-10
 */
int vb_tunnel_packet_parse(struct vb_frame *f, const uint8_t *in, uint32_t len);

#endif
