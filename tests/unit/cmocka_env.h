/* SPDX-License-Identifier: BSD-2-Clause */
/* cmocka.h and the standard headers that it wants in front of it. */
#ifndef VB_TESTS_CMOCKA_ENV_H
#define VB_TESTS_CMOCKA_ENV_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
