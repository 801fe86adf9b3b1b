/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of the connection manager between their bytes and their values: by captures of
 * rdma_rxe's, and bit by bit for the fields that these leave 0. IBA 12.6, 12.11
 */
#include "cmocka_env.h"

#include "capture_file.h"
#include "wire/mad/cm.h"

#include <errno.h>

#define BTH_DETH 20

/* The MAD of a captured packet to QP 1, or NULL. */
static const uint8_t *captured_mad(const struct packet *p)
{
	const uint8_t *bth = packet_bth(p);

	if (bth[0] != 0x64 || bth[7] != 1 || packet_udp_payload(p) != BTH_DETH + VB_MAD_LEN + 4)
		return NULL;
	return bth + BTH_DETH;
}

static struct vb_cm_msg captured_message(const char *name, uint32_t index)
{
	struct capture c;
	struct vb_cm_msg m = {0};
	char path[256];

	snprintf(path, sizeof path, "%s/rxe/%s.pcapng", TEST_DATA, name);
	assert_int_equal(capture_read(&c, path), 0);
	for (size_t i = 0; i < c.cnt; i++) {
		const uint8_t *mad = captured_mad(&c.pkt[i].p);

		if (mad && index-- == 0)
			assert_int_equal(vb_cm_msg_parse(&m, mad), 0);
	}
	capture_free(&c);
	assert_int_not_equal(m.attr, 0);
	return m;
}

/* CMP-01: a message that rdma_rxe sends, we would send with the same bytes. */
static void captures__are_parsed_and_emitted_unchanged(void **state)
{
	static const char *const names[] = {"cm_rping",    "cm_rping_v6",    "cm_reject",
					    "cm_ucmatose", "cm_rdma_client", "cm_udaddy"};
	uint32_t seen = 0, attrs = 0;

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct capture c;
		char path[256];

		snprintf(path, sizeof path, "%s/rxe/%s.pcapng", TEST_DATA, names[i]);
		assert_int_equal(capture_read(&c, path), 0);
		for (size_t k = 0; k < c.cnt; k++) {
			const uint8_t *mad = captured_mad(&c.pkt[k].p);
			uint8_t out[VB_MAD_LEN];
			struct vb_cm_msg m;

			if (!mad)
				continue;
			assert_int_equal(vb_cm_msg_parse(&m, mad), 0);
			memset(out, 0xa5, sizeof out);
			vb_cm_msg_emit(&m, out);
			assert_memory_equal(out, mad, VB_MAD_LEN);
			attrs |= 1u << (m.attr - VB_CM_ATTR_FIRST);
			seen++;
		}
		capture_free(&c);
	}
	assert_int_equal(seen, 24);
	assert_int_equal(attrs, 0x1fd); /* all but MRA, LAP and APR */
}

/* CMP-03, CMP-10, CMP-28 */
static void req__of_rping(void **state)
{
	static const uint8_t ipv4[16] = {[12] = 10, 77, 0, 3};
	struct vb_cm_msg m = captured_message("cm_rping", 0);

	(void)state;
	assert_int_equal(m.attr, VB_CM_REQ);
	assert_int_equal(m.tid, UINT64_C(0x2cb88efca));
	assert_int_equal(m.local_id, 0xcaef88cb);
	assert_int_equal(m.req.service_id, UINT64_C(0x0000000001061c06));
	assert_int_equal(m.req.ca_guid, UINT64_C(0x007700fffe000003));
	assert_int_equal(m.req.qpn, 0x41);
	assert_int_equal(m.req.resp_resources, 1);
	assert_int_equal(m.req.init_depth, 1);
	assert_int_equal(m.req.remote_cm_timeout, 20);
	assert_int_equal(m.req.local_cm_timeout, 20);
	assert_int_equal(m.req.transport, VB_CM_TRANSPORT_RC);
	assert_int_equal(m.req.psn, 0x0803c2);
	assert_int_equal(m.req.retry_cnt, 7);
	assert_int_equal(m.req.rnr_retry, 7);
	assert_int_equal(m.req.pkey, 0xffff);
	assert_int_equal(m.req.mtu, 5);
	assert_int_equal(m.req.max_cm_retries, 15);
	assert_int_equal(m.req.primary.local_lid, 0xffff);
	assert_int_equal(m.req.primary.remote_lid, 0xffff);
	assert_int_equal(m.req.primary.local_gid.b[15], 3);
	assert_int_equal(m.req.primary.remote_gid.b[15], 2);
	assert_int_equal(m.req.primary.flow_label, 0xfbb06);
	assert_int_equal(m.req.primary.rate, 0);
	assert_int_equal(m.req.primary.hop_limit, 64);
	assert_int_equal(m.req.primary.subnet_local, 0);
	assert_int_equal(m.req.primary.ack_timeout, 19);
	assert_int_equal(m.private_data[0], 0);
	assert_int_equal(m.private_data[1], 0x40);
	assert_memory_equal(m.private_data + 4, ipv4, sizeof ipv4);
}

