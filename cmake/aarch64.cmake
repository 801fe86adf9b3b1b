# SPDX-License-Identifier: BSD-2-Clause
# Compiles for 64-bit Arm on another machine, with Debian's cross compiler and a system of that machine in the
# folder VERBENA_SYSROOT; scripts/aarch64 makes one and uses this.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(VERBENA_SYSROOT "" CACHE PATH "a system of 64-bit Arm")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES VERBENA_SYSROOT)
set(CMAKE_SYSROOT ${VERBENA_SYSROOT})
set(CMAKE_FIND_ROOT_PATH ${VERBENA_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${VERBENA_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${VERBENA_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${VERBENA_SYSROOT}/usr/share/pkgconfig)
