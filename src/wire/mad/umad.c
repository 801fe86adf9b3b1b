/* SPDX-License-Identifier: BSD-2-Clause */
/* The layouts of the kernel's ib_user_mad.h, as tables of fields. */
#include "wire/mad/umad.h"

#include "base/assert.h"
#include "wire/be.h"
#include "wire/mad/mad.h"

#include <errno.h>
#include <string.h>

#define USER_RMPP 1u /* the one flag of REGISTER_AGENT2 that there is */

/* Where a member stands in the kernel's struct, and in which byte order. Others than numbers are
 * copied. */
struct umad_field {
	uint16_t offset, size; /* of the member here */
	uint16_t at;           /* in the kernel's struct */
	uint8_t bytes;         /* there */
	bool big_endian;
};

#define FIELD(type, member, at_, bytes_, big_)                                                     \
	{                                                                                          \
		.offset = offsetof(type, member), .size = sizeof(((type *)0)->member),             \
		.at = (at_), .bytes = (bytes_), .big_endian = (big_)                               \
	}
#define HDR(member, at, bytes, big) FIELD(struct vb_mad_message, member, at, bytes, big)
#define REG(member, at, bytes) FIELD(struct vb_agent_request, member, at, bytes, false)

#define HDR_LENGTH_AT 16
#define HDR_HAS_GRH_AT 32

/* struct ib_user_mad_hdr; the old form ends before pkey_index. MAD-02 */
static const struct umad_field hdr_fields[] = {
    HDR(agent, 0, 4, false),
    HDR(status, 4, 4, false),
    HDR(timeout_ms, 8, 4, false),
    HDR(retries, 12, 4, false),
    HDR(addr.qpn, 20, 4, true),
    HDR(addr.qkey, 24, 4, true),
    HDR(addr.lid, 28, 2, true),
    HDR(addr.sl, 30, 1, false),
    HDR(addr.path_bits, 31, 1, false),
    HDR(addr.has_grh, HDR_HAS_GRH_AT, 1, false),
    HDR(addr.gid_index, 33, 1, false),
    HDR(addr.hop_limit, 34, 1, false),
    HDR(addr.traffic_class, 35, 1, false),
    HDR(addr.gid, 36, 16, false),
    HDR(addr.flow_label, 52, 4, true),
    HDR(addr.pkey_index, 56, 2, false),
};

/* struct ib_user_mad_reg_req. The mask is 128 bits in words of 32, also for 32-bit programs. MAD-04
 */
static const struct umad_field reg_fields[] = {
    REG(methods[0], 4, 8),  REG(methods[1], 12, 8),    REG(qpn, 20, 1),
    REG(mgmt_class, 21, 1), REG(class_version, 22, 1), REG(rmpp_version, 26, 1),
};
#define REG_OUI_AT 23

/* struct ib_user_mad_reg_req2. MAD-05 */
static const struct umad_field reg2_fields[] = {
    REG(qpn, 4, 4),         REG(mgmt_class, 8, 1), REG(class_version, 9, 1), REG(methods[0], 16, 8),
    REG(methods[1], 24, 8), REG(oui, 32, 4),       REG(rmpp_version, 36, 1),
};
#define REG2_FLAGS_AT 12

#define CNT(table) (sizeof(table) / sizeof(table)[0])

static uint64_t number_get(const uint8_t *p, uint32_t bytes, bool big_endian)
{
	uint16_t v16;
	uint32_t v32;
	uint64_t v64;

	switch (bytes) {
	case 1:
		return *p;
	case 2:
		memcpy(&v16, p, sizeof v16);
		return big_endian ? be16_get(p) : v16;
	case 4:
		memcpy(&v32, p, sizeof v32);
		return big_endian ? be32_get(p) : v32;
	default:
		VB_ASSERT_ALL(bytes == 8);
		memcpy(&v64, p, sizeof v64);
		return v64;
	}
}

static void number_put(uint8_t *p, uint32_t bytes, bool big_endian, uint64_t v)
{
	const uint8_t v8 = (uint8_t)v;
	const uint16_t v16 = (uint16_t)v;
	const uint32_t v32 = (uint32_t)v;

	if (big_endian && bytes == 2)
		be16_put(p, v16);
	else if (big_endian)
		be32_put(p, v32);
	else
		memcpy(p,
		       bytes == 1   ? (const void *)&v8
		       : bytes == 2 ? (const void *)&v16
		       : bytes == 4 ? (const void *)&v32
				    : (const void *)&v,
		       bytes);
}