/* CMP-17 */
static void rej__of_a_service_without_a_listener(void **state)
{
	struct vb_cm_msg req = captured_message("cm_reject", 0);
	struct vb_cm_msg m = captured_message("cm_reject", 1);

	(void)state;
	assert_int_equal(m.attr, VB_CM_REJ);
	assert_int_equal(m.rej.reason, VB_CM_REJ_INVALID_SERVICE_ID);
	assert_int_equal(m.rej.about, VB_CM_ABOUT_REQ);
	assert_int_equal(m.local_id, 0);
	assert_int_equal(m.remote_id, req.local_id);
	assert_int_equal(m.tid, req.tid);
}

/* The bits of the MAD that a field has: "byte.bit-width" behind the header, by the standard's
 * tables. */
struct place {
	enum vb_cm_attr attr;
	uint16_t offset, size; /* of the member */
	uint16_t byte, bit, width;
};
#define PLACE(attr_, member, byte_, bit_, width_)                                                  \
	{                                                                                          \
		.attr = VB_CM_##attr_, .offset = offsetof(struct vb_cm_msg, member),               \
		.size = sizeof(((struct vb_cm_msg *)0)->member), .byte = byte_, .bit = bit_,       \
		.width = width_                                                                    \
	}

/* The fields that no capture shows, for they are 0 in all of them. */
static const struct place places[] = {
    PLACE(REQ, req.ece_vendor, 5, 0, 24), /* CMP-27 */
    PLACE(REQ, req.qkey, 28, 0, 32),
    PLACE(REQ, req.local_eecn, 36, 0, 24),
    PLACE(REQ, req.remote_eecn, 40, 0, 24),
    PLACE(REQ, req.transport, 43, 5, 2),
    PLACE(REQ, req.flow_control, 43, 7, 1),
    PLACE(REQ, req.rdc_exists, 50, 4, 1),
    PLACE(REQ, req.srq, 51, 4, 1),
    PLACE(REQ, req.ext_transport, 51, 5, 3),
    PLACE(REQ, req.primary.rate, 91, 2, 6),
    PLACE(REQ, req.primary.traffic_class, 92, 0, 8),
    PLACE(REQ, req.primary.sl, 94, 0, 4),
    PLACE(REQ, req.primary.subnet_local, 94, 4, 1),
    PLACE(REQ, req.alternate.local_lid, 96, 0, 16),
    PLACE(REQ, req.alternate.remote_lid, 98, 0, 16),
    PLACE(REQ, req.alternate.local_gid, 100, 0, 128),
    PLACE(REQ, req.alternate.remote_gid, 116, 0, 128),
    PLACE(REQ, req.alternate.flow_label, 132, 0, 20),
    PLACE(REQ, req.alternate.rate, 135, 2, 6),
    PLACE(REQ, req.alternate.traffic_class, 136, 0, 8),
    PLACE(REQ, req.alternate.hop_limit, 137, 0, 8),
    PLACE(REQ, req.alternate.sl, 138, 0, 4),
    PLACE(REQ, req.alternate.subnet_local, 138, 4, 1),
    PLACE(REQ, req.alternate.ack_timeout, 139, 0, 5),
    PLACE(REQ, req.alt_sap, 139, 5, 1),
    PLACE(MRA, mra.about, 8, 0, 2), /* CMP-11 */
    PLACE(MRA, mra.service_timeout, 9, 0, 5),
    PLACE(REJ, rej.info_len, 9, 0, 7),
    PLACE(REJ, rej.info, 12, 0, 576),
    PLACE(REP, rep.qkey, 8, 0, 32), /* CMP-06 */
    PLACE(REP, rep.ece_high, 15, 0, 8),
    PLACE(REP, rep.eecn, 16, 0, 24),
    PLACE(REP, rep.ece_middle, 19, 0, 8),
    PLACE(REP, rep.ece_low, 23, 0, 8),
    PLACE(REP, rep.failover, 26, 5, 2),
    PLACE(REP, rep.flow_control, 26, 7, 1),
    PLACE(REP, rep.srq, 27, 3, 1),
    PLACE(SIDR_REP, sidr_rep.status, 4, 0, 8), /* CMP-24 */
    PLACE(SIDR_REP, sidr_rep.info_len, 5, 0, 8),
    PLACE(SIDR_REP, sidr_rep.ece_high, 6, 0, 16),
    PLACE(SIDR_REP, sidr_rep.ece_low, 11, 0, 8),
    PLACE(SIDR_REP, sidr_rep.info, 24, 0, 576),
    PLACE(LAP, lap.remote_qpn, 12, 0, 24), /* CMP-26 */
    PLACE(LAP, lap.remote_cm_timeout, 15, 0, 5),
    PLACE(LAP, lap.alternate.local_lid, 20, 0, 16),
    PLACE(LAP, lap.alternate.remote_lid, 22, 0, 16),
    PLACE(LAP, lap.alternate.local_gid, 24, 0, 128),
    PLACE(LAP, lap.alternate.remote_gid, 40, 0, 128),
    PLACE(LAP, lap.alternate.flow_label, 56, 0, 20),
    PLACE(LAP, lap.alternate.traffic_class, 59, 0, 8),
    PLACE(LAP, lap.alternate.hop_limit, 60, 0, 8),
    PLACE(LAP, lap.alternate.rate, 61, 2, 6),
    PLACE(LAP, lap.alternate.sl, 62, 0, 4),
    PLACE(LAP, lap.alternate.subnet_local, 62, 4, 1),
    PLACE(LAP, lap.alternate.ack_timeout, 63, 0, 5),
    PLACE(APR, apr.info_len, 8, 0, 8),
    PLACE(APR, apr.status, 9, 0, 8),
    PLACE(APR, apr.info, 12, 0, 576),
};

