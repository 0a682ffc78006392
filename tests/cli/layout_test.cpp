// What the commands say of meshes and layouts, and `paths`.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "cli/job_folder.h"
#include "support/patterns.h"

using namespace meshwork::cli;
using meshwork::testing::has_match;

namespace {

std::string complaint(const JobFolder& folder, const std::string& arguments) {
  const Finished run = folder.run(arguments);
  CAPTURE(arguments);
  CHECK(run.exit_code == 2);
  CHECK(run.out == "");
  return run.err;
}

/// What fit says of c.yaml with another layout map, written on the lines from 2.
std::string complaint_of_map(const std::string& rules, const std::string& key = "layout_map") {
  const JobFolder folder;
  const std::string text = kTinyConfig;
  const std::string head = "mesh: {data: 2, model: 2}\n";
  folder.write("c.yaml", head + key + ":\n" + rules + text.substr(text.find("dataset:")));
  std::string message;
  for (const char* command : {"fit", "validate", "paths"}) {
    const std::string found = complaint(folder, std::string(command) + " c.yaml");
    if (!message.empty()) CHECK(found == message);
    message = found;
  }
  CHECK(!folder.has("run"));
  return message;
}

}  // namespace

TEST_CASE("mistakes in a layout map have a place and a way out, in every command") {
  CHECK(complaint_of_map("  'd1/(kernel': [null, model]\n") ==
        "meshwork: c.yaml:3:3: layout_map: 'd1/(kernel' is not a regular expression: missing "
        "closing parenthesis at character 11\n");
  CHECK(complaint_of_map("  d1/.*: [model]\n  .*/kernel: [null, model]\n") ==
        "meshwork: c.yaml:4:3: layout_map: 'd1/kernel' is hit by 2 rules: 'd1/.*' (line 3), "
        "'.*/kernel' (line 4); narrow them, or write the path itself as a key\n");
  CHECK(complaint_of_map("  d1/kernl: [null, model]\n") ==
        "meshwork: c.yaml:3:3: layout_map: 'd1/kernl' matches no variable and no layer output; "
        "nearest: 'd1/kernel', 'd2/kernel'\n");
  CHECK(complaint_of_map("  d1: [null, model]\n") ==
        "meshwork: c.yaml:3:3: layout_map: 'd1' matches no path; it would match a part of "
        "'d1/kernel', 'd1/bias', 'd1/output' (Keras before 3.14 did that): write '.*d1.*' if you "
        "mean it\n");
  CHECK(complaint_of_map("  d1/bias: [null, model]\n") ==
        "meshwork: c.yaml:3:3: layout_map: 'd1/bias' gives 2 entries [null, model] to 'd1/bias', "
        "which has 1 dimension\n");
  CHECK(complaint_of_map("  d1/bias: [modl]\n") ==
        "meshwork: c.yaml:3:13: layout_map: 'd1/bias': the mesh (data=2, model=2) has no axis "
        "'modl'; nearest: 'model'\n");
  CHECK(complaint_of_map("  d1/kernel: [model, model]\n") ==
        "meshwork: c.yaml:3:22: layout_map: 'd1/kernel': axis 'model' is used twice; it can shard "
        "one dimension only\n");
  CHECK(complaint_of_map("  d1/kernel: [[data, data], null]\n").find("axis 'data' stands twice") !=
        std::string::npos);
  CHECK(complaint_of_map("  d1/kernl: [data, null]\n", "optimizer_layout")
            .find("optimizer_layout: 'd1/kernl' matches no variable") != std::string::npos);
}

TEST_CASE("rules of the command line have no line") {
  const JobFolder folder;
  const std::string message =
      complaint(folder, "fit c.yaml 'layout_map={d1/.*: [model], .*/bias: [model]}'");
  CHECK(message.find("'d1/.*' (command line), '.*/bias' (command line); ") != std::string::npos);
}

