// The emulated NVRTC: kernels compiled by the host's compiler.
#include <nvrtc.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "emulated_gpu/compiler.h"

struct _nvrtcProgram {
  emulated_gpu::Program program;
  emulated_gpu::Compiled compiled;
};

namespace {

/// What CUDA 13.0 compiles for.
constexpr std::array kArchitectures{75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

nvrtcResult size_of(nvrtcProgram program, const std::string& text, std::size_t* bytes,
                    std::size_t more) {
  if (program == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  if (bytes == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  *bytes = text.size() + more;
  return NVRTC_SUCCESS;
}

nvrtcResult copy_of(nvrtcProgram program, const std::string& text, char* to, std::size_t more) {
  if (program == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  if (to == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  std::memcpy(to, text.c_str(), text.size() + more);
  return NVRTC_SUCCESS;
}

}  // namespace

const char* nvrtcGetErrorString(nvrtcResult result) {
  switch (result) {
    case NVRTC_SUCCESS:
      return "NVRTC_SUCCESS";
    case NVRTC_ERROR_OUT_OF_MEMORY:
      return "NVRTC_ERROR_OUT_OF_MEMORY";
    case NVRTC_ERROR_PROGRAM_CREATION_FAILURE:
      return "NVRTC_ERROR_PROGRAM_CREATION_FAILURE";
    case NVRTC_ERROR_INVALID_INPUT:
      return "NVRTC_ERROR_INVALID_INPUT";
    case NVRTC_ERROR_INVALID_PROGRAM:
      return "NVRTC_ERROR_INVALID_PROGRAM";
    case NVRTC_ERROR_INVALID_OPTION:
      return "NVRTC_ERROR_INVALID_OPTION";
    case NVRTC_ERROR_COMPILATION:
      return "NVRTC_ERROR_COMPILATION";
    default:
      return "NVRTC_ERROR unknown";
  }
}

nvrtcResult nvrtcVersion(int* major, int* minor) {
  if (major == nullptr || minor == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  *major = 13;
  *minor = 0;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  if (count == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  *count = static_cast<int>(kArchitectures.size());
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetSupportedArchs(int* architectures) {
  if (architectures == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  std::ranges::copy(kArchitectures, architectures);
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char* name,
                               int headers, const char* const* texts, const char* const* names) {
  if (program == nullptr || source == nullptr || headers < 0) return NVRTC_ERROR_INVALID_INPUT;
  if (headers > 0 && (texts == nullptr || names == nullptr)) return NVRTC_ERROR_INVALID_INPUT;
  auto* const created = new (std::nothrow) _nvrtcProgram();
  if (created == nullptr) return NVRTC_ERROR_OUT_OF_MEMORY;
  created->program.source = source;
  created->program.name = name == nullptr ? "" : name;
  for (int i = 0; i < headers; ++i) created->program.headers.emplace_back(names[i], texts[i]);
  *program = created;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  if (program == nullptr || *program == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  delete *program;
  *program = nullptr;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  if (program == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  if (count < 0 || (count > 0 && options == nullptr)) return NVRTC_ERROR_INVALID_INPUT;
  program->compiled =
      emulated_gpu::compile(program->program, std::vector<std::string>(options, options + count));
  return program->compiled.good ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, std::size_t* bytes) {
  return size_of(program, program->compiled.log, bytes, 1);
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
  return copy_of(program, program->compiled.log, log, 1);
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, std::size_t* bytes) {
  return size_of(program, program->compiled.library, bytes, 0);
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* cubin) {
  return copy_of(program, program->compiled.library, cubin, 0);
}
nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, std::size_t* bytes) {
  return size_of(program, program->compiled.library, bytes, 0);
}
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* ptx) {
  return copy_of(program, program->compiled.library, ptx, 0);
}
