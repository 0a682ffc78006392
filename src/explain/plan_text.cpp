#include <fmt/format.h>

#include <algorithm>

#include "base/byte_size.h"
#include "base/join.h"
#include "explain/draw/columns.h"
#include "explain/plan_report.h"
#include "explain/words.h"

namespace meshwork {
namespace {

/// Columns before the text of a line that begins with a size.
constexpr std::size_t kSize = 14;

/// Rows of memory that are shown one by one; the others are added up.
constexpr std::size_t kMostHeld = 8;

/// "12.3 ms".
std::string show_time(double seconds) {
  if (seconds >= 0.9995) return show_digits(seconds) + " s";
  if (seconds >= 0.9995e-3) return show_digits(seconds * 1e3) + " ms";
  return show_digits(seconds * 1e6) + " us";
}

std::string show_link(double link) { return fmt::format("{:g} GB/s", link / 1e9); }

/// Writes lines that begin with a size.
class Writer {
 public:
  explicit Writer(const Pen& pen) : pen_(pen) {}

  void title(const std::string& text) { text_ += "\n" + bold(text, pen_) + "\n"; }

  void line(const std::string& size, const std::string& text) {
    std::string head = size;
    const std::size_t width = static_cast<std::size_t>(std::max(pen_.width, 40)) - kSize;
    for (const std::string& piece : wrap(text, width)) {
      text_ += pad(head, kSize - 2, Align::kRight) + "  " + piece + "\n";
      head.clear();
    }
  }

  std::string text() && { return finished(text_, pen_); }

