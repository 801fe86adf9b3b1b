/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading pcapng and pcap, see pcap_reader.h. Numbers in comments are sections of
 * draft-ietf-opsawg-pcapng; the classic format is draft-ietf-opsawg-pcap.
 */
#include "traffic/pcap_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_SECTION 0x0a0d0d0au
#define BLOCK_INTERFACE 1u
#define BLOCK_STATISTICS 5u
#define BLOCK_PACKET 6u
#define BYTE_ORDER_MAGIC 0x1a2b3c4du
#define BYTE_ORDER_SWAPPED 0x4d3c2b1au
#define PCAP_MICRO 0xa1b2c3d4u
#define PCAP_NANO 0xa1b23c4du

#define OPT_COMMENT 1u
#define OPT_EPB_FLAGS 2u
#define OPT_ISB_IFDROP 5u
#define OPT_IF_TSRESOL 9u

#define BLOCK_LEAST 12u
#define PACKET_HEAD 28u /* of an enhanced packet block, type and length included */
#define RESOLUTION_DEFAULT 6

__attribute__((format(printf, 2, 3))) static int refuse_file(struct vb_pcap_reader *r,
							     const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->why, sizeof r->why, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static uint32_t read_u32(const struct vb_pcap_reader *r, const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return r->is_swapped ? __builtin_bswap32(v) : v;
}

static uint16_t read_u16(const struct vb_pcap_reader *r, const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof v);
	return r->is_swapped ? __builtin_bswap16(v) : v;
}

/* Reads @len bytes. 1; 0: the file ends here; 0 with is_cut: in the middle; or a negative errno. */
static int take_bytes(struct vb_pcap_reader *r, uint8_t *to, size_t len)
{
	size_t n;

	errno = 0;
	n = fread(to, 1, len, r->f);
	r->at += n;
	if (n == len)
		return 1;
	if (ferror(r->f)) {
		int err = errno ? -errno : -EIO;

		snprintf(r->why, sizeof r->why, "%s", strerror(-err));
		return err;
	}
	r->is_cut |= n > 0;
	return 0;
}

/* Passes over @len bytes. */
static int pass_bytes(struct vb_pcap_reader *r, uint64_t len)
{
	int rc = 1;

	while (rc > 0 && len > 0) {
		size_t n = len < VB_PCAP_BLOCK_MAX ? (size_t)len : VB_PCAP_BLOCK_MAX;

		rc = take_bytes(r, r->block, n);
		len -= n;
	}
	r->is_cut |= rc == 0;
	return rc;
}

int vb_pcap_open(struct vb_pcap_reader *r, FILE *f)
{
	uint32_t magic;
	int rc;

	*r = (struct vb_pcap_reader){.f = f};
	r->block = malloc(VB_PCAP_BLOCK_MAX);
	if (!r->block) {
		snprintf(r->why, sizeof r->why, "no memory");
		return -ENOMEM;
	}
	rc = take_bytes(r, r->block, 4);
	if (rc < 0)
		return rc;
	if (rc == 0)
		return refuse_file(r, "no capture: it has %s bytes",
				   r->is_cut ? "less than 4" : "no");
	memcpy(&magic, r->block, sizeof magic);
	if (magic == BLOCK_SECTION)
		return 0;
	r->is_classic = true;
	r->is_swapped =
	    magic == __builtin_bswap32(PCAP_MICRO) || magic == __builtin_bswap32(PCAP_NANO);
	magic = r->is_swapped ? __builtin_bswap32(magic) : magic;
	r->is_nano = magic == PCAP_NANO;
	if (magic != PCAP_MICRO && magic != PCAP_NANO)
		return refuse_file(
		    r, "no capture: neither pcapng nor pcap begins with 0x%08" PRIx32, magic);
	rc = take_bytes(r, r->block + 4, 20);
	if (rc < 0)
		return rc;
	if (rc == 0)
		return refuse_file(r, "the header of a pcap file has 24 bytes, this ends before");
	/* The upper bits tell of the frame check sequence. */
	r->interface[0].link = (uint16_t)read_u32(r, r->block + 20);
	r->interface_cnt = 1;
	return 0;
}

