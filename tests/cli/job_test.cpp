// fit, evaluate and predict as a user runs them: what they print, write, and say of mistakes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cli/job_folder.h"
#include "support/errors.h"
#include "support/log_text.h"
#include "support/patterns.h"

using namespace meshwork::cli;
using meshwork::test::kMisfitWayOut;
using meshwork::testing::first_match;
using meshwork::testing::matches;
using meshwork::testing::whole_match;

namespace {

std::string digest_of(const std::string& line) { return line.substr(line.find("digest=")); }

}  // namespace

TEST_CASE("fit prints plain lines into a pipe, and a last line for scripts") {
  const JobFolder folder;
  const std::string out = output(folder, "fit c.yaml");
  const std::string number = R"(\d+(\.\d+)?)";
  const std::string logs = " - accuracy: " + number + " - loss: " + number +
                           " - val_accuracy: " + number + " - val_loss: " + number;
  const std::string epoch = "3/3 - " + number + "s - " + number + "[mu]?s/step" + logs + "\n";
  CHECK_MESSAGE(matches(out, "Epoch 1/2\n" + epoch + "Epoch 2/2\n" + epoch + "final loss=" +
                                 number + " accuracy=" + number + " val_accuracy=" + number +
                                 " val_loss=" + number + " digest=[0-9a-f]{16}\n"),
                out);
  CHECK(output(folder, "fit c.yaml --verbose 2 run_directory=again").find("final ") !=
        std::string::npos);
  CHECK(train(folder, "run_directory=silent") == out.substr(out.find("final ")));
}

TEST_CASE("fit writes the configuration, the metrics and the weights") {
  const JobFolder folder;
  const std::string line = train(folder, "fit.epochs=3 fit.log_steps=true");
  CHECK(folder.read("run/config.yaml").find("epochs: 3") != std::string::npos);
  const std::string table = folder.read("run/metrics.csv");
  CHECK(table.starts_with(
      "epoch,accuracy,loss,val_accuracy,val_loss,seconds,samples_per_second\n0,"));
  const std::string csv = meshwork::test::without_times(table);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 4);
  const auto found = whole_match(
      line, R"(final loss=(\S+) accuracy=(\S+) val_accuracy=(\S+) val_loss=(\S+) .*\n)");
  REQUIRE(!found.empty());
  CHECK(csv.ends_with("\n2," + found[2] + "," + found[1] + "," + found[3] + "," + found[4] + "\n"));
  const std::string steps = folder.read("run/steps.csv");
  CHECK(steps.starts_with("step,loss,seconds,samples_per_second\n0,"));
  CHECK(std::count(steps.begin(), steps.end(), '\n') == 10);
  // The written configuration is the run's own.
  CHECK(output(folder, "fit run/config.yaml --verbose 0 run_directory=again") == line);
  CHECK(folder.read("again/final.safetensors") == folder.read("run/final.safetensors"));
}

TEST_CASE("a new head begins anew on the weights of another model, on any mesh") {
  const JobFolder folder;
  train(folder, "");
  std::string other = kTinyConfig;
  for (const std::string five : {"below: 5", "below: 5", "units: 5"}) {
    other.replace(other.find(five) + five.size() - 1, 1, "9");
  }
  folder.write("other.yaml", other);
  const std::string frozen =
      " --verbose 0 fit.epochs=1 fit.validation=false compile.optimizer.learning_rate=0";
  const auto fit = [&](const std::string& arguments) {
    return folder.run("fit other.yaml" + frozen + arguments);
  };
  const Finished fresh = fit(" run_directory=fresh");
  const Finished begun = fit(" run_directory=a --from run --skip-mismatch 'd2/.*'");
  CHECK(begun.err ==
        "meshwork: note: --skip-mismatch: 'd2/kernel', 'd2/bias' begin anew: "
        "run/final.safetensors has none of their shapes\n");
  CHECK(digest_of(begun.out) != digest_of(fresh.out));
  for (const char* const from : {"run/final.safetensors", "run/checkpoints/step-6"}) {
    const std::string source = std::string(" --from ") + from + " --skip-mismatch 'd2/.*'";
    CHECK(digest_of(fit(" run_directory=b --overwrite --mesh 1x1" + source).out) ==
          digest_of(begun.out));
  }
  const Finished all = fit(" run_directory=c --from a --skip-mismatch 'd2/.*'");
  CHECK(all.err ==
        "meshwork: note: --skip-mismatch: a/final.safetensors has all variables of the "
        "model\n");
  CHECK(digest_of(all.out) == digest_of(begun.out));
  CHECK(fit(" run_directory=d --from run")
            .err.starts_with("meshwork: run/final.safetensors: 2 tensors do not fit:\n"));
  CHECK(fit(" run_directory=e --from run --skip-mismatch d3/.*").err ==
        "meshwork: command line: --skip-mismatch: 'd3/.*' matches no variable; known: "
        "'d1/kernel', 'd1/bias', 'd2/kernel', 'd2/bias'\n");
  CHECK(fit(" run_directory=f --skip-mismatch d2/.*").err ==
        "meshwork: --skip-mismatch is about what --from names; give both\n");
  CHECK(fit(" run_directory=f --weights-only").err ==
        "meshwork: --weights-only is about what --from names; give both\n");
}

