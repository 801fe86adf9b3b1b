/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The last packet of a port whose P_Key or Q_Key no QP took: what a trap of its node says of it.
 * One writer, who may share it with readers in other processes. IBA 14.3.8; FAB-36
 */
#ifndef VB_CORE_BAD_KEY_H
#define VB_CORE_BAD_KEY_H

#include <stdbool.h>
#include <stdint.h>

struct vb_bad_key {
	uint32_t seq; /* odd while it is written */
	uint32_t key;
	uint32_t src_qp, dst_qp; /* src_qp 0: the packet does not say */
	uint16_t slid, dlid;
	uint8_t sl;
	uint8_t rsv[3];
	uint8_t sgid[16], dgid[16]; /* zeros: it had no GRH */
};

struct vb_bad_keys {
	struct vb_bad_key pkey, qkey;
};

/* A consistent copy. False: it is being written again and again. */
static inline bool vb_bad_key_read(const struct vb_bad_key *k, struct vb_bad_key *to)
{
	for (int i = 0; i < 100; i++) {
		uint32_t seq = __atomic_load_n(&k->seq, __ATOMIC_ACQUIRE);

		*to = *k;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(seq & 1) && __atomic_load_n(&k->seq, __ATOMIC_RELAXED) == seq)
			return true;
	}
	return false;
}

#endif
