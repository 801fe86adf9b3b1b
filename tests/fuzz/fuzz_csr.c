/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any words into the CSR space of a QP at work: global and its own, with CNPs, packets and time
 * between. A word that was accepted follows the settings' rules and reads back as it can be written
 * again; rates stay within their limits; and a wait has an end that its rate and account explain.
 *
 * Input: records of 16 bytes: what happens, the register, how much time passes, how large the
 * packet is (8 bytes in all), and a word.
 */
#include "reg/csr/cc_names.h"
#include "reg/csr/csr.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len);

#define require(cond)                                                                              \
	do {                                                                                       \
		if (!(cond))                                                                       \
			abort();                                                                   \
	} while (0)

#define RECORD 16
#define PACKET_MAX 4200

struct world {
	struct vb_reg_file file;
	struct vb_cc cc;
	struct vb_dfx dfx;
	struct vb_cc_access qp;
	vb_time now;
};

static void write_word(struct world *w, uint32_t address, uint64_t word)
{
	struct vb_cc_settings from = w->file.cc;
	struct vb_reg_fault fault = {0};
	uint32_t index;
	const struct vb_reg *reg = vb_csr_at(address, &index);

	if (reg && index) {
		require(vb_csr_qp_set(reg, &w->qp, word, w->now, &fault) == 0);
		return;
	}
	if (vb_csr_set(&w->file, address, word, &fault)) {
		require(fault.rule);
		require(vb_cc_settings_eq(&from, &w->file.cc));
		return;
	}
	require(reg);
	vb_cc_adopt(&w->cc, &from, &w->file.cc, w->now);
}

/* A word that a register shows can be written, and is then shown again. */
static void write_back(struct world *w)
{
	struct vb_reg_fault fault;

	for (unsigned i = 0; i < vb_csr_cnt; i++) {
		const struct vb_reg *r = vb_csr_all[i];
		uint64_t word, again;

		if (vb_csr_is_of_qp(r)) {
			(void)vb_csr_qp_get(r, &w->qp, w->now);
			continue;
		}
		require(vb_csr_get(&w->file, false, r->id, &word, &fault) == 0);
		require(vb_csr_set(&w->file, r->id, word, &fault) == 0);
		require(vb_csr_get(&w->file, false, r->id, &again, &fault) == 0 && again == word);
	}
}

static void check(struct world *w)
{
	const struct vb_cc_settings *s = &w->file.cc;
	uint32_t lo = s->dcqcn_min_rate ? s->dcqcn_min_rate : 1;
	uint32_t hi = s->dcqcn_max_rate > lo ? s->dcqcn_max_rate : lo;

	require(vb_cc_settings_check(s, NULL) == 0);
	require(w->cc.alpha_q20 < 1u << 20);
	if (s->dcqcn_hw_en || vb_cc_limits(s))
		require(w->cc.cc_rate >= lo && w->cc.cc_rate <= hi);
	if (s->dcqcn_hw_en)
		require(vb_cc_current_rate(&w->cc) >= lo && vb_cc_current_rate(&w->cc) <= hi &&
			vb_cc_target_rate(&w->cc) >= lo && vb_cc_target_rate(&w->cc) <= hi);
}

/* A packet that may not leave now may leave later: at the lowest rate what is owed is 2^17 bytes
 * and some packets, at a unit of the clock's window each. */
static void send(struct world *w, uint32_t bytes)
{
	const struct vb_cc_settings *s = &w->file.cc;

	for (int i = 0; i < 64; i++) {
		vb_time at = vb_cc_send_at(&w->cc, s, w->now);

		if (at <= w->now) {
			vb_cc_on_sent(&w->cc, s, bytes, w->now);
			return;
		}
		require(at - w->now < 2000 * VB_SEC);
		w->now = at;
	}
	/* The timer of increases wakes it again and again, in vain where a step is 0. The debt has
	 * its end all the same, which the last step may have passed. */
	if (w->cc.next >= w->now) {
		require(w->cc.next - w->now < 2000 * VB_SEC);
		w->now = w->cc.next + 1;
	}
	require(vb_cc_send_at(&w->cc, s, w->now) <= w->now);
	vb_cc_on_sent(&w->cc, s, bytes, w->now);
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len)
{
	struct world w = {.now = VB_SEC};
	const char *rule;

	vb_reg_file_reset(&w.file, 0);
	w.qp = (struct vb_cc_access){
	    .ctl = &w.cc, .set = &w.file.cc, .qpn = 2, .state = VB_QPS_RTS, .runs = true};
	vb_cc_reset(&w.cc, &w.file.cc, w.now);
	w.cc.dfx = &w.dfx;
	for (; len >= RECORD; in += RECORD, len -= RECORD) {
		uint32_t address = (uint32_t)in[1] << 16 | (uint32_t)in[2] << 8 | in[3];
		uint64_t word = 0;

		for (int i = 8; i < RECORD; i++)
			word = word << 8 | in[i];
		w.now += ((uint64_t)in[4] << 8 | in[5]) * VB_USEC;
		if (in[0] & 1)
			write_word(&w, in[0] & 2 ? address : vb_csr_all[in[1] % vb_csr_cnt]->id,
				   word);
		if (in[0] & 4)
			(void)vb_cc_on_cnp(&w.cc, &w.file.cc, w.now);
		if (in[0] & 8)
			send(&w, ((uint32_t)in[6] << 8 | in[7]) % PACKET_MAX);
		if (in[0] & 16) {
			struct vb_cc_settings from = w.file.cc;

			(void)vb_cc_name_set(&vb_cc_names[in[2] % vb_cc_name_cnt], &w.file.cc, word,
					     0, &rule);
			vb_cc_adopt(&w.cc, &from, &w.file.cc, w.now);
		}
		vb_cc_on_time(&w.cc, &w.file.cc, w.now);
		check(&w);
		write_back(&w);
	}
	return 0;
}
