/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any images and texts into the registers. A SET does all or nothing; what was accepted follows the
 * transport's rules, and is answered and accepted again as it is.
 *
 * Input: a byte that says which register and which of its lengths, a byte whose lowest bit says
 * whether a text or an image follows, that text or image, and so on with what is left.
 */
#include "reg/file.h"
#include "reg/text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len);

#define require(cond)                                                                              \
	do {                                                                                       \
		if (!(cond))                                                                       \
			abort();                                                                   \
	} while (0)

static int fired(void *ctx, int vhca, struct vb_adp_fired *out)
{
	uint64_t *calls = ctx;

	if (vhca > 1)
		return -1;
	memset(out, 0, sizeof *out);
	for (unsigned i = 0; i < VB_ADP_FIRED_SLOTS; i++)
		out->slot[i] = *calls * i;
	++*calls;
	return 0;
}

/* Reading clears counters, so only what is set counts. */
static bool same(const struct vb_reg_file *a, const struct vb_reg_file *b)
{
	struct vb_adp_histogram x = a->histogram, y = b->histogram;

	x.kept = x.from = y.kept = y.from = (struct vb_adp_fired){{0}};
	return memcmp(&a->recovery, &b->recovery, sizeof a->recovery) == 0 &&
	       memcmp(&x, &y, sizeof x) == 0;
}

static void check(struct vb_reg_file *f, const struct vb_reg_env *env, const struct vb_reg *reg,
		  size_t len)
{
	uint8_t image[VB_REG_BYTES_MAX] = {0};
	struct vb_reg_file was = *f;
	struct vb_reg_fault fault;

	require(vb_recovery_check(&f->recovery, NULL) == 0);
	require(vb_reg_get(f, env, reg->id, image, len, &fault) == 0);
	require(same(f, &was));
	if (reg->set) {
		require(vb_reg_set(f, env, reg->id, image, len, &fault) == 0);
		require(same(f, &was));
	}
}

/* Takes bytes of the input into @to, which is filled up with zeros. */
static void take(const uint8_t **in, size_t *len, void *to, size_t size)
{
	size_t n = *len < size ? *len : size;

	memset(to, 0, size);
	memcpy(to, *in, n);
	*in += n;
	*len -= n;
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len)
{
	uint64_t calls = 0;
	struct vb_reg_env env = {fired, &calls};
	struct vb_reg_file f;

	vb_reg_file_reset(&f);
	while (len >= 2) {
		const struct vb_reg *reg = vb_reg_all[(in[0] & 15) % vb_reg_cnt];
		size_t size = in[0] & 16 ? reg->len_short : reg->len;
		bool is_text = in[1] & 1, is_raw = in[1] & 2, only_indexes = in[1] & 4;
		uint8_t image[VB_REG_BYTES_MAX] = {0};
		struct vb_reg_text_fault why;
		struct vb_reg_fault fault;
		struct vb_reg_file was = f;
		char text[256];
		int err = 0;

		in += 2;
		len -= 2;
		if (is_text) {
			take(&in, &len, text, sizeof text - 1);
			text[sizeof text - 1] = 0;
			err = is_raw ? vb_reg_text_apply_raw(text, image, size, &why)
				     : vb_reg_text_apply(reg, text, only_indexes, image, &why);
			require((err != 0) == (why.error != VB_REG_TEXT_OK));
		} else {
			take(&in, &len, image, size);
		}
		if (!err && vb_reg_set(&f, &env, reg->id, image, size, &fault)) {
			require(fault.rule != NULL);
			require(memcmp(&f, &was, sizeof f) == 0);
		}
		check(&f, &env, reg, size);
	}
	return 0;
}
