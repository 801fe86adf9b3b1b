/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One simulation over several ranks comes to the run in one piece: cases of test_sim_parts.c. The
 * ranks are threads here, each with a simulation and a load of its own, and share nothing but the
 * bytes that they exchange. case_sim_ranks.py has processes and MPI.
 */
#include "sim_parts_env.h"

#include "scenario/cores/ranks.h"

#include <errno.h>
#include <pthread.h>

#define RANKS_MAX 4u
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define CASES 3u
#define FOLLOWING 8u
#else
#define CASES 8u
#define FOLLOWING 24u
#endif

/* The bytes under way: from each rank to each. */
static struct {
	pthread_barrier_t barrier;
	struct vb_rank_parcel at[RANKS_MAX][RANKS_MAX];
	struct vb_rank_parcel kept[RANKS_MAX][RANKS_MAX];
	uint32_t cnt;
	const struct parts_case *c;
	struct parts_end *end; /* of rank 0 */
	bool is_wrong;         /* a rank has another seed */
	int err[RANKS_MAX];
} all;

static int exchange(void *ctx, const struct vb_rank_parcel *to, struct vb_rank_parcel *from)
{
	uint32_t rank = *(uint32_t *)ctx;

	memcpy(all.at[rank], to, all.cnt * sizeof *to);
	pthread_barrier_wait(&all.barrier);
	for (uint32_t i = 0; i < all.cnt; i++) {
		struct vb_rank_parcel *p = &all.kept[rank][i];

		free(p->p);
		*p = (struct vb_rank_parcel){malloc(all.at[i][rank].len + 1), all.at[i][rank].len};
		assert_non_null(p->p);
		if (p->len)
			memcpy(p->p, all.at[i][rank].p, p->len);
		from[i] = *p;
	}
	pthread_barrier_wait(&all.barrier);
	return 0;
}

/* As parts_play(), of one rank. */
static void *rank_main(void *ctx)
{
	uint32_t rank = *(uint32_t *)ctx;
	const struct vb_rank_link link = {rank, all.cnt, exchange, ctx};
	struct vb_sim_config cfg = parts_config(all.c);
	const struct vb_load_config load = parts_load(all.c);
	struct parts_list list = {.rng = {all.c->seed}, .of_datagrams = all.c->type == VB_QPT_UD};
	const struct vb_load_list items = {parts_list_next, &list};
	struct vb_load_pattern p = all.c->p;
	uint16_t part_of[4096];
	struct vb_load *l;
	struct net n;

	parts_topology(&n.topo, all.c);
	cfg.seed += all.is_wrong * rank;
	cfg.part_cnt = vb_sim_partition(&n.topo, all.cnt, NULL, part_of);
	cfg.part_of = part_of;
	net_open(&n, &cfg);
	parts_disturb(&n, all.c);
	assert_int_equal(vb_load_create(&l, n.sim, &load, &net_memory), 0);
	list.hosts = n.topo.host_cnt;
	p.list = &items;
	if (rank == 0) {
		vb_load_watch_past(l, parts_past, all.end);
		assert_int_equal(vb_tally_keep(l), 0);
	}
	assert_int_equal(vb_load_add(l, &p), 0);
	all.err[rank] = vb_ranks_run(n.sim, l, 500000, &link, &net_memory, NULL);
	if (rank == 0 && !all.err[0]) {
		assert_int_equal(vb_sim_run(n.sim, 500000), 0); /* time passes */
		parts_note(all.end, l, n.sim);
	}
	vb_load_destroy(l);
	net_close(&n);
	return NULL;
}

static void ranks_play(const struct parts_case *c, uint32_t ranks, struct parts_end *e)
{
	uint32_t number[RANKS_MAX] = {0, 1, 2, 3};
	pthread_t thread[RANKS_MAX];

	memset(e, 0, sizeof *e);
	all.c = c;
	all.cnt = ranks;
	all.end = e;
	assert_int_equal(pthread_barrier_init(&all.barrier, NULL, ranks), 0);
	for (uint32_t i = 0; i < ranks; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, rank_main, &number[i]), 0);
	for (uint32_t i = 0; i < ranks; i++)
		pthread_join(thread[i], NULL);
	pthread_barrier_destroy(&all.barrier);
	for (uint32_t i = 0; i < RANKS_MAX; i++)
		for (uint32_t k = 0; k < RANKS_MAX; k++) {
			free(all.kept[i][k].p);
			all.kept[i][k] = (struct vb_rank_parcel){NULL, 0};
		}
}

/* The end as it is of a run in one piece, which runs on to the same time. */
static bool one_play(const struct parts_case *c, uint32_t ranks, struct parts_end *e)
{
	static uint16_t part_of[4096];
	struct vb_sim_topo t;
	uint32_t cnt;

	parts_topology(&t, c);
	cnt = vb_sim_partition(&t, ranks, NULL, part_of);
	vb_sim_topo_free(&t);
	if (cnt != ranks)
		return false;
	(void)parts_play(c, 1, vb_sim_run, e);
	return true;
}

static void case_compare(struct parts_case c, struct parts_end *one, struct parts_end *many,
			 uint32_t *cut)
{
	c.changes = c.stops = false;
	for (uint32_t ranks = 2; ranks <= 3; ranks++) {
		if (!one_play(&c, ranks, one))
			continue;
		ranks_play(&c, ranks, many);
		for (uint32_t i = 0; i < ranks; i++)
			assert_int_equal(all.err[i], 0);
		assert_int_equal(one->r.digest, many->r.digest);
		parts_compare(one, many);
		++*cut;
	}
}

static void run__of_ranks_is_the_run_in_one_piece(void **state)
{
	struct parts_end *one = malloc(sizeof *one), *many = malloc(sizeof *many);
	uint32_t cut = 0;

	(void)state;
	assert_true(one && many);
	for (uint64_t seed = 1; seed <= CASES; seed++)
		case_compare(parts_case_of(seed), one, many, &cut);
	for (uint64_t seed = 1; seed <= FOLLOWING; seed++)
		case_compare(parts_case_following(seed), one, many, &cut);
	print_message("%u cuts\n", cut);
	assert_true(cut > CASES + FOLLOWING);
	free(one);
	free(many);
}

static void ranks__that_differ_end(void **state)
{
	struct parts_end *e = malloc(sizeof *e);
	struct parts_case c = parts_case_of(1);

	(void)state;
	assert_non_null(e);
	c.shape = 5;
	all.is_wrong = true;
	ranks_play(&c, 2, e);
	assert_int_equal(all.err[0], -EPROTO);
	assert_int_equal(all.err[1], -EPROTO);
	all.is_wrong = false;
	/* Packets lost with a cable would lie at both ends. */
	c.changes = true;
	ranks_play(&c, 2, e);
	assert_int_equal(all.err[0], -ENOTSUP);
	free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(run__of_ranks_is_the_run_in_one_piece),
	    cmocka_unit_test(ranks__that_differ_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
