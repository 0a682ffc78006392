// What a run leaves for programs to read, and what they may ask of it later.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/job_folder.h"

using namespace meshwork::cli;
using Json = nlohmann::json;

TEST_CASE("run.json says what a run was and how it went") {
  const JobFolder folder;
  const std::string line = train(folder, "fit.log_format=[csv,jsonl] fit.log_steps=true");
  const Json record = Json::parse(folder.read("run/run.json"));
  CHECK(record.at("status") == "completed");
  CHECK(record.at("exit_code") == 0);
  CHECK(record.at("command") ==
        "meshwork fit c.yaml 'fit.log_format=[csv,jsonl]' fit.log_steps=true");
  CHECK(record.at("mesh") == Json{{"data", 2}, {"model", 2}});
  CHECK(record.at("devices") == 4);
  CHECK(record.at("launch") == "threads");
  CHECK(record.at("epochs") == 2);
  CHECK(record.at("steps") == 6);
  CHECK(record.at("trained").at("samples") == 40);
  CHECK(record.at("resumed_from").is_null());
  CHECK(line.find("digest=" + record.at("digest").get<std::string>() + "\n") != std::string::npos);
  CHECK(record.at("metrics").size() == 4);
  for (const char* name : {"meshwork", "onednn", "mpi"}) {
    CHECK_FALSE(record.at("versions").at(name).get<std::string>().empty());
  }
  const Json& times = record.at("step_seconds");
  CHECK(times.at("p10") <= times.at("median"));
  CHECK(times.at("median") <= times.at("p99"));
  CHECK(times.at("max") > 0);
  CHECK(record.at("samples_per_second") > 0);
  CHECK(record.at("memory").at("arena") > 0);
  CHECK(record.at("memory").at("process_peak") > (1 << 20));
  CHECK(folder.has("run/metrics.jsonl"));
  CHECK(folder.has("run/steps.jsonl"));
}

TEST_CASE("--json prints run.json alone; a run that goes on says from where") {
  const JobFolder folder;
  const std::string line = output(folder, "fit c.yaml --json");
  CHECK(line.find('\n') == line.size() - 1);
  CHECK(Json::parse(line) == Json::parse(folder.read("run/run.json")));
  const Json resumed = Json::parse(output(folder, "fit c.yaml --json --resume fit.epochs=3"));
  CHECK(resumed.at("resumed_from") == "run/checkpoints/step-6");
  CHECK(resumed.at("command") == "meshwork fit c.yaml fit.epochs=3 --resume");
  CHECK(resumed.at("steps") == 9);
  CHECK(resumed.at("trained").at("steps") == 3);
}

TEST_CASE("run.json of a run that fails says why") {
  const JobFolder folder;
  const std::string why =
      complaint(folder, "fit c.yaml --verbose 0 compile.optimizer.SGD.learning_rate=1e30", 1);
  const Json record = Json::parse(folder.read("run/run.json"));
  CHECK(record.at("status") == "failed");
  CHECK(record.at("exit_code") == 1);
  CHECK(record.at("message") == why);
}

TEST_CASE("with --json a run that fails prints its record, too") {
  const JobFolder folder;
  const Finished run =
      folder.run("fit c.yaml --json 'compile.optimizer={SGD: {learning_rate: 1e30}}'");
  CHECK(run.exit_code == 1);
  CHECK(Json::parse(run.out).at("status") == "failed");
}

TEST_CASE("labels that are floats are checked like others") {
  const JobFolder folder;
  const auto why = [&](const std::string& labels) {
    folder.write("t.csv", "a,b,c,label\n1,2,3,0\n4,5,6," + labels + "\n");
    return complaint(folder,
                     "fit c.yaml --verbose 0 --overwrite fit.validation=false "
                     "'dataset={name: t, format: csv, splits: {train: t.csv}, y: {columns: -1}}'",
                     3);
  };
  CHECK(why("5").find("sample 1: label 5 is not in 0..4, the classes") != std::string::npos);
  CHECK(
      why("-1").find("sample 1: a label is -1, but classes count from 0: make labels -1 and 1 to 0 "
                     "and 1 (y: {scale: 0.5, offset: 0.5})") != std::string::npos);
  CHECK(why("1.5").find("sample 1: label 1.5 is no whole number, but the loss wants the number "
                        "of a class") != std::string::npos);
}