static bool bit_is_in(const struct place *p, uint32_t bit)
{
	uint32_t first = (VB_MAD_HDR_LEN + p->byte) * 8u + p->bit;

	return bit >= first && bit < first + p->width;
}

/* All ones in one member are ones in its bits and in no others. */
static void field__has_its_bits_alone(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		const struct place *p = &places[i];
		struct vb_cm_msg m = {.attr = p->attr}, back;
		uint8_t empty[VB_MAD_LEN], mad[VB_MAD_LEN];

		vb_cm_msg_emit(&m, empty);
		memset((uint8_t *)&m + p->offset, 0xff, p->size);
		vb_cm_msg_emit(&m, mad);
		for (uint32_t bit = 0; bit < VB_MAD_LEN * 8; bit++) {
			uint8_t mask = (uint8_t)(0x80 >> bit % 8);
			bool changed = (mad[bit / 8] ^ empty[bit / 8]) & mask;

			if (changed != bit_is_in(p, bit))
				fail_msg("%s, member at %u: bit %u of byte %u",
					 vb_cm_attr_name(p->attr), p->offset, bit % 8,
					 bit / 8 - VB_MAD_HDR_LEN);
		}
		assert_int_equal(vb_cm_msg_parse(&back, mad), 0);
		vb_cm_msg_emit(&back, empty);
		assert_memory_equal(empty, mad, VB_MAD_LEN);
	}
}