static int next_classic(struct vb_pcap_reader *r, struct vb_pcap_packet *p)
{
	uint8_t head[16];
	uint32_t fraction;
	int rc;

	r->offset = r->at;
	rc = take_bytes(r, head, sizeof head);
	if (rc <= 0)
		return rc;
	*p = (struct vb_pcap_packet){.link = r->interface[0].link,
				     .data = r->block,
				     .len = read_u32(r, head + 8),
				     .wire_len = read_u32(r, head + 12)};
	fraction = read_u32(r, head + 4);
	p->time_ns = (uint64_t)read_u32(r, head) * 1000000000 +
		     (r->is_nano ? fraction : (uint64_t)fraction * 1000);
	if (p->len > VB_PCAP_BLOCK_MAX)
		return refuse_file(r, "a packet of %" PRIu32 " bytes, more than %u", p->len,
				   VB_PCAP_BLOCK_MAX);
	rc = p->len ? take_bytes(r, r->block, p->len) : 1;
	r->is_cut |= rc == 0;
	return rc;
}

#define TIME_MAX (UINT64_MAX / 2)

/* Times of an interface in nanoseconds; saturates. 4.2, if_tsresol */
static uint64_t time_in_ns(uint8_t resolution, uint64_t t)
{
	unsigned exp = resolution & 0x7f;

	if (resolution & 0x80) {
		uint64_t seconds = exp < 64 ? t >> exp : 0;
		uint64_t rest = exp < 64 ? t & ((UINT64_C(1) << exp) - 1) : t;

		if (seconds > TIME_MAX / 2000000000)
			return TIME_MAX;
		return seconds * 1000000000 + (uint64_t)ldexp((double)rest * 1e9, -(int)exp);
	}
	for (; exp < 9 && t < TIME_MAX / 10; exp++)
		t *= 10;
	for (; exp > 9 && t; exp--)
		t /= 10;
	return t < TIME_MAX ? t : TIME_MAX;
}

/* The option behind @*at, before @end: its code with the value and its length, or 0. 3.5 */
static uint32_t next_option(const struct vb_pcap_reader *r, const uint8_t **at, const uint8_t *end,
			    const uint8_t **value, uint32_t *len)
{
	uint32_t code;

	if (end - *at < 4)
		return 0;
	code = read_u16(r, *at);
	*len = read_u16(r, *at + 2);
	*value = *at + 4;
	if (*len > (size_t)(end - *value))
		return 0;
	*at = *value + ((*len + 3) & ~3u);
	if (*at > end)
		*at = end;
	return code;
}

static int begin_section(struct vb_pcap_reader *r)
{
	uint8_t head[8];
	uint32_t magic, len;
	int rc = take_bytes(r, head, sizeof head);

	if (rc <= 0)
		return rc;
	memcpy(&magic, head + 4, sizeof magic);
	if (magic != BYTE_ORDER_MAGIC && magic != BYTE_ORDER_SWAPPED)
		return refuse_file(r, "a section header without the byte-order magic");
	r->is_swapped = magic == BYTE_ORDER_SWAPPED;
	r->interface_cnt = 0;
	len = read_u32(r, head);
	if (len < 28 || len % 4)
		return refuse_file(r, "a section header of %" PRIu32 " bytes", len);
	return pass_bytes(r, len - 12);
}

static int add_interface(struct vb_pcap_reader *r, uint32_t len)
{
	const uint8_t *at = r->block + 16, *end = r->block + len - 4, *value;
	struct vb_pcap_interface *i = &r->interface[r->interface_cnt];
	uint32_t code, n;

	if (len < 20)
		return refuse_file(r, "an interface block of %" PRIu32 " bytes", len);
	if (r->interface_cnt == VB_PCAP_INTERFACES_MAX)
		return refuse_file(r, "more than %u interfaces", VB_PCAP_INTERFACES_MAX);
	r->interface_cnt++;
	*i = (struct vb_pcap_interface){.link = read_u16(r, r->block + 8),
					.resolution = RESOLUTION_DEFAULT};
	while ((code = next_option(r, &at, end, &value, &n)) != 0)
		if (code == OPT_IF_TSRESOL && n == 1)
			i->resolution = *value;
	return 1;
}

static void add_statistics(struct vb_pcap_reader *r, uint32_t len)
{
	const uint8_t *at = r->block + 20, *end = r->block + len - 4, *value;
	uint32_t code, n;

	if (len < 24)
		return;
	while ((code = next_option(r, &at, end, &value, &n)) != 0)
		if (code == OPT_ISB_IFDROP && n == 8) {
			uint64_t lo = read_u32(r, value), hi = read_u32(r, value + 4), both;

			/* The order of the words is that of the bytes. */
			memcpy(&both, value, sizeof both);
			both = r->is_swapped ? (lo << 32 | hi) : both;
			r->dropped = both > r->dropped ? both : r->dropped;
		}
}

