/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines about tunnels, for `verbena fabric show`; see tunnel.h. */
#include "node/subnet/tunnel/tunnel.h"

#include <inttypes.h>

static void print_far(const struct vb_tunnel_entry *e, FILE *out)
{
	fprintf(out, "      behind it: lid %-5u 0x%016" PRIx64, e->lid, e->guid);
	if (e->ipv4)
		fprintf(out, " %u.%u.%u.%u", e->ipv4 >> 24, e->ipv4 >> 16 & 0xff,
			e->ipv4 >> 8 & 0xff, e->ipv4 & 0xff);
	if (e->hops)
		fprintf(out, " through %u more tunnel%s", e->hops, e->hops > 1 ? "s" : "");
	fputc('\n', out);
}

static void print_lost(const struct vb_subnet_tunnel *t, FILE *out)
{
	const uint64_t *n = t->end.cnt;

	if (n[VB_TUNNEL_MALFORMED] + t->wrong)
		fprintf(out, ", %" PRIu64 " malformed", n[VB_TUNNEL_MALFORMED] + t->wrong);
	if (n[VB_TUNNEL_FOREIGN])
		fprintf(out, ", %" PRIu64 " not for us", n[VB_TUNNEL_FOREIGN]);
	if (n[VB_TUNNEL_LATE])
		fprintf(out, ", %" PRIu64 " late", n[VB_TUNNEL_LATE]);
	if (t->unsent)
		fprintf(out, ", %" PRIu64 " not sent", t->unsent);
}

void vb_subnet_tunnel_print(const struct vb_subnet_tunnel *t, FILE *out)
{
	fprintf(out, "-> tunnel %s to %s: ", t->local, t->peer);
	if (t->is_twin)
		fprintf(out,
			"the GUID 0x%016" PRIx64 " of '%s' there is one of this fabric, too; "
			"'up --part' gives each fabric others",
			t->end.theirs.guid, t->end.theirs.name);
	else if (!t->end.is_met)
		fprintf(out, "nobody answers");
	else if (t->end.theirs.port)
		fprintf(out, "%s port %u", t->end.theirs.name, t->end.theirs.port);
	else
		fprintf(out, "somebody is there");
	print_lost(t, out);
	for (uint32_t i = 0; !t->is_twin && i < t->table.theirs.cnt; i++) {
		if (i == 0)
			fputc('\n', out);
		print_far(&t->table.theirs.entry[i], out);
	}
	if (t->is_twin || t->table.theirs.cnt == 0)
		fputc('\n', out);
}
