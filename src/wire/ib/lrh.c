/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes and checks of the LRH, see lrh.h. IBA 7.7 */
#include "wire/ib/lrh.h"

#include "base/assert.h"
#include "wire/be.h"

#define LENGTH_MASK 0x07ff
#define LNH_MASK 0x03

/* Least lengths, words: LRH, RWH and ICRC or more; LRH, BTH and ICRC; the same with a GRH. */
static const uint8_t least_words[] = {
    [VB_LNH_RAW] = 5,
    [VB_LNH_IPV6] = 5,
    [VB_LNH_LOCAL] = 6,
    [VB_LNH_GLOBAL] = 16,
};
/* The longest headers beside the payload: LRH, GRH, BTH, 64 bytes of extension headers, ICRC. */
#define HEADER_WORDS 31

void vb_lrh_parse(struct vb_lrh *h, const uint8_t lrh[VB_LRH_LEN])
{
	*h = (struct vb_lrh){
	    .vl = lrh[0] >> 4,
	    .version = lrh[0] & 0x0f,
	    .sl = lrh[1] >> 4,
	    .lnh = lrh[1] & LNH_MASK,
	    .dlid = be16_get(lrh + 2),
	    .words = be16_get(lrh + 4) & LENGTH_MASK,
	    .slid = be16_get(lrh + 6),
	};
}

void vb_lrh_emit(const struct vb_lrh *h, uint8_t lrh[VB_LRH_LEN])
{
	VB_ASSERT_ALL(h->vl <= 15 && h->sl <= 15);
	lrh[0] = (uint8_t)(h->vl << 4 | (h->version & 0x0f));
	lrh[1] = (uint8_t)(h->sl << 4 | (h->lnh & LNH_MASK));
	be16_put(lrh + 2, h->dlid);
	be16_put(lrh + 4, h->words & LENGTH_MASK);
	be16_put(lrh + 6, h->slid);
}

enum vb_lrh_verdict vb_lrh_check(const struct vb_lrh *h, uint32_t len, uint32_t mtu)
{
	if (h->version != 0)
		return VB_LRH_BAD_VERSION;
	VB_ASSERT(h->lnh <= LNH_MASK);
	if (h->words < least_words[h->lnh])
		return VB_LRH_TOO_SHORT;
	if (h->words > mtu / 4 + HEADER_WORDS)
		return VB_LRH_TOO_LONG;
	if (len != h->words * 4u + VB_VCRC_LEN)
		return VB_LRH_BAD_LENGTH;
	return h->lnh >= VB_LNH_LOCAL ? VB_LRH_GOOD : VB_LRH_IS_RAW;
}
