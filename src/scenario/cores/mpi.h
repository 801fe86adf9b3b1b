/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of libverbena.d/verbena-mpi.so. See mpi.c. */
#ifndef VB_SCENARIO_CORES_MPI_H
#define VB_SCENARIO_CORES_MPI_H

#include "scenario/cores/ranks.h"

#define VB_MPI_OPEN "verbena_mpi_open"
#define VB_MPI_CLOSE "verbena_mpi_close"

/* Begins with MPI. Without a launcher there is one rank. 0 or a negative errno. */
int verbena_mpi_open(struct vb_rank_link *link);
/* Ends with it; with a @status that is not 0 for all ranks, and at once. */
void verbena_mpi_close(int status);

#endif
