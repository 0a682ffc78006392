#include "job/step_alone.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "comm/imagined.h"
#include "comm/single.h"
#include "exec/executable.h"
#include "job/node_memory.h"
#include "machine/topology.h"

namespace meshwork {
namespace {

constexpr double kLeastSeconds = 0.5;
constexpr std::size_t kFewestSteps = 5;

/// The job, for a device that shares its machine with no other.
Job with_all_threads(const Job& job) {
  Job alone = job;
  if (!is_on_gpus(job)) alone.target.threads = threads_per_device(1);
  return alone;
}

/// A device with one program, and imagined others.
class DeviceAlone {
 public:
  DeviceAlone(const Job& job, const ProgramKey& key, int number)
      : job_(job),
        key_(key),
        backend_(make_device(job, single_communicator()).backend),
        plan_(compile_for_device(job.programs.at(key), job.mesh, number,
                                 memory_query(job, *backend_))),
        members_(imagined_communicator(number, job.mesh.num_devices())),
        groups_(*members_),
        streams_(device()),
        done_(device().make_event()) {
    if (device().reads_host_memory()) {
      check_node_memory(job, plan_.arena_bytes, *single_world().hosts);
    }
    arena_ = device().allocate(plan_.arena_bytes);
    program_.emplace(plan_, *backend_, streams_, groups_, arena_.get(),
                     [&](const std::string& field) { return no_samples(field); });
  }
  ~DeviceAlone() { streams_.drain(); }
  DeviceAlone(const DeviceAlone&) = delete;
  DeviceAlone& operator=(const DeviceAlone&) = delete;

  /// Seconds of one step.
  double step() {
    const double begin = steady_seconds();
    program_->run();
    streams_.compute->record(*done_);
    done_->wait();
    return steady_seconds() - begin;
  }

 private:
  Device& device() { return backend_->device(); }

  /// Zeros for all samples of a field. Of the host's no page is touched but that of row 0.
  const std::byte* no_samples(const std::string& field) {
    const data::Split& split = job_.splits.at(split_kind(key_.kind));
    samples_.push_back(device().allocate(split.find(field)->source->bytes()));
    return samples_.back().get();
  }

  const Job& job_;
  ProgramKey key_;
  std::shared_ptr<Backend> backend_;
  Plan plan_;
  std::unique_ptr<Communicator> members_;
  CommunicatorGroups groups_;
  ProgramStreams streams_;
  std::unique_ptr<Event> done_;
  std::shared_ptr<std::byte> arena_;
  std::vector<std::shared_ptr<std::byte>> samples_;
  std::optional<Executable> program_;
};

double median_step(DeviceAlone& device) {
  // A kernel may be built in the first run, and a device may record the second.
  for (int i = 0; i < 3; ++i) device.step();
  std::vector<double> times;
  for (double all = 0; all < kLeastSeconds || times.size() < kFewestSteps; all += times.back()) {
    times.push_back(device.step());
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

}  // namespace

TimeAlone time_alone(const Job& given, const ProgramKey& key, int device) {
  const Job job = with_all_threads(given);
  DeviceAlone alone(job, key, device);
  return {median_step(alone), is_on_gpus(job) ? 0 : job.target.threads};
}

}  // namespace meshwork
