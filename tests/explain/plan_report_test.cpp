// What a training step takes: sums of what is told elsewhere, and operations that can be counted.
#include <doctest/doctest.h>

#include "explain/alike.h"
#include "explain/model_summary.h"
#include "explain/plan_report.h"
#include "support/training.h"
#include "train/fit.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

std::string perceptron(const std::string& keys) {
  return keys + R"(
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [64, 30]}, y: {normal: [64, 10]}}}}
model:
  input: [30]
  layers:
    - Dense: {name: d1, units: 40, activation: relu}
    - Dense: {name: d2, units: 10}
compile: {optimizer: adam, loss: mse}
fit: {batch_size: 32}
)";
}

const std::string kSplit = R"(
mesh: {data: 2, model: 2}
layout_map: {d1/kernel: [null, model], d1/bias: [model], d2/kernel: [model, null]}
)";

struct Reported {
  Job job;
  CompileTrace trace;
  PlanReport report;
};

Reported reported(const std::string& text, const std::string& mesh = "", bool is_timed = false) {
  Reported result{job_of(text, mesh), {}, {}};
  program_for_checks(result.job, &result.trace);
  result.report = report_plan(result.job, result.trace, is_timed);
  return result;
}

}  // namespace

TEST_CASE("paths that differ in Keras's numbers alone are alike") {
  CHECK(without_numbers("stage_2/block_11/d1/kernel") == "stage/block/d1/kernel");
  CHECK(without_numbers("einsum of dense_1") == "einsum of dense");
  CHECK(without_numbers("d1/kernel") == "d1/kernel");
  CHECK(without_numbers("_1/12/a_/b_1c") == "_1/12/a_/b_1c");
  CHECK(joined("block/d/kernel", "block_1/d/kernel") == "block*/d/kernel");
  CHECK(joined("block*/d_1/kernel", "block_7/d_1/kernel") == "block*/d_1/kernel");
  CHECK(joined("a_1/b_1", "a_1/b_1") == "a_1/b_1");
  CHECK(without_numbers(joined("a_1/b_1", "a_2/b_1")) == "a/b");
}

TEST_CASE("a pattern matches the paths that it is made of") {
  CHECK(pattern_of({"d1/kernel"}) == "d1/kernel");
  CHECK(pattern_of({"block/d/kernel", "block_1/d/kernel"}) == "block(_\\d+)?/d/kernel");
  CHECK(pattern_of({"a_1/b/c_3", "a_2/b/c_3"}) == "a_\\d+/b/c_3");
  CHECK(pattern_of({"x.y+z/k"}) == "x\\.y\\+z/k");
}

TEST_CASE("what is sent, and the memory, are those that the summary tells") {
  Reported r = reported(perceptron(kSplit));
  const GlobalProgram& program = r.job.programs.at({ProgramKind::kTrain, 32});
  const ModelSummary summary = summarize(r.job.config, program, r.trace, r.job.mesh);
  CHECK(r.report.batch == 32);
  CHECK(r.report.sent_bytes == summary.sent);
  CHECK(r.report.collectives == summary.transfers);
  CHECK(r.report.calls > 0);
  CHECK(r.report.calls <= r.report.collectives);
  double bytes = 0;
  std::int64_t count = 0;
  for (const SentRow& row : r.report.sent) {
    bytes += row.bytes;
    count += row.count * static_cast<std::int64_t>(row.collectives.size());
    CHECK_FALSE(row.collectives.empty());
  }
  CHECK(bytes == doctest::Approx(r.report.sent_bytes));
  CHECK(count == r.report.collectives);
  CHECK(r.report.memory.use.bytes() == planned_memory(r.job).use.bytes());
  CHECK(r.report.fullest.bytes > 0);
  CHECK(r.report.fullest.bytes <= r.report.memory.use.step);
  CHECK_FALSE(r.report.time);
}