TEST_CASE("fit --json prints one line, whatever there is to warn of") {
  const JobFolder folder;
  const Finished run = folder.run(
      "fit c.yaml --json 'fit.callbacks=[ModelCheckpoint: {filepath: w.safetensors, verbose: 1}]'");
  CHECK(Json::parse(run.out).at("status") == "completed");
  CHECK(run.err.find("saving model to") != std::string::npos);
}

TEST_CASE("validation samples off the end of data that are sorted by their labels are noted") {
  const JobFolder folder;
  std::string sorted = "a,b,c,label\n", mixed = sorted;
  for (int i = 0; i < 40; ++i) {
    sorted += "1,2,3," + std::to_string(i / 8) + "\n";
    mixed += "1,2,3," + std::to_string(i % 5) + "\n";
  }
  folder.write("sorted.csv", sorted);
  folder.write("mixed.csv", mixed);
  const auto notes = [&](const std::string& file, const std::string& more = "") {
    return folder
        .run(
            "fit c.yaml --verbose 2 --overwrite fit.validation_split=0.25 'dataset={format: csv, "
            "splits: {train: " +
            file + "}, y: {columns: label}}'" + more)
        .err;
  };
  CHECK(notes("sorted.csv")
            .find("note: validation_split takes the last 10 samples, and 8 of them "
                  "have labels that no other sample has, such as 4: are the data "
                  "sorted by their labels?") != std::string::npos);
  CHECK(notes("mixed.csv").find("validation_split") == std::string::npos);
}

TEST_CASE("a run that is refused leaves what another has written") {
  const JobFolder folder;
  train(folder);
  train(folder, "run_directory=other model.layers.d1.units=9");
  const auto all = [&] {
    return folder.read("run/config.yaml") + folder.read("run/run.json") +
           folder.read("run/metrics.csv") + folder.read("run/final.safetensors");
  };
  const std::string before = all();
  complaint(folder,
            "fit c.yaml --resume --verbose 0 fit.epochs=3 model.layers.d1.activation=tanh "
            "'fit.callbacks=[TerminateOnNaN: {}]'",
            2);
  complaint(folder, "fit c.yaml --overwrite --verbose 0 --from other seed=3", 3);
  complaint(folder, "fit c.yaml --resume --verbose 0 fit.epochs=3 fit.batch_size=4", 2);
  CHECK(all() == before);
}

TEST_CASE("a checkpoint takes the place of final weights of an earlier end") {
  const JobFolder folder;
  train(folder);
  // Ends behind a checkpoint, in the first of three epochs more.
  const Finished run = folder.run(
      "fit c.yaml --resume --verbose 0 fit.epochs=5 debug.check_numerics=true "
      "compile.optimizer.Adam.learning_rate=1e38");
  CHECK(run.exit_code == 1);
  CHECK_FALSE(folder.has("run/final.safetensors"));
  output(folder, "evaluate c.yaml --from run --verbose 0");
}

TEST_CASE("config.yaml names the directory of its own run") {
  const JobFolder folder;
  train(folder);
  train(folder, "--new seed=5");
  const std::string first = folder.read("run/config.yaml");
  output(folder, "fit run-2/config.yaml --verbose 0 --overwrite fit.epochs=3");
  CHECK(folder.read("run/config.yaml") == first);
  CHECK(folder.read("run-2/run.json").find("\"epochs\": 3") != std::string::npos);
}

