/* SPDX-License-Identifier: BSD-2-Clause */
/* The structs of the kernel's ib_user_mad.h, as programs fill and read them. */
#include "cmocka_env.h"
#include "wire/mad/mad.h"
#include "wire/mad/rmpp.h"
#include "wire/mad/umad.h"

#include <arpa/inet.h>
#include <errno.h>
#include <rdma/ib_user_mad.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t gid[16] = {0xfe, 0x80, 1, 2, 3};
static uint8_t buf[8192], mad[4096];

static const struct vb_mad_message message = {
    .agent = 3,
    .status = 110,
    .timeout_ms = 1000,
    .retries = 5,
    .len = 300,
    .addr = {.qpn = 0x123456,
	     .qkey = 0x80010000,
	     .lid = 0x1234,
	     .sl = 4,
	     .path_bits = 2,
	     .has_grh = true,
	     .gid_index = 6,
	     .hop_limit = 64,
	     .traffic_class = 7,
	     .gid = {0xfe, 0x80, 1, 2, 3},
	     .flow_label = 0xabcde,
	     .pkey_index = 0x0102},
    .mad = mad,
};

/* MAD-02, MAD-03: the numbers of the kernel's header. */
static void umad__is_the_kernels(void **state)
{
	struct ib_user_mad_hdr h = {0};

	(void)state;
	assert_int_equal(sizeof(struct ib_user_mad_hdr), VB_UMAD_HDR_LEN);
	assert_int_equal(sizeof(struct ib_user_mad_hdr_old), VB_UMAD_HDR_LEN_OLD);
	assert_int_equal(sizeof(struct ib_user_mad_reg_req), VB_UMAD_REG_LEN);
	assert_int_equal(sizeof(struct ib_user_mad_reg_req2), VB_UMAD_REG2_LEN);
	assert_int_equal(IB_USER_MAD_REGISTER_AGENT, VB_UMAD_REGISTER_AGENT);
	assert_int_equal(IB_USER_MAD_UNREGISTER_AGENT, VB_UMAD_UNREGISTER_AGENT);
	assert_int_equal(IB_USER_MAD_ENABLE_PKEY, VB_UMAD_ENABLE_PKEY);
	assert_int_equal(IB_USER_MAD_REGISTER_AGENT2, VB_UMAD_REGISTER_AGENT2);
	vb_umad_write_emit(&message, buf, sizeof h);
	memcpy(&h, buf, sizeof h);
	assert_int_equal(h.id, 3);
	assert_int_equal(h.status, 110);
	assert_int_equal(h.timeout_ms, 1000);
	assert_int_equal(h.retries, 5);
	assert_int_equal(h.length, 64 + 300);
	assert_int_equal(h.qpn, htonl(0x123456));
	assert_int_equal(h.qkey, htonl(0x80010000));
	assert_int_equal(h.lid, htons(0x1234));
	assert_int_equal(h.sl, 4);
	assert_int_equal(h.path_bits, 2);
	assert_int_equal(h.grh_present, 1);
	assert_int_equal(h.gid_index, 6);
	assert_int_equal(h.hop_limit, 64);
	assert_int_equal(h.traffic_class, 7);
	assert_memory_equal(h.gid, gid, 16);
	assert_int_equal(h.flow_label, htonl(0xabcde));
	assert_int_equal(h.pkey_index, 0x0102);
	vb_umad_write_emit(&message, buf, VB_UMAD_HDR_LEN_OLD);
	memcpy(&h, buf, sizeof h);
	assert_int_equal(h.length, 56 + 300);
	assert_int_equal(h.flow_label, htonl(0xabcde));
	assert_int_equal(h.pkey_index, 0); /* the MAD begins here */
}