TEST_CASE("weights of any layout are read on any mesh") {
  const JobFolder folder;
  const std::string fsdp =
      "'layout_map={\"d./kernel\": [data, model], \"d./bias\": [[data, model]]}'";
  const std::string line = train(folder, fsdp);
  for (const char* arguments : {"", "--mesh 1x1", "--mesh 4x1", "--mesh 1x8", "--mesh 3x2"}) {
    const std::string rest = std::string(" --verbose 0 --from run ") + arguments;
    const std::string evaluated = output(folder, "evaluate c.yaml" + rest);
    CHECK(digest_of(evaluated) == digest_of(line));
    CHECK(digest_of(output(folder, "evaluate c.yaml --split train " + fsdp + rest)) ==
          digest_of(line));
    CHECK(output(folder, "predict c.yaml --output p.npy" + rest) == "wrote p.npy: float32[7, 5]\n");
  }
}

TEST_CASE("evaluate warns of final weights that are not those that the run has told of") {
  const JobFolder folder;
  train(folder);
  CHECK(folder.run("evaluate c.yaml --from run --verbose 0").err == "");
  std::string bytes = folder.read("run/final.safetensors");
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  folder.write("run/final.safetensors", bytes);
  const Finished flipped = folder.run("evaluate c.yaml --from run --verbose 0");
  CHECK(flipped.exit_code == 0);
  CHECK(flipped.err.starts_with(
      "meshwork: warning: run/final.safetensors: the weights have the digest "));
  CHECK(flipped.err.ends_with(" by run/run.json: the file is damaged, or of another run\n"));
  folder.write("run/run.json", "{\"status\": 3}");
  CHECK(folder.run("evaluate c.yaml --from run --verbose 0").err == "");
}

TEST_CASE("evaluate shows what fit saw at its end") {
  const JobFolder folder;
  const std::string line = train(folder);
  const auto found = first_match(line, "val_accuracy=(\\S+) val_loss=(\\S+)");
  REQUIRE(!found.empty());
  CHECK(output(folder, "evaluate c.yaml --from run --verbose 0") ==
        "final loss=" + found[2] + " accuracy=" + found[1] + " " + digest_of(line));
  CHECK(output(folder, "evaluate c.yaml --from run/final.safetensors --verbose 0 --split test") ==
        output(folder, "evaluate c.yaml --from run --verbose 0"));
}

TEST_CASE("fit --from starts where the other run ended") {
  const JobFolder folder;
  const std::string line = train(folder);
  const std::string more = train(folder, "--from run fit.epochs=0 run_directory=more");
  CHECK(digest_of(more) == digest_of(line));
  CHECK(digest_of(train(folder, "--from run run_directory=on")) != digest_of(line));
}

