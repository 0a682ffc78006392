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
      told_(static_cast<std::size_t>(size())) {
  meeting_ = communicator_->prepare(all_gather(size(), {&mine_, 1}, told_.data()), *stream_);
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

std::span<const std::int64_t> Hosts::tell(std::int64_t mine) {
  mine_ = mine;
  meeting_->start();
  meeting_->wait();
  return told_;
}

void Hosts::meet(std::int64_t call) {
  const std::span<const std::int64_t> calls = tell(call);
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    MW_CHECK(calls[rank] == calls[0], "device 0 is in call {}, device {} in call {}", calls[0],
             rank, calls[rank]);
  }
}

}  // namespace meshwork::cuda
