/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the samples of another process's QPs, which never waits for a reader. */
#include "node/shared/shm.h"

_Static_assert((VB_RATES & (VB_RATES - 1)) == 0, "a power of two");

uint64_t vb_rates_first(const struct vb_rates_shm *r)
{
	uint64_t cnt = __atomic_load_n(&r->cnt, __ATOMIC_ACQUIRE);

	/* The oldest may be the one that is written at this moment. */
	return cnt < VB_RATES ? 0 : cnt - VB_RATES + 1;
}

bool vb_rates_read(const struct vb_rates_shm *r, uint64_t at, struct vb_qp_sample *to)
{
	if (at >= __atomic_load_n(&r->cnt, __ATOMIC_ACQUIRE) || at < vb_rates_first(r))
		return false;
	*to = r->entry[at & (VB_RATES - 1)];
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return at >= vb_rates_first(r);
}