TEST_CASE("meshes that cannot be") {
  const JobFolder folder;
  CHECK(complaint(folder, "fit c.yaml --mesh 0x2") ==
        "meshwork: command line: '--mesh 0x2': mesh axis 'data': size is 0; give at least 1, or -1 "
        "for all that is left\n");
  CHECK(complaint(folder, "fit c.yaml --mesh 2x2x2")
            .starts_with("meshwork: command line: '--mesh 2x2x2': gives 3 sizes, but the mesh at "
                         "c.yaml:1:7 has 2 (data, model)"));
  CHECK(complaint(folder, "fit c.yaml --mesh axb")
            .starts_with("meshwork: command line: '--mesh axb': 'a' is not a size"));
  CHECK(complaint(folder, "fit c.yaml --mesh data=2")
            .starts_with("meshwork: c.yaml:3:21: layout_map: 'd1/kernel': the mesh (data=2) has no "
                         "axis 'model'"));
  // Far more devices than memory or threads would allow: an error, not a crash.
  const Finished huge = folder.run("fit c.yaml --mesh 100000x100000");
  CHECK(huge.exit_code > 0);
  CHECK(huge.exit_code < 6);
  CHECK(huge.err.starts_with("meshwork: "));
}

TEST_CASE("paths lists every weight, and totals with what is replicated") {
  const JobFolder folder;
  const Finished run = folder.run("paths c.yaml");
  CHECK(run.exit_code == 0);
  CHECK(run.err == "");
  CHECK(run.out ==
        "path       shape   dtype    trainable  rule                layout         bytes/device\n"
        "d1/kernel  [3, 7]  float32  yes        d1/kernel (line 3)  [null, model]            48\n"
        "d1/bias    [7]     float32  yes        d1/bias (line 4)    [model]                  16\n"
        "d2/kernel  [7, 5]  float32  yes        d2/kernel (line 5)  [model, null]            80\n"
        "d2/bias    [5]     float32  yes        -                   [null]                   20\n"
        "\n"
        "mesh data=2,model=2: 4 devices\n"
        "weights: 68 numbers, 164 bytes per device, of them 20 replicated (12.2 %)\n"
        "optimizer state: 136 numbers, 328 bytes per device, of them 40 replicated (12.2 %)\n"
        "\n"
        "outputs, which a layout map may name, too\n"
        "  input/output: [data, null]\n"
        "  d1/output: [data, model]\n"
        "  d2/output: [data, null]\n");
  CHECK(folder.run("paths c.yaml --slots").out.find("\nadam/d1_kernel_momentum ") !=
        std::string::npos);
  CHECK(folder.run("paths c.yaml 'layout_map={d1/kernel: [data]}'")
            .out.find("d1/kernel (command line)") != std::string::npos);
  CHECK(folder.run("paths c.yaml --mesh 1x1").out.find("of them 0 replicated (0.0 %)") !=
        std::string::npos);
}

TEST_CASE("what paths says of outputs can be copied into a layout map") {
  const JobFolder folder;
  const std::string rules =
      "'layout_map={input/output: [data, null], d1/output: [data, model], d2/output: [null, "
      "data]}'";
  const Finished run = folder.run("paths c.yaml " + rules);
  CHECK(run.exit_code == 0);
  CHECK(
      run.out.ends_with("\noutputs, which a layout map may name, too\n"
                        "  input/output: [data, null]  # input/output (command line)\n"
                        "  d1/output: [data, model]  # d1/output (command line)\n"
                        "  d2/output: [null, data]  # d2/output (command line)\n"));
  const auto report = nlohmann::json::parse(folder.run("paths c.yaml --json " + rules).out);
  const auto& output = report.at("outputs").at(1);
  CHECK(output.at("path") == "d1/output");
  CHECK(output.at("shape") == nlohmann::json({8, 7}));
  CHECK(output.at("layout") == "[data, model]");
  CHECK(output.at("rule") == "d1/output");
}

