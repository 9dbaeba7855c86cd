# SPDX-License-Identifier: Apache-2.0
# Every find_package call of the project.
include_guard()

find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(fmt REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_library(COMITY_ZSTD zstd REQUIRED)
find_library(COMITY_SODIUM sodium REQUIRED)
# COMITY_TESTS=AUTO: what only wants the program builds without the test libraries.
if(COMITY_TESTS STREQUAL "AUTO")
  find_package(GTest QUIET)
  find_package(rapidcheck QUIET)
elseif(COMITY_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
endif()
if(COMITY_TESTS AND GTest_FOUND AND rapidcheck_FOUND)
  set(COMITY_BUILD_TESTS ON)
endif()
