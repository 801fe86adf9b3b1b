# SPDX-License-Identifier: BSD-2-Clause
# Refuses an rdma-core whose headers lack something: 44 is the first with IBV_WR_ATOMIC_WRITE. Its
# libibverbs.pc says 1.14.44.0: the version of the ABI, then its own. Runs alone as well:
#   cmake -P cmake/rdma_core.cmake
cmake_minimum_required(VERSION 3.22)
find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBIBVERBS QUIET libibverbs)

set(rdma_core_needed 44)
string(REGEX REPLACE "^[0-9]+\\.[0-9]+\\.([0-9]+).*$" "\\1" rdma_core_found "${LIBIBVERBS_VERSION}")
if(NOT LIBIBVERBS_FOUND)
  message(FATAL_ERROR "rdma-core ${rdma_core_needed} or later is needed (Debian: libibverbs-dev), "
                      "and pkg-config finds no libibverbs")
elseif(rdma_core_found VERSION_LESS rdma_core_needed)
  message(FATAL_ERROR "rdma-core ${rdma_core_needed} or later is needed, and this is "
                      "${rdma_core_found} (libibverbs ${LIBIBVERBS_VERSION})")
endif()
