# cmake --install: bin/verbena, lib/libverbena.so, headers, man pages, completion, pkg-config.
include(GNUInstallDirs)

if(TARGET verbena)
  install(TARGETS verbena RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET verbena_preload)
  install(TARGETS verbena_preload LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET verbena_trace)
  install(TARGETS verbena_trace LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET verbena_soname)
  install(TARGETS verbena_soname LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/libverbena.d)
endif()

install(DIRECTORY include/verbena DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")

file(GLOB man_pages CONFIGURE_DEPENDS man/*.[1-8])
foreach(page ${man_pages})
  string(REGEX REPLACE ".*\\." "" section ${page})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()

install(FILES completions/verbena DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)

# Relative to itself, so that it is right wherever cmake --install --prefix puts it.
file(RELATIVE_PATH VERBENA_PC_PREFIX /x/${CMAKE_INSTALL_LIBDIR}/pkgconfig /x)
string(REGEX REPLACE "/$" "" VERBENA_PC_PREFIX "${VERBENA_PC_PREFIX}")
configure_file(cmake/verbena.pc.in verbena.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/verbena.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
