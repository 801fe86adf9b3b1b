/* SPDX-License-Identifier: BSD-2-Clause */
/* I/O controllers of target channel adapters in the text of a topology. FAB-08 */
#include "topology_env.h"

#define T "Ca 1 \"T\"\n"

static void a_controller_has_the_values_of_an_srp_target(void **state)
{
	const struct vb_io_controller_profile *p;
	const struct vb_topo_ioc *c;

	(void)state;
	parse("vendid=0x2c9\ndevid=0x1019\ncaguid=0x2c90300001234\n" T
	      "#ioc \"an array of disks\"\n#service \"SRP.T10:0002c90300001234\"\n"
	      "# a comment\n[1] \"S\"[1]\nSwitch 1 \"S\"\n");
	c = node("T")->ioc;
	assert_non_null(c);
	p = &c->profile;
	assert_true(c->slot == 1 && !c->next);
	assert_string_equal((const char *)p->id, "an array of disks");
	assert_int_equal(p->guid, 0x2c90300001234);
	assert_true(p->vendor_id == 0x2c9 && p->subsystem_vendor_id == 0x2c9);
	assert_true(p->device_id == 0x1019 && p->device_version == 0 && p->subsystem_id == 0);
	assert_true(p->io_class == 0x0100 && p->io_subclass == 0x609e);
	assert_true(p->protocol == 0x0108 && p->protocol_version == 1);
	assert_true(p->send_depth == 4095 && p->read_depth == 4);
	assert_true(p->send_size == 2116 && p->rdma_size == 65536 && p->operations == 0xf0);
	assert_int_equal(p->service_cnt, 1);
	assert_string_equal((const char *)c->service->service.name, "SRP.T10:0002c90300001234");
	assert_int_equal(c->service->service.id, 0x2c90300001234);
	assert_null(c->service->next);
	assert_null(node("S")->ioc);
}

static void controllers_are_as_the_text_says_and_are_written_again(void **state)
{
	const struct vb_topo_ioc *c;

	(void)state;
	parse("caguid=0x5000\n" T "[1] \"U\"[1]\n#ioc \"a\" slot=3 guid=0x77 vendor=0x10203 "
	      "device=0x4050607 version=8 subvendor=9 subsystem=10 class=11 subclass=12 "
	      "protocol=13 revision=14 depth=15 reads=16 send=17 rdma=18 operations=0x30\n"
	      "#service \"first\" id=1\n#service \"second\" id=0xffffffffffffffff\n"
	      "#ioc\t\"b\"\n#ioc \"c\" slot=255\n#service \"third\"\nCa 1 \"U\"\n#ioc \"d\"\n");
	c = node("T")->ioc;
	assert_true(c->slot == 3 && c->profile.guid == 0x77 && c->profile.vendor_id == 0x10203);
	assert_true(c->profile.device_id == 0x4050607 && c->profile.device_version == 8);
	assert_true(c->profile.subsystem_vendor_id == 9 && c->profile.subsystem_id == 10);
	assert_true(c->profile.io_class == 11 && c->profile.io_subclass == 12);
	assert_true(c->profile.protocol == 13 && c->profile.protocol_version == 14);
	assert_true(c->profile.send_depth == 15 && c->profile.read_depth == 16);
	assert_true(c->profile.send_size == 17 && c->profile.rdma_size == 18);
	assert_true(c->profile.operations == 0x30 && c->profile.service_cnt == 2);
	assert_int_equal(c->service->next->service.id, UINT64_MAX);
	c = c->next;
	assert_true(c->slot == 4 && c->profile.guid == 0x5003 && c->profile.service_cnt == 0);
	c = c->next;
	assert_true(c->slot == 255 && c->profile.guid == 0x50fe && !c->next);
	assert_int_equal(c->service->service.id, 0x50fe);
	assert_int_equal(node("U")->ioc->slot, 1);
	check_fixed_point();
	parse(written());
	assert_int_equal(node("T")->ioc->next->next->service->service.id, 0x50fe);
	assert_string_equal((const char *)node("T")->ioc->profile.id, "a");
}

