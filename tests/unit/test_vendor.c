/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes of Verbena's own management class, and what is none of it. IBA 16.5 */
#include "wire/mad/vendor.h"

#include "cmocka_env.h"

#include <errno.h>

static const uint8_t header[] = {1,    0x36, 1,    1,    0, 0,    0, 0, 0x11, 0x22, 0x33, 0x44,
				 0x55, 0x66, 0x77, 0x88, 0, 0x11, 0, 0, 0,    0,    0,    0};

/* The OUI and both QPNs. */
static const uint8_t body[] = {0x02, 0x56, 0x42, 0, 0xab, 0xcd, 0xef, 0, 0x12, 0x34, 0x56};

static void question__about_a_qp(void **state)
{
	const struct vb_vendor_msg m = {.tid = 0x1122334455667788,
					.attr = VB_VENDOR_QP,
					.qp = {.from_qpn = 0xabcdef, .qpn = 0x123456}};
	uint8_t mad[VB_MAD_LEN], want[VB_MAD_LEN] = {0};
	struct vb_vendor_msg back;

	(void)state;
	memcpy(want, header, sizeof header);
	memcpy(want + 37, body, sizeof body);
	vb_vendor_emit(&m, mad);
	assert_memory_equal(mad, want, VB_MAD_LEN);
	assert_int_equal(vb_vendor_parse(&back, mad), 0);
	assert_memory_equal(&back, &m, sizeof m);
}

/* Every field comes back, and none lies in another. */
static void answer__comes_back(void **state)
{
	struct vb_vendor_msg m = {.is_response = true,
				  .status = 0x1c,
				  .tid = 7,
				  .attr = VB_VENDOR_QP,
				  .qp = {.from_qpn = 0xfffffe,
					 .qpn = 0xfffffd,
					 .standing = VB_VENDOR_ENDED,
					 .state = 6,
					 .stopped = 1,
					 .is_qpn = 0xfffffc,
					 .rq_psn = 0xfffffb,
					 .age = UINT64_MAX - 1,
					 .denial = {1, UINT64_MAX, 3, UINT64_MAX - 5},
					 .denial_age = UINT64_MAX - 2}};
	struct vb_vendor_msg back;
	uint8_t mad[VB_MAD_LEN];

	(void)state;
	vb_vendor_emit(&m, mad);
	assert_int_equal(mad[3], VB_MAD_METHOD_GET_RESP);
	assert_int_equal(vb_vendor_parse(&back, mad), 0);
	assert_memory_equal(&back, &m, sizeof m);

	memset(&m.qp, 0, sizeof m.qp);
	m.attr = VB_VENDOR_ADAPTER;
	m.adapter = (struct vb_vendor_adapter){
	    .clock = UINT64_MAX - 3, .version = "0.1.0", .mtu = 5, .gid_cnt = VB_VENDOR_GIDS};
	memset(m.adapter.gid, 0xa5, sizeof m.adapter.gid);
	vb_vendor_emit(&m, mad);
	assert_int_equal(vb_vendor_parse(&back, mad), 0);
	assert_memory_equal(&back, &m, sizeof m);
}

/* Another class, version, OUI, method or attribute. */
static void other__is_refused(void **state)
{
	static const struct {
		uint8_t at, value;
	} wrong[] = {{0, 2},  {1, 0x37},  {2, 2},  {3, 2},  {3, 3},     {3, 0x82},
		     {16, 1}, {17, 0x12}, {17, 0}, {37, 0}, {38, 0x57}, {39, 0}};
	const struct vb_vendor_msg m = {.attr = VB_VENDOR_QP};
	struct vb_vendor_msg back;
	uint8_t mad[VB_MAD_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		vb_vendor_emit(&m, mad);
		assert_int_equal(vb_vendor_parse(&back, mad), 0);
		mad[wrong[i].at] = wrong[i].value;
		assert_int_equal(vb_vendor_parse(&back, mad), -EPROTO);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(question__about_a_qp),
	    cmocka_unit_test(answer__comes_back),
	    cmocka_unit_test(other__is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