static void fields_read(const struct umad_field *f, size_t cnt, const uint8_t *from, uint32_t len,
			void *to)
{
	for (; cnt > 0; cnt--, f++) {
		uint8_t *member = (uint8_t *)to + f->offset;

		VB_ASSERT_ALL(f->bytes <= 8 ? f->size <= 8 : f->bytes == f->size);
		if (f->at + f->bytes > len)
			continue;
		if (f->bytes == f->size && f->bytes > 8)
			memcpy(member, from + f->at, f->bytes);
		else
			number_put(member, f->size, false,
				   number_get(from + f->at, f->bytes, f->big_endian));
	}
}

static void fields_write(const struct umad_field *f, size_t cnt, const void *from, uint8_t *to,
			 uint32_t len)
{
	for (; cnt > 0; cnt--, f++) {
		const uint8_t *member = (const uint8_t *)from + f->offset;

		if (f->at + f->bytes > len)
			continue;
		if (f->bytes == f->size && f->bytes > 8)
			memcpy(to + f->at, member, f->bytes);
		else
			number_put(to + f->at, f->bytes, f->big_endian,
				   number_get(member, f->size, false));
	}
}

int vb_umad_enable_pkey(struct vb_umad_form *f)
{
	if (f->in_use)
		return -EINVAL;
	f->with_pkey = true;
	return 0;
}

void vb_umad_registered(struct vb_umad_form *f, bool second)
{
	if (!f->in_use && second)
		f->with_pkey = true;
	f->in_use = true;
}

int vb_umad_write_parse(struct vb_mad_message *m, const uint8_t *buf, size_t count,
			uint32_t hdr_len)
{
	uint8_t hdr[VB_UMAD_HDR_LEN];

	VB_ASSERT(hdr_len <= sizeof hdr && hdr_len > HDR_HAS_GRH_AT);

	*m = (struct vb_mad_message){0};
	if (count < hdr_len + VB_UMAD_WRITE_MIN || count - hdr_len > UINT32_MAX)
		return -EINVAL;
	memcpy(hdr, buf, hdr_len);
	hdr[HDR_HAS_GRH_AT] = hdr[HDR_HAS_GRH_AT] != 0; /* any number but 0 is true */
	fields_read(hdr_fields, CNT(hdr_fields), hdr, hdr_len, m);
	m->len = (uint32_t)(count - hdr_len);
	m->mad = buf + hdr_len;
	return 0;
}

static void hdr_write(const struct vb_mad_message *m, uint8_t *buf, uint32_t hdr_len)
{
	memset(buf, 0, hdr_len);
	fields_write(hdr_fields, CNT(hdr_fields), m, buf, hdr_len);
	number_put(buf + HDR_LENGTH_AT, 4, false, hdr_len + m->len);
}

void vb_umad_write_emit(const struct vb_mad_message *m, uint8_t *buf, uint32_t hdr_len)
{
	hdr_write(m, buf, hdr_len);
	memcpy(buf + hdr_len, m->mad, m->len);
}

int vb_umad_read_emit(const struct vb_mad_message *m, uint8_t *buf, size_t count, uint32_t hdr_len)
{
	uint32_t first = m->len < VB_MAD_LEN ? m->len : VB_MAD_LEN;

	if (count < (size_t)hdr_len + first)
		return -EINVAL;
	hdr_write(m, buf, hdr_len);
	if (count < (size_t)hdr_len + m->len) {
		memcpy(buf + hdr_len, m->mad, first);
		return -ENOSPC;
	}
	memcpy(buf + hdr_len, m->mad, m->len);
	return (int)(hdr_len + m->len);
}

int vb_umad_reg_parse(struct vb_agent_request *r, const uint8_t reg[VB_UMAD_REG_LEN])
{
	*r = (struct vb_agent_request){0};
	fields_read(reg_fields, CNT(reg_fields), reg, VB_UMAD_REG_LEN, r);
	r->oui = be24_get(reg + REG_OUI_AT);
	return r->qpn > 1 ? -EINVAL : 0;
}

int vb_umad_reg2_parse(struct vb_agent_request *r, uint8_t reg[VB_UMAD_REG2_LEN])
{
	uint32_t flags = (uint32_t)number_get(reg + REG2_FLAGS_AT, 4, false);

	*r = (struct vb_agent_request){0};
	fields_read(reg2_fields, CNT(reg2_fields), reg, VB_UMAD_REG2_LEN, r);
	if (r->qpn > 1)
		return -EINVAL;
	if (flags & ~USER_RMPP) {
		number_put(reg + REG2_FLAGS_AT, 4, false, USER_RMPP);
		return -EINVAL;
	}
	r->user_rmpp = flags & USER_RMPP;
	return r->mgmt_class != 0 && r->oui > 0xffffff ? -EINVAL : 0;
}

void vb_umad_reg_put_id(uint8_t *reg, uint32_t id)
{
	number_put(reg, 4, false, id);
}
