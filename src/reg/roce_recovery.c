/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ROCE_RECOVERY, register 0xfe01: what recovery from losses has beside ROCE_ACCL. Adapters keep
 * these in their firmware; here they can be changed. ADP-22, ADP-31, REG-18
 */
#include "reg/file.h"

#include <string.h>

#define ROW(addr, b, w, member, what)                                                              \
	{                                                                                          \
		.path = #member, .address = (addr), .bit = (b), .width = (w), .access = VB_REG_RW, \
		.select = VB_REG_NO_SELECT, .text = what, VB_REG_SHOWS(recovery.member)            \
	}

static const struct vb_reg_field fields[] = {
    ROW(0x00, 0, 5, min_ack_timeout,
	"a QP's timeout counts as at least this, unless min_ack_timeout_limit_disabled"),
    ROW(0x00, 8, 2, adp_timeout_stretch,
	"adaptive timers last 0 as long as they are set, 1 up to four times as long, 2 four times"),
    ROW(0x00, 16, 1, adp_dec_per_flight,
	"progress lowers the timeout once for all that was in flight, not for each ACK"),
    ROW(0x00, 24, 8, extended_retry_count,
	"with qp_total_timeout the total is timeout times this; 0: times retry_cnt of the QP"),
    ROW(0x04, 0, 32, tx_window_bytes, "of roce_tx_window_en; 0: 1 MiB"),
    ROW(0x08, 0, 32, slow_restart_bytes, "first window of a slow restart; 0: 16 KiB"),
    ROW(0x0c, 0, 32, idle_restart_ns, "idle for so long, a QP starts slowly; 0: 1 ms"),
};

#define FIELD_CNT (sizeof fields / sizeof fields[0])

static int set_roce_recovery(const struct vb_reg *reg, struct vb_reg_file *file,
			     const struct vb_reg_env *env, const uint8_t *image,
			     struct vb_reg_fault *fault)
{
	struct vb_reg_file next = *file;
	struct vb_recovery_fault why;
	unsigned others;

	(void)env;
	vb_reg_store(reg, image, &next);
	if (vb_recovery_check(&next.recovery, &why)) {
		const struct vb_reg_field *f =
		    vb_reg_find(reg, why.field, strlen(why.field), &others);

		return vb_reg_broken(fault, f, f ? vb_reg_field_get(reg, f, image) : 0, why.rule);
	}
	*file = next;
	return 0;
}

const struct vb_reg vb_reg_roce_recovery = {
    .name = "ROCE_RECOVERY",
    .text = "Recovery from losses beyond ROCE_ACCL",
    .id = 0xfe01,
    .word = 4,
    .len = 0x10,
    .len_short = 0x10,
    .field_cnt = FIELD_CNT,
    .field = fields,
    .set = set_roce_recovery,
};