TEST_CASE("config.yaml has the weights_map in it") {
  const JobFolder folder;
  std::filesystem::create_directories(folder.path / "cfg/maps");
  folder.write("cfg/c.yaml", std::string(kTinyConfig) + "weights_map: maps/m.yaml\n");
  folder.write("cfg/maps/m.yaml", "tensors: {'first.(.*)': d1/$1}\n");
  output(folder, "fit cfg/c.yaml --verbose 0");
  CHECK(folder.read("run/config.yaml").find("first.(.*)") != std::string::npos);
  output(folder, "validate run/config.yaml");
  output(folder, "fit cfg/c.yaml --verbose 0 --new weights_map=not_there");
}

TEST_CASE("a run writes over no file that it was given") {
  const JobFolder folder;
  std::filesystem::create_directory(folder.path / "exp");
  folder.write("exp/config.yaml", std::string("# mine\n") + kTinyConfig);
  CHECK(complaint(folder, "fit exp/config.yaml --verbose 0 run_directory=exp", 2) ==
        "exp/config.yaml: a run writes its own config.yaml to its directory, over this one; set "
        "run_directory to another folder, or give this file another name");
  CHECK(folder.read("exp/config.yaml").starts_with("# mine\n"));
}

TEST_CASE("what a run has written needs no description of its data") {
  const JobFolder folder;
  std::filesystem::create_directory(folder.path / "data");
  folder.write("data/t.csv", "a,b,c,label\n1,2,3,0\n4,5,6,1\n");
  folder.write("data/t.yaml",
               "format: csv\nsplits: {train: t.csv, test: t.csv}\ny: {columns: label}\n");
  const std::string job = " c.yaml --verbose 0 fit.validation=false dataset=data/t.yaml";
  const std::string trained = output(folder, "fit" + job);
  output(folder, "export run --output w.npz");
  output(folder, "export run/checkpoints/step-2 --output w2.npz");
  CHECK(output(folder, "evaluate run/config.yaml --from run --verbose 0") ==
        output(folder, "evaluate" + job + " --from run"));
  CHECK(output(folder, "fit run/config.yaml --resume --verbose 0") == trained);
  // New data have no label.
  folder.write("data/new.csv", "a,b,c\n1,2,3\n");
  output(folder, "predict" + job + " --from run --split test 'dataset.splits={test: new.csv}'");
}

TEST_CASE("numbers of new data stand for what those of training stood for") {
  const JobFolder folder;
  folder.write("t.csv", "a,b,c,label\n1,2,3,u\n4,5,6,v\n");
  folder.write("new.csv", "c,b,a\n1,2,3\n");
  folder.write("other.csv", "a,b,c,label\n1,2,3,u\n");
  const std::string data =
      " c.yaml --verbose 0 fit.validation=false 'dataset={format: csv, splits: {train: t.csv, "
      "test: t.csv}, y: {columns: label, classes: [u, v]}}'";
  output(folder, "fit" + data);
  CHECK(folder.read("run/names.json") ==
        "{\n \"x\": [\n  \"a\",\n  \"b\",\n  \"c\"\n ],\n \"y\": [\n  \"u\",\n  \"v\"\n ]\n}\n");
  const std::string predict = "predict" + data + " --from run --split test ";
  const std::string alone = " 'dataset.splits={test: new.csv}'";
  const std::string why = complaint(folder, predict + alone, 3);
  CAPTURE(why);
  CHECK(why.find("new.csv: x.columns are not those that the weights were trained on: number 0 is "
                 "'a' in run/names.json, 'c' here; set dataset.x.columns=") != std::string::npos);
  CHECK(why.find(" run/names.json, 'c' here; set dataset.x.columns=[\"a\",\"b\",\"c\"]") !=
        std::string::npos);
  output(folder, predict + alone + " 'dataset.x.columns=[a, b, c]'");
  folder.write("renamed.csv", "p,q,r\n1,2,3\n");
  output(folder, predict + " 'dataset.splits={test: renamed.csv}' 'dataset.x.columns=[p, q, r]'");
  output(folder, predict + " dataset.splits.test=new.csv");  // in the order of the training split
  CHECK(
      complaint(folder, "evaluate" + data + " --from run 'dataset.y.classes=[v, u]'", 3)
          .find("y.classes are not those that the weights were trained on: number 0 is 'u' in ") !=
      std::string::npos);
  // Evaluation opens no other split.
  output(folder, "evaluate" + data + " --from run --split test 'dataset.splits={test: other.csv}'");
}