TEST_CASE("predict writes a row for each sample, in order, on every mesh") {
  const JobFolder folder;
  train(folder);
  const std::string out = output(folder, "predict c.yaml --from run --verbose 0");
  CHECK(out == "wrote run/predictions.npy: float32[7, 5]\n");
  const std::string file = folder.read("run/predictions.npy");
  CHECK(file.starts_with("\x93NUMPY"));
  CHECK(file.find("'descr': '<f4', 'fortran_order': False, 'shape': (7, 5)") != std::string::npos);
  REQUIRE(file.size() > 7 * 5 * sizeof(float));
  const std::string data = file.substr(file.size() - 7 * 5 * sizeof(float));
  // One sample after the other, on one device.
  output(folder, "predict c.yaml --from run --mesh 1x1 fit.batch_size=1 --output one.npy");
  const std::string one = folder.read("one.npy");
  REQUIRE(one.size() == file.size());
  for (std::size_t i = 0; i < 7 * 5; ++i) {
    float a = 0;
    float b = 0;
    std::memcpy(&a, data.data() + i * sizeof a, sizeof a);
    std::memcpy(&b, one.data() + one.size() - data.size() + i * sizeof b, sizeof b);
    CHECK(a == doctest::Approx(b).epsilon(1e-5));
  }
  // In the run of the weights, whatever that of the configuration is.
  CHECK(output(folder, "predict c.yaml --from run --split train run_directory=other --verbose 0") ==
        "wrote run/predictions.npy: float32[20, 5]\n");
  output(folder, "export run --output w.npz");
  CHECK(output(folder, "predict c.yaml --from w.npz run_directory=other --verbose 0") ==
        "wrote other/predictions.npy: float32[7, 5]\n");
}

TEST_CASE("weights that do not fit are listed, with what is near") {
  const JobFolder folder;
  train(folder);
  CHECK(complaint(folder, "evaluate c.yaml --from run model.layers.d1.units=8", 3) ==
        "run/final.safetensors: 3 tensors do not fit:\n"
        "  'd1/bias' is float32[7] in the file, float32[8] in the model\n"
        "  'd1/kernel' is float32[3, 7] in the file, float32[3, 8] in the model\n"
        "  'd2/kernel' is float32[7, 5] in the file, float32[8, 5] in the model\n" +
            kMisfitWayOut);
  const std::string renamed =
      complaint(folder, "predict c.yaml --from run model.layers.d1.name=e1 layout_map=null", 3);
  CHECK(
      renamed.find("\n  no tensor 'e1/kernel', float32[3, 7] in the model; nearest: 'd1/kernel'") !=
      std::string::npos);
  CHECK(renamed.find("\n  'd1/kernel', float32[3, 7] in the file, is not in the model; nearest: "
                     "'e1/kernel'") != std::string::npos);
  CHECK(complaint(folder, "fit c.yaml --from run --overwrite model.layers.d2.use_bias=false", 3) ==
        "run/final.safetensors: 'd2/bias', float32[5] in the file, is not in the model; " +
            kMisfitWayOut);
}

TEST_CASE("--from names what it looked for") {
  const JobFolder folder;
  CHECK(complaint(folder, "evaluate c.yaml", 2) == "--from is required; see --help");
  CHECK(complaint(folder, "evaluate c.yaml --from none", 3) ==
        "none: no such directory; --from takes the run directory of a fit, one of its checkpoints, "
        "or a file of weights");
  CHECK(complaint(folder, "predict c.yaml --from .", 3) ==
        ".: no final.safetensors and no checkpoint in it; train first: meshwork fit");
  std::filesystem::create_directory(folder.path / "theirs");
  folder.write("theirs/config.json", "{}");
  CHECK(complaint(folder, "predict c.yaml --from theirs", 3) ==
        "theirs: a config.json, but no model.safetensors and no model.safetensors.index.json "
        "beside it; fetch it, or save the model as safetensors: model.save_pretrained(DIRECTORY, "
        "safe_serialization=True)");
  folder.write("theirs/tokens.bin", "12");
  folder.write("theirs/pytorch_model.bin", "PK\x03\x04");
  for (const std::string from : {"theirs", "theirs/pytorch_model.bin"}) {
    CHECK(complaint(folder, "predict c.yaml --from " + from, 3) ==
          "theirs/pytorch_model.bin: weights as PyTorch writes them are not read; save them as "
          "safetensors: load the model in transformers, then model.save_pretrained(DIRECTORY, "
          "safe_serialization=True)");
  }
  CHECK(complaint(folder, "predict c.yaml --from theirs/tokens.bin", 3)
            .starts_with("theirs/tokens.bin: not a file of weights; known: "));
  CHECK(complaint(folder, "fit c.yaml --from c.yaml", 3)
            .starts_with("c.yaml: not a file of weights; known: "));
  train(folder);
  const std::string weights = folder.read("run/final.safetensors");
  folder.write("half.safetensors", weights.substr(0, weights.size() / 2));
  folder.write("empty.safetensors", "");
  for (const char* name : {"half.safetensors", "empty.safetensors"}) {
    CHECK(complaint(folder, std::string("evaluate c.yaml --from ") + name, 3)
              .starts_with(std::string(name) + ": not a good safetensors file: "));
  }
  CHECK(complaint(folder, "evaluate c.yaml --from run --split tset", 2) ==
        "c.yaml:7:3: dataset 'tiny' has no split 'tset'; it has train, test");
}

