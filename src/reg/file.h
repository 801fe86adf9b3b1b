/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The register file of one physical function: its settings as the transport reads them, and the
 * access registers that show and change them. Virtual functions have none of their own; these
 * settings are theirs too. ADP-26
 */
#ifndef VB_REG_FILE_H
#define VB_REG_FILE_H

#include "core/cc/settings.h"
#include "core/hca.h"
#include "core/recover/settings.h"
#include "reg/reg.h"

/* ADP_RETX_HISTOGRAM_CONFIG: how timers that fired are told apart, and which of them. REG-34 */
#define VB_ADP_BINS_MAX 16

enum vb_histogram_unit { VB_HIST_NS, VB_HIST_US, VB_HIST_100US, VB_HIST_MS };
enum vb_bin_width_mode { VB_BINS_FIXED, VB_BINS_DOUBLE };

struct vb_adp_histogram {
	uint8_t bin_width_mode; /* enum vb_bin_width_mode: of the bins behind bin 1 */
	uint8_t time_unit;      /* enum vb_histogram_unit, of the widths */
	bool vhca_id_valid;     /* only the function vhca_id counts; else all of them together */
	bool clear_on_read, count_enable;
	uint8_t bin_num; /* 1...VB_ADP_BINS_MAX */
	uint16_t vhca_id, bin0_width, bin1_width;
	/* The count from before counting was last switched on, and how the transport's counters
	 * stood then. */
	struct vb_adp_fired kept, from;
};

/* Of cc_burst_size: limiter_burst_ns holds. */
#define VB_CC_BURST_BY_TIME 3

struct vb_reg_file {
	struct vb_recovery recovery;
	uint8_t cc_burst_size; /* a code of REG-09, which cc.limiter_burst_bytes follows */
	struct vb_adp_histogram histogram;
	struct vb_cc_settings cc;    /* shown by the CSR space, see csr.h */
	uint16_t pkey[VB_PKEYS_MAX]; /* the P_Key table; 0: empty entry. IBT-81 */
};

/* As it leaves the factory, and as a reset of the firmware leaves it: the rates of DCQCN are made
 * for a link of @rate_bps, 0: not known. ADP-27 */
void vb_reg_file_reset(struct vb_reg_file *file, uint64_t rate_bps);

/* Values that registers show without keeping them. */
struct vb_reg_env {
	/* The timers that have fired on function @vhca of this device, or on all of them for -1.
	 * -ENODEV: the device has no such function. */
	int (*fired)(void *ctx, int vhca, struct vb_adp_fired *out);
	void *ctx;
};

/* All registers there are, in the order of their names. */
extern const struct vb_reg *const vb_reg_all[];
extern const unsigned vb_reg_cnt;
const struct vb_reg *vb_reg_by_id(uint32_t id);
const struct vb_reg *vb_reg_by_name(const char *name);

/*
 * GET and SET of register @id with an image of @len bytes, which has the indexes. 0, or -EINVAL
 * with @fault filled: no such register or length, or a rule is broken; then nothing has changed.
 * GET may change @file too: reading can clear a histogram.
 */
int vb_reg_get(struct vb_reg_file *file, const struct vb_reg_env *env, uint32_t id, uint8_t *image,
	       size_t len, struct vb_reg_fault *fault);
int vb_reg_set(struct vb_reg_file *file, const struct vb_reg_env *env, uint32_t id,
	       const uint8_t *image, size_t len, struct vb_reg_fault *fault);

/* True when the profile that @image of ROCE_ACCL sets does not follow a recommendation, with
 * @warning filled. ADP-08 */
bool vb_reg_profile_warn(const uint8_t *image, struct vb_reg_fault *warning);

/* The registers' tables: roce_accl.c, adp_histogram.c, pkey_table.c, roce_recovery.c. */
extern const struct vb_reg vb_reg_roce_accl, vb_reg_adp_histogram, vb_reg_adp_histogram_config;
extern const struct vb_reg vb_reg_pkey_table, vb_reg_roce_recovery;

/* The member of struct vb_reg_file that a row of a table shows. */
#define VB_REG_SHOWS(member)                                                                       \
	.at = offsetof(struct vb_reg_file, member),                                                \
	.size = sizeof(((struct vb_reg_file *)0)->member)

#endif
