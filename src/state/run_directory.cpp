#include "state/run_directory.h"

#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/file.h"

namespace meshwork {
namespace {

constexpr const char* kWayOut = "; set run_directory to a place that can be written";

}  // namespace

void create_run_directory(const std::string& path, const std::string& config_text) {
  if (path.empty()) fail(ExitCode::kFile, "run_directory is empty{}", kWayOut);
  std::error_code code;
  std::filesystem::create_directories(path, code);
  if (code) {
    fail(ExitCode::kFile, "{}: cannot create the run directory: {}{}", path, code.message(),
         kWayOut);
  }
  if (!std::filesystem::is_directory(path, code)) {
    fail(ExitCode::kFile, "{}: not a directory{}", path, kWayOut);
  }
  try {
    replace_file((std::filesystem::path(path) / "config.yaml").string(), config_text);
  } catch (const Error& error) {
    throw Error(error.code(), error.what() + std::string(kWayOut));
  }
}

}  // namespace meshwork
