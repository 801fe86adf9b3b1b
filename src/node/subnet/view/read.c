/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a view of a fabric from its process, see view.h. The numbers in it lead from record to
 * record, so each is checked once, here. */
#include "node/subnet/view/view.h"

#include "node/subnet/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VIEW_LEN_MAX ((off_t)4 << 30)

static bool text_ends(const char *text, size_t size)
{
	return memchr(text, 0, size) != NULL;
}

static bool node_is_good(const struct vb_subnet_view *v, uint32_t i, uint32_t first)
{
	const struct vb_subnet_view_node *n = &v->node[i];

	return n->first_port == first && text_ends(n->name, sizeof n->name) &&
	       text_ends(n->description, sizeof n->description) &&
	       (uint64_t)n->lft_at + n->lft_cnt <= v->head->lft_len;
}

static bool port_is_good(const struct vb_subnet_view *v, uint32_t i, uint32_t node, uint32_t number)
{
	const struct vb_subnet_view_port *p = &v->port[i];

	return p->node == node && p->number == number &&
	       (p->peer == VB_IB_NOWHERE || p->peer < v->head->port_cnt) &&
	       (!p->tunnel || p->tunnel < v->head->text_len);
}

static bool records_are_good(const struct vb_subnet_view *v)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < v->head->node_cnt; i++) {
		if (!node_is_good(v, i, at) || v->node[i].port_cnt >= v->head->port_cnt - at)
			return false;
		for (uint32_t p = 0; p <= v->node[i].port_cnt; p++, at++)
			if (!port_is_good(v, at, i, p))
				return false;
	}
	return at == v->head->port_cnt;
}

bool vb_subnet_view_parse(struct vb_subnet_view *v, const void *bytes, size_t len)
{
	const struct vb_subnet_view_head *h = bytes;
	uint64_t whole;

	if (len < sizeof *h || h->magic != VB_SUBNET_VIEW_MAGIC ||
	    h->version != VB_SUBNET_VIEW_VERSION)
		return false;
	whole = sizeof *h + (uint64_t)h->node_cnt * sizeof *v->node +
		(uint64_t)h->port_cnt * sizeof *v->port + (uint64_t)h->lft_len + h->text_len;
	if (whole != len || !text_ends(h->name, sizeof h->name) || h->text_len == 0 ||
	    (h->chosen != VB_IB_NOWHERE && h->chosen >= h->node_cnt))
		return false;
	*v = (struct vb_subnet_view){.head = h};
	v->node = (const void *)(h + 1);
	v->port = (const void *)(v->node + h->node_cnt);
	v->lft = (const void *)(v->port + h->port_cnt);
	v->text = (const char *)v->lft + h->lft_len;
	return v->text[h->text_len - 1] == 0 && records_are_good(v);
}

void vb_subnet_view_free(struct vb_subnet_view *v)
{
	free(v->memory);
	*v = (struct vb_subnet_view){0};
}

/* All that the command has printed. The caller frees it. */
static int output_read(int fd, void **bytes, size_t *len)
{
	struct stat st;
	size_t at = 0;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_size < 0 || st.st_size > VIEW_LEN_MAX)
		return -EPROTO;
	*len = (size_t)st.st_size;
	*bytes = malloc(*len + 1);
	if (!*bytes)
		return -ENOMEM;
	while (at < *len) {
		ssize_t n = pread(fd, (char *)*bytes + at, *len - at, (off_t)at);

		if (n <= 0) {
			free(*bytes);
			return n ? -EIO : -EPROTO;
		}
		at += (size_t)n;
	}
	return 0;
}

static int command_ask(int sock, const char *command, void **bytes, size_t *len, char *why,
		       size_t why_size)
{
	static struct vb_subnet_call call;
	struct vb_subnet_answer answer;
	struct vb_fds fds = {.cnt = 0};
	int rc;

	vb_subnet_call_text(&call, VB_SUBNET_COMMAND, command);
	rc = vb_subnet_ask(sock, &call, -1, &answer, &fds);
	if (rc)
		snprintf(why, why_size, "the fabric does not answer: %s", strerror(-rc));
	else if (answer.status) {
		answer.text[sizeof answer.text - 1] = 0;
		snprintf(why, why_size, "%s",
			 answer.text[0] ? answer.text : strerror(-answer.status));
		rc = answer.status;
	}
	if (!rc && fds.cnt == 1)
		rc = output_read(fds.fd[0], bytes, len);
	else if (!rc)
		rc = -EPROTO;
	if (rc && !*why)
		snprintf(why, why_size, "the fabric's answer: %s", strerror(-rc));
	vb_fds_close(&fds);
	return rc;
}

int vb_subnet_view_get(int sock, const char *name, struct vb_subnet_view *v, char *why,
		       size_t why_size)
{
	char command[sizeof((struct vb_subnet_call *)NULL)->text];
	void *bytes = NULL;
	size_t len = 0;
	int rc;

	*why = 0;
	if ((size_t)snprintf(command, sizeof command, "view%s%s", name ? " " : "",
			     name ? name : "") >= sizeof command) {
		snprintf(why, why_size, "'%.40s' and more is no name of a node", name);
		return -ENOENT;
	}
	rc = command_ask(sock, command, &bytes, &len, why, why_size);
	if (rc)
		return rc;
	if (!vb_subnet_view_parse(v, bytes, len)) {
		snprintf(why, why_size, "the fabric runs another version of Verbena");
		free(bytes);
		return -EPROTO;
	}
	v->memory = bytes;
	return 0;
}

int vb_subnet_way_get(int sock, const struct vb_subnet_way_key *key, struct vb_path_view *v,
		      char *why, size_t why_size)
{
	char command[96];
	void *bytes = NULL;
	size_t len = 0;
	int rc;

	*why = 0;
	snprintf(command, sizeof command, "way %u %u %u %u %u", key->from, key->to, key->sl,
		 key->path_bits, key->pkey);
	rc = command_ask(sock, command, &bytes, &len, why, why_size);
	if (rc)
		return rc;
	if (len == sizeof *v) {
		memcpy(v, bytes, len);
		vb_path_heal(v);
	} else {
		snprintf(why, why_size, "the fabric runs another version of Verbena");
		rc = -EPROTO;
	}
	free(bytes);
	return rc;
}
