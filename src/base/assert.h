/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Assertions: of what a mistake in this program alone can break. A packet of a peer or a request of
 * a user is never asserted, it is answered.
 *
 *   VB_ASSERT(c)      stays in release builds: c is a comparison or two of what is in a register or
 *                     a cache line that the caller has at hand, and where it fails, memory that is
 *                     somebody else's would be read or written, or a peer be told a falsehood.
 *   VB_ASSERT_ALL(c)  is for builds that look for mistakes: c may walk a list or a ring. It is
 * there where VB_ASSERTS_ALL is defined: in builds for debugging and with sanitizers, fuzzers too,
 * and with the option VERBENA_ASSERTS_ALL.
 *
 * c has no effects.
 */
#ifndef VB_BASE_ASSERT_H
#define VB_BASE_ASSERT_H

#include <assert.h>

/* That of the C library, which says where and aborts; <assert.h> hides it from release builds. */
/* NOLINTNEXTLINE(readability-redundant-declaration) */
extern void __assert_fail(const char *assertion, const char *file, unsigned line,
			  const char *function) __attribute__((noreturn, nothrow, cold));

#define VB_ASSERT(c) ((c) ? (void)0 : __assert_fail(#c, __FILE__, __LINE__, __func__))

#ifdef VB_ASSERTS_ALL
#define VB_ASSERT_ALL(c) VB_ASSERT(c)
#else
#define VB_ASSERT_ALL(c) ((void)sizeof((c) ? 1 : 0))
#endif

#endif
