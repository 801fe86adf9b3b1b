/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A cable between two fabrics of this host, see join.h: a tunnel (node/subnet/tunnel/tunnel.h)
 * whose addresses nobody has to think of. The mistakes that would leave it without traffic are
 * looked for before: nodes of the two fabrics with one GUID, and a router between subnets of one
 * prefix. IBA 4.1.1; FAB-06
 */
#include "cmd/fabric/join.h"

#include "node/subnet/client.h"
#include "node/subnet/view/view.h"
#include "wire/ib/hop.h"
#include "wire/mad/smp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define EXIT_FAILED 1
/* Between the choice of a port and its use another process may take it. */
#define TRIES 8
#define ADDRESS_TEXT 32

struct end {
	const struct vb_join_end *as;
	int sock; /* to the fabric's process; -1: there is none */
	struct vb_subnet_view view;
	char address[ADDRESS_TEXT];
};

static bool end_open(const struct vb_cmd *cmd, struct end *e)
{
	char why[256];

	e->sock = vb_subnet_dial(e->as->fabric, why, sizeof why);
	if (e->sock >= 0 &&
	    vb_subnet_view_get(e->sock, e->as->node, &e->view, why, sizeof why) == 0)
		return true;
	vb_cmd_error(cmd, "%s", why);
	return false;
}

static void end_close(struct end *e)
{
	vb_subnet_view_free(&e->view);
	if (e->sock >= 0)
		close(e->sock);
}

static int compare_guids(const void *a, const void *b)
{
	uint64_t x = **(const uint64_t *const *)a, y = **(const uint64_t *const *)b;

	return x < y ? -1 : x > y;
}

/* The GUID of a node of both fabrics, which no manager can tell apart; 0: there is none, or no
 * memory to look for one. */
static uint64_t common_guid(const struct vb_subnet_view *a, const struct vb_subnet_view *b)
{
	uint32_t cnt = a->head->node_cnt + b->head->node_cnt, n = 0;
	const uint64_t **guid = calloc(cnt + 1u, sizeof *guid);
	uint64_t found = 0;

	for (uint32_t i = 0; guid && i < a->head->node_cnt; i++)
		guid[n++] = &a->node[i].guid;
	for (uint32_t i = 0; guid && i < b->head->node_cnt; i++)
		guid[n++] = &b->node[i].guid;
	if (guid)
		qsort(guid, n, sizeof *guid, compare_guids);
	for (uint32_t i = 1; i < n && !found; i++)
		if (*guid[i] == *guid[i - 1])
			found = *guid[i];
	free(guid);
	return found;
}

static const char *name_of_guid(const struct vb_subnet_view *v, uint64_t guid)
{
	for (uint32_t i = 0; i < v->head->node_cnt; i++)
		if (v->node[i].guid == guid)
			return v->node[i].name;
	return "";
}

static bool guids_differ(const struct vb_cmd *cmd, const struct end *a, const struct end *b)
{
	uint64_t guid = common_guid(&a->view, &b->view);

	if (!guid)
		return true;
	vb_cmd_error(cmd,
		     "'%s' of '%s' and '%s' of '%s' have one GUID, 0x%016" PRIx64
		     "; 'up --part' gives each fabric others",
		     name_of_guid(&a->view, guid), a->as->fabric, name_of_guid(&b->view, guid),
		     b->as->fabric, guid);
	return false;
}

/* The prefixes that managers have set. Returns how many there are. */
static uint32_t prefixes_of(const struct vb_subnet_view *v, uint64_t prefix[VB_HOP_SUBNETS_MAX])
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < v->head->port_cnt && cnt < VB_HOP_SUBNETS_MAX; i++) {
		uint32_t k = 0;

		if (v->port[i].lid == 0 || v->port[i].guid == 0)
			continue;
		while (k < cnt && prefix[k] != v->port[i].prefix)
			k++;
		prefix[k] = v->port[i].prefix;
		cnt += k == cnt;
	}
	return cnt;
}

static bool end_is_router(const struct end *e)
{
	return e->view.node[e->view.head->chosen].type == VB_NODE_ROUTER;
}