TEST_CASE("outputs that are laid out over a part of an axis are no lines for a layout map") {
  const JobFolder folder;
  const std::string llama = std::filesystem::absolute("configs/llama.yaml").string();
  const std::string rest =
      "paths '" + llama + "' --mesh 1x4 dataset=null model.params.heads=8 model.params.depth=1";
  const std::string outputs = output(folder, rest);
  CHECK(outputs.find("\n  # block_0/attention/key/output: [null, null, model.0, null]\n") !=
        std::string::npos);
  CHECK(outputs.find("\n  block_0/attention/query/output: [null, null, model, null]\n") !=
        std::string::npos);
  const auto report = nlohmann::json::parse(output(folder, rest + " --json"));
  CHECK(report.at("mesh").at("model") == 4);
  CHECK(report.at("mesh_axis_parts") ==
        nlohmann::json({{"model", {{"model.0", 2}, {"model.1", 2}}}}));
  for (const auto& row : report.at("outputs")) {
    const bool names_part = row.at("layout").get<std::string>().find("model.") != std::string::npos;
    CHECK(row.at("has_axis_parts") == names_part);
  }
  CHECK(outputs.find("\nnote: lines with # name a part of an axis, ") != std::string::npos);
}

TEST_CASE("a rule for a bias that a layer leaves out is a note of every command") {
  const JobFolder folder;
  const std::string note =
      "c.yaml:4:3: layout_map: 'd1/bias' lays out nothing: the model leaves out 'd1/bias' "
      "(use_bias: false)\n";
  const std::string rest = " c.yaml model.layers.d1.use_bias=false";
  const Finished validated = folder.run("validate" + rest);
  CHECK(validated.exit_code == 0);
  CHECK(validated.err == "");
  CHECK(validated.out.ends_with("\n  note: " + note));
  CHECK(folder.run("paths" + rest).out.ends_with("\nnote: " + note));
  CHECK(folder.run("explain" + rest).out.ends_with("\nnote: " + note));
  CHECK(nlohmann::json::parse(folder.run("paths --json" + rest).out).at("notes").size() == 1);
  const Finished fitted = folder.run("fit" + rest);
  CHECK(fitted.exit_code == 0);
  CHECK(fitted.err == "meshwork: note: " + note);
  CHECK(fitted.out.find("note") == std::string::npos);
  CHECK(folder.run("fit --overwrite --verbose 0" + rest).err == "");
  CHECK(folder.run("evaluate --from run" + rest).err == "meshwork: note: " + note);
}

