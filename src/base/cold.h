/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions for what happens rarely. A connection without trouble does not call those that are
 * VB_COLD: compilers expect a branch with such a call not to be taken, and put it aside. The rest
 * then needs fewer cache lines, and a short message finds few of them in the cache, because the
 * kernel has run since the last one.
 */
#ifndef VB_BASE_COLD_H
#define VB_BASE_COLD_H

#define VB_COLD __attribute__((cold))

/* A case that is rare, or as rare as the user has it: within its caller it would have the caller
 * save registers each time, for nothing. In the fabric and the simulator: 5 % of the instructions
 * of bench/simulator fat-tree. */
#define VB_APART __attribute__((noinline))

#endif
