/* SPDX-License-Identifier: BSD-2-Clause */
/* Accesses to registers and their messages, see register.h. */
#include "cmd/reg/register.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void print_message(const char *mark, const char *fmt, va_list ap)
{
	fflush(stdout);
	fprintf(stderr, "-%s- ", mark);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

int vb_reg_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_message("E", fmt, ap);
	va_end(ap);
	return 1;
}

void vb_reg_warning(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_message("W", fmt, ap);
	va_end(ap);
}

int vb_reg_text_error(const struct vb_reg_text_fault *f)
{
	switch (f->error) {
	case VB_REG_TEXT_OK:
		break;
	case VB_REG_TEXT_FORM:
		return vb_reg_error("Argument: %.*s is invalid", f->len, f->at);
	case VB_REG_TEXT_NUMBER:
		return vb_reg_error("Argument: %.*s is invalid.", f->len, f->at);
	case VB_REG_TEXT_NEGATIVE:
		return vb_reg_error("Argument: %.*s is invalid. It must be non-negative.", f->len,
				    f->at);
	case VB_REG_TEXT_NO_FIELD:
		return vb_reg_error("Can't find field name: \"%.*s\"", f->len, f->at);
	case VB_REG_TEXT_NOT_INDEX:
		return vb_reg_error("Field: %.*s is not a INDEX.", f->len, f->at);
	case VB_REG_TEXT_TWICE:
		return vb_reg_error("Field: %.*s appears twice.", f->len, f->at);
	case VB_REG_TEXT_READ_ONLY:
		return vb_reg_error("Field: %.*s is ReadOnly", f->len, f->at);
	case VB_REG_TEXT_WIDE:
		return vb_reg_error("Field: %.*s has %u bits, too few for the value 0x%x", f->len,
				    f->at, f->b, f->a);
	case VB_REG_TEXT_SIZE:
		return vb_reg_error("Invalid size: %u. It must be from 1 to 32 (bits)", f->a);
	case VB_REG_TEXT_ADDRESS:
		return vb_reg_error("Address: 0x%08x is out of range", f->a);
	case VB_REG_TEXT_ALIGN:
		return vb_reg_error("Address: 0x%08x is not 4-bytes aligned", f->a);
	case VB_REG_TEXT_BITS:
		return vb_reg_error("Offset: %u and Size: %u is out of address range", f->a, f->b);
	}
	return 0;
}

int vb_reg_find_device(struct vb_broker_observer *o, const char *device)
{
	static struct vb_host_shm host;

	vb_host_read(o->host, &host);
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++) {
		const struct vb_device *d = &host.device[i];

		if (d->ifindex && (strcmp(d->name, device) == 0 || strcmp(d->ifname, device) == 0))
			return 0;
	}
	return vb_reg_error("Failed to open device: \"%s\", there is none of this name; "
			    "'verbena devices' lists them",
			    device);
}

int vb_reg_access(struct vb_broker_observer *o, const char *device, bool set, uint32_t id,
		  uint8_t *image, size_t len)
{
	struct vb_broker_reg r = {
	    .method = set ? VB_BROKER_REG_SET : VB_BROKER_REG_GET,
	    .id = id,
	    .len = (uint32_t)len,
	};
	char why[VB_BROKER_TEXT_MAX];

	if (len > sizeof r.image)
		return vb_reg_error("Register length: 0x%08zx is too large", len);
	snprintf(r.device, sizeof r.device, "%s", device);
	memcpy(r.image, image, len);
	if (vb_broker_access(o, &r, why, sizeof why))
		return vb_reg_error("Failed to send access register: %s", why);
	memcpy(image, r.image, len);
	return 0;
}

void vb_reg_warn_profile(const uint8_t *image)
{
	struct vb_reg_fault f;

	if (vb_reg_profile_warn(image, &f) && f.field)
		vb_reg_warning(
		    "%s=0x%llx: %s; a first timeout that lies in none goes on in the start "
		    "range",
		    f.field->path, (unsigned long long)f.value, f.rule);
}

static void print_line(int len)
{
	for (int i = 0; i < len; i++)
		putchar('=');
	putchar('\n');
}

static const char *shown_name(const struct vb_reg_field *f, bool full)
{
	return full ? f->path : vb_reg_field_name(f);
}

/* Width of the column of names. */
static int name_width(const struct vb_reg *reg, bool full)
{
	size_t longest = 0;

	for (unsigned i = 0; i < reg->field_cnt; i++) {
		size_t n = strlen(shown_name(&reg->field[i], full));

		longest = n > longest ? n : longest;
	}
	return (int)longest + 3;
}

void vb_reg_print_layout(const struct vb_reg *reg, bool full)
{
	int width = name_width(reg, full);

	printf("%-*s | %-10s | %-8s | %-8s | %-8s\n", width, "Field Name", "Address (Bytes)",
	       "Offset (Bits)", "Size (Bits)", "Access");
	print_line(58 + width);
	for (unsigned i = 0; i < reg->field_cnt; i++) {
		const struct vb_reg_field *f = &reg->field[i];

		printf("%-*s | 0x%08x      | %-8u      | %-8u    | %-15s\n", width,
		       shown_name(f, full), f->address, f->bit, f->width,
		       vb_reg_access_name(f->access));
	}
	print_line(58 + width);
}

void vb_reg_print_image(const struct vb_reg *reg, const uint8_t *image, bool full)
{
	int width = name_width(reg, full);

	printf("%-*s | %-8s\n", width, "Field Name", "Data");
	print_line(14 + width);
	for (unsigned i = 0; i < reg->field_cnt; i++) {
		const struct vb_reg_field *f = &reg->field[i];

		printf("%-*s | 0x%0*llx\n", width, shown_name(f, full), f->width > 32 ? 16 : 8,
		       (unsigned long long)vb_reg_field_get(reg, f, image));
	}
	print_line(14 + width);
}

void vb_reg_print_raw(const uint8_t *image, size_t len)
{
	puts("Address    | Data");
	print_line(23);
	for (size_t i = 0; i + 4 <= len; i += 4)
		printf("0x%08zx | 0x%02x%02x%02x%02x\n", i, image[i], image[i + 1], image[i + 2],
		       image[i + 3]);
	print_line(23);
}

void vb_reg_print_names(void)
{
	puts("Available Access Registers");
	print_line(104);
	for (unsigned i = 0; i < vb_reg_cnt; i++)
		printf("%-30s\n", vb_reg_all[i]->name);
}
