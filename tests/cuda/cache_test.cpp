// Files that programs keep of what they have compiled for GPUs.
#include "device/cuda/cache.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "support/environment_variable.h"
#include "support/log_text.h"
#include "support/temp_directory.h"

using namespace meshwork;
using namespace meshwork::testing;

TEST_CASE("what was compiled is kept, and as none where its file is cut off or damaged") {
  const test::TempDirectory directory;
  const std::string folder = directory.file("cache");
  const EnvironmentVariable place("MESHWORK_CUDA_CACHE", folder.c_str());
  CHECK_FALSE(cuda::read_cached("key", ".cubin"));
  const std::string content = std::string("a\0b", 3) + std::string(1000, 'c');
  cuda::keep_cached("key", ".cubin", content);
  CHECK(cuda::read_cached("key", ".cubin") == content);
  CHECK_FALSE(cuda::read_cached("another key", ".cubin"));
  std::filesystem::directory_iterator files(folder);
  const std::string file = files->path();
  CHECK(++files == std::filesystem::directory_iterator());

  const std::string whole = test::read_log(file);
  std::string changed = whole;
  changed[500] = 'd';
  for (const std::string& damaged : {whole.substr(0, whole.size() / 2), changed, std::string()}) {
    test::write_text(file, damaged);
    CHECK_FALSE(cuda::read_cached("key", ".cubin"));
  }
  cuda::keep_cached("key", ".cubin", content);
  CHECK(cuda::read_cached("key", ".cubin") == content);
}

TEST_CASE("where nothing can be kept, nothing is") {
  const EnvironmentVariable place("MESHWORK_CUDA_CACHE", "/proc/none");
  cuda::keep_cached("key", ".cubin", "code");
  CHECK_FALSE(cuda::read_cached("key", ".cubin"));
}
