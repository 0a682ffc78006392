// What the hosts of threads tell each other is read where it stands.
#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "base/check.h"
#include "comm/thread_world.h"

namespace meshwork {
namespace {

class ThreadHostGroup final : public HostGroup {
 public:
  explicit ThreadHostGroup(ThreadMember member) : member_(std::move(member)) {}

  int rank() const override { return member_.rank; }
  int size() const override { return member_.size(); }

  void all_gather(const void* send, std::size_t bytes, void* recv) override {
    member_.meet(fmt::format("all_gather of {} bytes", bytes), send,
                 [&](std::span<const void* const> shown) {
                   auto* to = static_cast<std::byte*>(recv);
                   for (const void* from : shown) {
                     if (bytes > 0) std::memcpy(to, from, bytes);
                     to += bytes;
                   }
                 });
  }

  void broadcast(void* data, std::size_t bytes, int root) override {
    MW_CHECK(root >= 0 && root < size(), "root {} of {}", root, size());
    member_.meet(fmt::format("broadcast of {} bytes from {}", bytes, root), data,
                 [&](std::span<const void* const> shown) {
                   if (root == rank() || bytes == 0) return;
                   std::memcpy(data, shown[static_cast<std::size_t>(root)], bytes);
                 });
  }

  void barrier() override { member_.meet("barrier"); }

  void abort(int exit_code) noexcept override { member_.world->end(member_.device(), exit_code); }

 private:
  ThreadMember member_;
};

}  // namespace

std::unique_ptr<HostGroup> thread_host_group(ThreadMember member) {
  return std::make_unique<ThreadHostGroup>(std::move(member));
}

}  // namespace meshwork