/* MAD-02, MAD-11: what is written comes back. */
static void umad__there_and_back(void **state)
{
	struct vb_mad_message m;

	(void)state;
	memset(mad, 0x5a, sizeof mad);
	for (int i = 0; i < 2; i++) {
		uint32_t hdr_len = i ? VB_UMAD_HDR_LEN_OLD : VB_UMAD_HDR_LEN;

		vb_umad_write_emit(&message, buf, hdr_len);
		buf[32] = 0x80; /* any number but 0 means a GRH */
		assert_int_equal(vb_umad_write_parse(&m, buf, hdr_len + 300, hdr_len), 0);
		assert_int_equal(m.agent, 3);
		assert_int_equal(m.status, 110);
		assert_int_equal(m.timeout_ms, 1000);
		assert_int_equal(m.retries, 5);
		assert_int_equal(m.len, 300);
		assert_int_equal(m.addr.qpn, 0x123456);
		assert_int_equal(m.addr.qkey, 0x80010000);
		assert_int_equal(m.addr.lid, 0x1234);
		assert_int_equal(m.addr.sl, 4);
		assert_int_equal(m.addr.path_bits, 2);
		assert_true(m.addr.has_grh);
		assert_int_equal(m.addr.gid_index, 6);
		assert_int_equal(m.addr.hop_limit, 64);
		assert_int_equal(m.addr.traffic_class, 7);
		assert_memory_equal(m.addr.gid, gid, 16);
		assert_int_equal(m.addr.flow_label, 0xabcde);
		assert_int_equal(m.addr.pkey_index, i ? 0 : 0x0102);
		assert_ptr_equal(m.mad, buf + hdr_len);
		assert_memory_equal(m.mad, mad, 300);
		assert_int_equal(vb_umad_write_parse(&m, buf, hdr_len + 36, hdr_len), 0);
		assert_int_equal(vb_umad_write_parse(&m, buf, hdr_len + 35, hdr_len), -EINVAL);
		assert_int_equal(vb_umad_write_parse(&m, buf, 0, hdr_len), -EINVAL);
	}
}

/* MAD-03 */
static void umad__forms(void **state)
{
	struct vb_umad_form f = {0};

	(void)state;
	assert_int_equal(vb_umad_hdr_len(&f), 56);
	assert_int_equal(vb_umad_enable_pkey(&f), 0);
	assert_int_equal(vb_umad_hdr_len(&f), 64);
	assert_int_equal(vb_umad_enable_pkey(&f), 0);
	vb_umad_registered(&f, false);
	assert_int_equal(vb_umad_hdr_len(&f), 64);
	assert_int_equal(vb_umad_enable_pkey(&f), -EINVAL);
	f = (struct vb_umad_form){0};
	vb_umad_registered(&f, false);
	vb_umad_registered(&f, true);
	assert_int_equal(vb_umad_hdr_len(&f), 56);
	assert_int_equal(vb_umad_enable_pkey(&f), -EINVAL);
	f = (struct vb_umad_form){0};
	vb_umad_registered(&f, true);
	assert_int_equal(vb_umad_hdr_len(&f), 64);
}

/* MAD-14, MAD-15 */
static void umad__read(void **state)
{
	struct vb_mad_message m = message;

	(void)state;
	for (size_t i = 0; i < sizeof mad; i++)
		mad[i] = (uint8_t)(i * 7);
	m.len = 256;
	assert_int_equal(vb_umad_read_emit(&m, buf, 64 + 255, 64), -EINVAL);
	assert_int_equal(vb_umad_read_emit(&m, buf, 64 + 256, 64), 64 + 256);
	assert_memory_equal(buf + 64, mad, 256);
	m.len = 24;
	assert_int_equal(vb_umad_read_emit(&m, buf, 63 + 24, 64), -EINVAL);
	assert_int_equal(vb_umad_read_emit(&m, buf, 1000, 64), 64 + 24);
	m.len = 3000;
	assert_int_equal(vb_umad_read_emit(&m, buf, 64 + 255, 64), -EINVAL);
	memset(buf, 0, sizeof buf);
	assert_int_equal(vb_umad_read_emit(&m, buf, 64 + 2999, 64), -ENOSPC);
	assert_memory_equal(buf + 64, mad, 256);
	assert_int_equal(buf[64 + 257], 0);
	assert_int_equal(((struct ib_user_mad_hdr *)(void *)buf)->length, 64 + 3000);
	assert_int_equal(vb_umad_read_emit(&m, buf, 56 + 3000, 56), 56 + 3000);
	assert_memory_equal(buf + 56, mad, 3000);
}

