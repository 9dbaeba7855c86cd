# SPDX-License-Identifier: Apache-2.0
# Every find_package call of the project.
include_guard()

find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(fmt REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_library(COMITY_ZSTD zstd REQUIRED)
if(COMITY_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
endif()
