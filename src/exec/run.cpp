// A program is enqueued: step by step, or in recorded pieces. What the streams of communication do
// depends on the hosts of other devices, so no piece reaches over a step at which they exchange.
// The events between the streams stay outside, too: an event within a recorded piece would be the
// one that was recorded last when the device comes to it, which may be that of the next run.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "exec/executable.h"
#include "graph/op_def.h"

namespace meshwork {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

/// To launch a recorded piece takes the host as long as to launch a kernel or two.
constexpr std::size_t kFewestSteps = 3;

/// A mark takes the device as long as the smallest kernel.
constexpr std::size_t kStepsPerMark = 32;

/// Says so while it lives.
class Computing {
 public:
  Computing(Progress& progress, bool computes) : progress_(progress) {
    progress_.computes.store(computes, kRelaxed);
  }
  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;
  ~Computing() { progress_.computes.store(false, kRelaxed); }

 private:
  Progress& progress_;
};

}  // namespace

void Executable::run() const {
  if (++runs_ == 2) record();
  begin();
  std::size_t step = 0;
  for (const Piece& piece : recorded_) {
    while (step < piece.begin) enqueue(step++);
    streams_.progress.step.store(step, kRelaxed);
    piece.launch();
    step = piece.end;
  }
  while (step < steps_.size()) enqueue(step++);
  end();
}

void Executable::enqueue(std::size_t step) const {
  compute(step);
  for (PreparedCall* call : steps_[step].under_way) call->poll();
}

void Executable::compute(std::size_t step) const {
  streams_.progress.step.store(step, kRelaxed);
  const Computing computing(streams_.progress, computes_ && steps_[step].call == nullptr);
  launch(step);
}

void Executable::launch(std::size_t step) const {
  if (step % kStepsPerMark == 0) {
    streams_.compute->mark(first_mark_ + static_cast<std::int32_t>(step / kStepsPerMark));
  }
  steps_[step].launch();
}

void Executable::record() const {
  const auto exchanges = [](const Step& step) { return step.call != nullptr; };
  const auto begin_of_steps = steps_.begin();
  for (auto begin = begin_of_steps; begin != steps_.end();) {
    const auto end = std::find_if(begin, steps_.end(), exchanges);
    const auto first = static_cast<std::size_t>(begin - begin_of_steps);
    const auto behind = static_cast<std::size_t>(end - begin_of_steps);
    if (behind - first >= kFewestSteps) {
      Launch piece = streams_.compute->recorded([&] {
        for (std::size_t step = first; step < behind; ++step) launch(step);
      });
      if (piece == nullptr) return recorded_.clear();
      recorded_.push_back({first, behind, std::move(piece)});
    }
    begin = std::find_if_not(end, steps_.end(), exchanges);
  }
}

void Executable::end() const {
  streams_.progress.program.store(nullptr, kRelaxed);
  streams_.progress.count.fetch_add(1, kRelaxed);
}

std::string Executable::describe(std::size_t step) const {
  const Node& node = plan_.program.node(steps_.at(step).value);
  const std::string op(node.op->name);
  return node.path.empty() ? op : fmt::format("{} of '{}'", op, node.path);
}

void Executable::reserve_marks() {
  if (steps_.empty()) return;
  first_mark_ = streams_.next_mark;
  streams_.marked[first_mark_] = this;
  streams_.next_mark += static_cast<std::int32_t>((steps_.size() - 1) / kStepsPerMark + 1);
}

std::string place_of_failure(const ProgramStreams& streams) {
  const std::optional<std::int32_t> mark = streams.compute->failed_behind();
  if (!mark) return "";
  const auto above = streams.marked.upper_bound(*mark);
  if (above == streams.marked.begin()) return "";
  const auto& [first_mark, program] = *std::prev(above);
  const std::size_t step = static_cast<std::size_t>(*mark - first_mark) * kStepsPerMark;
  const std::size_t next = step + kStepsPerMark;
  const std::string come = "; it had come to " + program->describe(step);
  if (next < program->steps_.size()) return come + ", and not to " + program->describe(next);
  return come + ", near the end of a program";
}

}  // namespace meshwork
