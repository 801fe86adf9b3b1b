/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PKEY_TABLE, register 0xfe00: the P_Key table of the device's port. Where there is a subnet
 * manager it writes this table; on Ethernet the operator does. Bit 15 of a key is the membership:
 * 1 full, 0 limited. An entry of 0 is empty. IBA 10.9.1, 14.2.5.7; IBT-81
 */
#include "reg/file.h"

#define PKEY(i)                                                                                    \
	{                                                                                          \
		.path = "pkey[" #i "]", .address = 4 * (i), .bit = 0, .width = 16,                 \
		.access = VB_REG_RW, .select = VB_REG_NO_SELECT,                                   \
		.text = "P_Key of index " #i ": bit 15 full member, the rest the partition",       \
		VB_REG_SHOWS(pkey[i])                                                              \
	}

static const struct vb_reg_field fields[] = {
    PKEY(0), PKEY(1), PKEY(2),  PKEY(3),  PKEY(4),  PKEY(5),  PKEY(6),  PKEY(7),
    PKEY(8), PKEY(9), PKEY(10), PKEY(11), PKEY(12), PKEY(13), PKEY(14), PKEY(15),
};

#define FIELD_CNT (sizeof fields / sizeof fields[0])

_Static_assert(FIELD_CNT == VB_PKEYS_MAX, "a row for each entry");

/* The base of a key, its low 15 bits, is never 0. IBA 10.9.1.1 */
static int set_pkeys(const struct vb_reg *reg, struct vb_reg_file *file,
		     const struct vb_reg_env *env, const uint8_t *image, struct vb_reg_fault *fault)
{
	(void)env;
	for (unsigned i = 0; i < FIELD_CNT; i++)
		if (vb_reg_field_get(reg, &fields[i], image) == 0x8000)
			return vb_reg_broken(fault, &fields[i], 0x8000,
					     "must have a partition in its low 15 bits, or be 0 "
					     "for an empty entry");
	vb_reg_store(reg, image, file);
	return 0;
}

const struct vb_reg vb_reg_pkey_table = {
    .name = "PKEY_TABLE",
    .text = "The P_Key table of the port",
    .id = 0xfe00,
    .word = 4,
    .len = 4 * VB_PKEYS_MAX,
    .len_short = 4 * VB_PKEYS_MAX,
    .field_cnt = FIELD_CNT,
    .field = fields,
    .set = set_pkeys,
};
