// Whole runs on emulated GPUs whose products are tuned: what is in the file is computed by, on all
// ranks, and nothing else.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "backend/cuda/products/table.h"
#include "gpu_config.h"
#include "program.h"
#include "support/temp_directory.h"

namespace {

using namespace meshwork::test;

/// Heuristics' first algorithm takes long, which of the others adds up in other parts.
constexpr const char* kSlowFirst = "EMULATED_GPU_SLOW_PRODUCTS=3000 ";
/// Who computes a product that is not tuned fails.
constexpr const char* kTunedAlone = "EMULATED_GPU_NO_HEURISTICS=1 ";

/// The program with a folder of its own for what it keeps.
class Kept {
 public:
  explicit Kept(const TempDirectory& directory, const std::string& name = "kept")
      : folder_(directory.file(name)) {}

  const std::string& folder() const { return folder_; }
  std::string environment() const { return "MESHWORK_CUDA_CACHE=" + folder_ + " "; }
  std::string program() const { return "env " + environment() + meshwork::test::program(); }
  /// The one table; "" where there is none.
  std::string file() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().extension() == ".json") return entry.path().string();
    }
    return "";
  }
  std::string tune(const std::string& config, const std::string& more = "") const {
    return output(kSlowFirst + program() + " tune " + config + " " + more);
  }

 private:
  std::string folder_;
};

/// Parts of 5 and 6 samples and of 18 and 19 units.
std::string uneven_config(const TempDirectory& directory) {
  return write_gpu_config(directory, "mesh: {data: 3, model: 2}", 37);
}

std::string transformer_config(const TempDirectory& directory) {
  const std::string file = directory.file("t.yaml");
  write_text(file, R"(
device: cuda
precision: mixed_bfloat16
mesh: {data: 1, model: 2}
layout_map: {'e/kernel': [null, model], 'f/kernel': [model, null]}
dataset:
  name: t
  format: synthetic
  splits:
    train: {x: {normal: [40, 9, 24]}, y: {normal: [40, 9, 24]}}
    test: {x: {normal: [21, 9, 24]}, y: {normal: [21, 9, 24]}}
model:
  input: [9, 24]
  layers:
    - MultiHeadAttention: {name: m, num_heads: 3, key_dim: 8, inputs: [input, input], use_causal_mask: true}
    - Dense: {name: e, units: 65, activation: relu}
    - Dense: {name: f, units: 24}
compile: {optimizer: {SGD: {learning_rate: 0.1, gradient_accumulation_steps: 2}}, loss: mse}
fit: {batch_size: 16, epochs: 2, validation: true}
)");
  return file;
}

}  // namespace

TEST_CASE("a run computes by what tune has measured, again and again, and without it as before") {
  const TempDirectory directory;
  const std::string config = uneven_config(directory);
  const Kept kept(directory);
  const auto run = [&](const std::string& environment = "") {
    return output(environment + kept.program() + fit(config, directory.file("run"), "--overwrite"));
  };
  const std::string by_heuristics = run();
  CHECK(contains(read_text(directory.file("run/run.json")), "\"tuned_products\": null"));
  CHECK(contains(output(kept.program() + " explain " + config),
                 "\nproducts: as cuBLASLt's heuristics say; 'meshwork tune' measures them\n"));
  const std::string first = kept.tune(config);
  CAPTURE(first);
  const int measured = count(first, " -> ") - 1;
  CHECK(measured > 6);
  CHECK(contains(first, fmt::format("\n{} measured, 0 known before\n", measured)));
  CHECK(contains(first, fmt::format("\n{} products in {}\n", measured, kept.file())));
  CHECK(contains(first, " 3 algorithms  a product of float32 ["));

  const std::string tuned = run();
  CHECK(tuned != by_heuristics);
  CHECK(run() == tuned);
  CHECK(run(kTunedAlone) == tuned);
  CHECK(contains(read_text(directory.file("run/run.json")), "\"file\": \"" + kept.file() + "\""));
  const std::string words = fmt::format("products: tuned, {} in {}\n", measured, kept.file());
  CHECK(contains(output(kept.program() + " explain " + config), "\n" + words));
  CHECK(contains(output(kept.program() + " devices"), words));
  CHECK(contains(output(kTunedAlone + kept.program() + " evaluate " + config + " --from " +
                        directory.file("run")),
                 "final loss="));

  const std::string before = read_text(kept.file());
  CHECK(kept.tune(config).starts_with(fmt::format("0 measured, {} known before\n", measured)));
  CHECK(read_text(kept.file()) == before);
  std::filesystem::remove(kept.file());
  CHECK(run() == by_heuristics);
}

TEST_CASE("all programs of fit are tuned, for parts of every extent, by one GPU") {
  const TempDirectory directory;
  const Kept kept(directory);
  const std::string config = transformer_config(directory);
  CHECK(run_job(kTunedAlone + kept.program() + fit(config, directory.file("run"))).exit_code == 2);
  kept.tune(config);
  output(kTunedAlone + kept.program() + fit(config, directory.file("tuned")));
  // Another mesh has other parts.
  const std::string mesh = "--mesh 3x2";
  CHECK(run_job(kTunedAlone + kept.program() + fit(config, directory.file("other"), mesh))
            .exit_code == 2);
  kept.tune(config, mesh);
  output(kTunedAlone + kept.program() + fit(config, directory.file("again"), mesh));
}

