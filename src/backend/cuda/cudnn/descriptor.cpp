#include "backend/cuda/cudnn/descriptor.h"

#include <algorithm>

namespace meshwork::cuda::cudnn {
namespace {

constexpr std::string_view kWhat = "describing operations";

}  // namespace

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  check(functions().cudnnBackendCreateDescriptor(type, &handle_), kWhat);
}

Descriptor::~Descriptor() {
  if (handle_ != nullptr) static_cast<void>(functions().cudnnBackendDestroyDescriptor(handle_));
}

void Descriptor::set_all(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                         std::int64_t count, const void* values) {
  check(functions().cudnnBackendSetAttribute(handle_, name, type, count, values), kWhat);
}

void Descriptor::finalize() { check(functions().cudnnBackendFinalize(handle_), kWhat); }

std::int64_t Descriptor::integer(cudnnBackendAttributeName_t name) const {
  std::int64_t value = 0;
  get_all(name, CUDNN_TYPE_INT64, 1, &value);
  return value;
}

std::int64_t Descriptor::count(cudnnBackendAttributeName_t name,
                               cudnnBackendAttributeType_t type) const {
  std::int64_t count = 0;
  check(functions().cudnnBackendGetAttribute(handle_, name, type, 0, &count, nullptr), kWhat);
  return count;
}

std::int64_t Descriptor::get_all(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                 std::int64_t count, void* values) const {
  std::int64_t number = 0;
  check(functions().cudnnBackendGetAttribute(handle_, name, type, count, &number, values), kWhat);
  return std::min(number, count);
}

}  // namespace meshwork::cuda::cudnn
