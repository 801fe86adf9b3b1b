/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections of RDMA CM at the nodes of an InfiniBand fabric, as its process sees them. */
#include "cmd/explain/explain.h"

#include "cmd/json.h"
#include "explain/connection.h"
#include "node/host/clock.h"
#include "node/subnet/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Asks for them. Returns a descriptor of what comes back, or a negative errno with @why. */
static int connections_ask(const char *name, char *why, size_t why_size)
{
	static struct vb_subnet_call call;
	struct vb_subnet_answer answer = {.status = 0};
	struct vb_fds fds = {.cnt = 0};
	int sock = vb_subnet_dial(name, why, why_size), rc;

	if (sock < 0)
		return sock;
	vb_subnet_call_text(&call, VB_SUBNET_COMMAND, "connections");
	rc = vb_subnet_ask(sock, &call, -1, &answer, &fds);
	close(sock);
	if (!rc)
		rc = answer.status;
	if (!rc && fds.cnt == 1)
		return fds.fd[0];
	vb_fds_close(&fds);
	snprintf(why, why_size, "the fabric '%s' does not say: %s", name,
		 strerror(rc ? -rc : EPROTO));
	return rc ? rc : -EPROTO;
}

static void case_take(struct vb_cm_case *k, const struct vb_subnet_connection *s, vb_time now)
{
	static struct vb_explanation why;
	char node[sizeof s->node];

	k->view = s->view;
	memcpy(node, s->node, sizeof node);
	node[sizeof node - 1] = 0;
	vb_printable(k->user, sizeof k->user, s->view.user);
	vb_printable(k->device, sizeof k->device, node);
	vb_explain_connection(&k->view, now, &why);
	k->rank = why.rank;
}

int vb_explain_fabric_gather(struct vb_qp_cases *c, const char *name, char *why, size_t why_size)
{
	struct vb_subnet_connection s;
	struct stat st;
	off_t at = 0;
	int fd = connections_ask(name, why, why_size);

	if (fd < 0)
		return fd;
	c->now = vb_clock_now();
	c->cm = fstat(fd, &st) ? NULL : calloc((size_t)st.st_size / sizeof s + 1, sizeof *c->cm);
	for (; c->cm && at < st.st_size && pread(fd, &s, sizeof s, at) == (ssize_t)sizeof s;
	     at += (off_t)sizeof s)
		case_take(&c->cm[c->cm_cnt++], &s, c->now);
	close(fd);
	if (!c->cm) {
		snprintf(why, why_size, "out of memory");
		return -ENOMEM;
	}
	vb_explain_cm_sort(c);
	return 0;
}
