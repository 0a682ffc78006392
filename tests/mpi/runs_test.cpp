// Whole runs of the program: under mpirun they do what they do on virtual devices.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "program.h"
#include "support/log_text.h"
#include "support/random_model.h"
#include "support/temp_directory.h"

namespace {

using namespace meshwork::test;

struct Run {
  std::string config;  ///< in configs/, or a path
  std::string mesh;
  int ranks;
  const char* order = "";  ///< further arguments of the runs by ranks
};

/// Its only output is the final line, so ranks but the first are silent, and so are the libraries.
void check_same_as_virtual_devices(const Run& run) {
  const TempDirectory directory;
  const auto arguments = [&](const std::string& name) {
    return fmt::format(" fit {}{} --mesh {} --verbose 0 fit.epochs=2 run_directory={}",
                       run.config.starts_with("/") ? "" : "configs/", run.config, run.mesh,
                       directory.file(name));
  };
  CAPTURE(run.config);
  CAPTURE(run.mesh);
  const std::string expected = output(program() + arguments("threads"));
  CHECK(expected.starts_with("final loss="));
  CHECK(contains(expected, " digest="));
  CHECK(count(expected, "\n") == 1);
  for (const char* name : {"ranks", "ranks_again"}) {
    CHECK(output(under_mpirun(run.ranks) + arguments(name) + run.order) == expected);
    for (const char* file : {"/metrics.csv", "/final.safetensors"}) {
      const std::string written = read_log(directory.file(name) + file);
      CHECK(!written.empty());
      CHECK(written == read_log(directory.file("threads") + file));
    }
  }
}

}  // namespace

TEST_CASE("mpirun trains as virtual devices do, to the last bit, on every mesh") {
  for (const Run& run :
       {Run{"keras_guide.yaml", "1x1", 1}, Run{"keras_guide.yaml", "2x1", 2},
        Run{"keras_guide.yaml", "2x2", 4}, Run{"keras_guide.yaml", "8x1", 8},
        Run{"keras_guide.yaml", "4x2", 8}, Run{"keras_guide.yaml", "2x4", 8},
        Run{"keras_guide.yaml", "1x8", 8}, Run{"uneven.yaml", "2x1", 2},
        Run{"uneven.yaml", "3x2", 6}, Run{"uneven.yaml", "8x1", 8}, Run{"tiles.yaml", "1x1x2", 2},
        Run{"tiles.yaml", "1x3x2", 6}, Run{"tiles.yaml", "2x2x2", 8}}) {
    check_same_as_virtual_devices(run);
  }
}

TEST_CASE("mpirun trains random transformers as virtual devices do, to the last bit") {
  const TempDirectory directory;
  int runs = 0;
  for (std::uint64_t seed = 1; runs < 6; ++seed) {
    const meshwork::testing::RandomModel model = meshwork::testing::random_transformer(seed);
    int ranks = 1;
    for (const char c : model.mesh) ranks *= c >= '0' && c <= '9' ? c - '0' : 1;
    if (ranks < 3) continue;
    const std::string config = directory.file(fmt::format("{}.yaml", seed));
    write_text(config, "mesh: {data: 1}\n" + model.layouts + model.text);
    check_same_as_virtual_devices({config, model.mesh, ranks});
    ++runs;
  }
}

TEST_CASE("mpirun takes keys and values block by block as virtual devices do, to the last bit") {
  const TempDirectory directory;
  const std::string config = directory.file("long.yaml");
  write_text(config, R"(
mesh: {data: 1, model: 3}
strategy: model_parallel
layout_map: {'(first|mixed|last)/output': [data, model]}
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [2, 3074, 8]}, y: {normal: [2, 3074, 8]}}}}
model:
  input: [3074, 8]
  layers:
    - Dense: {name: first, units: 8}
    - GroupQueryAttention: {name: mixed, num_query_heads: 2, num_key_value_heads: 1, head_dim: 256, use_causal_mask: true, sliding_window: 1100, inputs: [first, first]}
    - Dense: {name: last, units: 8}
