/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every packet that a kernel's rdma_rxe was seen to send (tests/data/rxe): parsed, written again to
 * the same bytes, its ICRC made anew. IBA 9.2, 9.3, 7.8.1
 */
#include "replay.h"

#include <dirent.h>

#define FOLDER TEST_DATA "/rxe"

static unsigned packets, refused, wrong;

/* Packets that are wrong on purpose, and rxe's own way with FLUSH, whose ICRC counts the headers
 * twice. */
static bool may_be_wrong(const char *name)
{
	return strncmp(name, "host_udp", 8) == 0;
}

static void check_packet(const char *name, const struct captured *p)
{
	uint8_t wire[VB_HDR_MAX], icrc[4];
	uint32_t len = packet_udp_payload(&p->p), crc;
	struct vb_hdr h;
	size_t n;

	packets++;
	if (replay_parse(p, &h) != VB_VERDICT_OK) {
		if (!may_be_wrong(name))
			fail_msg("%s, packet %u: refused", name, p->number);
		refused++;
		return;
	}
	n = vb_hdr_emit(&h, wire);
	if (memcmp(wire, packet_bth(&p->p), n) != 0)
		fail_msg("%s, packet %u: written otherwise", name, p->number);
	crc = vb_icrc_headers(vb_icrc_start(&p->p.udp, len), wire, n);
	crc = vb_icrc_bytes(crc, packet_bth(&p->p) + n, len - n - VB_ICRC_LEN);
	vb_icrc_finish(crc, icrc);
	if (memcmp(icrc, p->p.ip + p->p.ip_len - VB_ICRC_LEN, sizeof icrc) != 0) {
		if (!may_be_wrong(name))
			fail_msg("%s, packet %u: another ICRC", name, p->number);
		wrong++;
	}
}

static void packets__parse_and_write_again(void **state)
{
	DIR *d = opendir(FOLDER);
	struct dirent *e;

	(void)state;
	assert_non_null(d);
	while ((e = readdir(d)) != NULL) {
		char path[512];
		struct capture c;

		if (!strstr(e->d_name, ".pcapng"))
			continue;
		snprintf(path, sizeof path, "%s/%s", FOLDER, e->d_name);
		assert_int_equal(capture_read(&c, path), 0);
		assert_true(c.cnt > 0);
		for (size_t i = 0; i < c.cnt; i++)
			check_packet(e->d_name, &c.pkt[i]);
		capture_free(&c);
	}
	closedir(d);
	print_message("%u packets, %u refused and %u with a wrong ICRC on purpose\n", packets,
		      refused, wrong);
	assert_true(packets > 1000);
	assert_int_equal(wrong, 3);
	assert_int_equal(refused, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(packets__parse_and_write_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
