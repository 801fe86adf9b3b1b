/* SPDX-License-Identifier: BSD-2-Clause */
/* The CRC of 16 bits, four bits at a time, see vcrc.h. */
#include "wire/ib/vcrc.h"

#define POLY 0xd008u /* 0x100B, its bits in reverse */

/* The register @r behind one bit, and behind four. */
#define AFTER_BIT(r) ((r) >> 1 ^ (POLY & (0u - ((r)&1u))))
#define AFTER_NIBBLE(r) AFTER_BIT(AFTER_BIT(AFTER_BIT(AFTER_BIT(r))))
#define FOUR_FROM(r)                                                                               \
	AFTER_NIBBLE(r), AFTER_NIBBLE(r + 1u), AFTER_NIBBLE(r + 2u), AFTER_NIBBLE(r + 3u)

static const uint16_t nibble[16] = {FOUR_FROM(0u), FOUR_FROM(4u), FOUR_FROM(8u), FOUR_FROM(12u)};

uint16_t vb_vcrc(const uint8_t *p, size_t len)
{
	unsigned r = 0xffff;

	while (len-- > 0) {
		r ^= *p++;
		r = r >> 4 ^ nibble[r & 0x0f];
		r = r >> 4 ^ nibble[r & 0x0f];
	}
	return (uint16_t)~r;
}

void vb_vcrc_put(uint8_t *at, uint16_t crc)
{
	at[0] = (uint8_t)crc;
	at[1] = (uint8_t)(crc >> 8);
}

uint16_t vb_vcrc_get(const uint8_t *at)
{
	return (uint16_t)(at[0] | at[1] << 8);
}
