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

/* All that can be set, as it is read: reading clears counters, which do not count here. */
struct settings {
	uint8_t accl[0x80], config[0x80];
};

static struct settings settings_of(const struct vb_reg_file *f, const struct vb_reg_env *env)
{
	struct settings s = {{0}, {0}};
	struct vb_reg_file copy = *f;
	struct vb_reg_fault fault;

	require(vb_reg_get(&copy, env, 0x402c, s.accl, sizeof s.accl, &fault) == 0);
	require(vb_reg_get(&copy, env, 0xc01d, s.config, sizeof s.config, &fault) == 0);
	return s;
}

static bool same(const struct vb_reg_file *f, const struct vb_reg_env *env,
		 const struct settings *was)
{
	struct settings now = settings_of(f, env);

	return memcmp(&now, was, sizeof now) == 0;
}

static void check(struct vb_reg_file *f, const struct vb_reg_env *env, const struct vb_reg *reg,
		  size_t len)
{
	uint8_t image[VB_REG_BYTES_MAX] = {0};
	struct settings was = settings_of(f, env);
	struct vb_reg_fault fault;

	require(vb_recovery_check(&f->recovery, NULL) == 0);
	require(vb_reg_get(f, env, reg->id, image, len, &fault) == 0);
	require(same(f, env, &was));
	if (reg->set) {
		require(vb_reg_set(f, env, reg->id, image, len, &fault) == 0);
		require(same(f, env, &was));
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

	vb_reg_file_reset(&f, 0);
	while (len >= 2) {
		const struct vb_reg *reg = vb_reg_all[(in[0] & 15) % vb_reg_cnt];
		size_t size = in[0] & 16 ? reg->len_short : reg->len;
		bool is_text = in[1] & 1, is_raw = in[1] & 2, only_indexes = in[1] & 4;
		uint8_t image[VB_REG_BYTES_MAX] = {0};
		struct vb_reg_text_fault why;
		struct vb_reg_fault fault;
		struct settings was = settings_of(&f, &env);
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
			require(same(&f, &env, &was));
		}
		check(&f, &env, reg, size);
	}
	return 0;
}
