/* SPDX-License-Identifier: BSD-2-Clause */
/* Open umad files, see file.h. */
#include "node/umad/file.h"

#include "link/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

int vb_umad_token_draw(uint64_t *token)
{
	do {
		if (getrandom(token, sizeof *token, 0) != (ssize_t)sizeof *token)
			return -EIO;
	} while (*token == 0); /* no file's */
	return 0;
}

/* A message too long for the socket goes as memory. Without memory it waits for another turn; the
 * socket has room all the time. */
static int send_as_memory(int sock, const struct vb_subnet_prefix *prefix,
			  const struct vb_mad_message *m)
{
	struct vb_fds fds = {.cnt = 1, .fd = {vb_memory_create("verbena-mad", prefix->len)}};
	uint8_t *whole = malloc(prefix->len);
	int rc = fds.fd[0] < 0 || !whole ? -ENOMEM : 0;

	if (!rc) {
		(void)vb_umad_read_emit(m, whole, prefix->len, prefix->hdr_len);
		rc = pwrite(fds.fd[0], whole, prefix->len, 0) == (ssize_t)prefix->len ? 0 : -ENOMEM;
	}
	free(whole);
	if (!rc)
		rc = vb_fds_send(sock, prefix, sizeof *prefix, &fds);
	if (fds.fd[0] >= 0)
		vb_fds_close(&fds);
	return rc;
}

int vb_umad_file_send(const struct vb_umad_file *f, const struct vb_mad_message *m)
{
	static uint8_t buf[sizeof(struct vb_subnet_prefix) + VB_SUBNET_INLINE_MAX];
	uint32_t hdr_len = vb_umad_hdr_len(&f->form), len = hdr_len + m->len;
	struct vb_subnet_prefix prefix = {hdr_len, len};

	if (len > VB_SUBNET_INLINE_MAX)
		return send_as_memory(f->sock, &prefix, m);
	memcpy(buf, &prefix, sizeof prefix);
	(void)vb_umad_read_emit(m, buf + sizeof prefix, len, hdr_len);
	return vb_fds_send(f->sock, buf, sizeof prefix + len, NULL);
}

int vb_umad_file_register(struct vb_umad_file *f, const struct vb_subnet_call *call,
			  struct vb_subnet_answer *answer, struct vb_agent_request *r)
{
	bool second = call->number == VB_UMAD_REGISTER_AGENT2;
	uint32_t len = second ? VB_UMAD_REG2_LEN : VB_UMAD_REG_LEN;
	int rc;

	if (call->len != len)
		return -EINVAL;
	memcpy(answer->body, call->body, len);
	answer->len = len;
	rc = second ? vb_umad_reg2_parse(r, answer->body) : vb_umad_reg_parse(r, answer->body);
	if (!rc)
		rc = vb_agent_register(f->agents, f->number, r);
	if (rc < 0)
		return rc;
	vb_umad_reg_put_id(answer->body, (uint32_t)rc);
	vb_umad_registered(&f->form, second);
	return rc;
}

/* Writes the message in the @len bytes at @buf. */
static int write_bytes(const struct vb_umad_file *f, const uint8_t *buf, size_t len,
		       vb_umad_check *check, void *ctx)
{
	struct vb_mad_message m;
	int rc = vb_umad_write_parse(&m, buf, len, vb_umad_hdr_len(&f->form));

	if (!rc && check)
		rc = check(ctx, &m);
	return rc ? rc : vb_agents_write(f->agents, f->number, &m);
}

/* A message that is longer than a call comes as memory, which may be anything. */
static int write_memory(const struct vb_umad_file *f, int fd, vb_umad_check *check, void *ctx)
{
	struct stat st;
	uint8_t *copy;
	int rc;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_size < 0 || st.st_size > VB_MAD_MESSAGE_MAX)
		return -EINVAL;
	copy = malloc((size_t)st.st_size + 1);
	if (!copy)
		return -ENOMEM;
	/* Read, not mapped: a file cut off under its mapping would end this process. */
	rc = pread(fd, copy, (size_t)st.st_size, 0) == st.st_size ? 0 : -EINVAL;
	if (!rc)
		rc = write_bytes(f, copy, (size_t)st.st_size, check, ctx);
	free(copy);
	return rc;
}

int vb_umad_file_write(const struct vb_umad_file *f, const struct vb_subnet_call *call,
		       const struct vb_fds *fds, vb_umad_check *check, void *ctx)
{
	return fds->cnt == 1 ? write_memory(f, fds->fd[0], check, ctx)
			     : write_bytes(f, call->body, call->len, check, ctx);
}
