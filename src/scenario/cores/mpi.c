/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The link of ranks by MPI: libverbena.d/verbena-mpi.so, which `verbena sim --ranks` opens. It is
 * built where there are MPI's headers, and nothing else is linked with MPI. MPI ends all ranks when
 * one fails in it; the launcher does when one dies. MPI 4.0, 6.8 (MPI_Alltoallv).
 */
#include "scenario/cores/mpi.h"

#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

struct reach {
	int cnt;
	unsigned long long *sizes[2]; /* to each rank, and from each */
	int *len[2], *at[2];
	uint8_t *bytes[2];
	size_t cap[2];
};

static struct reach reach;

/* Places bytes of @r->len[side] one behind the other, with room for them. */
static int room_make(struct reach *r, int side)
{
	size_t sum = 0;

	for (int i = 0; i < r->cnt; i++) {
		if (r->sizes[side][i] > INT_MAX || sum + r->sizes[side][i] > INT_MAX)
			return -EMSGSIZE;
		r->len[side][i] = (int)r->sizes[side][i];
		r->at[side][i] = (int)sum;
		sum += r->sizes[side][i];
	}
	if (sum <= r->cap[side])
		return 0;
	free(r->bytes[side]);
	r->cap[side] = 2 * sum;
	r->bytes[side] = malloc(r->cap[side]);
	if (!r->bytes[side])
		r->cap[side] = 0;
	return r->bytes[side] ? 0 : -ENOMEM;
}

static int ranks_exchange(void *ctx, const struct vb_rank_parcel *to, struct vb_rank_parcel *from)
{
	struct reach *r = ctx;
	int err;

	for (int i = 0; i < r->cnt; i++)
		r->sizes[0][i] = to[i].len;
	MPI_Alltoall(r->sizes[0], 1, MPI_UNSIGNED_LONG_LONG, r->sizes[1], 1, MPI_UNSIGNED_LONG_LONG,
		     MPI_COMM_WORLD);
	err = room_make(r, 0);
	if (!err)
		err = room_make(r, 1);
	if (err)
		return err;
	for (int i = 0; i < r->cnt; i++)
		if (to[i].len)
			memcpy(r->bytes[0] + r->at[0][i], to[i].p, to[i].len);
	MPI_Alltoallv(r->bytes[0], r->len[0], r->at[0], MPI_BYTE, r->bytes[1], r->len[1], r->at[1],
		      MPI_BYTE, MPI_COMM_WORLD);
	for (int i = 0; i < r->cnt; i++)
		from[i] = (struct vb_rank_parcel){r->bytes[1] ? r->bytes[1] + r->at[1][i] : NULL,
						  (size_t)r->len[1][i]};
	return 0;
}

int verbena_mpi_open(struct vb_rank_link *link)
{
	struct reach *r = &reach;
	int rank;

	if (MPI_Init(NULL, NULL) != MPI_SUCCESS)
		return -EIO;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &r->cnt);
	for (int side = 0; side < 2; side++) {
		r->sizes[side] = calloc((size_t)r->cnt, sizeof *r->sizes[side]);
		r->len[side] = calloc((size_t)r->cnt, sizeof *r->len[side]);
		r->at[side] = calloc((size_t)r->cnt, sizeof *r->at[side]);
		if (!r->sizes[side] || !r->len[side] || !r->at[side])
			return -ENOMEM;
	}
	*link = (struct vb_rank_link){
	    .rank = (uint32_t)rank, .cnt = (uint32_t)r->cnt, .exchange = ranks_exchange, .ctx = r};
	return 0;
}

void verbena_mpi_close(int status)
{
	struct reach *r = &reach;

	/* The others wait for this one. */
	if (status)
		MPI_Abort(MPI_COMM_WORLD, status);
	MPI_Finalize();
	for (int side = 0; side < 2; side++) {
		free(r->sizes[side]);
		free(r->len[side]);
		free(r->at[side]);
		free(r->bytes[side]);
	}
}
