/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The CRC of 16 bits of InfiniBand links: the variant CRC behind each packet, which every hop
 * computes again, and that of flow control packets. Polynomial 0x100B, the register begins with
 * ones and is complemented at the end. IBA 7.8.2, 7.9.4; item LNK-09
 */
#ifndef VB_WIRE_IB_VCRC_H
#define VB_WIRE_IB_VCRC_H

#include <stddef.h>
#include <stdint.h>

/* The CRC of @len bytes: of a packet LRH through ICRC. Its low byte goes to the wire first. */
uint16_t vb_vcrc(const uint8_t *p, size_t len);

/* Writes it to, and reads it from, the 2 bytes at @at. */
void vb_vcrc_put(uint8_t *at, uint16_t crc);
uint16_t vb_vcrc_get(const uint8_t *at);

#endif
