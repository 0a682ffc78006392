#include "device/cuda/compiler.h"

#include <nvrtc.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "device/cuda/cache.h"
#include "device/cuda/library.h"
#include "device/cuda/prelude.h"
#include "device/cuda/workers.h"

namespace meshwork::cuda {
namespace {

// clang-format off
#define MW_NVRTC_FUNCTIONS(MW_FUNCTION) \
  MW_FUNCTION(nvrtcCompileProgram) \
  MW_FUNCTION(nvrtcCreateProgram) \
  MW_FUNCTION(nvrtcDestroyProgram) \
  MW_FUNCTION(nvrtcGetCUBIN) \
  MW_FUNCTION(nvrtcGetCUBINSize) \
  MW_FUNCTION(nvrtcGetNumSupportedArchs) \
  MW_FUNCTION(nvrtcGetProgramLog) \
  MW_FUNCTION(nvrtcGetProgramLogSize) \
  MW_FUNCTION(nvrtcGetSupportedArchs) \
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
std::array<std::string, 4> options(int architecture) {
  return {fmt::format("--gpu-architecture=sm_{}", architecture), "--std=c++17", "--fmad=false",
          "--ftz=true"};
}

void done(nvrtcResult result) { MW_CHECK(result == NVRTC_SUCCESS); }

/// A program of NVRTC.
class Program {
 public:
  Program(const std::string& name, const std::string& text) {
    done(nvrtc().nvrtcCreateProgram(&program_, text.c_str(), (name + ".cu").c_str(), 0, nullptr,
                                    nullptr));
  }
  ~Program() { static_cast<void>(nvrtc().nvrtcDestroyProgram(&program_)); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  bool compile(int architecture) {
    const auto given = options(architecture);
    std::array<const char*, given.size()> words{};
    for (std::size_t i = 0; i < given.size(); ++i) words[i] = given[i].c_str();
    return nvrtc().nvrtcCompileProgram(program_, static_cast<int>(words.size()), words.data()) ==
           NVRTC_SUCCESS;
  }
  std::string log() const {
    return text_of(nvrtc().nvrtcGetProgramLogSize, nvrtc().nvrtcGetProgramLog);
  }
  std::string code() const { return text_of(nvrtc().nvrtcGetCUBINSize, nvrtc().nvrtcGetCUBIN); }

 private:
  std::string text_of(decltype(Nvrtc::nvrtcGetCUBINSize) size_of,
                      decltype(Nvrtc::nvrtcGetCUBIN) copy) const {
    std::size_t size = 0;
    done(size_of(program_, &size));
    std::string text(size, '\0');
    done(copy(program_, text.data()));
    return text;
  }

  nvrtcProgram program_ = nullptr;
};

std::string compile(const std::string& name, const std::string& text, int architecture) {
  Program program(name, text);
  const bool is_compiled = program.compile(architecture);
  MW_CHECK(is_compiled, "kernels of '{}' do not compile:\n{}\n{}", name, program.log(), text);
  return program.code();
}

/// All that the code of this text depends on.
std::string key_of(const std::string& text, int architecture) {
  std::string key = compiler_version() + "\n";
  for (const std::string& option : options(architecture)) key += option + "\n";
  return key + text;
}

std::string compile_and_keep(const std::string& key, const std::string& name,
                             const std::string& text, int architecture) {
  std::string code = compile(name, text, architecture);
  keep_cached(key, ".cubin", code);
  return code;
}

/// They end before the compiler does: it is opened first.
Workers& workers() {
  nvrtc();
  static Workers all;
  return all;
}

CUresult load(const std::string& code, CUmodule& module) {
  return driver().cuModuleLoadData(&module, code.c_str());
}

}  // namespace

void check_compiler() { nvrtc(); }

std::string compiler_version() {
  int major = 0, minor = 0;
  nvrtc().nvrtcVersion(&major, &minor);
  return fmt::format("{}.{}", major, minor);
}

int architecture_for(int capability) {
  int count = 0;
  done(nvrtc().nvrtcGetNumSupportedArchs(&count));
  std::vector<int> known(static_cast<std::size_t>(count));
  done(nvrtc().nvrtcGetSupportedArchs(known.data()));
  int newest = 0;
  for (const int architecture : known) {
    const bool runs = architecture / 10 == capability / 10 && architecture <= capability;
    if (runs) newest = std::max(newest, architecture);
  }
  return newest;
}

Compilation::Compilation(Source source, int architecture)
    : text_(std::string(kPrelude) + source.defines + source.text),
      name_(std::move(source.name)),
      architecture_(architecture) {
  const auto find_or_compile = [text = text_, name = name_, architecture]() -> Code {
    const std::string key = key_of(text, architecture);
    if (auto kept = read_cached(key, ".cubin")) return {std::move(*kept), true};
    return {compile_and_keep(key, name, text, architecture)};
  };
  const auto task = std::make_shared<std::packaged_task<Code()>>(find_or_compile);
  code_ = task->get_future().share();
  workers().add([task] { (*task)(); });
}

CUmodule Compilation::load() const {
  const Code& code = code_.get();
  CUmodule module = nullptr;
  const CUresult result = meshwork::cuda::load(code.binary, module);
  if (result == CUDA_SUCCESS) return module;
  if (!code.is_kept) check(result, fmt::format("loading kernels of '{}'", name_));
  const std::string binary =
      compile_and_keep(key_of(text_, architecture_), name_, text_, architecture_);
  check(meshwork::cuda::load(binary, module), fmt::format("loading kernels of '{}'", name_));
  return module;
}

}  // namespace meshwork::cuda
