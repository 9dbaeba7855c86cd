// SPDX-License-Identifier: Apache-2.0
#include "cli/output_folder.h"

#include <filesystem>

#include "base/input.h"
#include "base/log.h"
#include "base/text.h"

namespace comity::cli {

Status write_folder(const std::string& dir, const std::vector<std::pair<std::string, std::string>>& files) {
  std::error_code failed;
  std::filesystem::create_directories(dir, failed);
  if (failed) {
    Error error;
    error.code = Code::kInput;
    error.message = "cannot make the folder";
    error.file = dir;
    error.cause = failed.message();
    return fail(std::move(error));
  }
  for (const auto& [name, content] : files) {
    if (auto status = write_file((std::filesystem::path(dir) / name).string(), content); !status) return status;
  }
  log_info("wrote " + printable((std::filesystem::path(dir) / files.back().first).string(), 1024));
  return {};
}

}  // namespace comity::cli
