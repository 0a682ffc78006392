#include "device/cuda/compiler.h"

#include <nvrtc.h>
#include <unistd.h>
#include <xxhash.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/check.h"
#include "base/error.h"
#include "device/cuda/library.h"
#include "device/cuda/prelude.h"

namespace meshwork::cuda {
namespace {

// clang-format off
#define MW_NVRTC_FUNCTIONS(MW_FUNCTION) \
  MW_FUNCTION(nvrtcCompileProgram) \
  MW_FUNCTION(nvrtcCreateProgram) \
  MW_FUNCTION(nvrtcDestroyProgram) \
  MW_FUNCTION(nvrtcGetCUBIN) \
  MW_FUNCTION(nvrtcGetCUBINSize) \
  MW_FUNCTION(nvrtcGetProgramLog) \
  MW_FUNCTION(nvrtcGetProgramLogSize) \
  MW_FUNCTION(nvrtcVersion)
// clang-format on

struct Nvrtc {
#define MW_MEMBER(name) decltype(&::name) name;
  MW_NVRTC_FUNCTIONS(MW_MEMBER)
#undef MW_MEMBER
};

Nvrtc open_nvrtc() {
  const Library library("libnvrtc.so.13", usual_folders(),
                        "install NVRTC of CUDA 13, or add its folder to LD_LIBRARY_PATH");
  Nvrtc nvrtc{};
#define MW_LOAD(name) library.load(#name, nvrtc.name);
  MW_NVRTC_FUNCTIONS(MW_LOAD)
#undef MW_LOAD
  return nvrtc;
}

const Nvrtc& nvrtc() {
  static const Nvrtc kNvrtc = open_nvrtc();
  return kNvrtc;
}

/// No fused multiplication and addition, and numbers below float32's normal range as zero: the bits
/// of the CPU.
std::array<std::string, 4> options(int capability) {
  return {fmt::format("--gpu-architecture=sm_{}", capability), "--std=c++17", "--fmad=false",
          "--ftz=true"};
}

std::string compile(const Source& source, const std::string& text, int capability) {
  nvrtcProgram program = nullptr;
  const auto done = [](nvrtcResult result) { MW_CHECK(result == NVRTC_SUCCESS); };
  done(nvrtc().nvrtcCreateProgram(&program, text.c_str(), (source.name + ".cu").c_str(), 0, nullptr,
                                  nullptr));
  const auto given = options(capability);
  std::array<const char*, given.size()> words{};
  for (std::size_t i = 0; i < given.size(); ++i) words[i] = given[i].c_str();
  const nvrtcResult result =
      nvrtc().nvrtcCompileProgram(program, static_cast<int>(words.size()), words.data());
  if (result != NVRTC_SUCCESS) {
    std::size_t size = 0;
    done(nvrtc().nvrtcGetProgramLogSize(program, &size));
    std::string log(size, '\0');
    done(nvrtc().nvrtcGetProgramLog(program, log.data()));
    MW_CHECK(false, "kernels of '{}' do not compile:\n{}\n{}", source.name, log, text);
  }
  std::size_t size = 0;
  done(nvrtc().nvrtcGetCUBINSize(program, &size));
  std::string code(size, '\0');
  done(nvrtc().nvrtcGetCUBIN(program, code.data()));
  done(nvrtc().nvrtcDestroyProgram(&program));
  return code;
}

std::filesystem::path cache_folder() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::filesystem::path(value == nullptr ? "" : value);
  };
  if (const auto own = variable("MESHWORK_CUDA_CACHE"); !own.empty()) return own;
  if (const auto all = variable("XDG_CACHE_HOME"); !all.empty()) return all / "meshwork/cuda";
  const auto home = variable("HOME");
  return home.empty() ? home : home / ".cache/meshwork/cuda";
}

/// Where code of this text is kept; empty: nowhere.
std::filesystem::path place_of(const std::string& text, int capability) {
  const std::filesystem::path folder = cache_folder();
  if (folder.empty()) return folder;
  int major = 0, minor = 0;
  nvrtc().nvrtcVersion(&major, &minor);
  std::string all = fmt::format("{}.{}\n", major, minor);
  for (const std::string& option : options(capability)) all += option + "\n";
  all += text;
  const XXH128_hash_t hash = XXH3_128bits(all.data(), all.size());
  return folder / fmt::format("{:016x}{:016x}.cubin", hash.high64, hash.low64);
}

std::optional<std::string> read(const std::filesystem::path& place) {
  std::ifstream file(place, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Under a name of its own first: another process finds all of it or nothing.
void keep(const std::filesystem::path& place, const std::string& code) {
  std::error_code ignored;
  std::filesystem::create_directories(place.parent_path(), ignored);
  const auto written = std::filesystem::path(fmt::format("{}.{}", place.string(), getpid()));
  {
    std::ofstream file(written, std::ios::binary);
    file.write(code.data(), static_cast<std::streamsize>(code.size()));
    if (!file.flush()) return;
  }
  std::filesystem::rename(written, place, ignored);
}

CUresult load(const std::string& code, CUmodule& module) {
  return driver().cuModuleLoadData(&module, code.c_str());
}

}  // namespace

void check_compiler() { nvrtc(); }

CUmodule load_module(const Source& source, int capability) {
  const std::string text = std::string(kPrelude) + source.defines + source.text;
  const std::filesystem::path place = place_of(text, capability);
  CUmodule module = nullptr;
  if (const auto kept = read(place); kept && load(*kept, module) == CUDA_SUCCESS) return module;
  const std::string code = compile(source, text, capability);
  if (!place.empty()) keep(place, code);
  check(load(code, module), fmt::format("loading kernels of '{}'", source.name));
  return module;
}

}  // namespace meshwork::cuda
