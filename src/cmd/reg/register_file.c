/* SPDX-License-Identifier: BSD-2-Clause */
/* Settings of all devices: ROCE_ACCL from a file and as presets, P_Keys from a list; see
 * register.h. */
#include "cmd/reg/register.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct vb_reg *const accl = &vb_reg_roce_accl;

static void put_field(uint8_t *image, const char *name, uint64_t value)
{
	unsigned others;

	vb_reg_field_put(accl, vb_reg_find(accl, name, strlen(name), &others), image, value);
}

bool vb_reg_preset(const char *name, uint8_t *image)
{
	struct vb_recovery r = vb_recovery_default;

	if (strcmp(name, "lossy") == 0)
		vb_recovery_set_lossy(&r);
	else if (strcmp(name, "lossless") == 0)
		vb_recovery_set_lossless(&r);
	else
		return false;
	put_field(image, "roce_adp_retrans_field_select", 1);
	put_field(image, "roce_adp_retrans_en", r.roce_adp_retrans_en);
	put_field(image, "roce_tx_window_field_select", 1);
	put_field(image, "roce_tx_window_en", r.roce_tx_window_en);
	put_field(image, "roce_slow_restart_field_select", 1);
	put_field(image, "roce_slow_restart_en", r.roce_slow_restart_en);
	return true;
}

int vb_reg_read_fields(const struct vb_cmd *cmd, const char *path, char *out)
{
	FILE *f = fopen(path, "re");
	size_t n = 0;
	bool comment = false;

	if (!f) {
		vb_cmd_error(cmd, "cannot read '%s': %s", path, strerror(errno));
		return 1;
	}
	for (int c; (c = getc(f)) != EOF && n < VB_REG_FILE_BYTES_MAX;) {
		comment = c == '#' || (comment && c != '\n');
		if (c == '\n')
			c = ',';
		if (comment || c == ' ' || c == '\t' || c == '\r' || c == 0 ||
		    (c == ',' && (n == 0 || out[n - 1] == ',')))
			continue;
		out[n++] = (char)c;
	}
	out[n < VB_REG_FILE_BYTES_MAX ? n : 0] = 0;

	bool bad = ferror(f) != 0;

	fclose(f);
	if (bad || n == VB_REG_FILE_BYTES_MAX) {
		vb_cmd_error(cmd, "cannot read '%s': %s", path, bad ? strerror(EIO) : "too long");
		return 1;
	}
	return 0;
}

/* Whether @text names a field of the profile. */
static bool names_profile(const char *text)
{
	unsigned others;
	const char *name;
	size_t len;

	while (vb_reg_text_next(&text, &name, &len)) {
		const struct vb_reg_field *f = vb_reg_find(accl, name, len, &others);

		if (f && strncmp(f->path, "adp_retx_profile.", 17) == 0)
			return true;
	}
	return false;
}

static int apply_to(struct vb_broker_observer *o, const char *device, const char *preset,
		    const char *fields)
{
	uint8_t image[0x80] = {0};
	struct vb_reg_text_fault fault;
	bool profile = names_profile(fields);

	if (profile)
		put_field(image, "adp_retx_profile_id", 1);

	int rc = vb_reg_access(o, device, false, accl->id, image, sizeof image);

	if (rc)
		return rc;
	if (preset && !vb_reg_preset(preset, image))
		return vb_reg_error("There is no preset \"%s\": lossy and lossless are", preset);
	if (vb_reg_text_apply(accl, fields, false, image, &fault))
		return vb_reg_text_error(&fault);
	rc = vb_reg_access(o, device, true, accl->id, image, sizeof image);
	if (!rc)
		vb_reg_warn_profile(image);
	return rc;
}

/* Calls @set for each device that has settings of its own, until one fails. */
static int each_device(struct vb_broker_observer *o,
		       int (*set)(struct vb_broker_observer *o, const char *device, void *ctx),
		       void *ctx)
{
	static struct vb_host_shm host;
	int rc = 0;

	vb_host_read(o->host, &host);
	for (uint32_t i = 0; !rc && i < VB_DEVICES_MAX; i++)
		if (host.device[i].ifindex && !host.device[i].parent)
			rc = set(o, host.device[i].name, ctx);
	return rc;
}

struct accl_file {
	const char *preset, *fields;
};

static int accl_set(struct vb_broker_observer *o, const char *device, void *ctx)
{
	const struct accl_file *f = ctx;

	return apply_to(o, device, f->preset, f->fields);
}

int vb_reg_apply_file(const struct vb_cmd *cmd, struct vb_broker_observer *o, const char *path)
{
	char *text = malloc(VB_REG_FILE_BYTES_MAX + 1), *fields = text, *preset = NULL;
	int rc = text ? vb_reg_read_fields(cmd, path, text) : 1;

	if (!rc && strncmp(fields, "preset=", 7) == 0) {
		preset = fields + 7;
		fields = preset + strcspn(preset, ",");
		if (*fields)
			*fields++ = 0;
	}
	if (!rc)
		rc = each_device(o, accl_set, &(struct accl_file){preset, fields});
	free(text);
	return rc;
}

int vb_reg_parse_pkeys(const struct vb_cmd *cmd, const char *text, struct vb_pkey_table *table)
{
	const char *at = text;

	*table = (struct vb_pkey_table){0};
	for (unsigned i = 0;; i++) {
		int len = (int)strcspn(at, ",");
		char *end;
		unsigned long pkey = strtoul(at, &end, 0);

		if (i == VB_PKEYS_MAX)
			return vb_cmd_usage(cmd, "--pkeys '%s': more than %d P_Keys", text,
					    VB_PKEYS_MAX);
		if (end != at + len || *at < '0' || *at > '9' || pkey > 0xffff || pkey == 0x8000)
			return vb_cmd_usage(cmd,
					    "--pkeys '%s': '%.*s' is no P_Key: bit 15 for a full "
					    "member, a partition from 1 to 0x7fff in the others; "
					    "0 for an empty entry",
					    text, len, at);
		table->pkey[i] = (uint16_t)pkey;
		if (at[len] == 0)
			return 0;
		at += len + 1;
	}
}

static int pkeys_set(struct vb_broker_observer *o, const char *device, void *ctx)
{
	const struct vb_reg *reg = &vb_reg_pkey_table;
	const struct vb_pkey_table *table = ctx;
	uint8_t image[4 * VB_PKEYS_MAX] = {0};

	for (unsigned i = 0; i < VB_PKEYS_MAX; i++)
		vb_reg_field_put(reg, &reg->field[i], image, table->pkey[i]);
	return vb_reg_access(o, device, true, reg->id, image, sizeof image);
}

int vb_reg_apply_pkeys(struct vb_broker_observer *o, const struct vb_pkey_table *table)
{
	struct vb_pkey_table copy = *table;

	return each_device(o, pkeys_set, &copy);
}
