# SPDX-License-Identifier: BSD-2-Clause
cmake_minimum_required(VERSION 3.22)
# Makes the C source of export/page.h from the files of src/export/report.
#   cmake -DFROM=src/export/report -DTO=page.c -P cmake/page.cmake
file(READ ${FROM}/page.html page)
file(READ ${FROM}/style.css style)
foreach(part chart ladder story page)
  file(READ ${FROM}/${part}.js text)
  string(APPEND script "${text}")
endforeach()
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")
string(FIND "${page}" "@DATA@" at)
string(SUBSTRING "${page}" 0 ${at} head)
math(EXPR at "${at} + 6")
string(SUBSTRING "${page}" ${at} -1 tail)

set(source "#include \"export/page.h\"\n")
foreach(half head tail)
  string(HEX "${${half}}" hex)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(APPEND source "const unsigned char vb_page_${half}[] = {${bytes}0};\n")
endforeach()
file(WRITE ${TO} "${source}")
