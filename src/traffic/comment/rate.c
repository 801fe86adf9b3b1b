/* SPDX-License-Identifier: BSD-2-Clause */
/* Rates of QPs in words, and back. See rate.h. */
#include "traffic/comment/rate.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MARK "dcqcn: "
#define ALPHA_MAX 1023u

static void write_gid(const struct vb_gid *gid, char *to, socklen_t size)
{
	bool old = vb_gid_is_ipv4(gid);

	if (!inet_ntop(old ? AF_INET : AF_INET6, gid->b + (old ? 12 : 0), to, size))
		*to = 0;
}

static bool read_gid(const char *text, struct vb_gid *to)
{
	char mapped[64];

	snprintf(mapped, sizeof mapped, "%s%s", strchr(text, ':') ? "" : "::ffff:", text);
	return inet_pton(AF_INET6, mapped, to->b) == 1;
}

void vb_rate_comment(const struct vb_rate_note *n, char text[VB_RATE_COMMENT_MAX])
{
	char gid[INET6_ADDRSTRLEN];

	write_gid(&n->gid, gid, sizeof gid);
	snprintf(text, VB_RATE_COMMENT_MAX,
		 MARK "%s QP 0x%06" PRIx32 " rate %" PRIu32 ".%03" PRIu32 " Mb/s target %" PRIu32
		      ".%03" PRIu32 " Mb/s alpha %" PRIu32 "/1024, %" PRIu64 " ns before",
		 gid, n->qpn, n->rate_kbps / 1000, n->rate_kbps % 1000, n->target_kbps / 1000,
		 n->target_kbps % 1000, n->alpha, n->before);
}

/* Numbers that do not fit are another program's. */
static bool read_line(const char *line, struct vb_rate_note *to)
{
	char gid[INET6_ADDRSTRLEN];
	uint32_t rate[2], target[2];
	int end = 0;

	if (sscanf(line,
		   MARK "%45s QP 0x%6" SCNx32 " rate %7" SCNu32 ".%3" SCNu32
			" Mb/s target %7" SCNu32 ".%3" SCNu32 " Mb/s alpha %4" SCNu32
			"/1024, %18" SCNu64 " ns before%n",
		   gid, &to->qpn, &rate[0], &rate[1], &target[0], &target[1], &to->alpha,
		   &to->before, &end) != 8 ||
	    !end || rate[0] > UINT32_MAX / 1000 - 1 || target[0] > UINT32_MAX / 1000 - 1 ||
	    to->alpha > ALPHA_MAX)
		return false;
	to->rate_kbps = rate[0] * 1000 + rate[1];
	to->target_kbps = target[0] * 1000 + target[1];
	return read_gid(gid, &to->gid);
}

bool vb_rate_comment_read(const char **comments, struct vb_rate_note *to)
{
	while (**comments) {
		const char *line = *comments, *end = strchr(line, '\n');

		*comments = end ? end + 1 : line + strlen(line);
		if (strncmp(line, MARK, strlen(MARK)) == 0 && read_line(line, to))
			return true;
	}
	return false;
}
