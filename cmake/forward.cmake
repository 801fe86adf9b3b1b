# SPDX-License-Identifier: BSD-2-Clause
# Makes the table of src/verbs/soname/forward.c: each entry point of libverbena.so, under the version that rdma-core's
# library has it under, by that library's symbol map; or, where this release of rdma-core does not have it, by a
# table of later ones. An entry point of which neither knows a version ends the build.
#   cmake -DNM=nm -DLIBRARY=libverbena.so -DRDMA_CORE=libibverbs.so.1 -DLATER=later.def -DTO=forward.def -P cmake/forward.cmake
cmake_minimum_required(VERSION 3.22)
# Symbols of a library as nm prints them: "name", or "name@@version" for the version that linkers take.
function(symbols_of library to)
  execute_process(COMMAND ${NM} -D --defined-only --with-symbol-versions ${library}
                  OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^ \n]+\n" names "${text}\n")
  string(REPLACE "\n" "" names "${names}")
  set(${to} ${names} PARENT_SCOPE)
endfunction()

symbols_of(${RDMA_CORE} map)
foreach(symbol ${map})
  if(symbol MATCHES "^(_?ibv_[a-z0-9_]+)@@(.+)$")
    set(version_${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
  endif()
endforeach()
file(STRINGS ${LATER} lines REGEX "^FORWARD\\(")
foreach(line ${lines})
  string(REGEX MATCH "^FORWARD\\(([a-z0-9_]+), ([A-Z0-9_.]+)\\)$" all "${line}")
  if(NOT DEFINED version_${CMAKE_MATCH_1})
    set(version_${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
  endif()
endforeach()

symbols_of(${LIBRARY} mine)
list(SORT mine)
set(table "/* Made by cmake/forward.cmake. */\n")
foreach(name ${mine})
  string(REGEX REPLACE "@.*" "" name ${name})
  if(NOT name MATCHES "^_?ibv_")
    continue()
  elseif(NOT DEFINED version_${name})
    message(FATAL_ERROR "${name}: neither ${RDMA_CORE} nor ${LATER} has a version of it")
  endif()
  string(APPEND table "FORWARD(${name}, ${version_${name}})\n")
endforeach()
file(WRITE ${TO} "${table}")