/* A number that is too long loses its high bits and touches nothing else. */
static void number__too_long_stays_in_its_field(void **state)
{
	struct vb_cm_msg m = {.attr = VB_CM_REQ, .req = {.qpn = 0xab123456, .retry_cnt = 0xff}};
	struct vb_cm_msg back;
	uint8_t mad[VB_MAD_LEN];

	(void)state;
	vb_cm_msg_emit(&m, mad);
	assert_int_equal(vb_cm_msg_parse(&back, mad), 0);
	assert_int_equal(back.req.qpn, 0x123456);
	assert_int_equal(back.req.retry_cnt, 7);
	assert_int_equal(back.req.resp_resources, 0);
	assert_int_equal(back.req.local_cm_timeout, 0);
}

/* CMP-07, CMP-03, CMP-06: the private data of each message goes to the end of the MAD. */
static void private_data__has_its_length(void **state)
{
	static const uint16_t len[] = {92, 222, 148, 196, 224, 220, 224, 216, 136, 168, 148};

	(void)state;
	for (enum vb_cm_attr a = VB_CM_ATTR_FIRST; a <= VB_CM_ATTR_LAST; a++) {
		struct vb_cm_msg m = {.attr = a}, back;
		uint8_t mad[VB_MAD_LEN];

		assert_int_equal(vb_cm_private_len(a), len[a - VB_CM_ATTR_FIRST]);
		m.private_data[len[a - VB_CM_ATTR_FIRST] - 1] = 0x5a;
		vb_cm_msg_emit(&m, mad);
		assert_int_equal(mad[VB_MAD_LEN - 1], 0x5a);
		assert_int_equal(vb_cm_msg_parse(&back, mad), 0);
		assert_int_equal(back.private_data[len[a - VB_CM_ATTR_FIRST] - 1], 0x5a);
	}
}

/* CMP-52 */
static void message__of_another_class_or_version_is_refused(void **state)
{
	static const struct {
		uint8_t byte, value;
		int err;
	} cases[] = {
	    {0, 2, -EPROTONOSUPPORT}, {1, 6, -EPROTONOSUPPORT}, {2, 1, -EPROTONOSUPPORT},
	    {3, 0x83, -EBADMSG},      {3, 1, -EBADMSG},         {16, 1, -EBADMSG},
	    {17, 0x0f, -EBADMSG},     {17, 0x1b, -EBADMSG},     {17, 0x1a, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct vb_cm_msg m = {.attr = VB_CM_RTU};
		uint8_t mad[VB_MAD_LEN];

		vb_cm_msg_emit(&m, mad);
		mad[cases[i].byte] = cases[i].value;
		assert_int_equal(vb_cm_msg_parse(&m, mad), cases[i].err);
	}
}

static void reason__is_told_in_words(void **state)
{
	(void)state;
	assert_string_equal(vb_cm_reason_text(8), "invalid service ID");
	assert_string_equal(vb_cm_reason_text(28), "rejected by the consumer");
	assert_string_equal(vb_cm_reason_text(999), "unknown reason");
	assert_string_equal(vb_cm_attr_name(VB_CM_SIDR_REQ), "SIDR_REQ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(captures__are_parsed_and_emitted_unchanged),
	    cmocka_unit_test(req__of_rping),
	    cmocka_unit_test(rej__of_a_service_without_a_listener),
	    cmocka_unit_test(field__has_its_bits_alone),
	    cmocka_unit_test(number__too_long_stays_in_its_field),
	    cmocka_unit_test(private_data__has_its_length),
	    cmocka_unit_test(message__of_another_class_or_version_is_refused),
	    cmocka_unit_test(reason__is_told_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
