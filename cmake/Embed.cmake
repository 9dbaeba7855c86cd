# SPDX-License-Identifier: Apache-2.0
# comity_embed(<library> <folder of data/>...): the .toml files of each folder become a source file of comity_<library>,
# declared in src/<library>/library.h, written again when one of them changes. Run as a script (cmake -P) it writes that
# file.
if(CMAKE_SCRIPT_MODE_FILE)
  set(source "// Written by cmake/Embed.cmake from ${DATA}. Not to be edited.\n#include \"${LIBRARY}/library.h\"\n")
  string(APPEND source "#include <array>\nnamespace comity::${LIBRARY} {\n")
  foreach(folder IN LISTS FOLDERS)
    file(GLOB names RELATIVE ${DATA}/${folder} ${DATA}/${folder}/*.toml)
    list(TRANSFORM names REPLACE "\\.toml$" "")
    list(SORT names)
    list(LENGTH names count)
    string(APPEND source "static constexpr std::array<LibraryFile, ${count}> k_${folder} = {{\n")
    foreach(name IN LISTS names)
      set(file ${DATA}/${folder}/${name}.toml)
      file(READ ${file} text)
      string(LENGTH "${text}" bytes)
      if(bytes GREATER 16000)  # what every compiler takes in one literal
        message(FATAL_ERROR "${file}: ${bytes} bytes, 16000 are allowed")
      endif()
      string(APPEND source "{\"${name}\", R\"embedded(${text})embedded\"},\n")
    endforeach()
    string(APPEND source "}};\nstd::span<const LibraryFile> library_${folder}() { return k_${folder}; }\n")
  endforeach()
  string(APPEND source "}  // namespace comity::${LIBRARY}\n")
  file(WRITE ${OUT} "${source}")
  return()
endif()
include_guard()

function(comity_embed library)
  set(data ${CMAKE_SOURCE_DIR}/data)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/library_data.cc)
  set(all)
  foreach(folder ${ARGN})
    file(GLOB files CONFIGURE_DEPENDS ${data}/${folder}/*.toml)
    list(APPEND all ${files})
  endforeach()
  # A file that went away leaves none that is newer: the list itself is what the source depends on.
  string(REPLACE ";" "\n" listed "${all}\n")
  file(CONFIGURE OUTPUT ${out}.list CONTENT "${listed}")
  string(REPLACE ";" "$<SEMICOLON>" folders "${ARGN}")
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DLIBRARY=${library} -DDATA=${data} -DFOLDERS=${folders} -DOUT=${out}
            -P ${CMAKE_SOURCE_DIR}/cmake/Embed.cmake
    DEPENDS ${all} ${out}.list ${CMAKE_SOURCE_DIR}/cmake/Embed.cmake
    COMMENT "Embedding ${data}"
    VERBATIM)
  target_sources(comity_${library} PRIVATE ${out})
endfunction()
