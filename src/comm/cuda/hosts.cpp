#include "comm/cuda/hosts.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "device/cpu_device.h"

namespace meshwork::cuda {
namespace {

CollectiveCall all_gather(int size, std::span<const std::int64_t> send, std::int64_t* recv) {
  return {.kind = CollectiveCall::Kind::kAllGather,
          .send = send.data(),
          .recv = recv,
          .dtype = DType::kInt64,
          .counts = std::vector<std::int64_t>(static_cast<std::size_t>(size), std::ssize(send))};
}

}  // namespace

Hosts::Hosts(std::shared_ptr<Communicator> communicator)
    : communicator_(std::move(communicator)),
      stream_(make_cpu_device({})->make_stream()),
      calls_(static_cast<std::size_t>(size())) {
  meeting_ = communicator_->prepare(all_gather(size(), {&mine_, 1}, calls_.data()), *stream_);
}

std::vector<std::int64_t> Hosts::gather(std::span<const std::int64_t> mine) {
  std::vector<std::int64_t> all(mine.size() * static_cast<std::size_t>(size()));
  const auto call = communicator_->prepare(all_gather(size(), mine, all.data()), *stream_);
  call->start();
  call->wait();
  return all;
}

bool Hosts::all(bool mine) {
  const std::vector<std::int64_t> so = gather(mine ? 1 : 0);
  return std::count(so.begin(), so.end(), 0) == 0;
}

void Hosts::meet(std::int64_t call) {
  mine_ = call;
  meeting_->start();
  meeting_->wait();
  for (int rank = 0; rank < size(); ++rank) {
    const std::int64_t other = calls_[static_cast<std::size_t>(rank)];
    MW_CHECK(other == calls_[0], "device 0 is in call {}, device {} in call {}", calls_[0], rank,
             other);
  }
}

}  // namespace meshwork::cuda