static void add_comment(struct vb_pcap_packet *p, const char *text, uint32_t len)
{
	size_t at = strlen(p->comment);

	snprintf(p->comment + at, sizeof p->comment - at, "%s%.*s", at ? "\n" : "",
		 (int)(len < VB_PCAP_COMMENT_MAX ? len : VB_PCAP_COMMENT_MAX), text);
}

static int take_packet(struct vb_pcap_reader *r, uint32_t len, struct vb_pcap_packet *p)
{
	const uint8_t *b = r->block, *at, *end = b + len - 4, *value;
	uint32_t i, code, n;

	if (len < PACKET_HEAD + 4)
		return refuse_file(r, "a packet block of %" PRIu32 " bytes", len);
	i = read_u32(r, b + 8);
	*p = (struct vb_pcap_packet){
	    .data = b + PACKET_HEAD, .len = read_u32(r, b + 20), .wire_len = read_u32(r, b + 24)};
	if (i >= r->interface_cnt)
		return refuse_file(r, "a packet of interface %" PRIu32 ", of %" PRIu32, i,
				   r->interface_cnt);
	if (p->len > len - PACKET_HEAD - 4)
		return refuse_file(r, "a packet of %" PRIu32 " bytes in a block of %" PRIu32,
				   p->len, len);
	p->link = r->interface[i].link;
	p->time_ns = time_in_ns(r->interface[i].resolution,
				(uint64_t)read_u32(r, b + 12) << 32 | read_u32(r, b + 16));
	at = p->data + ((p->len + 3) & ~3u);
	while (at < end && (code = next_option(r, &at, end, &value, &n)) != 0) {
		if (code == OPT_EPB_FLAGS && n == 4 && (read_u32(r, value) & 3) != 3)
			p->dir = (enum vb_pcap_dir)(read_u32(r, value) & 3);
		if (code == OPT_COMMENT)
			add_comment(p, (const char *)value, n);
	}
	return 1;
}

/* One block, whose type is read. 1: it is a packet; 2: it is none; 0: the end. */
static int next_block(struct vb_pcap_reader *r, uint32_t type, struct vb_pcap_packet *p)
{
	uint32_t len;
	int rc;

	if (type == BLOCK_SECTION) {
		rc = begin_section(r);
		r->is_cut |= rc == 0;
		return rc > 0 ? 2 : rc;
	}
	rc = take_bytes(r, r->block + 4, 4);
	r->is_cut |= rc == 0;
	if (rc <= 0)
		return rc;
	len = read_u32(r, r->block + 4);
	if (len < BLOCK_LEAST || len % 4)
		return refuse_file(r, "a block of %" PRIu32 " bytes", len);
	if (type != BLOCK_PACKET && type != BLOCK_INTERFACE && type != BLOCK_STATISTICS) {
		rc = pass_bytes(r, len - 8);
		return rc > 0 ? 2 : rc;
	}
	if (len > VB_PCAP_BLOCK_MAX)
		return refuse_file(r, "a block of %" PRIu32 " bytes, more than %u", len,
				   VB_PCAP_BLOCK_MAX);
	rc = take_bytes(r, r->block + 8, len - 8);
	r->is_cut |= rc == 0;
	if (rc <= 0)
		return rc;
	if (read_u32(r, r->block + len - 4) != len)
		return refuse_file(r, "a block of %" PRIu32 " bytes whose end says %" PRIu32, len,
				   read_u32(r, r->block + len - 4));
	if (type == BLOCK_PACKET)
		return take_packet(r, len, p);
	rc = 1;
	if (type == BLOCK_INTERFACE)
		rc = add_interface(r, len);
	else
		add_statistics(r, len);
	return rc > 0 ? 2 : rc;
}

int vb_pcap_next(struct vb_pcap_reader *r, struct vb_pcap_packet *p)
{
	bool is_first = r->at == 4; /* vb_pcap_open() has read the type of the first block */
	int rc;

	if (r->is_classic)
		return next_classic(r, p);
	do {
		uint32_t type = BLOCK_SECTION;

		r->offset = is_first ? 0 : r->at;
		if (!is_first) {
			rc = take_bytes(r, r->block, 4);
			if (rc <= 0)
				return rc;
			/* The section's type reads the same in both orders. 4.1 */
			type = read_u32(r, r->block);
		}
		is_first = false;
		rc = next_block(r, type, p);
	} while (rc == 2);
	return rc;
}

void vb_pcap_close(struct vb_pcap_reader *r)
{
	free(r->block);
	r->block = NULL;
}
