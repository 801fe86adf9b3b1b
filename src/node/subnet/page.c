/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes that need no answer, see page.h. Item MAD-11 */
#include "node/subnet/page.h"

#include <string.h>

static uint32_t load_word(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

uint32_t *vb_subnet_page_counter(struct vb_subnet_page *p, const uint8_t mad[VB_MAD_HDR_LEN])
{
	uint8_t first[VB_MAD_LEN] = {0};
	struct vb_mad_hdr h;

	memcpy(first, mad, VB_MAD_HDR_LEN);
	vb_mad_hdr_parse(&h, first);
	return &p->outstanding[vb_agents_counter_of(h.mgmt_class, h.tid)];
}

bool vb_subnet_page_claim(struct vb_subnet_page *p, uint64_t token, const uint8_t *buf, size_t len,
			  uint32_t **counter)
{
	const struct vb_smi_node node = {p->is_switch, p->port_cnt};
	uint32_t hdr_len = load_word(&p->hdr_len), bit, none = 0;
	struct vb_agent_request r = {.qpn = 0};
	struct vb_mad_message m;

	if (__atomic_load_n(&p->token, __ATOMIC_ACQUIRE) != token ||
	    __atomic_load_n(&p->is_low, __ATOMIC_RELAXED) || len > hdr_len + VB_MAD_LEN ||
	    vb_umad_write_parse(&m, buf, len, hdr_len) || m.agent >= VB_UMAD_AGENTS)
		return false;
	bit = 1u << m.agent;
	if (!(load_word(&p->agents) & bit))
		return false;
	r.rmpp_version = (load_word(&p->with_rmpp) & bit) != 0;
	r.user_rmpp = (load_word(&p->user_rmpp) & bit) != 0;
	if (vb_agent_check(&r, &node, p->port, &m))
		return false;
	*counter = vb_subnet_page_counter(p, m.mad);
	return __atomic_compare_exchange_n(*counter, &none, 1, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}
