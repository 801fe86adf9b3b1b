# cmake --install: the command, the libraries, headers, man pages, scenarios, completions, pkg-config, the Python
# package; and the target "uninstall", which removes what was installed last.
include(GNUInstallDirs)

install(TARGETS verbena RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# libverbena.so without a version is what programs are linked by.
install(TARGETS verbena_preload LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS verbena_sim LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS verbena_trace LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/libverbena.d)
if(TARGET verbena_mpi)
  install(TARGETS verbena_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/libverbena.d)
endif()
foreach(number ${VERBENA_RDMAV})
  install(TARGETS verbena_rdmav${number} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/libverbena.d)
endforeach()
if(TARGET verbena_soname)
  install(TARGETS verbena_soname LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/libverbena.d NAMELINK_SKIP)
endif()

install(DIRECTORY include/verbena DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")

file(GLOB man_pages CONFIGURE_DEPENDS man/*.[1-8])
foreach(page ${man_pages})
  string(REGEX REPLACE ".*\\." "" section ${page})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()

install(DIRECTORY scenarios DESTINATION ${CMAKE_INSTALL_DATADIR}/verbena)

install(FILES completions/verbena.bash RENAME verbena
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
# Debian's place; others have zsh/site-functions.
set(VERBENA_ZSH_DIR ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions CACHE PATH "zsh completions")
install(FILES completions/verbena.zsh RENAME _verbena DESTINATION ${VERBENA_ZSH_DIR})
install(FILES completions/verbena.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# Relative to itself, so that it is right wherever cmake --install --prefix puts it.
file(RELATIVE_PATH VERBENA_PC_PREFIX /x/${CMAKE_INSTALL_LIBDIR}/pkgconfig /x)
string(REGEX REPLACE "/$" "" VERBENA_PC_PREFIX "${VERBENA_PC_PREFIX}")
foreach(name verbena verbena-sim)
  configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# The Python package is source for any Python, and finds the library by its name. Debian's place; others have
# python3.N/site-packages.
option(VERBENA_PYTHON "install the Python package" ON)
set(VERBENA_PYTHON_DIR lib/python3/dist-packages CACHE PATH "modules of Python")
if(VERBENA_PYTHON)
  install(DIRECTORY python/verbena DESTINATION ${VERBENA_PYTHON_DIR}
          FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
else()
  message(STATUS "VERBENA_PYTHON=OFF: the Python package is not installed")
endif()

add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -DMANIFEST=${CMAKE_BINARY_DIR}/install_manifest.txt
                  -P ${CMAKE_SOURCE_DIR}/cmake/uninstall.cmake VERBATIM)