compile: {optimizer: sgd, loss: mse}
fit: {batch_size: 1}
)");
  const std::string dump = output(program() + " fit " + config + " --dump attention_blocks");
  CHECK(count(dump, "all_gather(") == 3 * 2 * 2);  // of each device keys and values, in two passes
  for (const char* mesh : {"1x3", "1x2"}) {
    check_same_as_virtual_devices({config, mesh, mesh[2] - '0'});
  }
}

TEST_CASE("ranks run the positions of a mesh in any order, with the same bits") {
  const char* order = " 'mesh={axes: {data: 2, model: 4}, devices: [5, 0, 3, 6, 7, 1, 2, 4]}'";
  check_same_as_virtual_devices({"keras_guide.yaml", "2x4", 8, order});
  order = " 'mesh={axes: {data: 1, height: 3, width: 2}, devices: [1, 4, 0, 5, 3, 2]}'";
  check_same_as_virtual_devices({"tiles.yaml", "1x3x2", 6, order});
}

TEST_CASE("a note about the layout map is told once, and not where nothing else is") {
  const TempDirectory directory;
  const std::string run =
      " fit configs/keras_guide.yaml --mesh 2x1 fit.epochs=1 --overwrite run_directory=" +
      directory.file("run");
  const std::string note = "meshwork: note: configs/keras_guide.yaml:";
  for (const std::string& command : {program(), under_mpirun(2)}) {
    const std::string told = output(command + run);
    CHECK(count(told, note) == 1);
    CHECK(told.substr(told.rfind('\n', told.size() - 2) + 1).starts_with("final loss="));
    CHECK(output(command + run + " --verbose 0").starts_with("final loss="));
  }
}

TEST_CASE("weights of one mesh are evaluated and predicted with on another, by ranks and threads") {
  const TempDirectory directory;
  const std::string run = directory.file("run");
  const std::string fit = output(under_mpirun(6) + " fit configs/uneven.yaml --verbose 0 " +
                                 "fit.epochs=1 run_directory=" + run);
  const std::string digest = fit.substr(fit.find("digest="));
  for (const auto& [name, ranks] : {std::pair{"2x2", 4}, std::pair{"1x3", 3}}) {
    const std::string mesh = name;  // clang 14 captures no structured binding
    CAPTURE(mesh);
    const std::string rest =
        fmt::format(" configs/uneven.yaml --verbose 0 --mesh {} --from {}", mesh, run);
    const std::string evaluated = output(under_mpirun(ranks) + " evaluate" + rest);
    CHECK(evaluated.ends_with(digest));
    CHECK(evaluated == output(program() + " evaluate" + rest));

    const std::string by_ranks = directory.file("ranks.npy");
    const std::string by_threads = directory.file("threads.npy");
    CHECK(output(under_mpirun(ranks) + " predict" + rest + " --output " + by_ranks) ==
          "wrote " + by_ranks + ": float32[1003, 11]\n");
    output(program() + " predict" + rest + " --output " + by_threads);
    CHECK(read_text(by_ranks).size() > 1003 * 11 * sizeof(float));
    CHECK(read_text(by_ranks) == read_text(by_threads));
  }
}

TEST_CASE("ranks write one trace of all of them, and train as without it") {
  const TempDirectory directory;
  const auto arguments = [&](const std::string& name) {
    return " fit configs/keras_guide.yaml --mesh 2x2 --verbose 0 run_directory=" +
           directory.file(name);
  };
  const std::string file = directory.file("t.json");
  const std::string traced = arguments("ranks") + " --trace-steps 2 --trace " + file;
  CHECK(output(under_mpirun(4) + traced) == output(program() + arguments("threads")));
  const std::string trace = read_text(file);
  CHECK(trace.ends_with("\n]}\n"));
  for (int device = 0; device < 4; ++device) {
    CHECK(count(trace, fmt::format("device {}: data {}, model {} (", device, device / 2,
                                   device % 2)) == 1);
  }
  CHECK(count(trace, "\"name\":\"step 4\"") == 4);
  CHECK(count(trace, "\"name\":\"step 5\"") == 4);
}

