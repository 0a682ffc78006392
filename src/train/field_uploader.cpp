#include "train/field_uploader.h"

namespace meshwork {

FieldUploader::FieldUploader(Device& device, Stream& stream) : device_(device), stream_(stream) {
  for (Buffer& buffer : buffers_) buffer.copied = device.make_event();
}

void FieldUploader::upload(const TensorView& to,
                           const std::function<void(std::byte* host)>& write) {
  if (to.data == nullptr) return;
  if (std::byte* host = device_.host_address(to.data)) return write(host);
  Buffer& buffer = buffers_[next_];
  next_ = 1 - next_;
  buffer.copied->wait();
  const std::int64_t bytes = num_bytes(to.type);
  if (bytes > buffer.bytes) {
    buffer.memory = device_.allocate_staging(bytes);
    buffer.bytes = bytes;
  }
  write(buffer.memory.get());
  stream_.copy_to_device(to.data, buffer.memory.get(), bytes);
  stream_.record(*buffer.copied);
}

}  // namespace meshwork
