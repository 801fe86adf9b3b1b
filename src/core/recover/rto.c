/* SPDX-License-Identifier: BSD-2-Clause */
/* The fixed local ACK timeout and the RNR timer table. IBA 9.7.6.1.3, 9.7.5.2.8 */
#include "core/recover/rto.h"

void vb_rto_reset(struct vb_rto *r, uint8_t timeout_exp, uint8_t retry_cnt)
{
	r->timeout_exp = timeout_exp & 31;
	r->retry_cnt = retry_cnt & 7;
	r->retry_left = r->retry_cnt;
}

vb_dur vb_rto_timeout(const struct vb_rto *r)
{
	return vb_ack_timeout_ns(r->timeout_exp);
}

void vb_rto_progress(struct vb_rto *r)
{
	r->retry_left = r->retry_cnt;
}

bool vb_rto_retry(struct vb_rto *r)
{
	if (r->retry_left == 0)
		return false;
	r->retry_left--;
	return true;
}

vb_dur vb_rnr_timer_ns(uint8_t code)
{
	/* Units of 10 us. rxe has 6141 for code 25; the table of the standard is followed here. */
	static const uint32_t ticks[32] = {
	    65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,    32,
	    48,    64,   96,   128,  192,  256,   384,   512,   768,   1024,  1536,
	    2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};

	return ticks[code & 31] * UINT64_C(10000);
}
