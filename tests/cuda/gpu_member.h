#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "device/cuda_device.h"

namespace meshwork::test {

/// One device of those that exchange tensors: its GPU, its stream, and some memory there.
struct GpuMember {
  GpuMember(int gpu, std::shared_ptr<Communicator> communicator)
      : rank(communicator->rank()),
        device(make_cuda_device(gpu, {})),
        stream(device->make_stream()),
        devices(std::move(communicator)) {}
  ~GpuMember() { stream->drain(); }
  GpuMember(const GpuMember&) = delete;
  GpuMember& operator=(const GpuMember&) = delete;

  template <class T>
  std::shared_ptr<std::byte> bring(const std::vector<T>& values) {
    auto memory = device->allocate(bytes_of(values));
    upload(*device, *stream, memory.get(), values.data(), bytes_of(values));
    return memory;
  }
  template <class T = float>
  std::vector<T> fetch(const std::shared_ptr<std::byte>& memory, std::int64_t count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    download(*device, *stream, values.data(), memory.get(), bytes_of(values));
    return values;
  }

  int rank;
  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::shared_ptr<Communicator> devices;

 private:
  template <class T>
  static std::int64_t bytes_of(const std::vector<T>& values) {
    return static_cast<std::int64_t>(values.size() * sizeof(T));
  }
};

}  // namespace meshwork::test
