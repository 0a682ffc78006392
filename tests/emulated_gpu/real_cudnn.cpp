#include "emulated_gpu/real_cudnn.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

namespace emulated_gpu::cudnn::real {
namespace {

/// As the real one writes it down where there is such a GPU.
constexpr std::string_view kH100 =
    R"({"deviceName": "NVIDIA H100 80GB HBM3", "deviceVer": 900, "driverVer": 13000,
        "cudaDeviceId": 0, "pciDeviceId": 0, "totalGlobalMem": 85899345920,
        "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64],
        "regsPerBlock": 65536, "multiProcessorCount": 132, "warpSize": 32,
        "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
        "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "maxCtasPerSM": 32,
        "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "isTccDriver": 0,
        "supportCoopLaunch": 1, "smClockRateKHz": 1980000, "memClockRateKHz": 2619000,
        "l2CacheSize": 52428800})";

struct Library {
  decltype(&::cudnnBackendCreateDescriptor) create = nullptr;
  decltype(&::cudnnBackendDestroyDescriptor) destroy = nullptr;
  decltype(&::cudnnBackendFinalize) finalize = nullptr;
  decltype(&::cudnnBackendSetAttribute) set = nullptr;
  decltype(&::cudnnBackendGetAttribute) get = nullptr;
};

template <class Function>
void load(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  if (function != nullptr) return;
  std::fprintf(stderr, "emulated GPU: EMULATED_GPU_CUDNN has no '%s'\n", name);
  std::abort();
}

/// A library in the namespace; a line on stderr, and the end of the process, where it is not there.
void* open(Lmid_t& names, const std::string& path) {
  void* const handle = dlmopen(names, path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr || dlinfo(handle, RTLD_DI_LMID, &names) != 0) {
    std::fprintf(stderr, "emulated GPU: EMULATED_GPU_CUDNN: %s\n", dlerror());
    std::abort();
  }
  return handle;
}

/// Of a file beside this library.
std::string beside(const char* file) {
  Dl_info info{};
  dladdr(reinterpret_cast<const void*>(&is_there), &info);
  return std::filesystem::path(info.dli_fname).replace_filename(file);
}

/// In a namespace of its own, where the names of the emulated libraries are those of real ones,
/// which lie beside it, and of a driver that launches nothing.
Library open_library() {
  Library library;
  const char* const path = std::getenv("EMULATED_GPU_CUDNN");
  if (path == nullptr) return library;
  Lmid_t names = LM_ID_NEWLM;
  open(names, beside("libreal_cudnn_driver.so"));
  for (const char* const other : {"libcublasLt.so.13", "libnvrtc.so.13"}) {
    const auto place = std::filesystem::path(path).replace_filename(other);
    if (std::filesystem::exists(place)) open(names, place);
  }
  void* const handle = open(names, path);
  load(handle, "cudnnBackendCreateDescriptor", library.create);
  load(handle, "cudnnBackendDestroyDescriptor", library.destroy);
  load(handle, "cudnnBackendFinalize", library.finalize);
  load(handle, "cudnnBackendSetAttribute", library.set);
  load(handle, "cudnnBackendGetAttribute", library.get);
  return library;
}

const Library& library() {
  static const Library kLibrary = open_library();
  return kLibrary;
}

cudnnStatus_t told(cudnnStatus_t status, const Descriptor& descriptor, int name) {
  if (status != CUDNN_STATUS_SUCCESS) {
    std::fprintf(stderr,
                 "emulated GPU: the real cuDNN: status %d of description %d, attribute %d\n",
                 static_cast<int>(status), static_cast<int>(descriptor.type), name);
  }
  return status;
}

cudnnBackendDescriptor_t make_h100() {
  const cudnnBackendDescriptor_t made = create(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  library().set(made, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                static_cast<std::int64_t>(kH100.size()) + 1, kH100.data());
  if (library().finalize(made) != CUDNN_STATUS_SUCCESS) std::abort();
  return made;
}

/// In place of a GPU.
cudnnStatus_t set_device(const Descriptor& descriptor, cudnnBackendAttributeName_t name) {
  static const cudnnBackendDescriptor_t kDevice = make_h100();
  return library().set(descriptor.twin, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &kDevice);
}

Engine engine_of(cudnnBackendDescriptor_t configuration) {
  const cudnnBackendDescriptor_t made = create(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t place = made;
  std::int64_t count = 0;
  library().get(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                &count, &place);
  Engine engine;
  library().get(made, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &count, &engine.index);
  engine.notes.resize(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  library().get(made, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, engine.notes.data());
  engine.notes.resize(static_cast<std::size_t>(count));
  std::vector<cudnnBackendBehaviorNote_t> ways(CUDNN_BEHAVIOR_NOTE_TYPE_COUNT);
  library().get(made, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                CUDNN_BEHAVIOR_NOTE_TYPE_COUNT, &count, ways.data());
  ways.resize(static_cast<std::size_t>(count));
  engine.is_compiled =
      std::find(ways.begin(), ways.end(), CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) != ways.end();
  destroy(made);
  return engine;
}

}  // namespace

bool is_there() { return library().create != nullptr; }

cudnnBackendDescriptor_t create(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t twin = nullptr;
  if (library().create(type, &twin) != CUDNN_STATUS_SUCCESS) std::abort();
  return twin;
}

void destroy(cudnnBackendDescriptor_t twin) { library().destroy(twin); }

cudnnStatus_t set(const Descriptor& descriptor, cudnnBackendAttributeName_t name,
                  const Value& value) {
  if (value.type == CUDNN_TYPE_HANDLE) return CUDNN_STATUS_SUCCESS;
  if (value.type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    return told(library().set(descriptor.twin, name, value.type, value.count, value.bytes.data()),
                descriptor, name);
  }
  std::vector<cudnnBackendDescriptor_t> twins;
  for (const Descriptor* const other : descriptor.all<const Descriptor*>(name)) {
    twins.push_back(other->twin);
  }
  return told(library().set(descriptor.twin, name, value.type, value.count, twins.data()),
              descriptor, name);
}

cudnnStatus_t finalize(const Descriptor& descriptor) {
  if (descriptor.type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR) {
    set_device(descriptor, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
  }
  if (descriptor.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    set_device(descriptor, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
  }
  return told(library().finalize(descriptor.twin), descriptor, -1);
}

std::int64_t count_engines(const Descriptor& heuristic) {
  std::int64_t count = 0;
  library().get(heuristic.twin, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0,
                &count, nullptr);
  return count;
}

std::int64_t fill_engines(const Descriptor& heuristic, std::vector<Descriptor*> configurations) {
  std::vector<cudnnBackendDescriptor_t> twins;
  for (const Descriptor* const configuration : configurations) {
    twins.push_back(configuration->twin);
  }
  std::int64_t count = 0;
  library().get(heuristic.twin, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                static_cast<std::int64_t>(twins.size()), &count, twins.data());
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    configurations[i]->engine = engine_of(twins[i]);
    configurations[i]->engine.is_real = true;
  }
  return count;
}

std::int64_t workspace(const Descriptor& plan) {
  std::int64_t bytes = 0, count = 0;
  library().get(plan.twin, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count,
                &bytes);
  return bytes;
}

}  // namespace emulated_gpu::cudnn::real