/* MAD-04 */
static void umad__register(void **state)
{
	struct ib_user_mad_reg_req reg = {.qpn = 1,
					  .mgmt_class = 0x32,
					  .mgmt_class_version = 2,
					  .oui = {0x00, 0x14, 0x05},
					  .rmpp_version = 1};
	struct vb_agent_request r;

	(void)state;
	reg.method_mask[0] = 0x8000000100000002;
	reg.method_mask[1] = 0x10;
	assert_int_equal(vb_umad_reg_parse(&r, (uint8_t *)&reg), 0);
	assert_int_equal(r.qpn, 1);
	assert_int_equal(r.mgmt_class, 0x32);
	assert_int_equal(r.class_version, 2);
	assert_int_equal(r.oui, 0x001405);
	assert_int_equal(r.rmpp_version, 1);
	assert_false(r.user_rmpp);
	assert_true(r.methods[0] == 0x8000000100000002);
	assert_true(r.methods[1] == 0x10);
	vb_umad_reg_put_id((uint8_t *)&reg, 31);
	assert_int_equal(reg.id, 31);
	reg.qpn = 2;
	assert_int_equal(vb_umad_reg_parse(&r, (uint8_t *)&reg), -EINVAL);
}

/* MAD-05 */
static void umad__register2(void **state)
{
	struct ib_user_mad_reg_req2 reg = {.qpn = 1,
					   .mgmt_class = 3,
					   .mgmt_class_version = 2,
					   .flags = 1,
					   .method_mask = {6, 0x80},
					   .oui = 0x001405,
					   .rmpp_version = 1};
	struct vb_agent_request r;

	(void)state;
	assert_int_equal(vb_umad_reg2_parse(&r, (uint8_t *)&reg), 0);
	assert_int_equal(r.qpn, 1);
	assert_int_equal(r.mgmt_class, 3);
	assert_int_equal(r.class_version, 2);
	assert_int_equal(r.oui, 0x001405);
	assert_int_equal(r.rmpp_version, 1);
	assert_true(r.user_rmpp);
	assert_true(r.methods[0] == 6 && r.methods[1] == 0x80);
	vb_umad_reg_put_id((uint8_t *)&reg, 17);
	assert_int_equal(reg.id, 17);
	reg.flags = 0;
	assert_int_equal(vb_umad_reg2_parse(&r, (uint8_t *)&reg), 0);
	assert_false(r.user_rmpp);
	reg.oui = 0x1000000;
	assert_int_equal(vb_umad_reg2_parse(&r, (uint8_t *)&reg), -EINVAL);
	reg.oui = 0;
	reg.qpn = 256;
	assert_int_equal(vb_umad_reg2_parse(&r, (uint8_t *)&reg), -EINVAL);
	assert_int_equal(reg.flags, 0);
	reg.qpn = 0;
	reg.flags = 3;
	assert_int_equal(vb_umad_reg2_parse(&r, (uint8_t *)&reg), -EINVAL);
	assert_int_equal(reg.flags, 1); /* these there are */
}

/* MAD-18 */
static void rmpp__header(void **state)
{
	struct vb_rmpp r = {.version = 1,
			    .type = VB_RMPP_ACK,
			    .resp_time = 0x1f,
			    .flags = VB_RMPP_ACTIVE | VB_RMPP_LAST,
			    .status = VB_RMPP_TOO_LONG,
			    .segment = 0x01020304,
			    .length = 0x05060708},
		       back;
	static const uint8_t bytes[] = {1, 2, 0xfd, 118, 1, 2, 3, 4, 5, 6, 7, 8};

	(void)state;
	memset(buf, 0, VB_MAD_LEN);
	vb_rmpp_emit(&r, buf);
	assert_memory_equal(buf + 24, bytes, sizeof bytes);
	vb_rmpp_parse(&back, buf);
	assert_int_equal(back.version, 1);
	assert_int_equal(back.type, VB_RMPP_ACK);
	assert_int_equal(back.resp_time, 0x1f);
	assert_int_equal(back.flags, 5);
	assert_int_equal(back.status, 118);
	assert_int_equal(back.segment, 0x01020304);
	assert_int_equal(back.length, 0x05060708);
	assert_int_equal(VB_RMPP_UNSPECIFIED, 127);
	assert_int_equal(vb_mad_class_hdr_len(3), 56);
	assert_int_equal(vb_mad_class_hdr_len(6), 64);
	assert_int_equal(vb_mad_class_hdr_len(0x4f), 40);
	assert_int_equal(vb_mad_class_hdr_len(0x50), 24);
	assert_true(vb_mad_class_has_rmpp(0x30));
	assert_false(vb_mad_class_has_rmpp(4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(umad__is_the_kernels), cmocka_unit_test(umad__there_and_back),
	    cmocka_unit_test(umad__forms),          cmocka_unit_test(umad__read),
	    cmocka_unit_test(umad__register),       cmocka_unit_test(umad__register2),
	    cmocka_unit_test(rmpp__header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
