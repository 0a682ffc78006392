#include "device/cuda/library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "base/error.h"

namespace meshwork::cuda {

Library::Library(const std::string& name, const std::vector<std::string>& folders,
                 const std::string& way_out)
    : name_(name), handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  for (const std::string& folder : folders) {
    if (handle_ != nullptr) break;
    handle_ = dlopen((folder + "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (handle_ == nullptr) fail("device cuda: {} cannot be opened; {}", name, way_out);
}

void* Library::find(const char* symbol) const {
  void* const found = dlsym(handle_, symbol);
  if (found == nullptr) {
    fail("device cuda: {} has no '{}'; it is older than CUDA 13, update it", name_, symbol);
  }
  return found;
}

std::vector<std::string> usual_folders() {
  std::vector<std::string> folders;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* const value = std::getenv(variable);
    if (value != nullptr) folders.push_back(std::string(value) + "/lib64");
  }
  folders.emplace_back("/usr/local/cuda/lib64");
  return folders;
}

}  // namespace meshwork::cuda
