# SPDX-License-Identifier: BSD-2-Clause
cmake_minimum_required(VERSION 3.22)
# Makes the C source of a page of export/page.h, vb_NAME_head[] and vb_NAME_tail[]. PAGE is its HTML, STYLES and SCRIPTS
# are files with commas between them that are put in, all in FROM.
#   cmake -DNAME=page -DFROM=src/export -DPAGE=report/page.html -DSTYLES=... -DSCRIPTS=... -DTO=page.c -P cmake/page.cmake
file(READ ${FROM}/${PAGE} page)
# The head, without the licence that stands in front of it.
file(READ ${FROM}/report/head.html head)
string(REGEX REPLACE "^[^\n]*\n@HEAD@" "@HEAD@" page "${page}")
string(REPLACE "@HEAD@" "${head}" page "${page}")
foreach(kind STYLE SCRIPT)
  string(REPLACE "," ";" parts "${${kind}S}")
  set(text "")
  foreach(part ${parts})
    file(READ ${FROM}/${part} more)
    string(APPEND text "${more}")
  endforeach()
  string(REPLACE "@${kind}@" "${text}" page "${page}")
endforeach()
string(FIND "${page}" "@DATA@" at)
string(SUBSTRING "${page}" 0 ${at} head)
math(EXPR at "${at} + 6")
string(SUBSTRING "${page}" ${at} -1 tail)

set(source "#include \"export/page.h\"\n")
foreach(half head tail)
  string(HEX "${${half}}" hex)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(APPEND source "const unsigned char vb_${NAME}_${half}[] = {${bytes}0};\n")
endforeach()
file(WRITE ${TO} "${source}")