TEST_CASE("missing and damaged files of data") {
  const JobFolder folder;
  CHECK(complaint(folder, "fit nope.yaml", 2) == "nope.yaml: cannot read the file; check the path");
  const std::string dataset =
      "'dataset={name: q, format: npy, splits: {train: {x: x.npy, y: x.npy}}}' "
      "fit.validation=false compile.loss=mse compile.metrics=null";
  const std::string missing = complaint(folder, "fit c.yaml " + dataset, 3);
  CHECK(missing.find("found neither 'x.npy' nor 'x.npy.gz' in ") != std::string::npos);
  CHECK(missing.find("MESHWORK_DATA") != std::string::npos);
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (20, 3), }";
  std::string npy("\x93NUMPY\x01\x00\x76\x00", 10);
  npy += header + std::string(0x76 - header.size() - 1, ' ') + "\n";
  folder.write("x.npy", npy + std::string(100, '\0'));
  const std::string truncated = complaint(folder, "fit c.yaml " + dataset, 3);
  CHECK_MESSAGE(truncated.find("x.npy: ") != std::string::npos, truncated);
  CHECK_MESSAGE(
      truncated.find("228 bytes, but shape [20, 3] of float32 needs 368") != std::string::npos,
      truncated);
  CHECK(!folder.has("run"));
}

TEST_CASE("a loss that is no number ends the run with exit code 1") {
  const JobFolder folder;
  const Finished run = folder.run("fit c.yaml 'compile.optimizer={SGD: {learning_rate: 1e30}}'");
  CHECK(run.exit_code == 1);
  CHECK(run.out.starts_with("Epoch 1/2\n3/3 - "));
  CHECK(run.out.find("loss: nan - ") != std::string::npos);
  CHECK(run.out.find("final") == std::string::npos);
  CHECK(run.err ==
        "meshwork: epoch 1, step 2: the loss is nan; lower the learning rate, clip gradients "
        "(clipnorm), or look for bad values in the data\n");
  CHECK(!folder.has("run/final.safetensors"));
}

TEST_CASE("a run directory that cannot be, and an output that cannot be written") {
  const JobFolder folder;
  CHECK(complaint(folder, "fit c.yaml run_directory=c.yaml/run", 3) ==
        "c.yaml/run: cannot create the run directory: Not a directory; set run_directory to a "
        "place that can be written");
  CHECK(complaint(folder, "fit c.yaml run_directory=c.yaml", 3).starts_with("c.yaml: "));
  train(folder);
  CHECK(complaint(folder, "predict c.yaml --from run --output c.yaml/p.npy", 3)
            .starts_with("c.yaml: cannot create the directory"));
  CHECK(folder.read("c.yaml") == kTinyConfig);
}

TEST_CASE("fit --trace writes a file beside the run; what cannot be is told before it") {
  const JobFolder folder;
  CHECK(complaint(folder, "fit c.yaml --trace c.yaml/t.json", 3)
            .ends_with("; name another file with --trace"));
  CHECK(complaint(folder, "fit c.yaml --trace .", 3).starts_with(".: "));
  CHECK(complaint(folder, "fit c.yaml --trace-steps 3", 2) ==
        "--trace-steps is about what --trace records; give both");
  CHECK(complaint(folder, "fit c.yaml --trace t.json --trace-steps 0", 2) ==
        "--trace-steps must be a whole number from 1 to 1000, not '0'");
  CHECK(complaint(folder, "fit c.yaml --trace t.json debug.check_numerics=true", 2)
            .starts_with("--trace: with debug.check_numerics=true"));
  CHECK(!folder.has("run/metrics.csv"));
  const std::string line = train(folder);
  CHECK(train(folder, "--overwrite --trace t.json --trace-steps 2") == line);
  CHECK(folder.read("t.json").starts_with("{\"displayTimeUnit\""));
  CHECK(folder.read("run/run.json").find(" --trace t.json --trace-steps 2") != std::string::npos);
}

