/* SPDX-License-Identifier: BSD-2-Clause */
/* Text of others in XML, JSON and on a terminal: whatever its bytes are. export/text/text.h */
#include "cmocka_env.h"

#include "export/text/text.h"

#include <stdlib.h>
#include <string.h>

static char *written;
static size_t written_len;

static FILE *writing(void)
{
	FILE *f = open_memstream(&written, &written_len);

	assert_non_null(f);
	return f;
}

static void expect(FILE *f, const char *want)
{
	assert_int_equal(fclose(f), 0);
	assert_string_equal(written, want);
	free(written);
}

static void utf8_len__of_characters_and_of_none(void **state)
{
	static const struct {
		const char *text;
		size_t len;
	} rows[] = {{"", 0},
		    {"a", 1},
		    {"\xc3\xa4", 2},
		    {"\xe2\x82\xac", 3},
		    {"\xf0\x9f\x92\xa1", 4},
		    {"\x80", 0},
		    {"\xc3", 0},
		    {"\xc3(", 0},
		    {"\xc1\x81", 0},         /* long forms */
		    {"\xe0\x81\x81", 0},     /* ... */
		    {"\xf0\x80\x81\x81", 0}, /* ... */
		    {"\xed\xa0\x80", 0},     /* a surrogate */
		    {"\xf4\x90\x80\x80", 0}, /* beyond the last character */
		    {"\xf5\x80\x80\x80", 0},
		    {"\xf4\x8f\xbf\xbf", 4},
		    {"\xe2\x82", 0}};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		assert_int_equal(vb_utf8_len(rows[i].text), rows[i].len);
}

static void xml__has_no_markup_of_others(void **state)
{
	FILE *f = writing();

	(void)state;
	vb_text_xml(f, "</title><script>a&b(\"'\")\x01\x1b\xff\xc2\x9b\xc3\xa4\xef\xbf\xbf");
	expect(f, "&#60;/title&#62;&#60;script&#62;a&#38;b(&#34;&#39;&#34;)?\xc3\xa4?");
}

static void xml_short__counts_characters(void **state)
{
	FILE *f = writing();

	(void)state;
	vb_text_xml_short(f, "\xc3\xa4\xc3\xa4\xc3\xa4", 3);
	vb_text_xml_short(f, "|\xc3\xa4\xc3\xa4\xc3\xa4", 3);
	vb_text_xml_short(f, "|<<<<", 3);
	vb_text_xml_short(f, "", 3);
	expect(f, "\xc3\xa4\xc3\xa4\xc3\xa4|\xc3\xa4\xe2\x80\xa6|&#60;\xe2\x80\xa6");
}

static void plain__leads_a_terminal_nowhere(void **state)
{
	FILE *f = writing();

	(void)state;
	vb_text_plain(f, "a\x1b[2J\n\x7f\xc2\x9b\xe2\x82\xac\xfe<");
	expect(f, "a?[2J???\xe2\x82\xac?<");
}

static void json__ends_no_script(void **state)
{
	FILE *f = writing();

	(void)state;
	vb_text_json(f, "</script>\"\\\n\x7f\xff\xc3\xa4");
	expect(f, "\"\\u003c/script>\\\"\\\\\\u000a\\u007f?\xc3\xa4\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(utf8_len__of_characters_and_of_none),
	    cmocka_unit_test(xml__has_no_markup_of_others),
	    cmocka_unit_test(xml_short__counts_characters),
	    cmocka_unit_test(plain__leads_a_terminal_nowhere),
	    cmocka_unit_test(json__ends_no_script),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