TEST_CASE("a wrong number of ranks is told once, with the command that would be right") {
  const Ending ending = run_job(
      under_mpirun(3) + " fit configs/uneven.yaml fit.epochs=1 'run_directory=a b' --mesh 4x2");
  CAPTURE(ending.output);
  CHECK(ending.exit_code == 2);
  CHECK(ending.seconds < quick_seconds(3, program() + " --version"));
  CHECK(count(ending.output, "meshwork: ") == 1);
  CHECK(contains(ending.output,
                 "but mpirun started 3 ranks; run 'mpirun -n 8 meshwork fit configs/uneven.yaml "
                 "fit.epochs=1 'run_directory=a b' --mesh 4x2', or change the mesh with --mesh\n"));
  const Ending evaluate =
      run_job(under_mpirun(2) + " evaluate configs/uneven.yaml --from runs/none");
  CHECK(evaluate.exit_code == 2);
  CHECK(contains(evaluate.output,
                 "run 'mpirun -n 6 meshwork evaluate configs/uneven.yaml --from runs/none'"));
}

TEST_CASE("an error that all ranks meet is told once, quickly, and never lost") {
  const TempDirectory directory;
  struct Case {
    std::string arguments;
    int exit_code;
    std::string message;
  };
  const std::string run = " --mesh 2x2 run_directory=" + directory.file("run");
  const double limit = quick_seconds(4, program() + " --version");
  for (const Case& each : {
           Case{"fit configs/uneven.yaml fit.epochz=1", 2,
                "meshwork: command line: 'fit.epochz=1': fit has no key 'epochz'; nearest: "},
           Case{"fit configs/uneven.yaml --mesh 2x2 run_directory=configs/uneven.yaml/run", 3,
                "meshwork: configs/uneven.yaml/run: cannot create the run directory: "},
           Case{"evaluate configs/uneven.yaml --mesh 2x2 --from " + directory.path(), 3,
                "meshwork: " + directory.path() +
                    ": no final.safetensors and no checkpoint in it; "},
           Case{"fit configs/uneven.yaml 'compile.optimizer={SGD: {learning_rate: 1e30}}'" + run, 1,
                "meshwork: epoch 1, step "},
       }) {
    // Several times: which rank ends first differs.
    for (int i = 0; i < 4; ++i) {
      const Ending ending = run_job(under_mpirun(4) + " " + each.arguments);
      CAPTURE(each.arguments);
      CAPTURE(ending.output);
      CHECK(ending.exit_code == each.exit_code);
      CHECK(count(ending.output, "meshwork: ") == 1);
      CHECK(count(ending.output, each.message) == 1);
      CHECK(ending.seconds < limit);
    }
  }
}

TEST_CASE("what a job prints into a pipe has no bar and no colours, and comes from one rank") {
  const TempDirectory directory;
  const std::string text =
      output(under_mpirun(2) + " fit configs/uneven.yaml --mesh 2x1 fit.epochs=2 run_directory=" +
             directory.file("run"));
  CAPTURE(text);
  CHECK(!contains(text, "\x1b"));
  CHECK(!contains(text, "\b"));
  CHECK(count(text, "Epoch 1/2\n21/21 - ") == 1);
  CHECK(count(text, "Epoch 2/2\n21/21 - ") == 1);
  CHECK(count(text, "\n") == 5);
  CHECK(count(text, "final loss=") == 1);
}

TEST_CASE("commands that need no devices print once under mpirun, too") {
  for (const char* command :
       {"paths configs/uneven.yaml", "validate configs/uneven.yaml",
        "fit configs/uneven.yaml --dump plan", "paths configs/uneven.yaml --json"}) {
    CAPTURE(command);
    CHECK(output(under_mpirun(2) + " " + command + " --mesh 2x1") ==
          output(program() + " " + command + " --mesh 2x1"));
  }
}

