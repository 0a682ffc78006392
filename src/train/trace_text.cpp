#include "train/trace_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/host_name.h"
#include "base/join.h"
#include "base/json.h"
#include "graph/op_def.h"
#include "graph/text.h"
#include "sharding/mesh.h"
#include "train/json_numbers.h"

namespace meshwork {
namespace {

using Kind = Instruction::Kind;

// Rows of a device, from the top; further collectives follow.
constexpr int kHostRow = 1, kComputeRow = 2, kCollectiveRow = 3;

/// Nanoseconds: what collectives under way take of the host is shown from here on.
constexpr std::int64_t kShownHelp = 1000;

constexpr std::array<const char*, kHostParts> kPartNames{"wait for data", "load batch",
                                                         "run program", "read results"};

/// "einsum", "add, relu", or the first of many; without constants that others read.
std::string ops_of(const Graph& program, const std::vector<ValueId>& nodes) {
  constexpr std::size_t kShown = 6;
  std::vector<std::string_view> ops;
  for (const ValueId id : nodes) {
    if (!program.node(id).op->is_constant) ops.push_back(program.node(id).op->name);
  }
  if (ops.empty()) ops.push_back(program.node(nodes.front()).op->name);
  if (ops.size() <= kShown) return join(ops, ", ");
  const std::size_t more = ops.size() - kShown;
  ops.resize(kShown);
  return fmt::format("{} and {} more", join(ops, ", "), more);
}

}  // namespace

struct TraceText::Described {
  std::string name, category, args;
  Kind kind = Kind::kKernel;
  const PreparedCall* call = nullptr;
  std::size_t finish = 0;  ///< of a start: the step that ends the collective
};

TraceText::TraceText(const Session& session, std::span<const TracedStep> steps, std::int64_t zero)
    : session_(session), steps_(steps), zero_(zero), process_(session.hosts().rank() + 1) {}

TraceText::~TraceText() = default;

std::string TraceText::head() const {
  const Job& job = session_.job();
  const Json other{{"configuration", job.config.file}, {"mesh", to_string(job.mesh)}};
  return fmt::format("{{\"displayTimeUnit\":\"ms\",\"otherData\":{},\"traceEvents\":[\n",
                     json_dump(other));
}

std::string TraceText::piece(std::size_t number) {
  text_.clear();
  if (number < steps_.size()) {
    add_step(number);
  } else {
    add_names();
  }
  return text_;
}

const std::vector<TraceText::Described>& TraceText::described(const Executable& program) {
  const auto [found, is_new] = described_.try_emplace(&program);
  std::vector<Described>& all = found->second;
  if (!is_new) return all;
  std::map<const PreparedCall*, std::size_t> starts;
  for (std::size_t i = 0; i < program.steps().size(); ++i) {
    all.push_back(describe(program, i));
    if (all[i].kind == Kind::kStart) starts[all[i].call] = i;
    if (all[i].kind == Kind::kFinish) all[starts.at(all[i].call)].finish = i;
  }
  return all;
}

TraceText::Described TraceText::describe(const Executable& program, std::size_t step) const {
  const Graph& graph = program.plan().program;
  const Executable::Step& mine = program.steps()[step];
  const Node& node = graph.node(mine.value);
  const Instruction* instruction = mine.instruction;
  Described result{program.describe(step), std::string(to_string(node.phase)), "", Kind::kKernel,
                   mine.call};
  Json args;
  args["op"] = "copy";
  if (instruction == nullptr) {
    result.name = "copy into " + result.name;
    result.category = to_string(Phase::kUpdate);
  } else {
    result.kind = instruction->kind;
    if (instruction->kind == Kind::kFinish) {
      instruction = &program.plan().instructions[static_cast<std::size_t>(instruction->started)];
    }
    args["op"] = ops_of(graph, instruction->nodes);
  }
  if (!node.path.empty()) args["layer"] = node.path;
  args["shape"] = to_string(node.type);
  if (node.collective) {
    const std::vector<int> axes(node.collective->axes.begin(), node.collective->axes.end());
    args["axes"] = session_.job().mesh.axis_names(axes);
    args["devices"] = node.collective->members;
    args["bytes_sent"] = std::llround(sent_bytes(graph, *instruction));
  }
  result.args = json_dump(args);
  return result;
}

void TraceText::add_step(std::size_t number) {
  const TracedStep& step = steps_[number];
  const bool is_last = number + 1 == steps_.size();
  add_host(step, is_last ? step.ends.back() : steps_[number + 1].begin);
  add_program(step);
  add_collectives(step);
}

/// `next`: the beginning of the next step.
void TraceText::add_host(const TracedStep& step, std::int64_t next) {
  const Json loss{{"loss", number_to_json(step.loss)}};
  add_span(kHostRow, fmt::format("step {}", step.number), "step", step.begin, step.ends.back(),
           json_dump(loss));
  std::int64_t begin = step.begin;
  for (std::size_t i = 0; i < kHostParts; ++i) {
    add_span(kHostRow, kPartNames[i], "host", begin, step.ends[i]);
    begin = step.ends[i];
  }
  if (next > begin) add_span(kHostRow, "between steps", "host", begin, next);
  if (!session_.is_first() || !std::isfinite(step.loss)) return;
  add(fmt::format(R"({{"ph":"C","pid":{},"ts":{:.3f},"name":"loss","args":{}}})", process_,
                  microseconds(begin), json_dump(loss)));
}

void TraceText::add_program(const TracedStep& step) {
  const std::vector<Described>& all = described(*step.program);
  std::int64_t begin = step.ends[static_cast<std::size_t>(HostPart::kBatch)];
  for (std::size_t i = 0; i < all.size(); ++i) {
    const char* verb = all[i].kind == Kind::kStart    ? "start "
                       : all[i].kind == Kind::kFinish ? "wait for "
                                                      : "";
    add_span(kComputeRow, verb + all[i].name, all[i].category, begin, step.launched[i],
             all[i].args);
    begin = step.polled[i];
    if (begin - step.launched[i] < kShownHelp) continue;
    add_span(kComputeRow, "help collectives", "communication", step.launched[i], begin);
  }
}

/// Each in the first row that is free.
void TraceText::add_collectives(const TracedStep& step) {
  const std::vector<Described>& all = described(*step.program);
  std::vector<std::int64_t> ends;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].kind != Kind::kStart) continue;
    const std::int64_t begin =
        i > 0 ? step.polled[i - 1] : step.ends[static_cast<std::size_t>(HostPart::kBatch)];
    const std::int64_t end =
        step.complete[i] != 0 ? step.complete[i] : step.launched[all[i].finish];
    auto lane = std::ranges::find_if(ends, [&](std::int64_t free) { return free <= begin; });
    if (lane == ends.end()) lane = ends.insert(lane, 0);
    *lane = end;
    add_span(kCollectiveRow + static_cast<int>(lane - ends.begin()), all[i].name, all[i].category,
             begin, end, all[i].args);
  }
  lanes_ = std::max(lanes_, ends.size());
}

