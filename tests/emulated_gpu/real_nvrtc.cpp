#include "emulated_gpu/real_nvrtc.h"

#include <dlfcn.h>
#include <nvrtc.h>

#include <cstdlib>

namespace emulated_gpu {
namespace {

template <class Function>
Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

/// The functions of a library that stays loaded.
struct Library {
  explicit Library(void* handle)
      : create(find<decltype(nvrtcCreateProgram)>(handle, "nvrtcCreateProgram")),
        destroy(find<decltype(nvrtcDestroyProgram)>(handle, "nvrtcDestroyProgram")),
        compile(find<decltype(nvrtcCompileProgram)>(handle, "nvrtcCompileProgram")),
        log_bytes(find<decltype(nvrtcGetProgramLogSize)>(handle, "nvrtcGetProgramLogSize")),
        log(find<decltype(nvrtcGetProgramLog)>(handle, "nvrtcGetProgramLog")) {}

  bool whole() const {
    return create != nullptr && destroy != nullptr && compile != nullptr && log_bytes != nullptr &&
           log != nullptr;
  }

  decltype(nvrtcCreateProgram)* create;
  decltype(nvrtcDestroyProgram)* destroy;
  decltype(nvrtcCompileProgram)* compile;
  decltype(nvrtcGetProgramLogSize)* log_bytes;
  decltype(nvrtcGetProgramLog)* log;
};

std::string log_of(const Library& library, nvrtcProgram program) {
  std::size_t bytes = 0;
  if (library.log_bytes(program, &bytes) != NVRTC_SUCCESS || bytes == 0) return {};
  std::string text(bytes, '\0');
  if (library.log(program, text.data()) != NVRTC_SUCCESS) return {};
  text.resize(bytes - 1);
  return text;
}

}  // namespace

std::optional<std::string> real_errors(const Program& program,
                                       const std::vector<std::string>& options) {
  const char* const path = std::getenv("EMULATED_GPU_NVRTC");
  if (path == nullptr || *path == 0) return std::nullopt;
  void* const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return std::string("EMULATED_GPU_NVRTC: ") + dlerror();
  const Library library(handle);
  if (!library.whole()) return std::string("EMULATED_GPU_NVRTC: no NVRTC: ") + path;
  std::vector<const char*> texts;
  std::vector<const char*> names;
  for (const auto& [name, text] : program.headers) {
    names.push_back(name.c_str());
    texts.push_back(text.c_str());
  }
  nvrtcProgram created = nullptr;
  const nvrtcResult begun =
      library.create(&created, program.source.c_str(), program.name.c_str(),
                     static_cast<int>(names.size()), texts.data(), names.data());
  if (begun != NVRTC_SUCCESS) return "EMULATED_GPU_NVRTC: no program: " + std::to_string(begun);
  std::vector<const char*> words;
  for (const std::string& option : options) words.push_back(option.c_str());
  const nvrtcResult result = library.compile(created, static_cast<int>(words.size()), words.data());
  std::optional<std::string> errors;
  if (result != NVRTC_SUCCESS) {
    errors = log_of(library, created) + "NVRTC ends with " + std::to_string(result) + "\n";
  }
  library.destroy(&created);
  return errors;
}

}  // namespace emulated_gpu
