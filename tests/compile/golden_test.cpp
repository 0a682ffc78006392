// The text of every stage of the compiler, for small models: tests/golden/<case>.yaml gives
// tests/golden/<case>.<stage>.txt. With MESHWORK_UPDATE_GOLDEN set (scripts/update_golden.py) the
// texts are written instead of compared.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "compile.h"
#include "job/job.h"

using namespace meshwork;
namespace fs = std::filesystem;

namespace {

const fs::path kGolden = "tests/golden";

std::string read_file(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

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

/// The training step of a case, for the first device, stage by stage. Without scratch memory, which
/// depends on the processor.
std::map<std::string, std::string> compile_case(const std::string& name) {
  const Job job = make_job(config::load_config((kGolden / (name + ".yaml")).string(), {}), 0);
  std::map<std::string, std::string> texts;
  const Dump dump = [&](std::string_view stage, const std::string& text) {
    texts[std::string(stage)] = text;
  };
  const GlobalProgram program = compile(job.config, job.signature, job.mesh, ProgramKind::kTrain,
                                        job.config.fit.batch_size, dump);
  compile_for_device(program, job.mesh, 0, nullptr, 0, dump);
  return texts;
}

/// "" for equal texts, else the first lines that differ.
std::string first_difference(const std::string& golden, const std::string& compiled) {
  std::istringstream old_lines(golden);
  std::istringstream new_lines(compiled);
  for (int number = 1;; ++number) {
    std::string was;
    std::string is;
    const bool more_old = static_cast<bool>(std::getline(old_lines, was));
    const bool more_new = static_cast<bool>(std::getline(new_lines, is));
    if (!more_old && !more_new) return golden == compiled ? "" : "the ends of the last lines";
    if (more_old != more_new || was != is) {
      return fmt::format("line {}\n  golden:   {}\n  compiled: {}", number,
                         more_old ? was : "(end)", more_new ? is : "(end)");
    }
  }
}

}  // namespace

TEST_CASE("every stage of every case is as its golden text says") {
  const bool update = std::getenv("MESHWORK_UPDATE_GOLDEN") != nullptr;
  const auto names = case_names();
  CHECK(names.size() >= 7);
  for (const std::string& name : names) {
    const auto texts = compile_case(name);
    for (const std::string& stage : stages()) {
      const fs::path file = stage_file(name, stage);
      REQUIRE_MESSAGE(texts.contains(stage), name, ": no stage ", stage);
      if (update) {
        std::ofstream(file) << texts.at(stage);
        continue;
      }
      const std::string difference = first_difference(read_file(file), texts.at(stage));
      CHECK_MESSAGE(difference.empty(), file.string(), ": ", difference,
                    "\nif that is meant: scripts/update_golden.py, and read the diff");
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
    CHECK(std::count(stages().begin(), stages().end(), stem.substr(dot + 1)) == 1);
  }
}

TEST_CASE("compiling twice gives the same texts") {
  for (const std::string& name : case_names()) CHECK(compile_case(name) == compile_case(name));
}