TEST_CASE("--dump prints a stage and runs nothing") {
  const JobFolder folder;
  for (const char* stage :
       {"forward", "step", "layouts", "reshards", "collectives", "local", "rewritten", "plan"}) {
    CHECK(output(folder, std::string("fit c.yaml --dump ") + stage).find("einsum(") !=
          std::string::npos);
  }
  CHECK(output(folder, "fit c.yaml --dump rematerialize") == "nothing is computed again\n");
  CHECK(output(folder, "evaluate c.yaml --from none --dump step").find("backward") ==
        std::string::npos);
  CHECK(output(folder, "predict c.yaml --from none --dump forward").find("loss") ==
        std::string::npos);
  const std::string both = output(
      folder, "fit c.yaml 'compile.optimizer={SGD: {gradient_accumulation_steps: 2}}' --dump step");
  CHECK(both.starts_with("# a step that accumulates gradients with a batch of "));
  CHECK(both.find("\n\n# a training step with a batch of ") != std::string::npos);
  CHECK(!folder.has("run"));
  CHECK(complaint(folder, "fit c.yaml --dump plam", 2) ==
        "--dump: no pass 'plam'; nearest: 'plan'");
  CHECK(complaint(folder, "fit c.yaml --dump stacks", 2) ==
        "--dump: 'stacks' is no fusion of this device (cpu); 'plan' shows the program without it");
  CHECK(complaint(folder, "fit c.yaml --dump elementwise fusion=false", 2) ==
        "--dump: 'fusion: false' switches 'elementwise' off");
  CHECK(complaint(folder, "fit c.yaml --dump elementwise 'fusion={elementwise: false}'", 2) ==
        "command line: 'fusion={elementwise: false}': fusion: 'elementwise' is switched off, so "
        "--dump has no program after it");
  CHECK(complaint(folder, "fit c.yaml --dump ''", 2) ==
        "--dump: is empty; give PASS, or leave it out; see --help");
  CHECK(complaint(folder, "fit c.yaml --from ''", 2) ==
        "--from: is empty; give DIR, or leave it out; see --help");
  CHECK(complaint(folder, "fit c.yaml --verbose 3", 2) ==
        "--verbose must be a whole number from 0 to 2, not '3'");
}

TEST_CASE("drop_remainder trains on full batches only") {
  const JobFolder folder;
  CHECK(output(folder, "fit c.yaml fit.drop_remainder=true fit.epochs=1").find("2/2 - ") !=
        std::string::npos);
  CHECK(complaint(folder, "fit c.yaml fit.drop_remainder=true fit.batch_size=21", 2)
            .find("fit: drop_remainder leaves no batch: 20 samples to train on do not fill one of "
                  "21; lower batch_size") != std::string::npos);
}

TEST_CASE("a validation_split that leaves nothing to train on has its place") {
  const JobFolder folder;
  const std::string fit = "fit: {batch_size: 8, epochs: 2, validation: true}";
  std::string config = folder.read("c.yaml");
  config.replace(config.find(fit), fit.size(),
                 "fit:\n  batch_size: 8\n  validation: true\n  validation_split: 0.999");
  folder.write("s.yaml", config);
  const std::string problem =
      ": fit: validation_split 0.999 of 20 samples leaves 0 to train and 20 to validate";
  CHECK(complaint(folder, "fit s.yaml", 2) == "s.yaml:24:21" + problem);
  CHECK(complaint(folder, "fit c.yaml fit.validation_split=0.999", 2) ==
        "command line: 'fit.validation_split=0.999'" + problem);
  CHECK(
      complaint(folder, "fit s.yaml fit.validation_split=0 dataset.splits.test=null", 2) ==
      "s.yaml:23:15: fit: validation is true, but dataset 'tiny' has no validation or test split; "
      "set validation_split, or validation: false");
}
