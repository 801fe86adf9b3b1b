/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The world of programs.c: two hosts, each with a machine of programs' connections, the files and
 * ids that its programs have, and what the model knows of them.
 */
#ifndef VB_TEST_PROGRAMS_H
#define VB_TEST_PROGRAMS_H

#include "base/rng.h"
#include "ucma/abi.h"
#include "ucma/command/ahead.h"
#include "ucma/keep/keep.h"
#include "ucma/view.h"

#include <stdio.h>
#include <stdlib.h>

#define HOSTS 2
#define FILES 3
#define IDS 64
#define ACTIVE 24 /* of them, those that programs go on with */
#define PACKETS 256
#define STEPS 600
#define PORTS 3

enum state { NONE, IDLE, BOUND, RESOLVED, ROUTED, CONNECTING, LISTENING, REQUESTED };

/* An id as the programs know it; its place in the table is its number. */
struct model_id {
	enum state state;
	uint32_t file, taken; /* its file; its events that were taken */
	uint32_t seen;        /* bit n: event n was taken */
	uint64_t uid;
	bool is_ud;
	bool is_told;   /* how connecting ended */
	bool is_broken; /* the machine was killed while it was being made: UNREACHABLE is what comes
			 */
};

/* The answers about an id that were read ahead. */
struct ahead {
	bool is_there;
	uint32_t version, len;
	uint8_t bytes[VB_UCMA_AHEAD_MAX];
};

struct host {
	struct vb_ucma *u;
	struct programs_kept *kept; /* the state that outlives it */
	struct vb_ucma_file *file[FILES];
	struct model_id id[IDS];
	uint32_t version[IDS];
	struct ahead ahead[IDS];
	uint8_t address;
	uint32_t blocks, base_blocks, restarts;
};

struct packet {
	vb_time due;
	struct vb_path path;
	uint16_t pkey;
	uint8_t mad[VB_MAD_LEN];
};

struct program_world {
	uint64_t seed, uid_next, told;
	struct vb_rng rng;
	struct host host[HOSTS];
	struct packet packet[PACKETS];
	uint32_t packet_cnt;
	uint32_t loss, doubled, killed; /* of 100 */
	vb_time now;
};

#define PROGRAM_CHECK(w, cond)                                                                     \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: %s; programs of seed %llu\n", __FILE__, __LINE__,  \
				#cond, (unsigned long long)(w)->seed);                             \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* A machine of @h without files and records. */
void programs_machine_open(struct program_world *w, struct host *h);
/* An open file of it. */
void programs_file_open(struct program_world *w, struct host *h, uint32_t file);

/* From now on what @h does is kept: programs_restart.c. */
void programs_keep_begin(struct program_world *w, struct host *h);
void programs_keep_end(struct host *h);
/* How the ids of @h stand, all of which is kept; a kill may come before anything else is. */
void programs_foresee(struct program_world *w, struct host *h);
/* The machine is killed, and another one goes on from where all was foreseen. */
void programs_restart(struct program_world *w, struct host *h);

#endif
