/* SPDX-License-Identifier: BSD-2-Clause */
/* Open umad and issm files at the nodes of a fabric, whose process runs as subnet_process_env.h has
 * it: calls and messages as a program makes and takes them. */
#ifndef VB_TESTS_UNIT_SUBNET_FILES_ENV_H
#define VB_TESTS_UNIT_SUBNET_FILES_ENV_H

#include "subnet_process_env.h"

#include "wire/mad/rmpp.h"

#include <poll.h>
#include <sys/mman.h>

#define CLASS 0x09 /* vendors', without an OUI */
#define CLASS_SA 0x03
#define CLASS_OUI 0x30 /* vendors', with an OUI and RMPP */

/* A program's end of an open file. */
struct file {
	int sock, fd;
	uint64_t token;
	struct vb_subnet_page *page; /* NULL: it has none */
};

static inline int open_ask(int sock, enum vb_subnet_op op, uint32_t port, struct vb_fds *fds)
{
	vb_subnet_call_text(&call, op, "");
	call.number = port;
	return fabric_ask_with(sock, -1, fds);
}

static inline struct file file_open(int sock, enum vb_subnet_op op, uint32_t port)
{
	struct vb_fds fds;

	assert_int_equal(open_ask(sock, op, port, &fds), 0);
	assert_int_equal(fds.cnt, op == VB_SUBNET_UMAD_OPEN ? 2 : 1);
	if (fds.cnt == 2)
		close(fds.fd[1]);
	return (struct file){.sock = sock,
			     .fd = fds.fd[0],
			     .token = answer.token,
			     .page = answer.page ? &fabric->pages[answer.page - 1] : NULL};
}

/* An ioctl with @len bytes of @argument. */
static inline int ioctl_ask(const struct file *f, uint32_t request, const void *argument,
			    uint32_t len)
{
	memset(&call, 0, VB_SUBNET_CALL_HEADER);
	call.op = VB_SUBNET_UMAD_IOCTL;
	call.token = f->token;
	call.number = request;
	call.len = len;
	memcpy(call.body, argument, len);
	return fabric_ask_with(f->sock, -1, NULL);
}

static inline int number_of(int rc)
{
	uint32_t id;

	memcpy(&id, answer.body, sizeof id);
	return rc ? rc : (int)id;
}

/* REGISTER_AGENT of QP @qpn for some methods of a class: the agent's number, or a negative errno.
 */
static inline int register_methods(const struct file *f, uint8_t qpn, uint8_t mgmt_class,
				   uint64_t methods)
{
	uint8_t reg[VB_UMAD_REG_LEN] = {[20] = qpn, [21] = mgmt_class, [22] = 1};

	memcpy(reg + 4, &methods, sizeof methods);
	return number_of(ioctl_ask(f, VB_UMAD_REGISTER_AGENT, reg, sizeof reg));
}

/* ... for Gets. */
static inline int register_agent(const struct file *f, uint8_t qpn, uint8_t mgmt_class)
{
	return register_methods(f, qpn, mgmt_class, 1u << VB_MAD_METHOD_GET);
}

/* REGISTER_AGENT2 of QP 1. */
static inline int register_agent2(const struct file *f, uint8_t mgmt_class, uint8_t rmpp,
				  uint32_t flags)
{
	uint8_t reg[VB_UMAD_REG2_LEN] = {[8] = mgmt_class, [9] = 1, [36] = rmpp};
	const uint64_t methods = 1u << VB_MAD_METHOD_GET;
	const uint32_t qpn = 1, oui = mgmt_class >= CLASS_OUI;

	memcpy(reg + 4, &qpn, sizeof qpn);
	memcpy(reg + 12, &flags, sizeof flags);
	memcpy(reg + 16, &methods, sizeof methods);
	memcpy(reg + 32, &oui, sizeof oui);
	return number_of(ioctl_ask(f, VB_UMAD_REGISTER_AGENT2, reg, sizeof reg));
}

static uint32_t timeout_ms; /* of a write; 0: no answer is wanted */

/* Makes the first agent's write of a Get of @mgmt_class to @to. Returns its length. */
static inline uint32_t write_make(uint8_t buf[VB_SUBNET_WRITE_MAX], const struct vb_mad_addr *to,
				  uint8_t mgmt_class, uint16_t attr, uint64_t tid, uint32_t hdr_len)
{
	const struct vb_mad_hdr h = {.base_version = VB_MAD_BASE_VERSION,
				     .mgmt_class = mgmt_class,
				     .class_version = 1,
				     .method = VB_MAD_METHOD_GET,
				     .tid = tid,
				     .attr_id = attr};
	uint8_t mad[VB_MAD_LEN] = {0};
	const struct vb_mad_message m = {
	    .timeout_ms = timeout_ms, .len = VB_MAD_LEN, .addr = *to, .mad = mad};

	vb_mad_hdr_emit(&h, mad);
	vb_umad_write_emit(&m, buf, hdr_len);
	return hdr_len + VB_MAD_LEN;
}

static inline int write_ask(const struct file *f, const struct vb_mad_addr *to, uint8_t mgmt_class,
			    uint16_t attr, uint64_t tid)
{
	memset(&call, 0, VB_SUBNET_CALL_HEADER);
	call.op = VB_SUBNET_UMAD_WRITE;
	call.token = f->token;
	call.len = write_make(call.body, to, mgmt_class, attr, tid, f->page->hdr_len);
	return fabric_ask_with(f->sock, -1, NULL);
}

/* The next message of the file, whose bytes stay until the next call. False: there is none. */
static inline bool message_read(const struct file *f, struct vb_mad_message *m)
{
	static uint8_t buf[sizeof(struct vb_subnet_prefix) + VB_SUBNET_INLINE_MAX];
	struct vb_subnet_prefix prefix;
	ssize_t n = recv(f->fd, buf, sizeof buf, MSG_DONTWAIT);

	if (n < 0)
		return false;
	memcpy(&prefix, buf, sizeof prefix);
	assert_int_equal((size_t)n, sizeof prefix + prefix.len);
	assert_int_equal(vb_umad_write_parse(m, buf + sizeof prefix, prefix.len, prefix.hdr_len),
			 0);
	return true;
}

static const struct vb_mad_addr to_host_b = {
    .qpn = 1, .qkey = VB_MAD_QKEY, .lid = LID(HOST_B), .sl = 1};

/* A file of HOST_A that sends, and one of HOST_B that receives Gets of CLASS. */
static struct file sender, receiver;

static inline int pair_begin(void **state)
{
	(void)fabric_begin(state);
	fabric_configure();
	timeout_ms = 0;
	sender = file_open(fabric_attach("H-A"), VB_SUBNET_UMAD_OPEN, 1);
	assert_int_equal(ioctl_ask(&sender, VB_UMAD_ENABLE_PKEY, "", 0), 0);
	assert_int_equal(register_agent(&sender, 1, 0), 0);
	receiver = file_open(fabric_attach("H-B"), VB_SUBNET_UMAD_OPEN, 2);
	assert_int_equal(ioctl_ask(&receiver, VB_UMAD_ENABLE_PKEY, "", 0), 0);
	assert_int_equal(register_agent(&receiver, 1, CLASS), 0);
	return 0;
}

static inline int pair_end(void **state)
{
	close(sender.fd);
	close(sender.sock);
	close(receiver.fd);
	close(receiver.sock);
	return fabric_end(state);
}

#define P(f) cmocka_unit_test_setup_teardown(f, pair_begin, pair_end)

#endif
