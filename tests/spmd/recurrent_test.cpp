// What recurrent layers send: nothing from step to step where the batch is split.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <string>

#include "compile.h"
#include "graph/op_def.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

/// Collectives of a training step over so many steps of a sequence, by layer.
std::map<std::string, int> collectives(const std::string& layer, int steps,
                                       const std::string& mesh) {
  const std::string text = fmt::format(R"(
strategy: model_parallel
layout_map: {{'.*recurrent_kernel': [null, model]}}
mesh: {{data: 1, model: 1}}
dataset: {{name: t, format: synthetic, splits: {{train: {{x: {{normal: [8, {1}, 3]}}, y: {{normal: [8, 2]}}}}}}}}
model: {{input: [{1}, 3], layers: [{0}, Dense: {{units: 2}}]}}
compile: {{optimizer: sgd, loss: mse}}
fit: {{batch_size: 8}}
)",
                                       layer, steps);
  const Job job = job_of(text, mesh);
  const Graph program = compile_for_device(compile(job.config, job.signature, job.mesh, job.target,
                                                   ProgramKind::kTrain, 8),
                                           job.mesh, 0, {})
                            .program;
  std::map<std::string, int> found;
  for (const Node& node : program.nodes) {
    if (node.op->collective != Collective::kNone) ++found[node.path];
  }
  return found;
}

}  // namespace

TEST_CASE("a recurrent layer sends no more for a longer sequence where the batch is split") {
  for (const std::string layer :
       {"LSTM: {name: r, units: 8, recurrent_dropout: 0.5}", "GRU: {name: r, units: 8}",
        "GRU: {name: r, units: 8, reset_after: false}", "SimpleRNN: {name: r, units: 8}",
        "Bidirectional: {name: r, layer: {LSTM: {units: 8}}}"}) {
    CAPTURE(layer);
    const auto few = collectives(layer, 3, "data=4,model=1");
    CHECK(few.at("r") > 0);
    CHECK(few == collectives(layer, 9, "data=4,model=1"));
  }
}

TEST_CASE("a recurrent kernel whose gates are split otherwise is gathered once") {
  const std::string lstm = "LSTM: {name: r, units: 9}";
  CHECK(collectives(lstm, 3, "data=1,model=3") == collectives(lstm, 9, "data=1,model=3"));
  CHECK(collectives(lstm, 3, "data=1,model=2").at("r") <
        collectives(lstm, 9, "data=1,model=2").at("r"));
}
