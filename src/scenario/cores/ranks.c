/* SPDX-License-Identifier: BSD-2-Clause */
/* The run of one rank: windows, with an exchange behind each. See ranks.h. */
#include "scenario/cores/ranks.h"

#include "sim/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* All ranks have to be the same program with the same simulation: the first bytes of all. */
struct greeting {
	uint64_t seed, hosts, ports, parts, frame, flow, until;
};

struct ranks {
	struct vb_sim *sim;
	struct vb_load *load;
	const struct vb_rank_link *link;
	struct vb_rank_bytes *out; /* for each rank */
	struct vb_rank_parcel *to, *from;
};

static int bytes_exchange(struct ranks *r)
{
	for (uint32_t i = 0; i < r->link->cnt; i++) {
		if (r->out[i].ran_out)
			return -ENOMEM;
		r->to[i] = (struct vb_rank_parcel){r->out[i].p, r->out[i].len};
	}
	return r->link->exchange(r->link->ctx, r->to, r->from);
}

static int greetings_exchange(struct ranks *r, vb_time until)
{
	struct greeting g;
	int err;

	memset(&g, 0, sizeof g);
	g = (struct greeting){.seed = vb_sim_seed(r->sim),
			      .hosts = vb_sim_host_cnt(r->sim),
			      .ports = vb_sim_port_cnt(r->sim),
			      .parts = vb_sim_part_cnt(r->sim),
			      .frame = sizeof(struct vb_frame),
			      .flow = sizeof(struct vb_flow),
			      .until = until};
	for (uint32_t i = 0; i < r->link->cnt; i++) {
		r->out[i].len = 0;
		vb_rank_put(&r->out[i], &g, sizeof g);
	}
	err = bytes_exchange(r);
	for (uint32_t i = 0; !err && i < r->link->cnt; i++)
		if (r->from[i].len != sizeof g || memcmp(r->from[i].p, &g, sizeof g) != 0)
			err = -EPROTO;
	return err;
}

static int window_exchange(struct ranks *r)
{
	int err;

	for (uint32_t i = 0; i < r->link->cnt; i++) {
		r->out[i].len = 0;
		if (i == r->link->rank)
			continue;
		vb_sim_rank_pack(r->sim, i, &r->out[i]);
		vb_load_rank_pack(r->load, &r->out[i]);
	}
	err = bytes_exchange(r);
	for (uint32_t i = 0; !err && i < r->link->cnt; i++) {
		struct vb_rank_reader in = {.p = r->from[i].p, .left = r->from[i].len};

		if (i == r->link->rank)
			continue;
		vb_sim_rank_unpack(r->sim, i, &in);
		vb_load_rank_unpack(r->load, i, &in);
		if (in.is_bad || in.left)
			err = -EPROTO;
	}
	return err;
}

/* Rank 0 gets the counts of all. */
static int counts_exchange(struct ranks *r)
{
	int err;

	for (uint32_t i = 0; i < r->link->cnt; i++)
		r->out[i].len = 0;
	if (r->link->rank != 0) {
		vb_sim_rank_pack_counts(r->sim, &r->out[0]);
		vb_load_rank_pack_counts(r->load, &r->out[0]);
	}
	err = bytes_exchange(r);
	for (uint32_t i = 1; !err && r->link->rank == 0 && i < r->link->cnt; i++) {
		struct vb_rank_reader in = {.p = r->from[i].p, .left = r->from[i].len};

		vb_sim_rank_unpack_counts(r->sim, i, &in);
		err = vb_load_rank_unpack_counts(r->load, i, &in);
		if (!err && (in.is_bad || in.left))
			err = -EPROTO;
	}
	return err;
}

static int windows_run(struct ranks *r, vb_time until, const struct vb_team_watch *watch)
{
	int err = greetings_exchange(r, until);

	if (err)
		return err;
	vb_sim_parts_begin(r->sim, until);
	while (!err && vb_sim_parts_plan(r->sim)) {
		vb_sim_part_run(r->sim, r->link->rank);
		err = window_exchange(r);
		if (watch && watch->on_window)
			watch->on_window(watch->ctx);
	}
	if (!err)
		err = vb_sim_parts_end(r->sim);
	return err ? err : counts_exchange(r);
}

int vb_ranks_run(struct vb_sim *s, struct vb_load *l, vb_time until,
		 const struct vb_rank_link *link, const struct vb_sim_memory *memory,
		 const struct vb_team_watch *watch)
{
	struct ranks r = {.sim = s, .load = l, .link = link};
	int err = vb_sim_set_rank(s, link->rank);

	if (err)
		return err;
	r.out = calloc(link->cnt, sizeof *r.out);
	r.to = calloc(link->cnt, sizeof *r.to);
	r.from = calloc(link->cnt, sizeof *r.from);
	for (uint32_t i = 0; r.out && i < link->cnt; i++)
		r.out[i].memory = *memory;
	err = r.out && r.to && r.from ? windows_run(&r, until, watch) : -ENOMEM;
	for (uint32_t i = 0; r.out && i < link->cnt; i++)
		vb_rank_bytes_free(&r.out[i]);
	free(r.out);
	free(r.to);
	free(r.from);
	return err;
}
