// Layout maps that the compiler finds: those that people write, and what the plan says of them.
#include "explain/suggestion.h"

#include <doctest/doctest.h>

#include "explain/variable_report.h"
#include "sharding/layout_map.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

std::string perceptron(const std::string& keys) {
  return keys + R"(
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [256, 256]}, y: {normal: [256, 128]}}}}
model:
  input: [256]
  layers:
    - Dense: {name: up, units: 1024, activation: relu}
    - Dense: {name: down, units: 128}
compile: {optimizer: adam, loss: mse}
fit: {batch_size: 256}
)";
}

std::map<std::string, std::vector<std::vector<std::string>>> map_of(const Suggestion& suggestion) {
  std::map<std::string, std::vector<std::vector<std::string>>> map;
  for (const config::LayoutRule& rule : suggestion.rules.layout_map) map[rule.pattern] = rule.dims;
  return map;
}

using Dims = std::vector<std::vector<std::string>>;

}  // namespace

TEST_CASE("a column kernel and a row kernel are found") {
  const Suggestion found = suggest_layouts(job_of(perceptron("mesh: {data: 2, model: 2}\n"), ""));
  const auto map = map_of(found);
  REQUIRE(map.contains("up/kernel"));
  REQUIRE(map.contains("down/kernel"));
  CHECK(map.at("up/kernel") == Dims{{}, {"model"}});
  CHECK(map.at("down/kernel") == Dims{{"model"}, {}});
  CHECK(found.work_after < 0.7 * found.work_before);
  CHECK(found.after.memory.use.bytes() < 0.7 * double(found.before.memory.use.bytes()));
  CHECK(found.before.sent_bytes > 0);
  CHECK(found.tried > 5);
  CHECK(found.fits);
}

TEST_CASE("a plan with the rules takes what was told") {
  Job job = job_of(perceptron("mesh: {data: 2, model: 3}\n"), "");
  const Suggestion found = suggest_layouts(job);
  Job laid_out = with_layouts(job, found.rules.layout_map, found.rules.optimizer_layout);
  CompileTrace trace;
  program_for_checks(laid_out, &trace);
  const PlanReport plan = report_plan(laid_out, trace, false);
  CHECK(plan.sent_bytes == found.after.sent_bytes);
  CHECK(plan.calls == found.after.calls);
  CHECK(plan.most.all() == found.after.most.all());
  CHECK(plan.memory.use.bytes() == found.after.memory.use.bytes());
}

TEST_CASE("rules of the file stay, and what they lay out is not laid out twice") {
  const Suggestion found = suggest_layouts(
      job_of(perceptron("mesh: {data: 2, model: 2}\nlayout_map: {'up/.*': [model]}\n"), ""));
  const auto map = map_of(found);
  CHECK_FALSE(map.contains("up/kernel"));
  CHECK_FALSE(map.contains("up/bias"));
  CHECK(found.work_after <= found.work_before);
}

TEST_CASE("on one device, or without an axis beside the batch's, nothing is suggested") {
  for (const char* mesh : {"1x1", "4x1"}) {
    CAPTURE(mesh);
    const Suggestion found =
        suggest_layouts(job_of(perceptron("mesh: {data: 2, model: 2}\n"), mesh));
    CHECK(found.rules.empty());
    CHECK(found.tried == 1);
    CHECK(found.work_after == found.work_before);
  }
}

TEST_CASE("weights of repeated blocks have one rule, those of other layers one each") {
  const std::string text = R"(
mesh: {data: 1, model: 2}
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [256, 256]}, y: {normal: [256, 256]}}}}
blocks: {pair: {layers: [Dense: {name: up, units: 1024, activation: relu}, Dense: {name: down, units: 256}]}}
model: {input: [256], layers: [pair: {repeat: 3}, Dense: {name: last_1, units: 512}, Dense: {name: last_2, units: 256}]}
compile: {optimizer: sgd, loss: mse}
fit: {batch_size: 256}
)";
  const auto map = map_of(suggest_layouts(job_of(text, "")));
  REQUIRE(map.contains("pair(_\\d+)?/up/kernel"));
  REQUIRE(map.contains("pair(_\\d+)?/down/kernel"));
  CHECK(map.at("pair(_\\d+)?/up/kernel") == Dims{{}, {"model"}});
  CHECK(map.at("pair(_\\d+)?/down/kernel") == Dims{{"model"}, {}});
  CHECK(map.contains("last_1/kernel"));
  CHECK(map.contains("last_2/kernel"));
}

TEST_CASE("where a step does not fit, weights are split along the batch's axis, too") {
  const std::string text = perceptron("mesh: {data: 4}\n");
  const Suggestion wide = suggest_layouts(job_of(text, ""));
  CHECK(wide.rules.empty());
  const std::int64_t limit = wide.before.memory.use.bytes() * 3 / 4;
  const Suggestion tight =
      suggest_layouts(job_of(fmt::format("memory_limit: {}\n", limit) + text, ""));
  CHECK(tight.fits);
  CHECK(tight.after.memory.use.bytes() <= limit);
  REQUIRE_FALSE(tight.rules.empty());
  for (const config::LayoutRule& rule : tight.rules.layout_map) {
    for (const auto& axes : rule.dims)
      CHECK((axes.empty() || axes == std::vector<std::string>{"data"}));
  }
  const Suggestion none = suggest_layouts(job_of("memory_limit: 10000\n" + text, ""));
  CHECK_FALSE(none.fits);
  CHECK(none.after.memory.use.bytes() < wide.before.memory.use.bytes());
}

TEST_CASE("where rules keep the weights whole, the optimizer's state is split to save memory") {
  const std::string text =
      perceptron("mesh: {data: 4}\nlayout_map: {'.*/kernel': [null], '.*/bias': [null]}\n");
  const Suggestion wide = suggest_layouts(job_of(text, ""));
  CHECK(wide.rules.empty());
  const std::int64_t limit = wide.before.memory.use.bytes() * 3 / 4;
  const std::string tight = fmt::format("memory_limit: {}\n", limit) + text;
  const Suggestion found = suggest_layouts(job_of(tight, ""));
  CHECK(found.fits);
  CHECK(found.rules.layout_map.empty());
  REQUIRE(found.rules.optimizer_layout.size() == 1);
  CHECK(found.rules.optimizer_layout[0].pattern == ".*");
  CHECK(found.rules.optimizer_layout[0].dims == Dims{{"data"}});
  CHECK(found.after.memory.use.optimizer < found.before.memory.use.optimizer / 3);
  const std::string stated = tight + "optimizer_layout: {up/kernel: [data]}\n";
  CHECK(suggest_layouts(job_of(stated, "")).rules.empty());
}
