/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * docs/registers.md has the tables of the registers as the code has them. To write them anew:
 * WRITE_REGISTERS_MD=1 test_reg_doc.
 */
#include "reg/file.h"

#include "cmocka_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE TEST_DATA "/../../docs/registers.md"
#define BYTES_MAX 100000
#define BEGIN "<!-- begin: tables -->\n"
#define END "<!-- end: tables -->\n"

static char page[BYTES_MAX], made[BYTES_MAX];

static void render(FILE *f)
{
	for (unsigned i = 0; i < vb_reg_cnt; i++) {
		const struct vb_reg *reg = vb_reg_all[i];

		fprintf(f, "\n### %s, 0x%04x\n\n%s. ", reg->name, reg->id, reg->text);
		if (reg->len_short != reg->len)
			fprintf(f, "0x%x or 0x%x bytes.\n\n", reg->len_short, reg->len);
		else
			fprintf(f, "0x%x bytes.\n\n", reg->len);
		fputs("| offset | bits | field | access | |\n|---|---|---|---|---|\n", f);
		for (unsigned k = 0; k < reg->field_cnt; k++) {
			const struct vb_reg_field *x = &reg->field[k];

			fprintf(f, "| %02xh | %d", x->address, x->bit + x->width - 1);
			if (x->width > 1)
				fprintf(f, ":%d", x->bit);
			fprintf(f, " | `%s` | %s | %s |\n", x->path, vb_reg_access_name(x->access),
				x->text);
		}
	}
	fputc('\n', f);
}

static void page__has_the_tables(void **state)
{
	FILE *f = fopen(PAGE, "re");

	(void)state;
	assert_non_null(f);
	page[fread(page, 1, sizeof page - 1, f)] = 0;
	fclose(f);

	char *begin = strstr(page, BEGIN), *end = strstr(page, END);

	assert_true(begin && end && begin < end);
	begin += strlen(BEGIN);
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

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(page__has_the_tables)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
