/* SPDX-License-Identifier: BSD-2-Clause */
/* The pcapng writer: a small reader of our own walks what was written, block by block. */
#include "cmocka_env.h"
#include "export/pcapng.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static char *file;
static size_t file_len;
static struct vb_pcapng out;

static int setup(void **state)
{
	(void)state;
	FILE *f = open_memstream(&file, &file_len);

	return vb_pcapng_begin(&out, f, "test");
}

static int teardown(void **state)
{
	(void)state;
	free(file);
	return 0;
}

static uint32_t word(size_t at)
{
	uint32_t v;

	memcpy(&v, file + at, sizeof v);
	return v;
}

/* The place of the block of @type number @n; checks both lengths of each block on the way. */
static size_t find_block(uint32_t type, int n)
{
	fflush(out.f);
	for (size_t at = 0; at < file_len; at += word(at + 4)) {
		uint32_t len = word(at + 4);

		assert_int_equal(len % 4, 0);
		assert_true(len >= 12 && at + len <= file_len);
		assert_int_equal(word(at + len - 4), len);
		if (word(at) == type && n-- == 0)
			return at;
	}
	fail_msg("no such block");
	return 0;
}

static uint16_t checksum(const uint8_t *p, size_t len, uint32_t sum)
{
	for (size_t i = 0; i < len; i++)
		sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static void begin__section_header(void **state)
{
	(void)state;
	size_t at = find_block(0x0a0d0d0a, 0);

	assert_int_equal(at, 0);
	assert_int_equal(word(8), 0x1a2b3c4d);
	assert_int_equal(word(12), 1); /* version 1.0 on a little-endian machine */
	fclose(out.f);
}

static void interface__name_and_resolution(void **state)
{
	(void)state;
	assert_int_equal(vb_pcapng_interface(&out, "verbena0", "eth0", 10000000000, VB_PCAPNG_IP),
			 0);
	assert_int_equal(vb_pcapng_interface(&out, "verbena1", "lo", 0, VB_PCAPNG_IP), 0);
	size_t at = find_block(1, 0);
	assert_int_equal(word(at + 8), 101);
	assert_memory_equal(file + at + 16, "\x02\0\x08\0verbena0", 12);
	assert_true(find_block(1, 1) > at);
	assert_int_equal(out.interface_cnt, 2);
	fclose(out.f);
}

static const struct vb_gid ip4_src = {{[10] = 0xff, 0xff, 192, 0, 2, 1}};
static const struct vb_gid ip4_dst = {{[10] = 0xff, 0xff, 192, 0, 2, 2}};
static const struct vb_gid ip6_src = {{0xfe, 0x80, [15] = 1}};
static const struct vb_gid ip6_dst = {{0xfe, 0x80, [15] = 2}};

static void packet__ip4_headers(void **state)
{
	uint8_t payload[23];
	struct vb_udp_frame f = {.src = ip4_src,
				 .dst = ip4_dst,
				 .sport = 0xc123,
				 .dport = 4791,
				 .ip_id = 0x1234,
				 .traffic_class = 0x6a,
				 .hop_limit = 63,
				 .payload = payload,
				 .payload_len = sizeof payload};

	(void)state;
	memset(payload, 0x5a, sizeof payload);
	vb_pcapng_interface(&out, "verbena0", "eth0", 0, VB_PCAPNG_IP);
	assert_int_equal(vb_pcapng_packet(&out, 0, 0x1122334455667788, true, &f, NULL), 0);
	size_t at = find_block(6, 0);
	const uint8_t *p = (uint8_t *)file + at + 28;
	assert_int_equal(word(at + 12), 0x11223344);
	assert_int_equal(word(at + 16), 0x55667788);
	assert_int_equal(word(at + 20), 28 + sizeof payload);
	assert_int_equal(word(at + 24), 28 + sizeof payload);
	assert_memory_equal(p, "\x45\x6a\x00\x33\x12\x34\x40\x00\x3f\x11", 10);
	assert_int_equal(checksum(p, 20, 0), 0xffff);
	assert_memory_equal(p + 12, "\xc0\x00\x02\x01\xc0\x00\x02\x02\xc1\x23\x12\xb7\x00\x1f", 14);
	assert_int_equal(checksum(p + 12, 8 + 8 + sizeof payload, 17 + 31), 0xffff);
	assert_memory_equal(p + 28, payload, sizeof payload);
	/* The packet is padded, then come the options: outbound. */
	assert_int_equal(word(at + 28 + 52), 2 | 4 << 16);
	assert_int_equal(word(at + 28 + 56), 2);
	fclose(out.f);
}

/* Each line is an option of its own, as long as it may be, and no more of them than fit. */
static void packet__comments(void **state)
{
	uint8_t payload[4] = {0};
	struct vb_udp_frame f = {
	    .src = ip4_src, .dst = ip4_dst, .payload = payload, .payload_len = sizeof payload};
	char text[8 * 200] = "";

	(void)state;
	for (int i = 0; i < 7; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%0190d", i ? "\n" : "",
			 i);
	vb_pcapng_interface(&out, "verbena0", "eth0", 0, VB_PCAPNG_IP);
	assert_int_equal(vb_pcapng_packet(&out, 0, 1, true, &f, "one\ntwo"), 0);
	assert_int_equal(vb_pcapng_packet(&out, 0, 1, true, &f, text), 0);
	size_t at = find_block(6, 0) + 28 + 32;
	assert_memory_equal(file + at, "\1\0\3\0one\0\1\0\3\0two\0\2\0\4\0", 20);
	at = find_block(6, 1) + 28 + 32;
	for (unsigned i = 0; i < VB_PCAPNG_COMMENTS; i++, at += 4 + VB_PCAPNG_COMMENT_MAX)
		assert_int_equal(word(at), 1 | VB_PCAPNG_COMMENT_MAX << 16);
	assert_int_equal(word(at), 2 | 4 << 16);
	fclose(out.f);
}

static void packet__ip6_headers(void **state)
{
	uint8_t payload[16] = {1};
	struct vb_udp_frame f = {.src = ip6_src,
				 .dst = ip6_dst,
				 .flow_label = 0xabcde,
				 .sport = 1,
				 .dport = 4791,
				 .traffic_class = 0x12,
				 .hop_limit = 64,
				 .payload = payload,
				 .payload_len = sizeof payload};

	(void)state;
	vb_pcapng_interface(&out, "verbena0", "eth0", 0, VB_PCAPNG_IP);
	assert_int_equal(vb_pcapng_packet(&out, 0, 1, false, &f, NULL), 0);
	size_t at = find_block(6, 0);
	const uint8_t *p = (uint8_t *)file + at + 28;
	assert_int_equal(word(at + 24), 48 + sizeof payload);
	assert_memory_equal(p, "\x61\x2a\xbc\xde\x00\x18\x11\x40", 8);
	assert_memory_equal(p + 8, ip6_src.b, 16);
	assert_memory_equal(p + 24, ip6_dst.b, 16);
	assert_int_equal(checksum(p + 8, 32 + 8 + sizeof payload, 17 + 24), 0xffff);
	assert_int_equal(word(at + 28 + 64 + 4), 1); /* inbound */
	fclose(out.f);
}

static void statistics__at_the_end(void **state)
{
	(void)state;
	vb_pcapng_interface(&out, "verbena0", "eth0", 0, VB_PCAPNG_IP);
	assert_int_equal(vb_pcapng_statistics(&out, 0, 5, 7, 9), 0);
	size_t at = find_block(5, 0);
	assert_int_equal(word(at + 20), 4 | 8 << 16);
	assert_int_equal(word(at + 24), 7);
	assert_int_equal(word(at + 36), 9);
	fclose(out.f);
}

static void packet__full_disk(void **state)
{
	uint8_t payload[4000] = {0};
	struct vb_udp_frame f = {
	    .src = ip4_src, .dst = ip4_dst, .payload = payload, .payload_len = sizeof payload};
	int rc = 0;

	(void)state;
	fclose(out.f);
	FILE *full = fopen("/dev/full", "w");
	if (!full) {
		print_message("there is no /dev/full\n");
		skip();
	}
	(void)vb_pcapng_begin(&out, full, "test");
	for (int i = 0; i < 100 && !rc; i++)
		rc = vb_pcapng_packet(&out, 0, 1, false, &f, NULL);
	assert_int_equal(rc, -ENOSPC);
	(void)fclose(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(begin__section_header, setup, teardown),
	    cmocka_unit_test_setup_teardown(interface__name_and_resolution, setup, teardown),
	    cmocka_unit_test_setup_teardown(packet__ip4_headers, setup, teardown),
	    cmocka_unit_test_setup_teardown(packet__ip6_headers, setup, teardown),
	    cmocka_unit_test_setup_teardown(packet__comments, setup, teardown),
	    cmocka_unit_test_setup_teardown(statistics__at_the_end, setup, teardown),
	    cmocka_unit_test_setup_teardown(packet__full_disk, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
