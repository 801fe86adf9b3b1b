/* SPDX-License-Identifier: BSD-2-Clause */
/* CRC-32 (0x04C11DB7, reflected) as a register that is fed bytes; nothing is complemented. */
#ifndef VB_WIRE_CRC_H
#define VB_WIRE_CRC_H

#include <stddef.h>
#include <stdint.h>

/* The register @state, fed @len bytes at @p. */
uint32_t vb_crc32(uint32_t state, const uint8_t *p, size_t len);

/*
 * Copies @len bytes and feeds the register the @head bytes before @to, a multiple of 4, and what is
 * at @to then: @from may change meanwhile. The two do not overlap.
 */
uint32_t vb_crc32_copy(uint32_t state, size_t head, uint8_t *to, const uint8_t *from, size_t len);

#endif
