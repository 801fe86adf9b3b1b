/* SPDX-License-Identifier: BSD-2-Clause */
/* The consistent read of host memory: a sequence lock with one writer, the broker. */
#include "node/shared/shm.h"
#include "fault/fault.h"

#include <sched.h>
#include <string.h>

/* A broker that was killed in the middle of a change leaves seq odd until the next one comes: a
 * reader takes what there is after this many attempts. */
#define READ_ATTEMPTS 1000

uint32_t vb_host_read(const struct vb_host_shm *host, struct vb_host_shm *copy)
{
	for (int i = 0; i < READ_ATTEMPTS; i++) {
		uint32_t seq = __atomic_load_n(&host->seq, __ATOMIC_ACQUIRE);

		if (seq & 1) {
			sched_yield();
			continue;
		}
		memcpy(copy, host, sizeof *copy);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&host->seq, __ATOMIC_RELAXED) == seq)
			return copy->generation;
	}
	memcpy(copy, host, sizeof *copy);
	return copy->generation;
}

void vb_host_forget_qps(struct vb_host_memory *m, uint32_t slot)
{
	for (uint32_t i = 0; i < VB_CSR_QPS; i++)
		if (vb_slot_of_qpn(m->qp_index[i]) == slot)
			__atomic_store_n(&m->qp_index[i], 0, __ATOMIC_RELAXED);
}

bool vb_fault_status_read(const struct vb_slot_shm *s, uint32_t i, struct vb_fault_status *to)
{
	for (int n = 0; n < READ_ATTEMPTS; n++) {
		uint32_t seq = __atomic_load_n(&s->fault_seq, __ATOMIC_ACQUIRE);

		*to = s->fault[i];
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(seq & 1) && __atomic_load_n(&s->fault_seq, __ATOMIC_RELAXED) == seq) {
			to->rules.text[sizeof to->rules.text - 1] = 0;
			return true;
		}
	}
	return false;
}

uint64_t vb_fault_status_losses(struct vb_fault_status *st)
{
	struct vb_fault_spec spec;
	struct vb_fault_error err;
	uint64_t losses = 0;

	st->rules.text[sizeof st->rules.text - 1] = 0;
	if (vb_fault_parse(st->rules.text, &spec, &err))
		return 0;
	for (uint32_t i = 0; i < spec.rule_cnt; i++)
		if (vb_fault_kind_loses(spec.rule[i].kind))
			losses += st->hits[i];
	return losses;
}
