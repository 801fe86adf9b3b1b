/* SPDX-License-Identifier: BSD-2-Clause */
/* cmocka.h and the standard headers that it wants in front of it. */
#ifndef VB_TESTS_CMOCKA_ENV_H
#define VB_TESTS_CMOCKA_ENV_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Before cmocka 2.0, which deprecates that name. */
#ifndef assert_uint_in_range
#define assert_uint_in_range(value, least, most) assert_in_range(value, least, most)
#endif

#endif