TEST_CASE("one device sends nothing, and its operations are those of the products and a little") {
  const Reported r = reported(perceptron("mesh: {data: 1}\n"));
  CHECK(r.report.sent.empty());
  CHECK(r.report.sent_bytes == 0);
  CHECK(r.report.calls == 0);
  const double first = 2.0 * 32 * 30 * 40, second = 2.0 * 32 * 40 * 10;
  const Operations& all = r.report.most;
  CHECK(all.forward >= first + second);
  CHECK(all.forward < 1.2 * (first + second));
  // Of the first layer no gradient of the data, of the second both.
  CHECK(all.backward >= first + 2 * second);
  CHECK(all.backward < 1.2 * (first + 2 * second));
  CHECK(all.update >= 30 * 40);
  CHECK(r.report.least.all() == all.all());
}

TEST_CASE("devices with uneven parts compute more and less, all together as much as one") {
  const Reported one = reported(perceptron("mesh: {data: 1}\n"));
  const Reported three = reported(perceptron("mesh: {data: 1}\n"), "3");
  const double share = one.report.most.forward / 3;
  CHECK(three.report.most.forward > share);
  CHECK(three.report.least.forward < share);
  // 32 samples: 11, 11 and 10.
  CHECK(three.report.most.forward / three.report.least.forward ==
        doctest::Approx(1.1).epsilon(0.01));
}

TEST_CASE("steps that only accumulate gradients are told apart from the update") {
  std::string text = perceptron("mesh: {data: 1}\n");
  CHECK(reported(text, "4").report.accumulating == 0);
  const std::size_t optimizer = text.find("optimizer: ");
  REQUIRE(optimizer != std::string::npos);
  const std::size_t begin = optimizer + 11, end = text.find_first_of(",}\n", begin);
  text.replace(begin, end - begin, "{SGD: {gradient_accumulation_steps: 3}}");
  const PlanReport report = reported(text, "4").report;
  CHECK(report.accumulating == 2);
  const double weights = 4 * (30 * 40 + 40 + 40 * 10 + 10);
  CHECK(report.sent_bytes >= 1.5 * weights);
  CHECK(report.accumulating_bytes < weights / 50);
}

TEST_CASE("repeated blocks are one row") {
  const Reported r = reported(R"(
mesh: {data: 2}
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [8, 6]}, y: {normal: [8, 6]}}}}
blocks: {pair: {layers: [Dense: {name: up, units: 12}, Dense: {name: down, units: 6}]}}
model: {input: [6], layers: [pair: {repeat: 3}]}
compile: {optimizer: sgd, loss: mse}
fit: {batch_size: 8}
)");
  std::vector<std::string> kernels;
  for (const SentRow& row : r.report.sent) {
    if (row.value.ends_with("kernel/gradient")) {
      kernels.push_back(row.value);
      CHECK(row.count == 3);
      CHECK(row.layer.starts_with("pair*/"));
      CHECK(row.collectives == std::vector<std::string>{"all_reduce over data"});
      CHECK(row.bytes == doctest::Approx(3 * 6 * 12 * 4));
    }
  }
  CHECK(kernels ==
        std::vector<std::string>{"pair*/down/kernel/gradient", "pair*/up/kernel/gradient"});
}

TEST_CASE("a device's share is timed by itself, whatever the mesh") {
  for (const char* mesh : {"1x1", "2x2", "3x2"}) {
    const Reported r = reported(perceptron(kSplit), mesh, true);
    CAPTURE(mesh);
    REQUIRE(r.report.time);
    CHECK(r.report.time->seconds > 0);
    CHECK(r.report.time->seconds < 1);
    CHECK(r.report.time->threads >= 1);
    const StepTime time = step_time(r.report, 1e9);
    CHECK(time.computes == r.report.time->seconds);
    CHECK(time.sends == doctest::Approx(r.report.sent_bytes / 1e9));
    CHECK(time.least() == std::max(time.computes, time.sends));
    CHECK(time.most() == time.computes + time.sends);
  }
}
