/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that a connection without trouble does not call. Compilers expect a branch with such a
 * call not to be taken, and put it aside: the rest then needs fewer cache lines, and
 * a short message finds few of them in the cache, because the kernel has run since the last one.
 */
#ifndef VB_BASE_COLD_H
#define VB_BASE_COLD_H

#define VB_COLD __attribute__((cold))

#endif