static void lines_about_controllers_that_cannot_be_read_are_named(void **state)
{
	static const struct {
		const char *text, *words;
	} lines[] = {
	    {"#ioc \"a\"\n" T,
	     "line 1, column 1: I/O controllers stand behind the Ca that has them"},
	    {"Switch 1 \"S\"\n#ioc \"a\"",
	     "line 2, column 1: I/O controllers stand behind the Ca that has them"},
	    {T "devid=1\n#ioc \"a\"",
	     "line 3, column 1: I/O controllers stand behind the Ca that has them"},
	    {T "#service \"a\"",
	     "line 2, column 9: a #service stands behind the #ioc that offers it"},
	    {T "#ioc \"a\"\nCa 1 \"U\"\n#service \"a\"",
	     "line 4, column 9: a #service stands behind the #ioc that offers it"},
	    {T "#ioc a", "line 2, column 6: expected a name in quotes"},
	    {T "#ioc \"\"", "line 2, column 8: expected a name in quotes"},
	    {T "#ioc", "line 2, column 5: expected a name in quotes"},
	    {T "#ioc \"a\" colour=1",
	     "line 2, column 10: there is no value \"colour=1\" of a controller here"},
	    {T "#ioc \"a\" slot=x", "line 2, column 15: expected a number"},
	    {T "#ioc \"a\" slot=1x", "line 2, column 16: expected a number"},
	    {T "#ioc \"a\" slot=256", "line 2, column 10: slot is at most 0xff, not 0x100"},
	    {T "#ioc \"a\" vendor=0x1000000",
	     "line 2, column 10: vendor is at most 0xffffff, not 0x1000000"},
	    {T "#ioc \"a\" slot=2\n#ioc \"b\" slot=2",
	     "line 3, column 16: slots of controllers rise, up to 255; the one before has 2"},
	    {T "#ioc \"a\" slot=255\n#ioc \"b\"",
	     "line 3, column 9: slots of controllers rise, up to 255; the one before has 255"},
	    {T "#ioc \"a\"\n#service \"b\" port=1",
	     "line 3, column 14: there is no value \"port=1\" of a service here"},
	    {T "#ioc \"1234567890123456789012345678901234567890123456789012345678901234\"",
	     "line 2, column 7: the name has 64 bytes, at most 63 are allowed"},
	    {T "#ioc \"a\"\n#service \"1234567890123456789012345678901234567890\"",
	     "line 3, column 11: the name has 40 bytes, at most 39 are allowed"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
		refuse(lines[i].text, lines[i].words);
	/* Words that only look like them are comments, as to other programs. */
	parse(T "#iocs are below\n# ioc \"a\"\n#services\n #ioc \"a\"\n");
	assert_null(node("T")->ioc);
}

static void a_controller_has_255_services_at_most(void **state)
{
	static char text[16384];
	size_t len = (size_t)snprintf(text, sizeof text, T "#ioc \"a\"\n");

	(void)state;
	for (int i = 0; i < 255; i++)
		len += (size_t)snprintf(text + len, sizeof text - len, "#service \"s\" id=%d\n",
					i + 1);
	parse(text);
	assert_int_equal(node("T")->ioc->profile.service_cnt, 255);
	vb_topo_free(&topo);
	snprintf(text + len, sizeof text - len, "#service \"s\"\n");
	refuse(text, "line 258, column 9: a controller has at most 255 services");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TOPOLOGY_TEST(a_controller_has_the_values_of_an_srp_target),
	    TOPOLOGY_TEST(controllers_are_as_the_text_says_and_are_written_again),
	    TOPOLOGY_TEST(lines_about_controllers_that_cannot_be_read_are_named),
	    TOPOLOGY_TEST(a_controller_has_255_services_at_most),
	};

	return cmocka_run_group_tests_name("topology_io", tests, NULL, NULL);
}
