/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by `verbena reg`, `verbena fwreset` and `verbena run --adp`, `--pkeys`: accesses to
 * registers through the broker, with the messages and tables of mlxreg(8), so that scripts made for
 * it read them. An error is one line, "-E- ...".
 */
#ifndef VB_CMD_REG_REGISTER_H
#define VB_CMD_REG_REGISTER_H

#include "cmd/cmd.h"
#include "node/broker/broker.h"
#include "reg/file.h"
#include "reg/text.h"

/* Prints "-E- ..." or "-W- ..." to stderr; vb_reg_error() returns the exit status of a failure. */
__attribute__((format(printf, 1, 2))) int vb_reg_error(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void vb_reg_warning(const char *fmt, ...);

/* The same for what is wrong with a text of fields. */
int vb_reg_text_error(const struct vb_reg_text_fault *fault);

/* 0 when there is a device of this name or with this network device, else an exit status. */
int vb_reg_find_device(struct vb_broker_observer *o, const char *device);

/* Reads, or writes when @set, register @id of @device in @image. 0 or an exit status. */
int vb_reg_access(struct vb_broker_observer *o, const char *device, bool set, uint32_t id,
		  uint8_t *image, size_t len);

/* Says so when the profile that @image of ROCE_ACCL sets does not follow a recommendation. ADP-08
 */
void vb_reg_warn_profile(const uint8_t *image);

/* The tables of a register's fields, with whole paths when @full; of an image; of a raw image; of
 * the registers. */
void vb_reg_print_layout(const struct vb_reg *reg, bool full);
void vb_reg_print_image(const struct vb_reg *reg, const uint8_t *image, bool full);
void vb_reg_print_raw(const uint8_t *image, size_t len);
void vb_reg_print_names(void);

/*
 * Makes the settings in the file @path those of every device: fields of ROCE_ACCL, one or more on a
 * line, "name=value" with commas between; "preset=lossy" or "preset=lossless" first if at all; "#"
 * begins a comment. 0 or an exit status; a file that is refused changes nothing.
 */
int vb_reg_apply_file(const struct vb_cmd *cmd, struct vb_broker_observer *o, const char *path);

/*
 * A P_Key table from @text, "0xffff,0x8001": P_Keys in the order of their indices, at most
 * VB_PKEYS_MAX of them with commas between; the entries behind them are empty. 0, or an exit status
 * and a message. apply: makes @table that of every device; 0 or an exit status.
 */
struct vb_pkey_table {
	uint16_t pkey[VB_PKEYS_MAX];
};
int vb_reg_parse_pkeys(const struct vb_cmd *cmd, const char *text, struct vb_pkey_table *table);
int vb_reg_apply_pkeys(struct vb_broker_observer *o, const struct vb_pkey_table *table);

/* Reads a file of fields, at most VB_REG_FILE_BYTES_MAX bytes, into @out: comments and blanks are
 * taken out, and ends of lines are commas. 0 or an exit status. */
#define VB_REG_FILE_BYTES_MAX 65536
int vb_reg_read_fields(const struct vb_cmd *cmd, const char *path, char *out);

/* Sets and selects the switches of preset @name in an image of ROCE_ACCL; false: there is no such
 * preset. */
bool vb_reg_preset(const char *name, uint8_t *image);

#endif
