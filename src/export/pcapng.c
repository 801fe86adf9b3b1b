/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writing pcapng, see pcapng.h. Blocks are in the byte order of this machine, which the magic of
 * the section header tells. Numbers in comments are sections of draft-ietf-opsawg-pcapng.
 */
#include "export/pcapng.h"

#include <errno.h>
#include <string.h>

/* Extensible Record Format. */
#define ERF_LEN 16
#define ERF_VARYING_LEN 0x04
#define BLOCK_SECTION 0x0a0d0d0au
#define BLOCK_INTERFACE 1u
#define BLOCK_STATISTICS 5u
#define BLOCK_PACKET 6u
#define BYTE_ORDER_MAGIC 0x1a2b3c4du

#define OPT_END 0
#define OPT_COMMENT 1
#define OPT_SHB_USERAPPL 4
#define OPT_IF_NAME 2
#define OPT_IF_DESCRIPTION 3
#define OPT_IF_SPEED 8
#define OPT_IF_TSRESOL 9
#define OPT_EPB_FLAGS 2
#define OPT_ISB_IFRECV 4
#define OPT_ISB_IFDROP 5

#define FLAG_INBOUND 1u
#define FLAG_OUTBOUND 2u

#define HEAD_MAX 1024 /* a block without packet bytes: fixed part and options */

/* A block under construction, without the bytes of a packet. */
struct block {
	uint32_t len;
	uint8_t b[HEAD_MAX];
};

static void put_bytes(struct block *k, const void *p, uint32_t len)
{
	memcpy(k->b + k->len, p, len);
	k->len += len;
	while (k->len & 3)
		k->b[k->len++] = 0;
}

static void put_u32(struct block *k, uint32_t v)
{
	put_bytes(k, &v, sizeof v);
}

/* Times are two words, the upper one first, in either byte order (4.3). */
static void put_time(struct block *k, uint64_t ns)
{
	put_u32(k, (uint32_t)(ns >> 32));
	put_u32(k, (uint32_t)ns);
}

static void put_option(struct block *k, uint16_t code, const void *p, size_t len)
{
	uint16_t head[2] = {code, (uint16_t)len};

	put_bytes(k, head, sizeof head);
	if (len)
		put_bytes(k, p, (uint32_t)len);
}

static void put_text(struct block *k, uint16_t code, const char *text)
{
	put_option(k, code, text, strnlen(text, 128));
}

static void put_comments(struct block *k, const char *text)
{
	for (unsigned i = 0; i < VB_PCAPNG_COMMENTS && *text; i++) {
		size_t len = strcspn(text, "\n");

		put_option(k, OPT_COMMENT, text,
			   len < VB_PCAPNG_COMMENT_MAX ? len : VB_PCAPNG_COMMENT_MAX);
		text += len + (text[len] != 0);
	}
}

static void begin_block(struct block *k, uint32_t type)
{
	k->len = 0;
	put_u32(k, type);
	put_u32(k, 0); /* the length, set by write_block() */
}

static int write_all(FILE *f, const void *p, size_t len)
{
	errno = 0;
	if (len == 0 || fwrite(p, len, 1, f) == 1)
		return 0;
	return errno ? -errno : -EIO;
}

/* Writes @k, in which @data (padded) stands before the last @behind bytes, which are options. */
static int write_block(struct vb_pcapng *p, struct block *k, uint32_t behind, const uint8_t *data,
		       uint32_t data_len)
{
	static const uint8_t zero[4];
	uint32_t pad = -data_len & 3, front = k->len - behind;
	uint32_t total = k->len + data_len + pad + (uint32_t)sizeof total;
	int rc;

	memcpy(k->b + 4, &total, sizeof total);
	rc = write_all(p->f, k->b, front);
	if (!rc)
		rc = write_all(p->f, data, data_len);
	if (!rc)
		rc = write_all(p->f, zero, pad);
	if (!rc)
		rc = write_all(p->f, k->b + front, behind);
	return rc ? rc : write_all(p->f, &total, sizeof total);
}

int vb_pcapng_begin(struct vb_pcapng *p, FILE *f, const char *application)
{
	static const uint16_t version[2] = {1, 0};
	static const uint64_t unknown_len = UINT64_MAX;
	struct block k;

	*p = (struct vb_pcapng){.f = f};
	begin_block(&k, BLOCK_SECTION); /* 4.1 */
	put_u32(&k, BYTE_ORDER_MAGIC);
	put_bytes(&k, version, sizeof version);
	put_bytes(&k, &unknown_len, sizeof unknown_len);
	put_text(&k, OPT_SHB_USERAPPL, application);
	put_option(&k, OPT_END, NULL, 0);
	return write_block(p, &k, 0, NULL, 0);
}

