/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as captures (src/traffic): a file, or two with a length between. The result
 * holds together: every step is of a connection, ends not before it begins and lies within the
 * capture, and no sum is larger than the one it is part of.
 *
 * Input: 4 bytes, the length of the first capture; then both.
 */
#include "traffic/traffic.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len);

#define require(cond)                                                                              \
	do {                                                                                       \
		if (!(cond))                                                                       \
			abort();                                                                   \
	} while (0)

static void read_capture(struct vb_traffic *t, const uint8_t *in, size_t len)
{
	char why[200] = "";
	FILE *f = len ? fmemopen((void *)(uintptr_t)in, len, "r") : NULL;
	int rc = f ? vb_traffic_read(t, f, why, sizeof why) : 0;

	require(rc <= 0 && (rc == 0 || why[0]));
	if (f)
		fclose(f);
}

static void check_steps(const struct vb_traffic *t)
{
	for (uint32_t i = 0; i < vb_traffic_step_cnt(t); i++) {
		const struct vb_step *s = vb_traffic_step(t, i);
		struct vb_step_ends e;

		require(s->connection < vb_traffic_connection_cnt(t) && s->side <= 1);
		require(s->at <= s->end && s->at <= vb_traffic_length(t));
		vb_traffic_ends(t, s->connection, &e);
		require(e.host[0] < vb_traffic_host_cnt(t) && e.host[1] < vb_traffic_host_cnt(t));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len)
{
	struct vb_traffic *t = vb_traffic_new();
	const struct vb_traffic_sums *n = vb_traffic_sums(t);
	uint32_t first;

	require(t);
	if (len >= 4) {
		memcpy(&first, in, 4);
		in += 4;
		len -= 4;
		first = first < len ? first : (uint32_t)len;
		read_capture(t, in, first);
		read_capture(t, in + first, len - first);
		require(vb_traffic_play(t) == 0);
		check_steps(t);
		require(n->resent <= n->packets && n->cnps <= n->packets);
		require(n->lost + n->lost_to_faults <= n->packets);
	}
	vb_traffic_free(t);
	return 0;
}
