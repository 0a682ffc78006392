#include "train/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>

#include "base/check.h"
#include "base/error.h"
#include "base/file.h"
#include "base/unfinished_file.h"
#include "comm/collectively.h"
#include "machine/identity.h"
#include "train/trace_text.h"

namespace meshwork {
namespace {

/// Steps in which caches fill, and threads wake up.
constexpr std::int64_t kWarmUp = 3;

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// By how much the clock of each device is ahead of the first one's. Those of one machine have one
/// clock. Between machines it is the median over some barriers: all leave one at about the same
/// time.
std::vector<std::int64_t> clocks_ahead(HostGroup& hosts) {
  constexpr int kRounds = 9;
  const std::vector<std::int64_t> machines = gather(hosts, machine_identity());
  std::vector<std::vector<std::int64_t>> rounds;
  for (int round = 0; round < kRounds; ++round) {
    hosts.barrier();
    rounds.push_back(gather(hosts, now()));
  }
  std::vector<std::int64_t> ahead;
  for (const std::int64_t machine : machines) {
    const auto agent = std::ranges::find(machines, machine) - machines.begin();
    std::vector<std::int64_t> seen;
    for (const auto& clocks : rounds) {
      seen.push_back(clocks[static_cast<std::size_t>(agent)] - clocks[0]);
    }
    std::ranges::sort(seen);
    ahead.push_back(seen[seen.size() / 2]);
  }
  return ahead;
}

/// Gives the first device the pieces of the trace of each device, in order; all make as many.
void gather_pieces(HostGroup& hosts, TraceText& mine,
                   const std::function<void(const std::string&)>& take) {
  for (int device = 0; device < hosts.size(); ++device) {
    for (std::size_t piece = 0; piece < mine.pieces(); ++piece) {
      std::string text;
      if (hosts.rank() == device) text = mine.piece(piece);
      if (device > 0) broadcast_text(hosts, text, device);
      take(text);
    }
  }
}

/// A trace that grows by pieces under a partial name, and gets its own when it is whole.
class TraceFile {
 public:
  TraceFile(const std::string& path, const std::string& head)
      : target_(file_to_replace(path)),
        partial_(partial_name(target_)),
        file_(File::create(partial_.path())) {
    file_.append(head);
  }
  void add(const std::string& piece) {
    file_.append((is_empty_ ? "" : ",\n") + piece);
    is_empty_ = false;
  }
  void finish() {
    file_.append("\n]}\n");
    file_.sync();
    file_.close();
    rename_file(partial_.path(), target_);
    partial_.keep();
  }

 private:
  std::string target_;
  UnfinishedFile partial_;
  File file_;
  bool is_empty_ = true;
};

}  // namespace

void check_trace(const Job& job) {
  if (is_on_gpus(job)) {
    fail(
        "--trace: the host does not see when a GPU computes what; leave it out and use NVIDIA's "
        "Nsight Systems: nsys profile meshwork fit {}",
        job.config.file);
  }
  if (job.config.debug.check_numerics) {
    fail(
        "--trace: with debug.check_numerics=true a step looks at every value, which takes longer "
        "than to compute it; leave one of them out");
  }
}

void check_trace_file(const std::string& file, HostGroup& hosts) {
  collectively(hosts, [&] {
    if (hosts.rank() != 0) return;
    create_parent_directory(file, "; name another file with --trace");
    const UnfinishedFile partial(partial_name(file_to_replace(file)));
    File::create(partial.path());
  });
}

StepTrace::StepTrace(const Session& session, const TraceOptions& options)
    : session_(session), file_(options.file), steps_(static_cast<std::size_t>(options.steps)) {
  MW_CHECK(session.streams().compute->is_immediate(), "a trace of steps that are enqueued alone");
  std::size_t most = 0;
  for (const auto& [key, program] : session.job().programs) {
    if (key.kind != ProgramKind::kTrain && key.kind != ProgramKind::kAccumulate) continue;
    const auto& steps = session.executable(key).steps();
    most = std::max(most, steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].call != nullptr) starts_.emplace(steps[i].call, i);
    }
  }
  for (TracedStep& step : steps_) {
    for (auto* times : {&step.launched, &step.polled, &step.complete}) times->resize(most);
  }
}

void StepTrace::set_clock() {
  HostGroup& hosts = session_.hosts();
  const std::vector<std::int64_t> ahead = clocks_ahead(hosts);
  std::int64_t zero = now();
  hosts.broadcast(&zero, sizeof zero, 0);
  zero_ = zero + ahead[static_cast<std::size_t>(hosts.rank())];
}

bool StepTrace::begin(std::int64_t number) {
  if (is_full() || ++begun_ <= kWarmUp) return false;
  if (used_ == 0) set_clock();
  ++used_;
  last().number = number;
  last().begin = now();
  return true;
}

void StepTrace::run(const Executable& program) {
  TracedStep& step = last();
  step.program = &program;
  const auto launched = [&](std::size_t i) { step.launched[i] = step.polled[i] = now(); };
  const auto polled = [&](std::size_t i, const PreparedCall& call, bool is_complete) {
    step.polled[i] = now();
    std::int64_t& complete = step.complete[starts_.find(&call)->second];
    if (is_complete && complete == 0) complete = step.polled[i];
  };
  program.run(launched, polled);
}

void StepTrace::end_of(HostPart part) { last().ends[static_cast<std::size_t>(part)] = now(); }

void StepTrace::end(double loss) {
  last().loss = loss;
  end_of(HostPart::kResults);
}

std::string StepTrace::write() const {
  HostGroup& hosts = session_.hosts();
  if (used_ == 0) {
    return fmt::format(
        "warning: --trace {}: training ended before step {} of this process, the first one that "
        "is recorded; nothing is written",
        file_, kWarmUp + 1);
  }
  TraceText text(session_, {steps_.data(), used_}, zero_);
  std::optional<TraceFile> file;
  std::string failure;
  const auto attempt = [&](const auto& work) {
    if (!session_.is_first() || !failure.empty()) return;
    try {
      work();
    } catch (const Error& error) {
      failure = error.what();
    }
  };
  attempt([&] { file.emplace(file_, text.head()); });
  gather_pieces(hosts, text, [&](const std::string& piece) { attempt([&] { file->add(piece); }); });
  attempt([&] { file->finish(); });
  return failure.empty() ? "" : fmt::format("warning: {}; there is no trace", failure);
}

}  // namespace meshwork
