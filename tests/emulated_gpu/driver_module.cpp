// Modules and launches.
#include <cuda.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "emulated_gpu/block.h"
#include "emulated_gpu/capture.h"
#include "emulated_gpu/context.h"
#include "emulated_gpu/region.h"
#include "emulated_gpu/settings.h"

namespace {

using emulated_gpu::BlockRunner;
using emulated_gpu::check_context;
using emulated_gpu::Extent;
using emulated_gpu::Launch;

struct Module;

struct Function {
  std::string name;
  const EmulatedGpuKernel* kernel = nullptr;
  Module* module = nullptr;
};

struct Module {
  emulated_gpu::Context* context = nullptr;
  void* library = nullptr;
  void* (*shared)() = nullptr;  ///< lays out the shared memory of the calling thread
  std::size_t shared_bytes = 0;
  std::mutex mutex;
  std::map<std::string, Function> functions;
};

/// Runners at rest: their stacks are kept.
class Runners {
 public:
  std::unique_ptr<BlockRunner> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<BlockRunner>();
    std::unique_ptr<BlockRunner> runner = std::move(idle_.back());
    idle_.pop_back();
    return runner;
  }
  void give(std::unique_ptr<BlockRunner> runner) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(runner));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<BlockRunner>> idle_;
};

Runners& runners() {
  static auto* const instance = new Runners();
  return *instance;
}

/// The bytes of a shared library in memory; 0 if it is none.
std::size_t library_bytes(const void* image) {
  const auto* const header = static_cast<const Elf64_Ehdr*>(image);
  if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_type != ET_DYN) return 0;
  return header->e_shoff + std::size_t{header->e_shnum} * header->e_shentsize;
}

/// A library is known by its path; so each gets one of its own, for as long as it takes to load.
void* load(const void* image, std::size_t bytes) {
  std::string path = (std::filesystem::temp_directory_path() / "emulated_gpu_XXXXXX").string();
  const int file = mkstemp(path.data());
  if (file < 0) return nullptr;
  for (std::size_t written = 0; written < bytes;) {
    const ssize_t count = write(file, static_cast<const char*>(image) + written, bytes - written);
    if (count <= 0) break;
    written += static_cast<std::size_t>(count);
  }
  close(file);
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::fprintf(stderr, "emulated GPU: %s\n", dlerror());
  unlink(path.c_str());
  return library;
}

/// The bytes of shared memory of all kernels of a library.
std::size_t shared_bytes(void* library) {
  const link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return 0;
  const auto* const header = reinterpret_cast<const Elf64_Ehdr*>(map->l_addr);
  const auto* const parts = reinterpret_cast<const Elf64_Phdr*>(map->l_addr + header->e_phoff);
  for (int i = 0; i < header->e_phnum; ++i) {
    if (parts[i].p_type == PT_TLS) return parts[i].p_memsz;
  }
  return 0;
}

/// A copy of the arguments, which the caller may change after the launch.
struct Arguments {
  std::vector<std::vector<std::byte>> values;
  std::vector<void*> pointers;

  Arguments(const EmulatedGpuKernel& kernel, void** from) {
    for (int i = 0; i < kernel.parameters; ++i) {
      const auto* const bytes = static_cast<const std::byte*>(from[i]);
      values.emplace_back(bytes, bytes + kernel.sizes[i]);
    }
    for (std::vector<std::byte>& value : values) pointers.push_back(value.data());
  }
};

