/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena fabric show`: the view of a fabric's process, read back, as text and as JSON, and the
 * ways of packets. cmd/fabric/show, node/subnet/view; FAB-01, LNK-12, LNK-22
 */
#include "subnet_view_env.h"

#include "cmd/fabric/show/facts.h"
#include "node/subnet/path/path.h"
#include "wire/ib/rate.h"

#include <stdarg.h>

static char *written;
static size_t written_len;
static char last_error[256];

/* In the place of the command's own. */
void vb_cmd_error(const struct vb_cmd *cmd, const char *fmt, ...)
{
	va_list ap;

	(void)cmd;
	va_start(ap, fmt);
	vsnprintf(last_error, sizeof last_error, fmt, ap);
	va_end(ap);
}

static FILE *writing(void)
{
	FILE *f = open_memstream(&written, &written_len);

	assert_non_null(f);
	return f;
}

static void written_end(FILE *f)
{
	assert_int_equal(fclose(f), 0);
}

/* The fabric as it is shown; with a look @seconds before when that is not 0. */
static struct vb_show show_now(double seconds)
{
	struct vb_show s = {.sock = -1};

	s.v = view_now(NULL);
	if (seconds <= 0)
		return s;
	s.before = s.v;
	s.v = view_now(NULL);
	((struct vb_subnet_view_head *)s.v.memory)->now_ns =
	    s.before.head->now_ns + (uint64_t)(seconds * 1e9);
	return s;
}

static void show_list(const struct vb_show *s, bool is_compact)
{
	FILE *f = writing();

	vb_show_list(f, s, is_compact);
	written_end(f);
}

static void need(const char *text)
{
	if (!strstr(written, text))
		fail_msg("'%s' is not in\n%s", text, written);
}

static void need_no(const char *text)
{
	if (strstr(written, text))
		fail_msg("'%s' is in\n%s", text, written);
}

/* A line for each end of a cable: state, LID, rate, address, peer. Scripts look for these. */
static void list__has_a_line_for_each_end(void **state)
{
	char want[96];
	struct vb_show s;

	(void)state;
	fabric_configure();
	s = show_now(0);
	assert_int_equal(vb_show_shape(&s), 0);
	show_list(&s, false);
	snprintf(want, sizeof want, "Ca H-B 0x%016llx \"H-B\"\n",
		 (unsigned long long)topo.node[HOST_B].node_guid);
	need(want);
	snprintf(want, sizeof want, "Switch S-B 0x%016llx \"S-B\" lid %u\n",
		 (unsigned long long)topo.node[SWITCH_B].node_guid, LID(SWITCH_B));
	need(want);
	need("    1 ACTIVE    lid 18    4x EDR   10.0.0.1 -> S-A port 1\n");
	need("    2 ACTIVE    lid 19    4x EDR   10.0.0.4 -> S-B port 1\n");
	need("    2 ACTIVE    lid 0     4x EDR   -> S-A port 2\n");
	need_no("unplugged");
	need_no("\n    3 "); /* no cable is there */
	need("4 nodes, 6 ports with a cable: 6 ACTIVE\n");
	need_no("Tier"); /* a row has none */
	need_no("Hot");
	free(written);
	vb_show_end(&s);
}

static void list__names_what_is_wrong(void **state)
{
	struct vb_show s;

	(void)state;
	fabric_configure();
	fabric->subnet.node[HOST_A].pma.port[1].reported[VB_PMA_RCV_ERRORS] = 3;
	fabric->subnet.node[HOST_A].pma.port[1].reported[VB_PMA_VL15_DROPPED] = 1;
	assert_int_equal(vb_subnet_plug(&fabric->subnet, place(HOST_B, 2), false, vb_clock_now()),
			 0);
	s = show_now(0);
	assert_int_equal(vb_show_shape(&s), 0);
	show_list(&s, true);
	need("-> S-A port 1, PortRcvErrors 3, VL15Dropped 1\n");
	need("    2 DOWN      lid 19    -        10.0.0.4 -> S-B port 1 (unplugged), "
	     "LinkDownedCounter 1\n");
	need("6 ports with a cable: 4 ACTIVE, 2 DOWN; 3 ports with errors\n");
	need("Switch S-A lid 16: 2 of 2 ports ACTIVE\n"); /* nothing is wrong there */
	free(written);
	vb_show_end(&s);
}

/* Each speed up to XDR has its name, at each width. */
static void list__names_speeds_and_widths(void **state)
{
	static const char *const names[] = {"SDR", "DDR", "QDR", "FDR10", "FDR",
					    "EDR", "HDR", "NDR", "XDR"};
	static const uint8_t lanes[] = {1, 4, 8, 12, 2};
	struct vb_show s = show_now(0);
	struct vb_subnet_view_port *p = (struct vb_subnet_view_port *)(uintptr_t)s.v.port;
	char text[VB_SHOW_RATE_TEXT], want[32];

	(void)state;
	for (unsigned i = 0; i < 9; i++)
		for (unsigned w = 0; w < 5; w++) {
			p[1].speed = (uint16_t)(1u << i);
			p[1].width = (uint8_t)(1u << w);
			snprintf(want, sizeof want, "%ux %s", lanes[w], names[i]);
			assert_string_equal(vb_show_rate_text(&s, 1, text), want);
		}
	p[1].speed = VB_IB_XDR;
	p[1].width = VB_IB_4X;
	assert_int_equal((int)vb_show_nominal_gbps(&s, 1), 800);
	p[1].speed = 0;
	assert_string_equal(vb_show_rate_text(&s, 1, text), "-");
	vb_show_end(&s);
}

/* The share of the rate that a port has sent between two looks. */
static void loads__are_of_the_time_between_two_looks(void **state)
{
	struct vb_show s;
	struct vb_subnet_view_port *p;
	uint32_t port, hot[2];

	(void)state;
	fabric_configure();
	s = show_now(2);
	assert_int_equal(vb_show_shape(&s), 0);
	port = s.v.node[HOST_A].first_port + 1;
	p = (struct vb_subnet_view_port *)(uintptr_t)&s.v.port[port];
	/* A quarter of 100 Gb/s for 2 s, in words. */
	p->xmit_data += (uint64_t)(vb_show_rate(&s, port) / 4 * 2 / 8 / 4);
	assert_true(vb_show_load(&s, port) > 0.2499 && vb_show_load(&s, port) < 0.2501);
	assert_int_equal(vb_show_hot(&s, hot, 2), 1);
	assert_int_equal(hot[0], port);
	show_list(&s, false);
	need("-> S-A port 1, sends 25 %\n");
	need("Hot links:\n  H-A port 1 -> S-A port 1: 6.");
	need(" GB, 25 % of 100 Gb/s\n");
	free(written);
	/* Ten times slower links are ten times busier. */
	((struct vb_subnet_view_head *)s.v.memory)->real_time = 10;
	assert_true(vb_show_load(&s, port) > 2.499 && vb_show_load(&s, port) < 2.501);
	/* Counters that were set to 0 meanwhile. */
	p->xmit_data = 5;
	((struct vb_subnet_view_port *)(uintptr_t)s.before.port)[port].xmit_data = 100;
	assert_int_equal(vb_show_sent(&s, port), 20);
	vb_show_end(&s);
}

/* Without a second look, what has been sent in all counts; the busiest come first. */
static void hot_links__are_the_busiest(void **state)
{
	struct vb_show s = show_now(0);
	struct vb_subnet_view_port *p = (struct vb_subnet_view_port *)(uintptr_t)s.v.port;
	uint32_t hot[3];

	(void)state;
	assert_int_equal(vb_show_hot(&s, hot, 3), 0);
	for (uint32_t i = 0; i < 5; i++)
		p[i].xmit_data = 250000 * (i == 2 ? 9 : i); /* words: port 1 has sent 1 MB */
	assert_int_equal(vb_show_hot(&s, hot, 3), 3);
	assert_int_equal(hot[0], 2);
	assert_int_equal(hot[1], 4);
	assert_int_equal(hot[2], 3);
	assert_true(vb_show_load(&s, 2) < 0);
	vb_show_end(&s);
}

/* A name may have anything in it; a terminal is not led by it. */
static void list__prints_names_as_they_are_safe(void **state)
{
	struct vb_show s = show_now(0);
	struct vb_subnet_view_node *n = (struct vb_subnet_view_node *)(uintptr_t)s.v.node;

	(void)state;
	snprintf(n[HOST_A].name, sizeof n->name, "\x1b[2J<&\xff");
	snprintf(n[HOST_A].description, sizeof n->description, "a\nSwitch x");
	assert_int_equal(vb_show_shape(&s), 0);
	show_list(&s, false);
	need("Ca ?[2J<&? 0x");
	need("\"a?Switch x\"");
	free(written);
	FILE *f = writing();

	vb_show_json(f, &s);
	written_end(f);
	need("{\"name\": \"\\u001b[2J\\u003c&?\", \"description\": \"a\\u000aSwitch x\"");
	need("\"peer\": {\"node\": \"\\u001b[2J\\u003c&?\", \"port\": 1}");
	free(written);
	vb_show_end(&s);
}

static uint32_t times(const char *what)
{
	uint32_t n = 0;

	for (const char *p = written; (p = strstr(p, what)); p++)
		n++;
	return n;
}

/* The title of a link tells of both ends; of a cable that is unplugged, too. */
static void drawings__tell_of_links(void **state)
{
	struct vb_show s;
	FILE *f = writing();

	(void)state;
	fabric_configure();
	fabric->subnet.node[SWITCH_A].pma.port[2].reported[VB_PMA_RCV_ERRORS] = 3;
	assert_int_equal(vb_subnet_plug(&fabric->subnet, place(HOST_B, 2), false, vb_clock_now()),
			 0);
	s = show_now(0);
	assert_int_equal(vb_show_shape(&s), 0);
	assert_int_equal(vb_show_draw(f, &s, VB_DRAWING_BY_RATE), 0);
	written_end(f);
	assert_int_equal(times("<g id=\"l"), 3);
	need("<title>S-A port 2 - S-B port 2\nACTIVE, 4x EDR, 100 Gb/s\nS-A port 2 sent 0 B, "
	     "PortRcvErrors 3\nS-B port 2 sent 0 B</title>");
	need("<title>S-B port 1 - H-B port 2\nDOWN, unplugged\n");
	need("<title>H-A, adapter 0x");
	need("\nport 1: lid 18\n1 of 1 links ACTIVE</title>");
	need("class=\"fabric by-rate\"");
	free(written);
	vb_show_end(&s);
}

/* The page has its own two scripts' elements, whatever a node is called. */
static void pages__take_any_name(void **state)
{
	char path[] = "/tmp/verbena-page-XXXXXX";
	int fd = mkstemp(path);
	struct vb_subnet_view_node *n;
	struct vb_show s;
	ssize_t len;

	(void)state;
	assert_true(fd >= 0);
	fabric_configure();
	s = show_now(0);
	n = (struct vb_subnet_view_node *)(uintptr_t)s.v.node;
	snprintf(n[HOST_A].name, sizeof n->name, "</script><script>\"\\&\x01\xff");
	snprintf(n[HOST_A].description, sizeof n->description, "]]></svg><!--");
	assert_int_equal(vb_show_shape(&s), 0);
	assert_int_equal(vb_show_page(&s, path, VB_DRAWING_BY_STATE), 0);
	vb_show_end(&s);
	written = calloc(1, 1 << 20);
	close(fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = pread(fd, written, (1 << 20) - 1, 0);
	assert_true(len > 20000 && len < (1 << 20) - 1);
	assert_int_equal(times("<script"), 2);
	assert_int_equal(times("</script"), 2);
	need("[\"\\u003c/script>\\u003cscript>\\\"\\\\&\\u0001?\",0,");
	need("\\u003ctitle>&#60;/script&#62;");
	/* The table of S-B: LIDs 16 to 19 by ports 2, 0, 2, 1. */
	need("ffffffff02000201\"]");
	free(written);
	close(fd);
	unlink(path);
}

/* A view from elsewhere: no number in it is believed. */
static void views__that_are_none(void **state)
{
	struct vb_subnet_view v = view_now(NULL), other;
	size_t len = sizeof *v.head + v.head->node_cnt * sizeof *v.node +
		     v.head->port_cnt * sizeof *v.port + v.head->lft_len + v.head->text_len;
	struct vb_subnet_view_head *h = v.memory;
	struct vb_subnet_view_node *n = (struct vb_subnet_view_node *)(uintptr_t)v.node;
	struct vb_subnet_view_port *p = (struct vb_subnet_view_port *)(uintptr_t)v.port;

	(void)state;
	assert_true(vb_subnet_view_parse(&other, v.memory, len));
	for (size_t i = 0; i < len; i += i < sizeof *h ? 1 : 997)
		assert_false(vb_subnet_view_parse(&other, v.memory, i));
#define WRONG(field, value)                                                                        \
	do {                                                                                       \
		__typeof__(field) was = field;                                                     \
		field = value;                                                                     \
		assert_false(vb_subnet_view_parse(&other, v.memory, len));                         \
		field = was;                                                                       \
	} while (0)
	WRONG(h->magic, 1);
	WRONG(h->version, 99);
	WRONG(h->node_cnt, UINT32_MAX);
	WRONG(h->port_cnt, h->port_cnt + 1);
	WRONG(h->lft_len, h->lft_len + 1);
	WRONG(h->text_len, 0);
	WRONG(h->chosen, h->node_cnt);
	WRONG(n[1].first_port, 0);
	WRONG(n[1].port_cnt, 255);
	WRONG(n[3].port_cnt, 1);
	WRONG(n[0].lft_at, h->lft_len);
	WRONG(n[0].lft_cnt, UINT32_MAX);
	WRONG(p[3].node, 77);
	WRONG(p[3].number, 77);
	WRONG(p[3].peer, h->port_cnt);
	WRONG(p[3].tunnel, h->text_len);
	memset(n[2].name, 'x', sizeof n[2].name);
	assert_false(vb_subnet_view_parse(&other, v.memory, len));
	snprintf(n[2].name, sizeof n[2].name, "x");
	assert_true(vb_subnet_view_parse(&other, v.memory, len));
	vb_subnet_view_free(&v);
}

static struct vb_path_view way;

static int way_write(const char *text)
{
	FILE *f = writing();
	int rc = vb_subnet_answer_way(fabric, text, f, fabric_why, sizeof fabric_why);

	written_end(f);
	if (rc == 0) {
		assert_int_equal(written_len, sizeof way);
		memcpy(&way, written, sizeof way);
	}
	free(written);
	return rc;
}

static void way_find(uint32_t from, uint32_t to, unsigned sl, unsigned pkey)
{
	struct vb_subnet_view v = view_now(NULL);
	char text[96];

	snprintf(text, sizeof text, "%u %u %u 0 %u",
		 v.node[from].first_port + (from == HOST_B ? 2 : 1),
		 v.node[to].first_port + (to == HOST_B   ? 2u
					  : to == HOST_A ? 1u
							 : 0u),
		 sl, pkey);
	assert_int_equal(way_write(text), 0);
	vb_subnet_view_free(&v);
}

/* The manager has set it all, and the map follows. */
static void all_follow(void)
{
	for (uint32_t i = 0; i < NODES; i++)
		vb_subnet_map_follow(fabric, i);
}

/* The way that a packet takes: each link with its lane and its P_Keys, until it arrives. */
static void ways__go_from_link_to_link(void **state)
{
	(void)state;
	fabric_configure();
	vb_subnet_sma_port(&fabric->subnet, place(SWITCH_A, 2))->sl2vl[1].vl[3] = 2;
	way_find(HOST_A, HOST_B, 3, 0);
	assert_true(vb_path_arrives(&way));
	assert_int_equal(way.hop_cnt, 3);
	assert_int_equal(way.slid, LID(HOST_A));
	assert_int_equal(way.dlid, LID(HOST_B));
	assert_int_equal(way.dlid_sent, LID(HOST_B));
	assert_int_equal(way.pkey, 0xffff);
	assert_int_equal(way.hop[1].vl, 2); /* in by port 1, out by port 2 */
	assert_int_equal(way.has_grh, false);
	way_find(HOST_B, SWITCH_A, 0, 0);
	assert_true(vb_path_arrives(&way));
	assert_int_equal(way.hop_cnt, 2);
	/* The P_Key is the first one that both let pass, unless one is named. */
	vb_subnet_sma_port(&fabric->subnet, place(HOST_A, 1))->pkey[0] = 0x8001;
	vb_subnet_sma_port(&fabric->subnet, place(HOST_A, 1))->pkey[1] = 0xffff;
	all_follow();
	way_find(HOST_A, HOST_B, 0, 0);
	assert_int_equal(way.pkey, 0xffff);
	way_find(HOST_A, HOST_B, 0, 0x8001);
	assert_int_equal(way.pkey, 0x8001);
}

static void print_way(uint32_t from, uint32_t to)
{
	struct vb_show s = show_now(0);
	FILE *f;

	way_find(from, to, 0, 0);
	f = writing();
	(void)vb_show_way_print(f, &s, &way, false);
	written_end(f);
	vb_show_end(&s);
}

/* Where it does not arrive, the place and the reason stand there. */
static void ways__say_where_and_why_they_end(void **state)
{
	(void)state;
	fabric_configure();
	print_way(HOST_A, HOST_B);
	need("H-A port 1 to H-B port 2: SLID 18, DLID 19, SL 0, P_Key 0xffff\n"
	     "   1  H-A port 1 -> S-A port 1  ACTIVE 4x EDR VL 0 P_Key 0xffff/-\n"
	     "   2  S-A port 2 -> S-B port 2  ACTIVE 4x EDR VL 0 P_Key -/-\n");
	need("  arrives over 3 links\n");
	free(written);
	fabric->subnet.node[SWITCH_B].forward.unicast[LID(HOST_B)] = VB_IB_PORT_NONE;
	all_follow();
	print_way(HOST_A, HOST_B);
	need("  ends at S-B port 2: the forwarding table of the switch has no way on for LID 19\n");
	free(written);
	fabric->subnet.node[SWITCH_B].forward.unicast[LID(HOST_B)] = 1;
	link_of(SWITCH_A, 2)->state = VB_LINK_INIT;
	all_follow();
	print_way(HOST_A, HOST_B);
	need("  ends at S-A port 2: its link is INIT\n");
	free(written);
	link_of(SWITCH_A, 2)->state = VB_LINK_ACTIVE;
	vb_subnet_sma_port(&fabric->subnet, place(SWITCH_A, 2))->sl2vl[1].vl[0] = 15;
	all_follow();
	print_way(HOST_A, HOST_B);
	need("  ends at S-A port 2: SL 0 has no lane for data there (VL 15 of ");
	free(written);
	vb_subnet_sma_port(&fabric->subnet, place(SWITCH_A, 2))->sl2vl[1].vl[0] = 0;
	info_of(HOST_B, 2)->lid = 0;
	all_follow();
	print_way(HOST_A, HOST_B);
	need(": the destination has no LID yet\n");
	free(written);
}

/* Numbers that name no way. */
static void ways__refuse_what_is_no_question(void **state)
{
	static const char *const wrong[] = {"",
					    "1",
					    "1 2 3",
					    "1 2 16 0 0",
					    "1 2 0 128 0",
					    "1 2 0 0 65536",
					    "1 2 0 0 0 0",
					    "x 2 0 0 0",
					    "1 99 0 0 0",
					    "99 1 0 0 0",
					    "1 -2 0 0 0"};

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		assert_int_equal(way_write(wrong[i]), -EINVAL);
		assert_non_null(strstr(fabric_why, "names no way"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(list__has_a_line_for_each_end),
	    T(list__names_what_is_wrong),
	    T(list__names_speeds_and_widths),
	    T(loads__are_of_the_time_between_two_looks),
	    T(hot_links__are_the_busiest),
	    T(list__prints_names_as_they_are_safe),
	    T(drawings__tell_of_links),
	    T(pages__take_any_name),
	    T(views__that_are_none),
	    T(ways__go_from_link_to_link),
	    T(ways__say_where_and_why_they_end),
	    T(ways__refuse_what_is_no_question),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
