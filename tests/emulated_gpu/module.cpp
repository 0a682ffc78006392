#include "emulated_gpu/module.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "emulated_gpu/region.h"
#include "emulated_gpu/settings.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace emulated_gpu {
namespace {

/// What every library of kernels has: it lays out the shared memory of the calling thread.
constexpr const char* kSharedMemory = "emulated_gpu_shared";

/// The bytes of a shared library in memory; 0 if it is none.
std::size_t library_bytes(const void* image) {
  const auto* const header = static_cast<const Elf64_Ehdr*>(image);
  if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_type != ET_DYN) return 0;
  return header->e_shoff + std::size_t{header->e_shnum} * header->e_shentsize;
}

/// A library is known by its path; so each gets one of its own, for as long as it takes to load.
void* load_library(const void* image, std::size_t bytes) {
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

/// Small floats are zero to this thread as long as it lives. Other CPUs than x86 keep them.
class FlushToZero {
 public:
#if defined(__x86_64__)
  FlushToZero() : mode_(_mm_getcsr()) { _mm_setcsr(mode_ | kFlush); }
  ~FlushToZero() { _mm_setcsr(mode_); }
  FlushToZero(const FlushToZero&) = delete;
  FlushToZero& operator=(const FlushToZero&) = delete;

 private:
  static constexpr unsigned kFlush = 0x8040;  ///< results and operands
  unsigned mode_;
#else
  FlushToZero() {}
#endif
};

}  // namespace

Module* Module::load(Context& context, const void* image) {
  const std::size_t bytes = library_bytes(image);
  void* const library = bytes == 0 ? nullptr : load_library(image, bytes);
  if (library == nullptr) return nullptr;
  if (dlsym(library, kSharedMemory) == nullptr) {
    dlclose(library);
    return nullptr;
  }
  return new Module(context, library);
}

Module::Module(Context& context, void* library) : context_(context), library_(library) {}

Module::~Module() { dlclose(library_); }

const Function* Module::find(const std::string& name) {
  void* const symbol = dlsym(library_, (name + "_kernel").c_str());
  if (symbol == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto* const kernel = static_cast<const EmulatedGpuKernel*>(symbol);
  return &functions_.try_emplace(name, Function{name, kernel, this}).first->second;
}

Memory Module::shared_memory() const {
  reinterpret_cast<void* (*)()>(dlsym(library_, kSharedMemory))();
  void* memory = nullptr;
  if (dlinfo(library_, RTLD_DI_TLS_DATA, &memory) != 0 || memory == nullptr) return {};
  return {static_cast<std::byte*>(memory), shared_bytes(library_)};
}

Arguments::Arguments(const EmulatedGpuKernel& kernel, void* const* arguments) {
  for (int i = 0; i < kernel.parameters; ++i) {
    const auto* const bytes = static_cast<const std::byte*>(arguments[i]);
    values_.emplace_back(bytes, bytes + kernel.sizes[i]);
  }
  for (std::vector<std::byte>& value : values_) pointers_.push_back(value.data());
}

CUresult run(const Function& function, Arguments& arguments, Extent grid, Extent block) {
  static std::atomic<std::int64_t> launches{0};
  if (++launches == settings().failing_launch) return CUDA_ERROR_ILLEGAL_ADDRESS;
  Launch launch;
  launch.name = function.name;
  launch.call = function.kernel->call;
  launch.arguments = arguments.pointers();
  launch.grid = grid;
  launch.block = block;
  launch.shared = function.module->shared_memory();
  const Access access;
  const FlushToZero flush;
  std::unique_ptr<BlockRunner> runner = runners().take();
  const bool good = runner->run(launch);
  runners().give(std::move(runner));
  return good ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED;
}

}  // namespace emulated_gpu