TEST_CASE("labels that are no class are an error with the number of the sample") {
  const JobFolder folder;
  const std::string bad = "'dataset.splits.train.y={integers: [20], below: 9}'";
  for (const char* rest : {"", " --mesh 1x1", " dataset.cache=false"}) {
    const std::string why =
        complaint(folder, "fit c.yaml --verbose 0 --overwrite " + bad + rest, 3);
    CAPTURE(why);
    CHECK(why.find(": sample ") != std::string::npos);
    CHECK(why.find(" is not in 0..4, the classes of the model's output; mend the data or the "
                   "model, or set 'labels: unchecked'") != std::string::npos);
  }
  CHECK(train(folder, "--overwrite labels=unchecked " + bad).starts_with("final loss="));
  CHECK(complaint(folder,
                  "evaluate c.yaml --verbose 0 --from run "
                  "'dataset.splits.test.y={integers: [7], below: 50}'",
                  3)
            .find(" is not in 0..4") != std::string::npos);
  // One that stands for no class is none too many.
  CHECK(train(folder,
              "run_directory=ignored 'dataset.splits.train.y={integers: [20], below: 6}' "
              "compile.loss.SparseCategoricalCrossentropy.ignore_class=5")
            .starts_with("final loss="));
}

TEST_CASE("numbers that are no row of an Embedding are an error with the number of the sample") {
  const JobFolder folder;
  folder.write("words.yaml", R"(mesh: {data: 1}
dataset:
  name: words
  format: synthetic
  splits:
    train: {x: {integers: [20, 6], below: 9}, y: {normal: [20, 6, 2]}}
    test: {x: {integers: [7, 6], below: 9}, y: {normal: [7, 6, 2]}}
model: {input: [6], layers: [Embedding: {name: tok, input_dim: 9, output_dim: 2}]}
compile: {optimizer: sgd, loss: mse}
run_directory: words
)");
  const auto is_told = [](const std::string& why) {
    return why.find(": sample ") != std::string::npos &&
           why.find(" is not in 0..8, the rows of 'tok/embeddings'; mend the data or the model") !=
               std::string::npos;
  };
  for (const char* rest :
       {"", " --mesh 3", " dataset.cache=false", " 'model.input={shape: [6], dtype: int32}'"}) {
    const std::string fit = std::string("fit words.yaml --verbose 0 --overwrite ") + rest;
    CHECK(output(folder, fit).starts_with("final loss="));
    CHECK(is_told(complaint(folder, fit + " 'dataset.splits.train.x.below=30'", 3)));
  }
  output(folder, "fit words.yaml --verbose 0 --overwrite");
  for (const char* command : {"evaluate", "predict"}) {
    const std::string judge = std::string(command) + " words.yaml --verbose 0 --from words";
    CHECK(is_told(complaint(folder, judge + " dataset.splits.test.x.below=30", 3)));
  }
}

