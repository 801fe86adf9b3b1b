/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena reg`: the access registers of a device, in the language of mlxreg(8) and mstreg(1): a
 * line written for those works with the program's name replaced.
 */
#include "cmd/reg/register.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
	OPT_DEVICE,
	OPT_REG_NAME,
	OPT_REG_ID,
	OPT_REG_LEN,
	OPT_INDEXES,
	OPT_GET,
	OPT_SET,
	OPT_PRESET,
	OPT_SHOW_REG,
	OPT_SHOW_REGS,
	OPT_OVERWRITE,
	OPT_FULL_PATH,
	OPT_YES,
};

static const struct vb_cmd_option options[] = {
    [OPT_DEVICE] = {'d', "device", "DEVICE", "the device, by its name or its network device's"},
    [OPT_REG_NAME] = {0, "reg_name", "NAME", "the register, by name"},
    [OPT_REG_ID] = {0, "reg_id", "ID", "... or by number, for raw accesses"},
    [OPT_REG_LEN] = {0, "reg_len", "BYTES", "its length, with --reg_id"},
    [OPT_INDEXES] = {'i', "indexes", "FIELDS", "indexes: NAME=VALUE,... or raw as for --set"},
    [OPT_GET] = {'g', "get", NULL, "read the register"},
    [OPT_SET] = {'s', "set", "FIELDS", "change NAME=VALUE,... or ADDRESS.BIT:SIZE=VALUE,..."},
    [OPT_PRESET] = {0, "preset", "PRESET", "change ROCE_ACCL as 'lossy' or 'lossless' says"},
    [OPT_SHOW_REG] = {0, "show_reg", "NAME", "print the fields of a register"},
    [OPT_SHOW_REGS] = {0, "show_regs", NULL, "print the names of all registers"},
    [OPT_OVERWRITE] = {'w', "overwrite", NULL, "set fields that are not named to zero"},
    [OPT_FULL_PATH] = {0, "full_path", NULL, "print fields with their whole path"},
    [OPT_YES] = {0, "yes", NULL, "ask nothing"},
    {0},
};

struct request {
	const char *device, *reg_name, *indexes, *data, *preset;
	uint32_t id, len;
	int op; /* the option that says what to do, -1: none */
	bool has_id, has_len, overwrite, full_path, yes;
	const struct vb_reg *reg; /* NULL: raw */
};

static int take_number(const char *text, uint32_t *out, bool *has)
{
	struct vb_reg_text_fault fault = {0};

	*has = true;
	return vb_reg_text_number(text, strlen(text), out, &fault) ? vb_reg_text_error(&fault) : 0;
}

static int take_op(struct request *r, int op, const char *arg)
{
	if (r->op >= 0)
		return vb_reg_error("incompatible flags combination, please read help");
	r->op = op;
	if (op == OPT_SET)
		r->data = arg;
	if (op == OPT_PRESET)
		r->preset = arg;
	if (op == OPT_SHOW_REG)
		r->reg_name = arg;
	return 0;
}

static int take_option(struct request *r, int option, const char *arg)
{
	switch (option) {
	case OPT_DEVICE:
		r->device = arg;
		return 0;
	case OPT_REG_NAME:
		r->reg_name = arg;
		return 0;
	case OPT_REG_ID:
		return take_number(arg, &r->id, &r->has_id);
	case OPT_REG_LEN:
		return take_number(arg, &r->len, &r->has_len);
	case OPT_INDEXES:
		r->indexes = arg;
		return 0;
	case OPT_OVERWRITE:
		r->overwrite = true;
		return 0;
	case OPT_FULL_PATH:
		r->full_path = true;
		return 0;
	case OPT_YES:
		r->yes = true;
		return 0;
	default:
		return take_op(r, option, arg);
	}
}

/* Which options go together. */
static int check_options(const struct request *r)
{
	bool sets = r->op == OPT_SET || r->op == OPT_PRESET;

	if (!r->device)
		return vb_reg_error("you must provide a device name");
	if (r->op < 0)
		return vb_reg_error("no operation flag, please read help");
	if (r->reg_name && (r->has_id || r->has_len))
		return vb_reg_error("incompatible flags combination, please read help");
	if (sets || r->op == OPT_GET) {
		if (!r->reg_name && !r->has_id)
			return vb_reg_error(
			    "you must provide register name or register id when SET/GET");
		if (r->has_id && (!r->has_len || !r->len))
			return vb_reg_error("you must provide register length when SET/GET using "
					    "register id");
	} else if (r->indexes[0]) {
		return vb_reg_error("indexes flag is only valid for SET/GET commands");
	}
	if (r->op == OPT_SET && !r->data[0])
		return vb_reg_error("you must provide registers data string to use SET");
	if (r->overwrite && !sets)
		return vb_reg_error("-w/--overwrite flag is only valid for SET command");
	return 0;
}

static int find_register(struct request *r)
{
	if (!r->reg_name)
		return 0;
	r->reg = vb_reg_by_name(r->reg_name);
	if (!r->reg)
		return vb_reg_error("Can't find access register name: %s", r->reg_name);
	r->id = r->reg->id;
	r->len = r->reg->len;
	return 0;
}

static int apply_text(const struct request *r, const char *text, bool only_indexes, uint8_t *image)
{
	struct vb_reg_text_fault fault;
	int err = r->reg ? vb_reg_text_apply(r->reg, text, only_indexes, image, &fault)
			 : vb_reg_text_apply_raw(text, image, r->len, &fault);

	return err ? vb_reg_text_error(&fault) : 0;
}

/* Puts what the command line says into @image. */
static int fill_image(const struct request *r, uint8_t *image)
{
	int rc = apply_text(r, r->indexes, true, image);

	if (!rc && r->data)
		rc = apply_text(r, r->data, false, image);
	if (!rc && r->preset && (r->reg != &vb_reg_roce_accl || !vb_reg_preset(r->preset, image)))
		return vb_reg_error("There is no preset \"%s\" of %s: ROCE_ACCL has lossy and "
				    "lossless",
				    r->preset, r->reg_name ? r->reg_name : "this register");
	return rc;
}

static void print_fields(const struct request *r, const uint8_t *image)
{
	if (r->reg)
		vb_reg_print_image(r->reg, image, r->full_path);
	else
		vb_reg_print_raw(image, r->len);
}

/* Warns of easy mistakes: a name that means several fields, and a field that keeps its value
 * because it is not selected. */
static void warn_fields(const struct request *r, const uint8_t *image)
{
	const char *text = r->data, *name;
	size_t len;
	unsigned others;

	while (r->reg && text && vb_reg_text_next(&text, &name, &len)) {
		const struct vb_reg_field *f = vb_reg_find(r->reg, name, len, &others);

		if (f && others)
			vb_reg_warning("%.*s is taken for %s; %u more fields have this name",
				       (int)len, name, f->path, others);
		for (unsigned i = 0; f && i < r->reg->field_cnt; i++) {
			const struct vb_reg_field *s = &r->reg->field[i];

			if (s->address == 0 && s->bit == f->select &&
			    !vb_reg_field_get(r->reg, s, image))
				vb_reg_warning("%s keeps its value: %s is 0", f->path, s->path);
		}
	}
}

static bool user_agreed(const struct request *r)
{
	char answer[16] = "";

	printf("\n Do you want to continue ? (y/n) [n] : ");
	if (r->yes) {
		puts("y");
		return true;
	}
	fflush(stdout);
	if (!fgets(answer, sizeof answer, stdin)) {
		putchar('\n');
		return false;
	}
	answer[strcspn(answer, "\n")] = 0;
	return strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0;
}

static int get_register(const struct request *r, struct vb_broker_observer *o, uint8_t *image)
{
	int rc = apply_text(r, r->indexes, true, image);

	if (rc)
		return rc;
	printf("Sending access register...\n\n");
	rc = vb_reg_access(o, r->device, false, r->id, image, r->len);
	if (!rc)
		print_fields(r, image);
	return rc;
}

static int set_register(const struct request *r, struct vb_broker_observer *o, uint8_t *image)
{
	/* Indexes may come as data too, so both say what is to be read. */
	int rc = fill_image(r, image);

	if (!rc && !r->overwrite)
		rc = vb_reg_access(o, r->device, false, r->id, image, r->len);
	if (!rc)
		rc = fill_image(r, image);
	if (rc)
		return rc;
	warn_fields(r, image);
	if (r->reg)
		printf("You are about to send access register: %s with the following data:\n",
		       r->reg->name);
	else
		printf("You are about to send access register id: 0x%x with the following data:\n",
		       r->id);
	print_fields(r, image);
	if (!user_agreed(r))
		return 0;
	puts(" Sending access register...");
	rc = vb_reg_access(o, r->device, true, r->id, image, r->len);
	if (rc)
		return rc;
	if (r->id == vb_reg_roce_accl.id)
		vb_reg_warn_profile(image);
	if (!vb_broker_is_used(o))
		vb_reg_warning("%s", VB_CMD_SHORT_LIFE);
	return 0;
}

static int perform_request(const struct request *r, struct vb_broker_observer *o)
{
	uint8_t image[VB_REG_BYTES_MAX] = {0};
	int rc = vb_reg_find_device(o, r->device);

	if (rc)
		return rc;
	if (r->op == OPT_SHOW_REGS) {
		vb_reg_print_names();
		return 0;
	}
	if (r->op == OPT_SHOW_REG) {
		vb_reg_print_layout(r->reg, r->full_path);
		return 0;
	}
	if (r->len > sizeof image)
		return vb_reg_error("Register length: 0x%08x is too large", r->len);
	return r->op == OPT_GET ? get_register(r, o, image) : set_register(r, o, image);
}

static int run_reg(const struct vb_cmd *cmd, int argc, char **argv)
{
	struct request r = {.indexes = "", .op = -1};
	struct vb_broker_observer o;
	const char *arg;
	char why[512];
	int rc = 0;

	for (int i; !rc && (i = vb_cmd_next_option(cmd, argc, argv, &arg)) >= 0;)
		rc = take_option(&r, i, arg);
	if (!rc && optind < argc)
		return vb_cmd_usage(cmd, "unexpected argument '%s'", argv[optind]);
	if (r.op == OPT_PRESET && !r.reg_name && !r.has_id)
		r.reg_name = vb_reg_roce_accl.name;
	if (!rc)
		rc = check_options(&r);
	if (!rc)
		rc = find_register(&r);
	if (rc)
		return rc;
	if (vb_broker_observe(&o, true, why, sizeof why))
		return vb_reg_error("%s", why);
	rc = perform_request(&r, &o);
	vb_broker_observe_end(&o);
	return rc ? rc : vb_cmd_finish(cmd);
}

const struct vb_cmd vb_cmd_reg = {
    .name = "reg",
    .arguments = "-d DEVICE --reg_name NAME --get|--set FIELDS [OPTIONS]",
    .text = "Reads and changes registers of a device, as mlxreg and mstreg do.",
    .options = options,
    .run = run_reg,
};