CUresult check_extents(const Extent& grid, const Extent& block) {
  const bool empty =
      grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0;
  if (empty || grid.x > 2147483647U || grid.y > 65535U || grid.z > 65535U) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (block.x > 1024U || block.y > 1024U || block.z > 64U) return CUDA_ERROR_INVALID_VALUE;
  return block.x * block.y * block.z > 1024U ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/// Small floats become zero, as with NVRTC's --ftz=true.
CUresult run(const Module& module, Launch launch) {
  static std::atomic<std::int64_t> launches{0};
  if (++launches == emulated_gpu::settings().failing_launch) return CUDA_ERROR_ILLEGAL_ADDRESS;
  const emulated_gpu::Access access;
  constexpr unsigned kFlushToZero = 0x8040;
  module.shared();
  void* shared = nullptr;
  if (dlinfo(module.library, RTLD_DI_TLS_DATA, &shared) == 0 && shared != nullptr) {
    launch.shared = static_cast<std::byte*>(shared);
    launch.shared_bytes = module.shared_bytes;
  }
  const unsigned mode = _mm_getcsr();
  _mm_setcsr(mode | kFlushToZero);
  std::unique_ptr<BlockRunner> runner = runners().take();
  const bool good = runner->run(launch);
  runners().give(std::move(runner));
  _mm_setcsr(mode);
  return good ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED;
}

}  // namespace

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  CUresult result = check_context();
  if (result == CUDA_SUCCESS) result = emulated_gpu::check_unsafe_call();
  if (result != CUDA_SUCCESS) return result;
  if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t bytes = library_bytes(image);
  void* const library = bytes == 0 ? nullptr : load(image, bytes);
  if (library == nullptr || dlsym(library, "emulated_gpu_shared") == nullptr) {
    return CUDA_ERROR_INVALID_IMAGE;
  }
  emulated_gpu::watch_faults();
  auto* const loaded = new Module();
  loaded->context = emulated_gpu::current_context();
  loaded->library = library;
  loaded->shared = reinterpret_cast<void* (*)()>(dlsym(library, "emulated_gpu_shared"));
  loaded->shared_bytes = shared_bytes(library);
  *module = reinterpret_cast<CUmodule>(loaded);
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
  return cuModuleLoadData(module, image);
}

CUresult cuModuleUnload(CUmodule module) {
  const CUresult result = check_context();
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const CUresult forbidden = emulated_gpu::check_unsafe_call();
  if (forbidden != CUDA_SUCCESS) return forbidden;
  if (result == CUDA_SUCCESS) emulated_gpu::current_context()->synchronize(false);
  auto* const loaded = reinterpret_cast<Module*>(module);
  dlclose(loaded->library);
  delete loaded;
  return result;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  const CUresult result = check_context();
  if (result != CUDA_SUCCESS) return result;
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto* const loaded = reinterpret_cast<Module*>(module);
  void* const symbol = dlsym(loaded->library, (std::string(name) + "_kernel").c_str());
  if (symbol == nullptr) return CUDA_ERROR_NOT_FOUND;
  const std::lock_guard lock(loaded->mutex);
  Function& found = loaded->functions[name];
  found = {name, static_cast<const EmulatedGpuKernel*>(symbol), loaded};
  *function = reinterpret_cast<CUfunction>(&found);
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  const CUresult result = check_context();
  if (result != CUDA_SUCCESS) return result;
  if (value == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
  return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute, int) {
  const CUresult result = check_context();
  if (result != CUDA_SUCCESS) return result;
  return function == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int size,
                                                     std::size_t) {
  const CUresult result = check_context();
  if (result != CUDA_SUCCESS) return result;
  if (blocks == nullptr || function == nullptr || size <= 0) return CUDA_ERROR_INVALID_VALUE;
  *blocks = size > 1024 ? 0 : std::min(32, 2048 / ((size + 31) / 32 * 32));
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void** arguments, void** extra) {
  CUresult result = check_context();
  if (result != CUDA_SUCCESS) return result;
  if (handle == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const Extent grid{grid_x, grid_y, grid_z};
  const Extent block{block_x, block_y, block_z};
  result = check_extents(grid, block);
  if (result != CUDA_SUCCESS) return result;
  if (shared_bytes > 48U << 10U) return CUDA_ERROR_INVALID_VALUE;
  const auto& function = *reinterpret_cast<const Function*>(handle);
  if (extra != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  if (function.kernel->parameters > 0 && arguments == nullptr) return CUDA_ERROR_INVALID_VALUE;
  emulated_gpu::Stream* found = nullptr;
  result = emulated_gpu::find_stream(stream, found);
  if (result != CUDA_SUCCESS) return result;
  if (&found->context() != function.module->context) return CUDA_ERROR_INVALID_HANDLE;
  const auto kept = std::make_shared<Arguments>(*function.kernel, arguments);
  return emulated_gpu::enqueue(stream, [function, kept, grid, block] {
    Launch launch;
    launch.name = function.name;
    launch.call = function.kernel->call;
    launch.arguments = kept->pointers.data();
    launch.grid = grid;
    launch.block = block;
    return run(*function.module, std::move(launch));
  });
}