/// "device 3: data 1, model 1 (HOST)"
std::string TraceText::place_of_device() const {
  const Mesh& mesh = session_.job().mesh;
  const int device = session_.hosts().rank();
  const std::vector<int> coordinates = mesh.coordinates(device);
  std::vector<std::string> places;
  for (const auto& [name, size] : stated_axes(mesh)) {
    int place = 0;
    for (const int part : mesh.parts_of(name)) {
      const auto axis = static_cast<std::size_t>(part);
      place = place * mesh.sizes[axis] + coordinates[axis];
    }
    places.push_back(fmt::format("{} {}", name, place));
  }
  return fmt::format("device {}: {} ({})", device, join(places, ", "), host_name());
}

void TraceText::add_names() {
  add_name("process_name", 0, place_of_device(), process_);
  add_name("thread_name", kHostRow, "host", kHostRow);
  add_name("thread_name", kComputeRow, "compute", kComputeRow);
  for (int lane = 0; lane < static_cast<int>(lanes_); ++lane) {
    const int row = kCollectiveRow + lane;
    add_name("thread_name", row,
             lane == 0 ? "communication" : fmt::format("communication {}", lane + 1), row);
  }
}

/// The name of a row, or of the process, and its place among others.
void TraceText::add_name(const char* what, int row, const std::string& name, int place) {
  Json entry{
      {"ph", "M"}, {"pid", process_}, {"tid", row}, {"name", what}, {"args", {{"name", name}}}};
  add(json_dump(entry));
  const std::string sorted = row == 0 ? "process_sort_index" : "thread_sort_index";
  entry["name"] = sorted;
  entry["args"] = {{"sort_index", place}};
  add(json_dump(entry));
}

void TraceText::add_span(int row, const std::string& name, const std::string& category,
                         std::int64_t begin, std::int64_t end, const std::string& args) {
  add(fmt::format(
      R"({{"ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"name":{},"cat":"{}"{}{}}})",
      process_, row, microseconds(begin), static_cast<double>(end - begin) / 1e3,
      json_dump(Json(name)), category, args.empty() ? "" : ",\"args\":", args));
}

double TraceText::microseconds(std::int64_t time) const {
  return static_cast<double>(time - zero_) / 1e3;
}

void TraceText::add(const std::string& entry) {
  if (!text_.empty()) text_ += ",\n";
  text_ += entry;
}

}  // namespace meshwork