TEST_CASE("ranks that differ are told apart before they train") {
  const TempDirectory directory;
  std::string rows = "a,y\n";
  for (int i = 0; i < 20; ++i) rows += fmt::format("{},{}\n", i, i);
  for (const char* folder : {"here", "there"}) {
    std::filesystem::create_directory(directory.file(folder));
    write_text(directory.file(folder) + std::string("/rows.csv"), rows);
    write_text(directory.file(folder) + std::string("/c.yaml"), R"(mesh: {data: 2}
dataset: {name: rows, format: csv, splits: {train: rows.csv}, x: {columns: [a]}, y: {columns: [y]}}
model: {input: [1], layers: [Dense: {units: 1}]}
compile: {optimizer: {SGD: {learning_rate: 0.001}}, loss: mse}
fit: {batch_size: 8, epochs: 2}
run_directory: )" + directory.file("run") + "\n");
  }
  const auto run = [&](const std::string& of_rank_1) {
    // Not "mpirun .. : ..", at which mpirun of Open MPI 5.0.7 crashes.
    return run_job(
        fmt::format("mpirun --oversubscribe -n 2 sh -c 'cd {1}; case $OMPI_COMM_WORLD_RANK in "
                    "0) cd here; set --;; 1) cd there; set -- {2};; esac; "
                    "exec {0} fit c.yaml --verbose 0 --overwrite \"$@\"'",
                    program(), directory.path(), of_rank_1));
  };
  const Ending same = run("");
  CAPTURE(same.output);
  CHECK(same.exit_code == 0);
  const Ending other = run("fit.epochs=3");
  CAPTURE(other.output);
  CHECK(other.exit_code == 4);
  CHECK(count(other.output,
              "meshwork: rank 1 has another configuration than rank 0: 'epochs: 3' "
              "there, 'epochs: 2' here; see that all ranks read the same files\n") == 1);
  const Ending traced = run("--trace t.json");
  CAPTURE(traced.output);
  CHECK(traced.exit_code == 4);
  CHECK(count(traced.output,
              "meshwork: rank 1 has other options than rank 0: '--trace of 10 steps' there, "
              "'nothing' here; start all ranks with the same\n") == 1);
  write_text(directory.file("there/rows.csv"), rows.substr(0, rows.size() - 2) + "8\n");
  const Ending data = run("");
  CAPTURE(data.output);
  CHECK(data.exit_code == 4);
  CHECK(count(data.output, "meshwork: rank 1 has other data than rank 0: 'train: 20 samples, ") ==
        1);
}

TEST_CASE("ranks generate what virtual devices do, which the first one prints") {
  const TempDirectory directory;
  std::string text;
  for (int i = 0; i < 30; ++i) text += "to be or not to be ";
  write_text(directory.file("t.txt"), text);
  const std::string model = fmt::format(
      " configs/nanogpt_char.yaml 'dataset={{name: t, format: text, files: {}, splits: {{train: "
      "1.0}}, context: 64}}' run_directory={}",
      directory.file("t.txt"), directory.file("run"));
  output(program() + " fit" + model +
         " --verbose 0 fit.steps_per_epoch=4 fit.epochs=1 "
         "fit.validation=false");
  const std::string generate = " generate" + model + " --from " + directory.file("run") +
                               " --prompt 'to be' --samples 3 --sampler random --max-tokens 70";
  const std::string expected = output(program() + generate);
  CHECK(count(expected, "\n---------------\n") == 2);
  CHECK(expected.starts_with("to be"));
  for (const auto& way : {std::pair{"2x1", 2}, std::pair{"2x2", 4}, std::pair{"1x8", 8}}) {
    CAPTURE(way.first);
    CHECK(output(under_mpirun(way.second) + generate + " --mesh " + way.first) == expected);
  }
}
