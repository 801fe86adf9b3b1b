/* SPDX-License-Identifier: BSD-2-Clause */
/* The register file: which registers there are, and the way into them. */
#include "reg/file.h"
#include "base/assert.h"

#include <string.h>

const struct vb_reg *const vb_reg_all[] = {
    &vb_reg_adp_histogram, &vb_reg_adp_histogram_config, &vb_reg_pkey_table,
    &vb_reg_roce_accl,     &vb_reg_roce_recovery,
};
const unsigned vb_reg_cnt = sizeof vb_reg_all / sizeof vb_reg_all[0];

const struct vb_reg *vb_reg_by_id(uint32_t id)
{
	for (unsigned i = 0; i < vb_reg_cnt; i++)
		if (vb_reg_all[i]->id == id)
			return vb_reg_all[i];
	return NULL;
}

const struct vb_reg *vb_reg_by_name(const char *name)
{
	for (unsigned i = 0; i < vb_reg_cnt; i++)
		if (vb_reg_name_is(vb_reg_all[i]->name, name, strlen(name)))
			return vb_reg_all[i];
	return NULL;
}

#define LINE_BPS UINT64_C(100000000000) /* where the link does not say */

/* The paper's values, and everything off: to switch it on is one write. CC-47 */
static void reset_cc(struct vb_cc_settings *cc, uint64_t rate_bps)
{
	vb_cc_settings_paper(cc, rate_bps ? rate_bps : LINE_BPS);
	cc->dcqcn_hw_en = cc->hw_rate_throttle_en = false;
	cc->tx_wqe_ost_limit_en = cc->speed_limiter_en = false;
	cc->np_en = cc->ecn_en = false;
}

void vb_reg_file_reset(struct vb_reg_file *file, uint64_t rate_bps)
{
	memset(file, 0, sizeof *file);
	file->recovery = vb_recovery_default;
	file->cc_burst_size = VB_CC_BURST_BY_TIME;
	/* 4096 us and its doubles: the values of the ladder that profile id 0 stands for. */
	file->histogram.bin_width_mode = VB_BINS_DOUBLE;
	file->histogram.time_unit = VB_HIST_US;
	file->histogram.count_enable = true;
	file->histogram.bin_num = VB_ADP_BINS_MAX;
	file->histogram.bin0_width = file->histogram.bin1_width = 4096;
	file->pkey[0] = VB_PKEY_DEFAULT; /* IBA 10.9.1.2 */
	reset_cc(&file->cc, rate_bps);
	/* Each register would take the factory's settings. */
	VB_ASSERT_ALL(!vb_cc_settings_check(&file->cc, &(struct vb_cc_fault){0}));
	VB_ASSERT_ALL(!vb_recovery_check(&file->recovery, &(struct vb_recovery_fault){0}));
}

static int find_register(uint32_t id, size_t len, const struct vb_reg **reg,
			 struct vb_reg_fault *fault)
{
	*fault = (struct vb_reg_fault){0};
	*reg = vb_reg_by_id(id);
	if (!*reg)
		return vb_reg_broken(fault, NULL, 0, "there is no register with this id");
	if (len != (*reg)->len && len != (*reg)->len_short)
		return vb_reg_broken(fault, NULL, 0,
				     (*reg)->len == (*reg)->len_short
					 ? "the register has another length"
					 : "the length must be 0x40 or 0x80");
	VB_ASSERT(len <= VB_REG_BYTES_MAX);
	return 0;
}

int vb_reg_get(struct vb_reg_file *file, const struct vb_reg_env *env, uint32_t id, uint8_t *image,
	       size_t len, struct vb_reg_fault *fault)
{
	uint8_t full[VB_REG_BYTES_MAX] = {0};
	const struct vb_reg *reg;
	int err = find_register(id, len, &reg, fault);

	if (err)
		return err;
	for (unsigned i = 0; i < reg->field_cnt; i++)
		if (reg->field[i].access == VB_REG_INDEX)
			vb_reg_field_put(reg, &reg->field[i], full,
					 vb_reg_field_get(reg, &reg->field[i], image));
	vb_reg_load(reg, file, full);
	err = reg->get ? reg->get(reg, file, env, full, fault) : 0;
	if (!err)
		memcpy(image, full, len);
	return err;
}

int vb_reg_set(struct vb_reg_file *file, const struct vb_reg_env *env, uint32_t id,
	       const uint8_t *image, size_t len, struct vb_reg_fault *fault)
{
	uint8_t full[VB_REG_BYTES_MAX] = {0};
	const struct vb_reg *reg;
	int err = find_register(id, len, &reg, fault);

	if (err)
		return err;
	if (!reg->set)
		return vb_reg_broken(fault, NULL, 0, "the register is ReadOnly");
	/* The bytes behind a short image are reserved. */
	memcpy(full, image, len);
	return reg->set(reg, file, env, full, fault);
}
