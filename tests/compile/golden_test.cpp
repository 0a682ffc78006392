// The text of every stage of the compiler, for small models: tests/golden/<case>.yaml gives
// tests/golden/<case>.<stage>.txt. With MESHWORK_UPDATE_GOLDEN set (scripts/update_golden.py) the
// texts are written instead of compared.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "compile.h"
#include "graph/text.h"
#include "job/job.h"
#include "support/golden.h"
#include "support/ops_by_name.h"
#include "support/text/layouts.h"

using namespace meshwork;
using meshwork::testing::parse;
using meshwork::testing::parse_laid_out;
using meshwork::testing::parse_partitioned;
namespace fs = std::filesystem;

namespace {

const fs::path kGolden = "tests/golden";

/// Passes whose texts are compared.
const std::vector<std::string> kStages{"forward",       "step",      "layouts",
                                       "rematerialize", "reshards",  "collectives",
                                       "local",         "rewritten", "plan"};

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kGolden)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

fs::path stage_file(const std::string& name, const std::string& stage) {
  return kGolden / fmt::format("{}.{}.txt", name, stage);
}

Job job_of_case(const std::string& name) {
  return make_job(config::load_config((kGolden / (name + ".yaml")).string(), {}), 0);
}

/// The training step of a case, for the first device, stage by stage. Without scratch memory, which
/// depends on the processor.
std::map<std::string, std::string> compile_case(const std::string& name) {
  const Job job = job_of_case(name);
  std::map<std::string, std::string> texts;
  const Dump dump = [&](std::string_view stage, const std::string& text) {
    texts[std::string(stage)] = text;
  };
  const GlobalProgram program =
      compile(job.config, job.signature, job.mesh, job.target, ProgramKind::kTrain,
              job.config.fit.batch_size, {.watch = {.dump = dump}});
  compile_for_device(program, job.mesh, 0, {}, 0, {.dump = dump});
  return texts;
}

/// What is there after the text of a stage was read and printed again.
std::string printed_again(const std::string& stage, const std::string& text, const Mesh& mesh) {
  if (stage == "layouts") return print(parse_laid_out(text, mesh, testing::op_of), mesh);
  if (stage == "reshards" || stage == "collectives") {
    return print(parse_partitioned(text, mesh, testing::op_of), mesh);
  }
  return print(parse(text, testing::op_of));
}

}  // namespace

TEST_CASE("every stage of every case is as its golden text says") {
  const auto names = case_names();
  CHECK(names.size() >= 7);
  for (const std::string& name : names) {
    const auto texts = compile_case(name);
    for (const std::string& stage : kStages) {
      const fs::path file = stage_file(name, stage);
      REQUIRE_MESSAGE(texts.contains(stage), name, ": no stage ", stage);
      if (testing::updates_golden()) {
        std::ofstream(file) << texts.at(stage);
      } else {
        testing::check_golden(file, testing::read_text(file), texts.at(stage));
      }
    }
  }
}

TEST_CASE("there is no golden text without a case and a stage") {
  for (const auto& entry : fs::directory_iterator(kGolden)) {
    if (entry.path().extension() != ".txt") continue;
    const std::string stem = entry.path().stem().string();
    const std::size_t dot = stem.rfind('.');
    REQUIRE(dot != std::string::npos);
    CAPTURE(stem);
    CHECK(fs::exists(kGolden / (stem.substr(0, dot) + ".yaml")));
    CHECK(std::count(kStages.begin(), kStages.end(), stem.substr(dot + 1)) == 1);
  }
}

TEST_CASE("the text of every stage but the plan comes back") {
  for (const std::string& name : case_names()) {
    const Mesh mesh = job_of_case(name).mesh;
    for (const auto& [stage, text] : compile_case(name)) {
      if (stage == "rematerialize" || stage == "schedule" || stage == "plan") continue;
      const std::string changed = testing::difference(text, printed_again(stage, text, mesh));
      const std::string& which = stage;  // clang 14 captures no structured binding
      CHECK_MESSAGE(changed.empty(), name, ", ", which, ":\n", changed);
    }
  }
}

TEST_CASE("compiling twice gives the same texts") {
  for (const std::string& name : case_names()) CHECK(compile_case(name) == compile_case(name));
}
