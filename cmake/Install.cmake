# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where: the program, its licence, its man pages and its completions.
include_guard()
include(GNUInstallDirs)

if(TARGET comity)
  install(TARGETS comity RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES LICENSE NOTICE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# docs/man/x.1.scd -> man/x.1, where scdoc is installed.
find_program(COMITY_SCDOC scdoc)
if(COMITY_SCDOC)
  file(GLOB pages CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/man/*.scd)
  set(made "")
  foreach(page ${pages})
    get_filename_component(name ${page} NAME_WLE)
    set(out ${CMAKE_BINARY_DIR}/man/${name})
    add_custom_command(
      OUTPUT ${out}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/man
      COMMAND sh -c "'${COMITY_SCDOC}' < '${page}' > '${out}'"
      DEPENDS ${page}
      VERBATIM)
    list(APPEND made ${out})
  endforeach()
  add_custom_target(man ALL DEPENDS ${made})
  install(FILES ${made} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
