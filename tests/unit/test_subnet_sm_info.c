/* SPDX-License-Identifier: BSD-2-Clause */
/* SMInfo between the managers at two nodes of a fabric, which its process carries. IBA 14.4; FAB-28
 */
#include "subnet_files_env.h"

/* Writes SMInfo, from agent @agent of the file to QP 0 of @lid. */
static void sm_info_write(const struct file *f, uint32_t agent, uint16_t lid,
			  const struct vb_mad_hdr *h, const struct vb_sm_info *info)
{
	const struct vb_mad_addr to = {.lid = lid};
	uint8_t mad[VB_MAD_LEN] = {0};
	const struct vb_mad_message m = {.agent = agent,
					 .timeout_ms =
					     h->method & VB_MAD_METHOD_RESPONSE ? 0 : 60000,
					 .len = VB_MAD_LEN,
					 .addr = to,
					 .mad = mad};

	vb_mad_hdr_emit(h, mad);
	vb_sm_info_emit(info, mad);
	memset(&call, 0, VB_SUBNET_CALL_HEADER);
	call.op = VB_SUBNET_UMAD_WRITE;
	call.token = f->token;
	call.len = f->page->hdr_len + VB_MAD_LEN;
	vb_umad_write_emit(&m, call.body, f->page->hdr_len);
	assert_int_equal(fabric_ask_with(f->sock, -1, NULL), 0);
}

/* SMInfo goes to the manager at the port, which is asked for it and told what to be (modifiers 1 to
 * 5), and its answer goes back. A port without a manager has none. FAB-28 */
static void sm_info__is_the_managers(void **state)
{
	struct file asker = file_open(sender.sock, VB_SUBNET_UMAD_OPEN, 1);
	struct vb_mad_hdr h = {.base_version = VB_MAD_BASE_VERSION,
			       .mgmt_class = VB_MAD_CLASS_SUBN_LID,
			       .class_version = VB_SMP_CLASS_VERSION,
			       .attr_id = VB_SMP_SM_INFO};
	struct vb_sm_info asked = {.priority = 3}, got = {0};
	struct vb_mad_message m;
	struct vb_mad_hdr back;

	(void)state;
	assert_int_equal(register_agent(&asker, 0, 0), 0);
	assert_int_equal(register_methods(&receiver, 0, VB_MAD_CLASS_SUBN_LID,
					  1u << VB_MAD_METHOD_GET | 1u << VB_MAD_METHOD_SET),
			 1);
	for (uint32_t i = 0; i <= 5; i++) {
		h.method = i ? VB_MAD_METHOD_SET : VB_MAD_METHOD_GET;
		h.attr_mod = i;
		h.tid = 100 + i;
		sm_info_write(&asker, 0, LID(HOST_B), &h, &asked);
		assert_true(message_read(&receiver, &m));
		assert_int_equal(m.agent, 1);
		vb_mad_hdr_parse(&back, m.mad);
		assert_true(back.method == h.method && back.attr_mod == i);
		vb_sm_info_parse(&got, m.mad);
		assert_int_equal(got.priority, 3);
		back.method = VB_MAD_METHOD_GET_RESP;
		got.state = (uint8_t)(i % 4); /* NotActive, Discovering, Standby, Master */
		sm_info_write(&receiver, 1, LID(HOST_A), &back, &got);
		assert_true(message_read(&asker, &m));
		vb_mad_hdr_parse(&back, m.mad);
		assert_true(back.method == VB_MAD_METHOD_GET_RESP && back.status == 0 &&
			    back.attr_mod == i);
		vb_sm_info_parse(&got, m.mad);
		assert_int_equal(got.state, i % 4);
	}
	close(receiver.fd);
	close(receiver.sock);
	receiver.fd = receiver.sock = -1;
	fabric_turn();
	for (uint32_t i = 0; i <= 5; i++) {
		h.method = i ? VB_MAD_METHOD_SET : VB_MAD_METHOD_GET;
		h.attr_mod = i;
		sm_info_write(&asker, 0, LID(HOST_B), &h, &asked);
		assert_true(message_read(&asker, &m));
		vb_mad_hdr_parse(&back, m.mad);
		assert_int_equal(back.status, VB_MAD_STATUS_UNSUPPORTED);
	}
	close(asker.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(sm_info__is_the_managers, pair_begin, pair_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