/* A router leads from one prefix to another. */
static void prefixes_look_at(const struct vb_cmd *cmd, const struct end *a, const struct end *b)
{
	uint64_t of_a[VB_HOP_SUBNETS_MAX], of_b[VB_HOP_SUBNETS_MAX];
	uint32_t a_cnt = prefixes_of(&a->view, of_a), b_cnt = prefixes_of(&b->view, of_b);

	for (uint32_t i = 0; i < a_cnt; i++)
		for (uint32_t k = 0; k < b_cnt; k++)
			if (of_a[i] == of_b[k] && end_is_router(a) != end_is_router(b)) {
				vb_cmd_error(
				    cmd,
				    "note: '%s' and '%s' both have the prefix 0x%016" PRIx64
				    ", and routers lead from one prefix to another; 'up --sm "
				    "--prefix' gives each fabric its own",
				    a->as->fabric, b->as->fabric, of_a[i]);
				return;
			}
}

/* Two addresses of the loopback interface that nobody uses now. */
static int addresses_choose(struct end *const e[2])
{
	struct sockaddr_in a[2];
	int fd[2] = {-1, -1}, rc = 0;

	for (int i = 0; i < 2 && !rc; i++) {
		socklen_t len = sizeof a[i];

		a[i] = (struct sockaddr_in){.sin_family = AF_INET,
					    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		fd[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (fd[i] < 0 || bind(fd[i], (struct sockaddr *)&a[i], sizeof a[i]) ||
		    getsockname(fd[i], (struct sockaddr *)&a[i], &len))
			rc = -errno;
		else
			snprintf(e[i]->address, sizeof e[i]->address, "127.0.0.1:%u",
				 ntohs(a[i].sin_port));
	}
	for (int i = 0; i < 2; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	return rc;
}

/* A command about the end's port, with @more behind it. 0, or a negative errno with @why. */
static int end_command(const struct end *e, const char *word, const char *more, char *why,
		       size_t why_size)
{
	static struct vb_subnet_call call;
	struct vb_subnet_answer answer;
	char text[250];
	int rc;

	if ((size_t)snprintf(text, sizeof text, "%s %s %s%s", word, e->as->node, e->as->port,
			     more) >= sizeof text) {
		snprintf(why, why_size, "the arguments are too long");
		return -EINVAL;
	}
	vb_subnet_call_text(&call, VB_SUBNET_COMMAND, text);
	rc = vb_subnet_ask(e->sock, &call, -1, &answer, NULL);
	if (rc) {
		snprintf(why, why_size, "the fabric '%s' does not answer: %s", e->as->fabric,
			 strerror(-rc));
		return rc;
	}
	answer.text[sizeof answer.text - 1] = 0;
	if (answer.status)
		snprintf(why, why_size, "'%s': %s", e->as->fabric,
			 answer.text[0] ? answer.text : strerror(-answer.status));
	return answer.status;
}

static int tunnel_make(const struct end *e, const struct end *other, char *why, size_t why_size)
{
	char more[2 * ADDRESS_TEXT + 2];

	snprintf(more, sizeof more, " %s %s", e->address, other->address);
	return end_command(e, "tunnel", more, why, why_size);
}

/* Both ends, or neither. */
static int ends_join(struct end *const e[2], char *why, size_t why_size)
{
	char ignored[256];
	int rc = addresses_choose(e);

	if (rc) {
		snprintf(why, why_size, "no UDP port is free: %s", strerror(-rc));
		return rc;
	}
	rc = tunnel_make(e[0], e[1], why, why_size);
	if (rc)
		return rc;
	rc = tunnel_make(e[1], e[0], why, why_size);
	if (rc)
		(void)end_command(e[0], "untunnel", "", ignored, sizeof ignored);
	return rc;
}

int vb_fabric_join(const struct vb_cmd *cmd, const struct vb_join_end *a,
		   const struct vb_join_end *b)
{
	struct end one = {.as = a, .sock = -1}, other = {.as = b, .sock = -1};
	char why[512];
	bool ok;

	if (strcmp(a->fabric, b->fabric) == 0)
		return vb_cmd_usage(
		    cmd,
		    "'%s' is the fabric itself, whose cables the topology has; 'join' "
		    "is for two fabrics",
		    b->fabric);
	ok = end_open(cmd, &one) && end_open(cmd, &other) && guids_differ(cmd, &one, &other);
	if (ok) {
		int rc = -EADDRINUSE;

		for (int i = 0; i < TRIES && rc == -EADDRINUSE; i++)
			rc = ends_join((struct end *[2]){&one, &other}, why, sizeof why);
		if (rc)
			vb_cmd_error(cmd, "%s", why);
		else
			prefixes_look_at(cmd, &one, &other);
		ok = rc == 0;
	}
	end_close(&one);
	end_close(&other);
	return ok ? 0 : EXIT_FAILED;
}
