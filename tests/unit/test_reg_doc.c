/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * docs/registers.md has the tables of the registers as the code has them. To write them anew:
 * WRITE_REGISTERS_MD=1 test_reg_doc.
 */
#include "reg/csr/cc_names.h"
#include "reg/csr/csr.h"

#include "cmocka_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE TEST_DATA "/../../docs/registers.md"
#define BYTES_MAX 100000

static char page[BYTES_MAX], made[BYTES_MAX];

static void render_fields(FILE *f, const struct vb_reg *reg, const char *before)
{
	for (unsigned k = 0; k < reg->field_cnt; k++) {
		const struct vb_reg_field *x = &reg->field[k];

		fputs(before, f);
		if (!before[0])
			fprintf(f, "| %02xh ", x->address);
		fprintf(f, "| %d", x->bit + x->width - 1);
		if (x->width > 1)
			fprintf(f, ":%d", x->bit);
		fprintf(f, " | `%s` | %s | %s |\n", x->path, vb_reg_access_name(x->access),
			x->text);
	}
}

static void render_access(FILE *f)
{
	for (unsigned i = 0; i < vb_reg_cnt; i++) {
		const struct vb_reg *reg = vb_reg_all[i];

		fprintf(f, "\n### %s, 0x%04x\n\n%s. ", reg->name, reg->id, reg->text);
		if (reg->len_short != reg->len)
			fprintf(f, "0x%x or 0x%x bytes.\n\n", reg->len_short, reg->len);
		else
			fprintf(f, "0x%x bytes.\n\n", reg->len);
		fputs("| offset | bits | field | access | |\n|---|---|---|---|---|\n", f);
		render_fields(f, reg, "");
	}
	fputc('\n', f);
}

static void render_csr(FILE *f)
{
	char before[64];

	fputs("\n| address | register | bits | field | access | |\n|---|---|---|---|---|---|\n", f);
	for (unsigned i = 0; i < vb_csr_cnt; i++) {
		const struct vb_reg *reg = vb_csr_all[i];

		snprintf(before, sizeof before, "| %06x%s | %s ", reg->id,
			 vb_csr_is_of_qp(reg) ? " +" : "", reg->name);
		render_fields(f, reg, before);
	}
	fputc('\n', f);
}

static void render_names(FILE *f)
{
	fputs("\n| `cc_params` | `ecn` | unit | values | stands for |\n|---|---|---|---|---|\n", f);
	for (unsigned i = 0; i < vb_cc_name_cnt; i++) {
		const struct vb_cc_name *n = &vb_cc_names[i];

		fprintf(f, "| %s | %s | %s | %llu...%llu | %s |\n", n->debugfs ? n->debugfs : "",
			n->sysfs ? n->sysfs : "", n->unit, (unsigned long long)n->min,
			(unsigned long long)n->max, n->field);
	}
	fputc('\n', f);
}

/* The page's text between the marks of @name, against the text that @render writes. */
static void compare(const char *name, void (*render)(FILE *f))
{
	char begin_mark[64], end_mark[64];
	FILE *f = fopen(PAGE, "re");

	assert_non_null(f);
	page[fread(page, 1, sizeof page - 1, f)] = 0;
	fclose(f);
	snprintf(begin_mark, sizeof begin_mark, "<!-- begin: %s -->\n", name);
	snprintf(end_mark, sizeof end_mark, "<!-- end: %s -->\n", name);

	char *begin = strstr(page, begin_mark), *end = strstr(page, end_mark);

	assert_true(begin && end && begin < end);
	begin += strlen(begin_mark);
	f = fmemopen(made, sizeof made, "w");
	assert_non_null(f);
	render(f);
	fclose(f);
	if (getenv("WRITE_REGISTERS_MD")) {
		f = fopen(PAGE, "we");
		assert_non_null(f);
		fprintf(f, "%.*s%s%s", (int)(begin - page), page, made, end);
		fclose(f);
		return;
	}
	*end = 0;
	assert_string_equal(begin, made);
}

static void page__has_the_tables(void **state)
{
	(void)state;
	compare("tables", render_access);
	compare("csr", render_csr);
	compare("names", render_names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(page__has_the_tables)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