 private:
  const Pen& pen_;
  std::string text_;
};

/// "measured here, device 0 alone, with 2 threads".
std::string show_measured(const std::string& who, const TimeAlone& time) {
  return fmt::format("measured here, {} alone, {}", who,
                     time.threads == 0   ? "on a GPU"
                     : time.threads == 1 ? "with one thread"
                                         : fmt::format("with {} threads", time.threads));
}

std::string times(std::int64_t count) { return count == 1 ? "" : fmt::format("{} x ", count); }

void write_sent(const PlanReport& report, int devices, Writer& out) {
  if (report.sent.empty()) {
    out.title(devices == 1 ? "Sends nothing: there is one device" : "Sends nothing");
    return;
  }
  out.title(
      fmt::format("Sends {} in {} collective{}, which start as {}: bytes of one device, on "
                  "average",
                  show_bytes(report.sent_bytes), report.collectives,
                  report.collectives == 1 ? "" : "s", report.calls));
  for (const SentRow& row : report.sent) {
    const std::string layer = row.layer.empty() ? "input" : row.layer;
    out.line(show_bytes(row.bytes), fmt::format("{}{}, {}: {}", times(row.count),
                                                phase_name(row.phase), layer, row.value));
    out.line("", fmt::format("{} -> {}: {}", row.from, row.to, join(row.collectives, ", ")));
  }
  if (report.accumulating == 0) return;
  out.line(show_bytes(report.accumulating_bytes),
           report.accumulating == 1
               ? "besides, in the step before it, which only accumulates gradients"
               : fmt::format("besides, in each of the {} steps before it, which only accumulate "
                             "gradients",
                             report.accumulating));
}

void write_memory(const PlanReport& report, Writer& out) {
  const MemoryUse& use = report.memory.use;
  out.title(fmt::format("Takes {} of memory: device {}, which takes most", show_bytes(use.bytes()),
                        report.memory.device));
  const auto part = [&](const char* what, std::int64_t bytes) {
    if (bytes > 0) out.line(show_bytes(bytes), what);
  };
  part("weights", use.weights);
  part("optimizer state", use.optimizer);
  part("the step: inputs, values, gradients, scratch memory", use.step);
  part("collectives", use.collectives);
  part("samples of the data", use.samples);
  out.line(show_bytes(report.memory.data), "of the data set, in each process, besides");
  const FullestStep& fullest = report.fullest;
  if (fullest.held.empty()) return;
  out.title(fmt::format("Most of the step's memory, {}, is in use at {}, {}",
                        show_bytes(fullest.bytes), fullest.place, phase_name(fullest.phase)));
  const std::size_t shown = fullest.held.size() <= kMostHeld + 1 ? fullest.held.size() : kMostHeld;
  for (std::size_t i = 0; i < shown; ++i) {
    const HeldRow& row = fullest.held[i];
    out.line(show_bytes(row.bytes), times(row.count) + row.value);
  }
  std::int64_t others = 0, bytes = 0;
  for (std::size_t i = shown; i < fullest.held.size(); ++i) {
    others += fullest.held[i].count;
    bytes += fullest.held[i].bytes;
  }
  if (others > 0) out.line(show_bytes(bytes), fmt::format("{} others", others));
}

void write_operations(const PlanReport& report, Writer& out) {
  const Operations& most = report.most;
  out.title(fmt::format("Computes {} floating-point operations: device {}, which computes most",
                        show_operations(most.all()), most.device));
  out.line(show_operations(most.forward), "forward");
  out.line(show_operations(most.backward), "backward");
  out.line(show_operations(most.update), "update");
  if (report.least.all() < most.all()) {
    out.line(show_operations(report.least.all()),
             fmt::format("of device {}, which computes least", report.least.device));
  }
}

std::string rate_of(const PlanReport& report, double seconds) {
  return show_count(static_cast<std::int64_t>(static_cast<double>(report.batch) / seconds));
}

void write_time(const PlanReport& report, double link, Writer& out) {
  const StepTime time = step_time(report, link);
  out.title(fmt::format("A step takes {} to {}: {} to {} samples/s", show_time(time.least()),
                        show_time(time.most()), rate_of(report, time.most()),
                        rate_of(report, time.least())));
  out.line(
      show_time(time.computes),
      "computes: " + show_measured(fmt::format("device {}", report.most.device), *report.time));
  out.line(show_time(time.sends),
           fmt::format("sends, at {} (--link): all, some or nothing of it behind what is computed",
                       show_link(link)));
}

}  // namespace

std::string plan_text(const PlanReport& report, const Mesh& mesh, double link, const Pen& pen) {
  Writer out(pen);
  write_sent(report, mesh.num_devices(), out);
  write_memory(report, out);
  write_operations(report, out);
  if (report.time) write_time(report, link, out);
  return fmt::format("{}\na training step of {} samples\n", show_mesh(mesh), report.batch) +
         std::move(out).text();
}

std::string plans_text(const std::vector<MeshPlan>& plans, double link) {
  const bool is_timed = plans.front().report.time.has_value();
  std::vector<std::vector<std::string>> rows{{"mesh", "memory", "sends", "calls", "operations"}};
  if (is_timed) rows.front().insert(rows.front().end(), {"computes", "sends", "step", "samples/s"});
  for (const auto& [mesh, report] : plans) {
    std::vector<std::string>& row = rows.emplace_back();
    row = {to_string(mesh), show_bytes(report.memory.use.bytes()), show_bytes(report.sent_bytes),
           std::to_string(report.calls), show_operations(report.most.all())};
    if (!is_timed) continue;
    const StepTime time = step_time(report, link);
    row.push_back(show_time(time.computes));
    row.push_back(show_time(time.sends));
    row.push_back(fmt::format("{} to {}", show_time(time.least()), show_time(time.most())));
    row.push_back(rate_of(report, time.most()) + " to " + rate_of(report, time.least()));
  }
  const std::string text =
      fmt::format("a training step of {} samples, of the device that has most of each\n\n",
                  plans.front().report.batch) +
      in_columns(rows);
  if (!is_timed) return text;
  return text + fmt::format("\ncomputes: {}; sends: at {} (--link)\n",
                            show_measured("one device", *plans.front().report.time),
                            show_link(link));
}

}  // namespace meshwork