TEST_CASE("a rule for an output that is not computed is a note that says why") {
  const JobFolder folder;
  folder.write("l.yaml", R"(mesh: {data: 2}
layout_map:
  read/state_c: [data]
  s/output: [data]
dataset:
  format: synthetic
  splits: {train: {x: {normal: [8, 5, 3]}, y: {integers: [8], below: 2}}}
model:
  input: [5, 3]
  layers:
    - LSTM: {name: read, units: 4, return_state: true}
    - Square: {name: s}
    - AddLoss
    - Dense: {name: d, units: 2, inputs: read}
compile: {optimizer: sgd, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
run_directory: run
)");
  const std::string place = "meshwork: note: l.yaml:";
  const std::string untaken =
      place +
      "3:3: layout_map: 'read/state_c' lays out nothing: the model leaves out 'read/state_c' "
      "(nothing takes it: name it in 'inputs' or 'outputs', or leave the rule out)\n";
  const Finished fitted = folder.run("fit l.yaml");
  CHECK(fitted.exit_code == 0);
  CHECK(fitted.err == untaken);
  // What only the loss takes is no part of a program that predicts: a rule for it is none to mend.
  const Finished predicted = folder.run("predict l.yaml --from run --split train --output p.npy");
  CHECK(predicted.exit_code == 0);
  CHECK(predicted.err == untaken);
}

TEST_CASE("probabilities that a loss takes for logits are a note") {
  const JobFolder folder;
  const Finished validated = folder.run("validate c.yaml model.layers.d2.activation=softmax");
  CHECK(validated.exit_code == 0);
  CHECK(validated.out.ends_with(
      "\n  note: c.yaml:19:10: loss SparseCategoricalCrossentropy takes logits (from_logits: "
      "true), "
      "but 'd2' gives probabilities, by softmax; leave out one of the two\n"));
  CHECK(folder.run("validate c.yaml").out.find("note") == std::string::npos);
}

TEST_CASE("unmatched_rules lets a rule that hits nothing pass, with a note or without") {
  const JobFolder folder;
  const std::string rest = " c.yaml 'layout_map.d1/kernl=[null, model]'";
  const std::string message =
      "command line: 'layout_map.d1/kernl=[null, model]': layout_map: 'd1/kernl' matches no "
      "variable and no layer output; nearest: 'd1/kernel', 'd2/kernel'\n";
  CHECK(complaint(folder, "validate" + rest) == "meshwork: " + message);
  CHECK(complaint(folder, "validate" + rest + " unmatched_rules=error") == "meshwork: " + message);
  CHECK(folder.run("validate" + rest + " unmatched_rules=warn")
            .out.ends_with("\n  note: " + message));
  const Finished ignored = folder.run("validate" + rest + " unmatched_rules=ignore");
  CHECK(ignored.exit_code == 0);
  CHECK(ignored.out.find("note") == std::string::npos);
}

TEST_CASE(
    "an order of the devices of the mesh shows in pictures and JSON, and a wrong one is told") {
  const JobFolder folder;
  const std::string order = " 'mesh={axes: {data: 2, model: 2}, devices: [3, 1, 0, 2]}'";
  const std::string picture = folder.run("explain c.yaml d1/kernel --ascii" + order).out;
  CHECK(picture.starts_with("mesh data=2,model=2: 4 devices, in this order: 3, 1, 0, 2\n"));
  CHECK(has_match(picture, "\\| +0,3 +\\| +1,2 +\\|"));
  const auto json =
      nlohmann::json::parse(folder.run("explain c.yaml d2/kernel --json" + order).out);
  CHECK(json.at("mesh_devices") == nlohmann::json({3, 1, 0, 2}));
  const auto& devices = json.at("values").at(0).at("devices");
  CHECK(devices.at(3).at("offset") == nlohmann::json({0, 0}));
  CHECK(devices.at(1).at("offset") == nlohmann::json({4, 0}));
  // The largest part is that of the first position, which device 0 does not run.
  CHECK(folder.run("paths c.yaml" + order).out.find("weights: 68 numbers, 164 bytes") !=
        std::string::npos);
  folder.write("wrong.yaml", "mesh: {axes: {data: 2, model: 2}, devices: [3, 1, 0, 3]}\n" +
                                 std::string(kTinyConfig).substr(26));
  for (const char* command : {"fit", "validate", "explain"}) {
    CHECK(complaint(folder, std::string(command) + " wrong.yaml") ==
          "meshwork: wrong.yaml:1:54: mesh devices: 3 stands twice; list each device once\n");
  }
}

TEST_CASE("paths --json can be read by a program, and its totals are the sums of its rows") {
  const JobFolder folder;
  for (const char* mesh : {"2x2", "1x1", "3x2", "1x8"}) {
    const Finished run = folder.run(std::string("paths c.yaml --json --mesh ") + mesh);
    REQUIRE(run.exit_code == 0);
    const auto report = nlohmann::json::parse(run.out);
    CHECK(report.at("variables").size() == 4 + 8);
    for (const bool slots : {false, true}) {
      std::int64_t parameters = 0;
      std::int64_t bytes = 0;
      std::int64_t replicated = 0;
      for (const auto& row : report.at("variables")) {
        if (row.at("optimizer_state") != slots) continue;
        std::int64_t elements = 1;
        for (const std::int64_t extent : row.at("shape")) elements *= extent;
        parameters += elements;
        bytes += row.at("bytes_per_device").get<std::int64_t>();
        if (row.at("replicated")) {
          replicated += row.at("bytes_per_device").get<std::int64_t>();
          CHECK(row.at("bytes_per_device") == 4 * elements);
        }
      }
      const auto& totals = report.at("totals").at(slots ? "optimizer_state" : "weights");
      CHECK(totals.at("parameters") == parameters);
      CHECK(totals.at("bytes_per_device") == bytes);
      CHECK(totals.at("replicated_bytes_per_device") == replicated);
    }
  }
  const auto report = nlohmann::json::parse(folder.run("paths c.yaml --json").out);
  const auto& kernel = report.at("variables").at(0);
  CHECK(kernel.at("path") == "d1/kernel");
  CHECK(kernel.at("layout") == "[null, model]");
  CHECK(kernel.at("rule_at") == "c.yaml:3:3");
  CHECK(kernel.at("bytes_per_device") == 3 * 4 * 4);
  CHECK(report.at("variables").at(3).at("rule").is_null());
  CHECK(report.at("mesh").at("model") == 2);
}