TEST_CASE("weights of another model are refused where it would compute something else") {
  const JobFolder folder;
  train(folder);
  const std::string evaluate = "evaluate c.yaml --verbose 0 --from run ";
  const std::string same = output(folder, evaluate);
  for (const char* harmless : {"model.layers.d1.kernel_initializer=zeros",
                               "model.layers.d2.activation=linear", "precision=mixed_bfloat16",
                               "--mesh 4x1 layout_map=null", "model.layers.d1.use_bias=true"}) {
    CAPTURE(harmless);
    CHECK(output(folder, evaluate + harmless).starts_with("final loss="));
  }
  for (const char* from : {"run", "run/checkpoints/step-6"}) {
    const std::string why = complaint(
        folder,
        "evaluate c.yaml --verbose 0 model.layers.d1.activation=tanh --from " + std::string(from),
        3);
    CAPTURE(why);
    CHECK(why.find(": layer 'd1' is 'Dense: {units: 7, activation: relu}' in the model "
                   "of the weights, and computes something else here, as 'Dense: {units: 7, "
                   "activation: tanh}'; ") != std::string::npos);
  }
  CHECK(complaint(folder,
                  "predict c.yaml --verbose 0 --from run model.layers.d2.activation=softmax", 3)
            .find("layer 'd2'") != std::string::npos);
  CHECK(output(folder, evaluate + "--any-model model.layers.d1.activation=tanh") != same);
  const std::string more =
      "'model.layers=[Dense: {name: d1, units: 7, activation: relu}, Dense: {name: d2, units: 5}, "
      "Softmax: {name: s}]'";
  CHECK(complaint(folder, evaluate + more, 3)
            .find("layer 's', 'Softmax', is none of the model of the weights; ") !=
        std::string::npos);
  train(folder, "run_directory=more " + more);
  CHECK(
      complaint(folder, "evaluate c.yaml --verbose 0 --from more", 3)
          .find("the weights are of a model with a layer 's', 'Softmax', and this one has none") !=
      std::string::npos);
}

TEST_CASE("what the devices of a node take together is held against its memory") {
  const JobFolder folder;
  const std::string why = complaint(
      folder, "fit c.yaml --verbose 0 --mesh 8x1 layout_map=null model.layers.d1.units=200000000",
      2);
  CHECK(why.starts_with("c.yaml: the 8 devices on the node of device 0 take "));
  CHECK(why.find(" may be used there; take a smaller batch, ") != std::string::npos);
}

TEST_CASE("files that cannot grow: whatever is written last, the run says so and leaves no part") {
  const JobFolder folder;
  for (const int kibibytes : {1, 2, 4, 8, 32}) {
    CAPTURE(kibibytes);
    const std::string run = "run" + std::to_string(kibibytes);
    const Finished finished = run_command(
        "cd '" + folder.path.string() + "' && env -u MESHWORK_DATA -u TMPDIR bash -c 'ulimit -f " +
        std::to_string(kibibytes) + "; exec \"" + program_path().string() +
        "\" fit c.yaml --verbose 0 model.layers.d1.units=2000 run_directory=" + run + "'");
    CAPTURE(finished.err);
    CHECK(finished.exit_code == 3);
    CHECK(finished.err.find("File too large") != std::string::npos);
    CHECK(finished.out.find("final ") == std::string::npos);
    CHECK_FALSE(folder.has(run + "/final.safetensors"));
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path / run)) {
      CHECK(entry.path().extension() != ".partial");
      CHECK(entry.path().filename() != "index.json");
    }
  }
}

TEST_CASE("sweep_mesh.sh trains on each mesh and tabulates what came of it") {
  const JobFolder folder;
  const std::string script = std::filesystem::absolute("scripts/sweep_mesh.sh").string();
  const std::string command = "MESHWORK='" + program_path().string() + "' '" + script + "'";
  const Finished sweep = run_command("cd '" + folder.path.string() + "' && " + command +
                                     " c.yaml 2x1 1x2 0x1 fit.epochs=1 --directory s");
  CAPTURE(sweep.err);
  CHECK(sweep.exit_code == 1);
  CHECK(sweep.out.find("    exit code 2: meshwork: ") != std::string::npos);
  const std::string csv = folder.read("s/sweep.csv");
  CHECK(
      csv.starts_with("mesh,devices,loss,accuracy,digest,step_ms,samples_per_second,speed_up,"
                      "memory_mib,status,command\r\n2x1,2,"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 4);
  const Json record = Json::parse(folder.read("s/1x2/run.json"));
  CHECK(csv.find(record.at("digest").get<std::string>()) != std::string::npos);
  CHECK(csv.find("run_directory=s/1x2 --overwrite") != std::string::npos);
}
