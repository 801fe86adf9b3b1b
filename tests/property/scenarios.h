/* SPDX-License-Identifier: BSD-2-Clause */
/* The scenarios that main.c runs; each returns the number of completions it judged. */
#ifndef VB_TESTS_PROPERTY_SCENARIOS_H
#define VB_TESTS_PROPERTY_SCENARIOS_H

#include <stdbool.h>
#include <stdint.h>

/* One world made from @seed: random.c. */
uint64_t scenario_run(uint64_t seed, bool verbose);
/* One connection that breaks: breakage.c. */
uint64_t breakage_run(uint64_t seed);
/* A UC connection or a pair of UD QPs: datagram.c. */
uint64_t datagram_run(uint64_t seed);
/* Connections made and ended by two connection managers: connections.c. Returns how often both ends
 * of one were found established. */
uint64_t connections_run(uint64_t seed);
/* Programs that write any commands to two RDMA connection managers: programs.c. Returns how many of
 * their ids were told how connecting ended. */
uint64_t programs_run(uint64_t seed);
/* Two ends that count in each other's memory by @requests requests each: atomics.c. Adds the
 * atomics that were posted, and whether a QP gave up, which ends a run. */
uint64_t atomics_run(uint64_t seed, uint64_t requests, uint64_t *atomics, uint64_t *gave_up);
/* A connection whose resends are watched: resend.c. */
uint64_t resend_run(uint64_t seed);
/* Management datagrams, also of many segments, between the agents of two ports: messages.c. Returns
 * how many requests were answered. */
uint64_t messages_run(uint64_t seed);
/* A very long one. */
uint64_t messages_long_run(uint64_t seed);
/* All masks of lost, doubled and late packets over small exchanges: masks.c. */
uint64_t masks_run_all(void);

#endif
