/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena csr`: the registers of congestion control by address, by name, and by the names that
 * other adapters have for them. docs/registers.md
 */
#include "cmd/reg/csr_access.h"
#include "reg/csr/cc_names.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { OPT_DEVICE, OPT_QP, OPT_INDEX };

static const struct vb_cmd_option options[] = {
    [OPT_DEVICE] = {'d', "device", "DEVICE", "the device, by its name or its network device's"},
    [OPT_QP] = {'q', "qp", "QPN", "the QP of registers that each QP has, by its number"},
    [OPT_INDEX] = {'i', "index", "INDEX", "... or by its index in the register space"},
    {0},
};

/* The meaning of an argument: a whole register, or one field of it. */
struct item {
	const struct vb_reg *reg;
	const struct vb_reg_field *field; /* NULL: all of it */
	uint32_t address;
};

static const char *const verbs[] = {"read", "write", "dump", "params", "wait", "fields"};
enum verb { READ, WRITE, DUMP, PARAMS, WAIT, FIELDS, VERBS };

static int no_qp(const struct vb_csr_tool *t, const char *name, size_t len)
{
	return vb_cmd_usage(t->cmd, "each QP has '%.*s': say which one with --qp or --index",
			    (int)len, name);
}

/* Finds what the first @len characters of @name mean. */
static int find_item(const struct vb_csr_tool *t, const char *name, size_t len, struct item *it)
{
	unsigned others = 0;
	uint64_t address;
	uint32_t index = 0;

	*it = (struct item){0};
	if (vb_csr_number(name, len, &address)) {
		it->reg = address <= UINT32_MAX ? vb_csr_at((uint32_t)address, &index) : NULL;
		it->address = (uint32_t)address;
		if (it->reg)
			return 0;
		vb_cmd_error(t->cmd, "there is no register at 0x%06" PRIx64, address);
		return 1;
	}
	it->reg = vb_csr_by_name(name, len);
	if (!it->reg)
		it->field = vb_csr_find(name, len, &it->reg, &others);
	if (!it->reg || (!it->field && others)) {
		vb_cmd_error(
		    t->cmd, "there is no register or field '%.*s'; 'verbena csr fields' lists them",
		    (int)len, name);
		return 1;
	}
	if (vb_csr_is_of_qp(it->reg) && !t->index)
		return no_qp(t, name, len);
	it->address = vb_csr_address(it->reg, vb_csr_is_of_qp(it->reg) ? t->index : 0);
	return 0;
}

static void print_field(const struct vb_reg *reg, const struct vb_reg_field *f, uint64_t word,
			uint32_t clk)
{
	uint64_t v = vb_csr_field_get(reg, f, word);

	printf("  %-28s %" PRIu64, f->path, v);
	if (f->unit == VB_REG_RATE && clk)
		printf(" (%s)", vb_csr_rate_text((uint32_t)v << 8, clk));
	if (f->unit == VB_REG_RATE_Q8 && clk)
		printf(" (%s)", vb_csr_rate_text((uint32_t)v, clk));
	putchar('\n');
}

static void print_item(const struct item *it, uint64_t word, uint32_t clk)
{
	if (it->field) {
		print_field(it->reg, it->field, word, clk);
		return;
	}
	printf("0x%06" PRIx32 " %-18s 0x%016" PRIx64 "\n", it->address, it->reg->name, word);
	for (unsigned i = 0; i < it->reg->field_cnt; i++)
		print_field(it->reg, &it->reg->field[i], word, clk);
}

/* The clock, without which a rate is no rate: of the QP whose register is at @address, or, where
 * none has one, of the device. */
static uint32_t clock_of(struct vb_csr_tool *t, uint32_t address)
{
	const struct vb_reg *of_qp = vb_csr_by_name("QP_CLOCK", 8);
	uint64_t word = 0;
	uint32_t index;

	(void)vb_csr_at(address, &index);
	if (index && vb_csr_read_one(t, vb_csr_address(of_qp, index), &word))
		return 0;
	if (word == 0 && vb_csr_read_one(t, vb_csr_by_name("CC_CLOCK", 8)->id, &word))
		return 0;
	return (uint32_t)word;
}

/* The physical function whose registers device @i goes by. */
static uint32_t function_of(const struct vb_csr_tool *t, uint32_t i)
{
	uint32_t parent = t->o.host->device[i].parent;

	return parent && parent <= VB_DEVICES_MAX ? parent - 1 : i;
}

/* Global registers are the device's; a program may have been started with settings of its own. */
static void warn_own_settings(struct vb_csr_tool *t)
{
	uint64_t devices = 0;
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++)
		if (function_of(t, i) == function_of(t, t->device_at))
			devices |= UINT64_C(1) << i;
	if (vb_broker_observe_slots(&t->o))
		return;
	for (int i = VB_SLOT_FIRST; i < VB_SLOT_CNT; i++) {
		const struct vb_slot_shm *s = t->o.slot[i];

		if (s && s->pid && __atomic_load_n(&s->own_cc, __ATOMIC_RELAXED) & devices)
			cnt++;
	}
	if (cnt)
		vb_cmd_error(t->cmd,
			     "%" PRIu32 " program%s settings of %s own (verbena run --cc): these "
			     "registers hold there once one of them is written",
			     cnt, cnt == 1 ? " has" : "s have", cnt == 1 ? "its" : "their");
}

static int read_items(struct vb_csr_tool *t, int argc, char **argv)
{
	bool is_global = false;
	struct item it;
	int rc = 0;

	if (argc == 0)
		return vb_cmd_usage(t->cmd, "read what? Registers, fields or addresses");
	/* One request for each: global ones and those of a QP do not go together. */
	for (int i = 0; !rc && i < argc; i++) {
		uint64_t word;

		rc = find_item(t, argv[i], strlen(argv[i]), &it);
		if (!rc)
			rc = vb_csr_read_one(t, it.address, &word);
		if (!rc)
			print_item(&it, word, clock_of(t, it.address));
		is_global |= it.address < VB_CSR_QP_BASE;
	}
	if (!rc && is_global)
		warn_own_settings(t);
	return rc;
}

/* "NAME=VALUE" or "ADDRESS=VALUE" as an access. */
static int add_write(struct vb_csr_tool *t, const char *arg)
{
	const char *eq = strchr(arg, '=');
	struct item it;
	uint64_t value, mask = UINT64_MAX;

	if (!eq || eq == arg)
		return vb_cmd_usage(t->cmd, "'%s' is not NAME=VALUE", arg);
	if (!vb_csr_number(eq + 1, strlen(eq + 1), &value))
		return vb_cmd_usage(t->cmd, "'%s' is no number of 64 bits", eq + 1);

	int rc = find_item(t, arg, (size_t)(eq - arg), &it);

	if (rc)
		return rc;
	if (it.field && it.field->access == VB_REG_RO) {
		vb_cmd_error(t->cmd, "%s is read-only", it.field->path);
		return 1;
	}
	if (it.field && value > vb_reg_field_max(it.field)) {
		vb_cmd_error(t->cmd, "%s has %u bits, too few for %s", it.field->path,
			     it.field->width, eq + 1);
		return 1;
	}
	if (it.field) {
		mask = vb_csr_field_put(it.reg, it.field, 0, UINT64_MAX);
		value = vb_csr_field_put(it.reg, it.field, 0, value);
	}
	if (vb_csr_add(t, it.address, value, mask))
		return 0;
	return vb_cmd_usage(t->cmd, "more than %d writes at once", VB_BROKER_WORDS_MAX);
}

/* Writes as one request, so global ones take effect together. */
static int write_items(struct vb_csr_tool *t, int argc, char **argv)
{
	int rc = argc ? 0 : vb_cmd_usage(t->cmd, "write what? NAME=VALUE ...");

	vb_csr_begin(t, VB_BROKER_CSR_WRITE);
	for (int i = 0; !rc && i < argc; i++)
		rc = add_write(t, argv[i]);
	if (!rc)
		rc = vb_csr_send(t);
	if (!rc && t->req.access[0].at < VB_CSR_QP_BASE && !vb_broker_is_used(&t->o))
		vb_cmd_error(t->cmd, "%s", VB_CMD_SHORT_LIFE);
	return rc;
}

/* All registers of the tool's QP, or all global ones, in one request. */
static int read_all(struct vb_csr_tool *t)
{
	vb_csr_begin(t, VB_BROKER_CSR_READ);
	for (unsigned i = 0; i < vb_csr_cnt; i++) {
		const struct vb_reg *r = vb_csr_all[i];

		/* To read an entry of the recorder takes it away. */
		if (vb_csr_is_of_qp(r) == (t->index != 0) && r->id != VB_CSR_DFX_INFO)
			(void)vb_csr_add(t, vb_csr_address(r, t->index), 0, 0);
	}
	return vb_csr_send(t);
}

static uint64_t value_of(const struct vb_csr_tool *t, const char *name)
{
	const struct vb_reg *reg;
	unsigned others;
	const struct vb_reg_field *f = vb_csr_find(name, strlen(name), &reg, &others);

	for (uint32_t i = 0; f && i < t->req.cnt; i++)
		if (t->req.access[i].at == vb_csr_address(reg, t->index))
			return vb_csr_field_get(reg, f, t->req.access[i].word);
	return 0;
}

static void print_qp_row(const struct vb_csr_tool *t, uint32_t device_clk)
{
	static const char *const states[] = {"RESET", "INIT", "RTR", "RTS",
					     "SQD",   "SQE",  "ERR", "?"};

	uint32_t qp_clk = (uint32_t)value_of(t, "qp_clk_hz"), clk = qp_clk ? qp_clk : device_clk;

	printf("%5" PRIu32 "  0x%06" PRIx64 "  %-5s  %-12s  %-12s  %5" PRIu64 "  %s%s\n", t->index,
	       value_of(t, "qpn"), states[value_of(t, "qp_state") & 7],
	       vb_csr_rate_text((uint32_t)value_of(t, "cc_rate") << 8, clk),
	       vb_csr_rate_text((uint32_t)value_of(t, "target_rate") << 8, clk),
	       value_of(t, "alpha"), value_of(t, "sq_arb_mask") ? "masked " : "",
	       value_of(t, "dfx_en") ? "recorded" : "");
}

/* A row for each QP; one that ends meanwhile, or whose program is stopped, has none. */
static int print_qps(struct vb_csr_tool *t, uint32_t clk)
{
	char why[VB_BROKER_TEXT_MAX];
	uint32_t qpn, from = 1;
	bool first = true;

	while ((t->index = vb_broker_next_qp(&t->o, t->device_at, from, &qpn)) != 0) {
		from = t->index + 1;
		vb_csr_begin(t, VB_BROKER_CSR_READ);
		for (unsigned i = 0; i < vb_csr_cnt; i++)
			if (vb_csr_is_of_qp(vb_csr_all[i]) && vb_csr_all[i]->id != VB_CSR_DFX_INFO)
				(void)vb_csr_add(t, vb_csr_address(vb_csr_all[i], t->index), 0, 0);

		int err = vb_csr_try(t, why, sizeof why);

		if (err == -ECONNRESET || err == -ETIMEDOUT) {
			vb_cmd_error(t->cmd, "QP 0x%06" PRIx32 ": %s", qpn, why);
			return 1;
		}
		if (err)
			continue;
		if (first)
			puts("\nINDEX  QPN       STATE  RATE          TARGET        ALPHA");
		first = false;
		print_qp_row(t, clk);
	}
	if (first)
		puts("\nno QP exists");
	return 0;
}

static int dump_registers(struct vb_csr_tool *t, int argc, char **argv)
{
	if (argc)
		return vb_cmd_usage(t->cmd, "unexpected argument '%s'", argv[0]);

	bool is_qp = t->index != 0;
	uint32_t clk =
	    clock_of(t, is_qp ? vb_csr_address(vb_csr_by_name("QP_CLOCK", 8), t->index) : 0);
	int rc = read_all(t);

	for (uint32_t i = 0; !rc && i < t->req.cnt; i++) {
		uint32_t index;
		struct item it = {.address = t->req.access[i].at};

		it.reg = vb_csr_at(it.address, &index);
		print_item(&it, t->req.access[i].word, clk);
	}
	if (!rc && !is_qp)
		rc = print_qps(t, clk);
	if (!rc && !is_qp)
		warn_own_settings(t);
	return rc;
}

/* @s NULL: without values. */
static void print_names(const struct vb_cc_settings *s)
{
	printf("%-30s %-38s %8s %-7s %s\n", "CC_PARAMS", "ECN", s ? "VALUE" : "", "UNIT", "FIELD");
	for (unsigned i = 0; i < vb_cc_name_cnt; i++) {
		const struct vb_cc_name *n = &vb_cc_names[i];
		char value[24] = "";

		if (s)
			snprintf(value, sizeof value, "%" PRIu64, n->get(s));
		printf("%-30s %-38s %8s %-7s %s\n", n->debugfs ? n->debugfs : "-",
		       n->sysfs ? n->sysfs : "-", value, n->unit, n->field);
	}
}

static const struct vb_cc_name *find_name(const struct vb_csr_tool *t, const char *arg, size_t len)
{
	const struct vb_cc_name *n = vb_cc_name_find(arg, len);

	if (!n)
		vb_cmd_error(t->cmd,
			     "there is no parameter '%.*s'; 'verbena csr params' lists them",
			     (int)len, arg);
	return n;
}

static int add_param(struct vb_csr_tool *t, const char *arg, const char *eq)
{
	const struct vb_cc_name *n = find_name(t, arg, (size_t)(eq - arg));
	uint64_t value;

	if (!n)
		return 1;
	if (!vb_csr_number(eq + 1, strlen(eq + 1), &value))
		return vb_cmd_usage(t->cmd, "'%s' is no number", eq + 1);
	if (vb_csr_add(t, (uint32_t)(n - vb_cc_names), value, 0))
		return 0;
	return vb_cmd_usage(t->cmd, "more than %d settings at once", VB_BROKER_WORDS_MAX);
}

static int show_params(struct vb_csr_tool *t, int argc, char **argv)
{
	uint32_t pf = function_of(t, t->device_at);
	struct vb_adapter_pf at;

	(void)vb_adapter_read(vb_broker_adapter(&t->o),
			      offsetof(struct vb_adapter_state, pf) + pf * sizeof at, sizeof at,
			      &at);
	if (argc == 0)
		print_names(&at.reg.cc);
	for (int i = 0; i < argc; i++) {
		const struct vb_cc_name *n = find_name(t, argv[i], strlen(argv[i]));

		if (!n)
			return 1;
		printf("%" PRIu64 "\n", n->get(&at.reg.cc));
	}
	warn_own_settings(t);
	return 0;
}

static int perform_params(struct vb_csr_tool *t, int argc, char **argv)
{
	int rc = 0, sets = 0;

	vb_csr_begin(t, VB_BROKER_CSR_NAME);
	for (int i = 0; !rc && i < argc; i++) {
		const char *eq = strchr(argv[i], '=');

		sets += eq != NULL;
		if (eq)
			rc = add_param(t, argv[i], eq);
	}
	if (!rc && sets && sets < argc)
		rc = vb_cmd_usage(t->cmd, "either NAME or NAME=VALUE, not both");
	if (rc || sets == 0)
		return rc ? rc : show_params(t, argc, argv);
	rc = vb_csr_send(t);
	if (!rc && !vb_broker_is_used(&t->o))
		vb_cmd_error(t->cmd, "%s", VB_CMD_SHORT_LIFE);
	return rc;
}

/* The interrupt of CNPs: waits for the next one. CC-07 */
static int await_cnp(struct vb_csr_tool *t, int argc, char **argv)
{
	uint32_t cnt = 0, qpn = 0, before;
	double seconds = -1;
	int rc;

	if (argc > 1 || (argc == 1 && !vb_cmd_number(argv[0], 0, 1e6, &seconds)))
		return vb_cmd_usage(t->cmd, "wait takes a number of seconds, or none: for ever");
	/* Those that were before are of no interest. */
	(void)vb_broker_wait_cnp(&t->o, t->device_at, &cnt, &qpn, 0);
	before = cnt;
	do
		rc = vb_broker_wait_cnp(&t->o, t->device_at, &cnt, &qpn,
					seconds < 0 ? -1 : (int)(seconds * 1000));
	while (rc == -EINTR);
	if (rc == 1) {
		printf("QP 0x%06" PRIx32 " got a CNP", qpn);
		if (cnt - before > 1)
			printf(", the last of %" PRIu32, cnt - before);
		putchar('\n');
		return 0;
	}
	if (rc == 0)
		vb_cmd_error(t->cmd,
			     "no CNP came in %g s; only those for QPs with cnp_irq_en count",
			     seconds);
	else
		vb_cmd_error(t->cmd, "the adapter's broker has gone");
	return 1;
}

/* Lists all registers and fields, without a device. */
static int print_fields(const struct vb_cmd *cmd)
{
	for (unsigned k = 0; k < vb_csr_cnt; k++) {
		const struct vb_reg *r = vb_csr_all[k];

		printf("0x%06" PRIx32 "%s %s: %s\n", r->id, vb_csr_is_of_qp(r) ? " +" : "", r->name,
		       r->text);
		for (unsigned i = 0; i < r->field_cnt; i++) {
			const struct vb_reg_field *f = &r->field[i];
			char bits[16];

			snprintf(bits, sizeof bits, f->width > 1 ? "%u:%u" : "%u",
				 f->bit + f->width - 1u, f->bit);
			printf("  %-6s %-3s %-28s %s\n", bits, vb_reg_access_name(f->access),
			       f->path, f->text);
		}
	}
	return vb_cmd_finish(cmd);
}

static int perform_verb(struct vb_csr_tool *t, enum verb verb, int argc, char **argv)
{
	int rc = vb_csr_open(t);

	if (rc)
		return rc;
	switch (verb) {
	case READ:
		rc = read_items(t, argc, argv);
		break;
	case WRITE:
		rc = write_items(t, argc, argv);
		break;
	case DUMP:
		rc = dump_registers(t, argc, argv);
		break;
	case WAIT:
		rc = await_cnp(t, argc, argv);
		break;
	default:
		rc = perform_params(t, argc, argv);
		break;
	}
	vb_csr_close(t);
	return rc ? rc : vb_cmd_finish(t->cmd);
}

/* Options stand before, between and behind the words, which move to the front of argv. */
static int parse_options(struct vb_csr_tool *t, int argc, char **argv, int *words)
{
	const char *arg;
	int rc = 0;

	*words = 0;
	for (;;) {
		int i;

		while (!rc && (i = vb_cmd_next_option(t->cmd, argc, argv, &arg)) >= 0) {
			if (i == OPT_DEVICE)
				t->device = arg;
			if (i == OPT_QP)
				rc = vb_csr_take_qpn(t, arg);
			if (i == OPT_INDEX)
				rc = vb_csr_take_index(t, arg);
		}
		if (rc || optind >= argc)
			return rc;
		argv[(*words)++] = argv[optind++];
	}
}

static int run_csr(const struct vb_cmd *cmd, int argc, char **argv)
{
	static struct vb_csr_tool t;
	int words, verb = 0;

	t.cmd = cmd;

	int rc = parse_options(&t, argc, argv, &words);

	if (rc)
		return rc;
	if (words == 0)
		return vb_cmd_usage(cmd, "what: read, write, dump, params, wait or fields?");
	while (verb < VERBS && strcmp(verbs[verb], argv[0]) != 0)
		verb++;
	if (verb == VERBS)
		return vb_cmd_usage(cmd, "'%s' is none of read, write, dump, params, wait, fields",
				    argv[0]);
	if (verb == FIELDS)
		return print_fields(cmd);
	if (verb == PARAMS && words == 1 && !t.device) {
		print_names(NULL);
		return vb_cmd_finish(cmd);
	}
	return perform_verb(&t, (enum verb)verb, words - 1, argv + 1);
}

const struct vb_cmd vb_cmd_csr = {
    .name = "csr",
    .arguments = "read|write|dump|params|wait|fields -d DEVICE [--qp QPN] [NAME[=VALUE]...]",
    .text = "Reads and changes the registers of congestion control.",
    .options = options,
    .run = run_csr,
};
