/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registers of this process's QPs: the broker's requests for them, and the index under which each
 * QP is known. CC-31
 */
#include "core/cc/dfx.h"
#include "node/engine/priv.h"

#include <errno.h>
#include <stdio.h>

static uint32_t *index_table(struct vb_engine *e)
{
	/* Behind the flow entries, in the part of host memory that clients may write. */
	return ((struct vb_host_memory *)(void *)((uint8_t *)e->broker.flow -
						  offsetof(struct vb_host_memory, flow)))
	    ->qp_index;
}

uint32_t vb_engine_index_qp(struct vb_engine *e, uint32_t qpn, uint32_t device)
{
	uint32_t *table = index_table(e), entry = (device + 1) << 24 | qpn;

	for (uint32_t i = 0; i < VB_CSR_QPS; i++) {
		uint32_t expected = 0;

		if (__atomic_load_n(&table[i], __ATOMIC_RELAXED) == 0 &&
		    __atomic_compare_exchange_n(&table[i], &expected, entry, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return i + 1;
	}
	return 0;
}

void vb_engine_unindex_qp(struct vb_engine *e, uint32_t index, uint32_t qpn)
{
	uint32_t *entry = index ? &index_table(e)[index - 1] : NULL;

	/* After a change of brokers the table may be another, and the place another QP's. */
	if (entry && (__atomic_load_n(entry, __ATOMIC_RELAXED) & 0xffffff) == qpn)
		__atomic_store_n(entry, 0, __ATOMIC_RELAXED);
}

/* A read of DFX_INFO that leaves the recorder as it is: as many entries behind the oldest one as
 * there are such reads before it in the request. */
static uint64_t look_at_entry(const struct vb_cc_access *at, const struct vb_broker_csr *r,
			      uint32_t i)
{
	struct vb_dfx copy;
	uint64_t word = VB_CSR_DFX_NONE;

	if (!at->ctl->dfx)
		return word;
	copy = *at->ctl->dfx;
	for (uint32_t k = 0; k <= i; k++)
		if (r->access[k].at == r->access[i].at && !vb_dfx_read(&copy, &word))
			return VB_CSR_DFX_NONE;
	return word;
}

/* One access. */
static int serve_one(struct vb_qp *qp, struct vb_broker_csr *r, uint32_t i, vb_time now,
		     struct vb_reg_fault *fault)
{
	uint64_t *word = &r->access[i].word, mask = r->access[i].mask;
	struct vb_cc_access at;
	uint32_t index;
	const struct vb_reg *reg = vb_csr_at(r->access[i].at, &index);
	int err = 0;

	if (!reg || !index)
		return vb_reg_broken(fault, NULL, 0, "there is no register at this address");
	if (vb_broker_csr_reads(r->method)) {
		vb_qp_cc_open(qp, &at);
		*word = r->method == VB_BROKER_CSR_LOOK && reg->id == VB_CSR_DFX_INFO
			    ? look_at_entry(&at, r, i)
			    : vb_csr_qp_get(reg, &at, now);
		return 0;
	}
	if (reg->id == VB_CSR_DFX_CTRL && (*word & 1))
		err = vb_qp_cc_make_recorder(qp);
	if (err)
		return err;
	vb_qp_cc_open(qp, &at);
	/* A word read for the merge must not take an entry of the recorder away; there is nothing
	 * to write in those words. */
	if (~mask && reg->id != VB_CSR_DFX_INFO)
		*word = (vb_csr_qp_get(reg, &at, now) & ~mask) | (*word & mask);
	err = vb_csr_qp_set(reg, &at, *word, now, fault);
	vb_qp_cc_close(qp, &at);
	return err;
}

void vb_engine_serve_csr(void *ctx, struct vb_broker_msg *m)
{
	struct vb_engine *e = ctx;
	struct vb_broker_csr *r = &m->csr;
	struct vb_qp *qp;

	m->status = 0;
	m->text[0] = 0;
	vb_lock_take(&e->lock);
	/* Global registers that were written before count. */
	vb_engine_adopt(e);
	qp = vb_qp_find(e->hca, r->qpn);
	if (!qp) {
		m->status = -ENXIO;
		snprintf(m->text, sizeof m->text, "the QP has been destroyed");
	}
	for (uint32_t i = 0; !m->status && i < r->cnt && i < VB_BROKER_WORDS_MAX; i++) {
		struct vb_reg_fault fault = {.rule = "out of memory"};

		m->status = serve_one(qp, r, i, vb_clock_now(), &fault);
		if (!m->status)
			continue;
		r->failed = i;
		snprintf(m->text, sizeof m->text, "0x%06x: %s", r->access[i].at, fault.rule);
	}
	vb_lock_drop(&e->lock);
}