int vb_pcapng_interface(struct vb_pcapng *p, const char *name, const char *description,
			uint64_t speed_bps, enum vb_pcapng_link link)
{
	const uint16_t link_type[2] = {(uint16_t)link, 0};
	static const uint8_t nanoseconds = 9;
	struct block k;

	begin_block(&k, BLOCK_INTERFACE); /* 4.2 */
	put_bytes(&k, link_type, sizeof link_type);
	put_u32(&k, 0); /* no snap length */
	put_text(&k, OPT_IF_NAME, name);
	put_text(&k, OPT_IF_DESCRIPTION, description);
	if (speed_bps)
		put_option(&k, OPT_IF_SPEED, &speed_bps, sizeof speed_bps);
	put_option(&k, OPT_IF_TSRESOL, &nanoseconds, 1);
	put_option(&k, OPT_END, NULL, 0);
	p->interface_cnt++;
	return write_block(p, &k, 0, NULL, 0);
}

/* The head of a packet, and the options behind the rest of it; how long they are. */
static uint32_t packet_begin(struct block *k, uint32_t interface, uint64_t time_ns, bool sent,
			     const uint8_t *head, uint32_t head_len, uint32_t rest_len,
			     const char *comment)
{
	uint32_t flags = sent ? FLAG_OUTBOUND : FLAG_INBOUND, front;

	begin_block(k, BLOCK_PACKET); /* 4.3 */
	put_u32(k, interface);
	put_time(k, time_ns);
	put_u32(k, head_len + rest_len);
	put_u32(k, head_len + rest_len);
	/* IP and UDP headers are multiples of 4: the payload follows without a gap. */
	put_bytes(k, head, head_len);
	front = k->len;
	if (comment)
		put_comments(k, comment);
	put_option(k, OPT_EPB_FLAGS, &flags, sizeof flags);
	put_option(k, OPT_END, NULL, 0);
	return k->len - front;
}

int vb_pcapng_packet(struct vb_pcapng *p, uint32_t interface, uint64_t time_ns, bool sent,
		     const struct vb_udp_frame *frame, const char *comment)
{
	uint8_t head[VB_UDP_FRAME_HEADER_MAX];
	struct block k;
	uint32_t options =
	    packet_begin(&k, interface, time_ns, sent, head,
			 (uint32_t)vb_udp_frame_emit(frame, head), frame->payload_len, comment);

	return write_block(p, &k, options, frame->payload, frame->payload_len);
}

/* The header of an ERF record, whose time is seconds and their fraction in 32 bits each. */
static void erf_emit(uint8_t head[ERF_LEN], enum vb_pcapng_infiniband type, uint64_t time_ns,
		     uint32_t len)
{
	uint64_t fraction = (time_ns % 1000000000 << 32) / 1000000000;
	uint64_t time = time_ns / 1000000000 << 32 | fraction;
	uint32_t record = ERF_LEN + len;

	memset(head, 0, ERF_LEN);
	for (unsigned i = 0; i < 8; i++)
		head[i] = (uint8_t)(time >> 8 * i);
	head[8] = (uint8_t)type;
	head[9] = ERF_VARYING_LEN;
	head[10] = (uint8_t)(record >> 8);
	head[11] = (uint8_t)record;
	head[14] = (uint8_t)(len >> 8);
	head[15] = (uint8_t)len;
}

int vb_pcapng_bytes(struct vb_pcapng *p, uint32_t interface, uint64_t time_ns, bool sent,
		    enum vb_pcapng_infiniband type, const uint8_t *bytes, uint32_t len,
		    const char *comment)
{
	uint8_t head[ERF_LEN];
	struct block k;
	uint32_t options;

	erf_emit(head, type, time_ns, len);
	options = packet_begin(&k, interface, time_ns, sent, head, ERF_LEN, len, comment);
	return write_block(p, &k, options, bytes, len);
}

int vb_pcapng_statistics(struct vb_pcapng *p, uint32_t interface, uint64_t time_ns,
			 uint64_t captured, uint64_t lost)
{
	struct block k;

	begin_block(&k, BLOCK_STATISTICS); /* 4.6 */
	put_u32(&k, interface);
	put_time(&k, time_ns);
	put_option(&k, OPT_ISB_IFRECV, &captured, sizeof captured);
	put_option(&k, OPT_ISB_IFDROP, &lost, sizeof lost);
	put_option(&k, OPT_END, NULL, 0);
	return write_block(p, &k, 0, NULL, 0);
}