TEST_CASE("two that tune at once share the work, and leave a whole file") {
  const TempDirectory directory;
  const Kept kept(directory);
  const std::string tune = kSlowFirst + kept.program() + " tune " + uneven_config(directory);
  const std::string both = output(tune + " > " + directory.file("first") + " & P=$!\n" + tune +
                                  " > " + directory.file("second") + "\nwait $P");
  const std::string all =
      "\n" + read_text(directory.file("first")) + read_text(directory.file("second"));
  CAPTURE(all);
  CHECK(count(all, "\n0 measured, ") == 1);
  CHECK(count(all, " measured, 0 known before\n") == 1);
  CHECK_FALSE(directory.has_partial_files());
  output(kTunedAlone + kept.program() + fit(uneven_config(directory), directory.file("run")));
}

TEST_CASE("a damaged file of products is an error of one line, on one device and on ranks") {
  const TempDirectory directory;
  const std::string config = uneven_config(directory);
  const Kept kept(directory);
  kept.tune(config);
  const std::string whole = read_text(kept.file());
  write_text(kept.file(), whole.substr(0, whole.size() / 2));
  const std::string expected = "meshwork: " + kept.file() + ": damaged: ";
  const std::string fit_it = fit(config, directory.file("run"));
  for (const std::string& command :
       {kept.program() + fit_it, "mpirun --oversubscribe -n 6 " + kept.program() + fit_it,
        kept.program() + " tune " + config}) {
    CAPTURE(command);
    const Ending ending = run_job(command);
    CAPTURE(ending.output);
    CHECK(ending.exit_code == 3);
    CHECK(count(ending.output, expected) == 1);
    CHECK(contains(ending.output, "and run 'meshwork tune'\n"));
  }
  CHECK(contains(output(kept.program() + " devices"), "products: " + kept.file() + ": damaged: "));
}

TEST_CASE("an algorithm that cuBLASLt does not know is an error that names product and file") {
  const TempDirectory directory;
  const std::string config = uneven_config(directory);
  const Kept kept(directory);
  kept.tune(config);
  const auto& gpu = meshwork::cuda::Gpu::open(0);
  auto table = meshwork::cuda::products::read_table(gpu, kept.file());
  for (auto& [problem, tuned] : table.products) tuned.algorithm = {};
  write_table(table, kept.file());
  const Ending ending = run_job(kept.program() + fit(config, directory.file("run")));
  CAPTURE(ending.output);
  CHECK(ending.exit_code == 3);
  CHECK(ending.output.starts_with("meshwork: " + kept.file() +
                                  ": cuBLASLt refuses the algorithm of a product of float32 ["));
  CHECK(count(ending.output, "\n") == 1);
}

TEST_CASE("ranks compute by one file of products, or end with a line that says who has another") {
  const TempDirectory directory;
  const std::string config = uneven_config(directory);
  const Kept kept(directory), others(directory, "others");
  const std::string tuned = kept.tune(config);
  const auto run = [&](const std::string& name) {
    const std::string mine = program() + fit(config, directory.file(name));
    return run_job(fmt::format("mpirun --oversubscribe -n 1 env {} {} : -n 5 env {} {}",
                               others.environment(), mine, kept.environment(), mine));
  };
  const Ending differ = run("differ");
  CAPTURE(differ.output);
  CHECK(differ.exit_code == 4);
  const int products = count(tuned, " -> ") - 1;
  CHECK(count(differ.output,
              fmt::format("meshwork: ranks 1, 2, 3, 4, 5 have other tuned products than rank 0: "
                          "'{} of them, digest ",
                          products)) == 1);
  CHECK(contains(differ.output,
                 "' there, 'none' here; copy the file that 'meshwork devices' names "
                 "to all machines, or remove it from all\n"));
  std::filesystem::create_directories(others.folder());
  std::filesystem::copy(kept.file(), others.folder());
  const Ending same = run("same");
  CHECK(same.exit_code == 0);
  CHECK(same.output == output(kept.program() + fit(config, directory.file("threads"))));
}

TEST_CASE("where there is no GPU, or none is asked for, tune says so in one line") {
  const TempDirectory directory;
  const std::string tune = program() + " tune " + uneven_config(directory);
  const Ending none = run_job("EMULATED_GPUS=0 " + tune);
  CHECK(none.exit_code == 2);
  CHECK(none.output.starts_with("meshwork: device cuda: "));
  CHECK(count(none.output, "\n") == 1);
  CHECK(output(tune + " --device cpu") ==
        "nothing to tune: products are tuned on GPUs; say --device cuda\n");
  const Kept kept(directory);
  const std::string ranks =
      output("mpirun --oversubscribe -n 2 " + kept.program() + " tune " + uneven_config(directory));
  CHECK(count(ranks, " measured, ") == 1);
}
