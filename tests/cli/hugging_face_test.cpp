// Weights of Hugging Face's models (scripts/make_hugging_face_fixtures.py) in the configurations.
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "cli/job_folder.h"

using namespace meshwork::cli;

namespace {

namespace fs = std::filesystem;

/// Changes the config.json beside the weights of a fixture.
void change_json(const JobFolder& folder, const std::string& from, const std::string& to) {
  std::string json = folder.read("config.json");
  json.replace(json.find(from), from.size(), to);
  folder.write("config.json", json);
}

struct Case {
  std::string name;
  std::string config;
  std::string keys;      ///< that give it the size of the fixture
  int outputs = 50;      ///< numbers for each token, or
  bool by_token = true;  ///< for each sequence
};

constexpr int kSequences = 3, kSteps = 8;

const std::vector<Case>& cases() {
  static const std::string kDecoder =
      "'model.params={vocabulary: 50, context: 8, depth: 2, heads: 4, key_heads: 2, width: 16, ";
  static const std::string kLlama =
      kDecoder + "head_width: 4, hidden: 24, epsilon: 1.0e-5, qk_norm: false, ";
  static const std::string kQwen3 =
      kDecoder +
      "head_width: 6, wavelength: 1000000, epsilon: 1.0e-6, qk_norm: true, window: null, ";
  static const std::string kBert =
      "'model.params={vocabulary: 50, context: 8, depth: 2, heads: 4, width: 16, dropout: 0.0, "
      "epsilon: 1.0e-12, padding: true, ";
  static const std::vector<Case> kCases{
      {"gpt2", "gpt2",
       "'model.params={vocabulary: 50, context: 8, depth: 2, heads: 4, width: 16, dropout: 0.0, "
       "epsilon: 1.0e-5}'"},
      {"llama", "llama", kLlama + "wavelength: 500000, window: null, stretch: 1, tied: false}'"},
      {"llama_tied", "llama",
       kLlama + "wavelength: 500000, window: null, stretch: 8, tied: true}' "
                "'layout_map.\"logits/kernel\"=null'"},
      {"bert", "bert", kBert + "classes: 0, pairs: false}'"},
      {"bert_pairs", "bert",
       kBert +
           "classes: 3, pairs: true}' model.input=null 'model.inputs={input: {shape: [8], dtype: "
           "int32}, segment: {shape: [8], dtype: int32}}'",
       3, false},
      {"mixtral", "mixtral",
       kDecoder +
           "head_width: 4, wavelength: 1000000, epsilon: 1.0e-5, qk_norm: false, hidden: 24, "
           "experts: 11, top_k: 3, capacity: 1.25, window: null}'"},
      {"qwen3", "llama",
       kQwen3 + "hidden: 24, stretch: 1, tied: true}' 'layout_map.\"logits/kernel\"=null'"},
      {"qwen3_experts", "mixtral", kQwen3 + "hidden: 12, experts: 6, top_k: 4, capacity: 1.25}'"},
      {"mistral", "llama", kLlama + "wavelength: 10000, window: 3, stretch: 1, tied: false}'"}};
  return kCases;
}

/// The files of a case, and room for what is predicted.
struct Fixture : JobFolder {
  explicit Fixture(const Case& which) : which(which) {
    fs::copy(fs::path("tests/fixtures/hugging_face") / which.name, path);
  }

  /// The words of a command on this model.
  std::string words(const std::string& command, const std::string& more) const {
    const std::string fields =
        has("segment.npy") ? "{input: x.npy, segment: segment.npy}" : "{x: x.npy}";
    return command + " '" + fs::absolute("configs/" + which.config + ".yaml").string() + "' " +
           which.keys + " 'dataset={name: t, format: npy, directories: [\"" + path.string() +
           "\"], splits: {test: " + fields + ", train: " + fields + "}}' --verbose 0 " + more;
  }
  /// `told`: part of a note that comes with it; "": none does.
  std::vector<float> predicted(const std::string& more, const std::string& told = "") const {
    const Finished finished = run(words("predict", "--output p.npy " + more));
    CAPTURE(finished.err);
    CHECK(finished.exit_code == 0);
    CHECK((told.empty() ? finished.err.empty() : finished.err.find(told) != std::string::npos));
    return numbers("p.npy");
  }
  /// The floats of a .npy file.
  std::vector<float> numbers(const std::string& file) const {
    const std::string npy = read(file);
    const int count = kSequences * (which.by_token ? kSteps : 1) * which.outputs;
    std::vector<float> values(static_cast<std::size_t>(count));
    REQUIRE(npy.size() > values.size() * sizeof(float));
    std::memcpy(values.data(), npy.data() + npy.size() - values.size() * sizeof(float),
                values.size() * sizeof(float));
    return values;
  }
  /// The greatest difference of the outputs, relative to 1 or more; those of padding do not count.
  double difference(const std::vector<float>& values) const {
    const std::vector<float> expected = numbers("expected.npy");
    const std::string x = read("x.npy");
    double most = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::size_t token = i / static_cast<std::size_t>(which.outputs);
      const std::size_t from_end = static_cast<std::size_t>(kSequences * kSteps) - token;
      if (which.by_token && x[x.size() - 4 * from_end] == 0) continue;
      const double scale = std::max(1.0, std::abs(double{expected[i]}));
      most = std::max(most, std::abs(double{values[i]} - double{expected[i]}) / scale);
    }
    return most;
  }

  const Case& which;
};

}  // namespace

TEST_CASE("the sizes of a config.json make the same model") {
  const std::string sizes = "--sizes-of . model.params.context=8";
  const std::vector<Case> of_sizes{
      {"gpt2", "gpt2", sizes},
      {"llama", "llama", sizes},
      {"llama_tied", "llama", "--sizes-of config.json model.params.context=8"},
      {"qwen3", "llama", sizes},
      {"bert", "bert", sizes + " model.params.padding=true"},
      {"mixtral", "mixtral", sizes},
      {"qwen3_experts", "mixtral", sizes},
      {"mistral", "llama", sizes}};
  for (const Case& which : of_sizes) {
    CAPTURE(which.name);
    const Fixture fixture(which);
    CHECK(fixture.difference(fixture.predicted("--from . --mesh 1x2")) < 1e-5);
  }
}

TEST_CASE("sizes have the epsilon of a normalization; models that compute otherwise are refused") {
  const std::string context = " model.params.context=8";
  const Case gpt2{"gpt2", "gpt2", context}, bert{"bert", "bert", context};
  for (const Case& which : {gpt2, bert}) {
    const Fixture fixture(which);
    const bool is_bert = which.name == "bert";
    change_json(fixture, is_bert ? "\"layer_norm_eps\": 1e-12" : "\"layer_norm_epsilon\": 1e-05",
                is_bert ? "\"layer_norm_eps\": 0.1" : "\"layer_norm_epsilon\": 0.1");
    const std::vector<float> values = fixture.predicted("--from . --sizes-of .");
    CHECK(values == fixture.predicted("--from . --sizes-of . model.params.epsilon=0.1"));
    CHECK(values != fixture.predicted("--from . --sizes-of . model.params.epsilon=0.01",
                                      " has model.params.epsilon 0.1 ("));
  }
  const auto refused = [&](const Case& which, const std::string& from, const std::string& to,
                           const std::string& told) {
    const Fixture fixture(which);
    change_json(fixture, from, to);
    for (const std::string option : {"--sizes-of", "--from"}) {
      const bool has_sizes = option == "--sizes-of";
      Case sized = which;
      if (!has_sizes) sized.keys = cases()[which.name == "gpt2" ? 0 : 3].keys;
      Fixture given(sized);
      given.write("config.json", fixture.read("config.json"));
      const std::string error = complaint(
          given, given.words("predict", "--from . " + (has_sizes ? option + " ." : "")), 2);
      CAPTURE(error);
      CHECK(error.find(": " + option + ": the model of ") != std::string::npos);
      CHECK(error.ends_with(told));
    }
  };
  const std::string tied = "\"tie_word_embeddings\": ";
  refused(gpt2, tied + "true", tied + "false", " must hold: tie_word_embeddings is false");
  refused(gpt2, "\"scale_attn_weights\": true", "\"scale_attn_weights\": false",
          " must hold: scale_attn_by_inverse_layer_idx is false, scale_attn_weights is false");
  refused(gpt2, "\"scale_attn_by_inverse_layer_idx\": false",
          "\"scale_attn_by_inverse_layer_idx\": true",
          " must hold: scale_attn_by_inverse_layer_idx is true, scale_attn_weights is true");
  refused(bert, tied + "true", tied + "false", " must hold: tie_word_embeddings is false");
  refused(bert, "\"is_decoder\": false", "\"is_decoder\": true",
          " must hold: add_cross_attention is false, is_decoder is true");
}

TEST_CASE("windows that differ by layer are refused; one that is switched off is none") {
  const Case qwen3{"qwen3", "llama", " model.params.context=8"};
  const auto with_window = [&](const std::string& use, const std::string& most) {
    auto fixture = std::make_unique<Fixture>(qwen3);
    change_json(*fixture, "\"sliding_window\": null", "\"sliding_window\": 3");
    change_json(*fixture, "\"use_sliding_window\": false", "\"use_sliding_window\": " + use);
    change_json(*fixture, "\"max_window_layers\": 28", "\"max_window_layers\": " + most);
    return fixture;
  };
  const std::string from = "--from . --sizes-of . ";
  const auto off = with_window("false", "0");
  CHECK(off->difference(off->predicted(from)) < 1e-5);
  const auto full = with_window("true", "2");
  CHECK(full->difference(full->predicted(from)) < 1e-5);
  const auto all = with_window("true", "0");
  CHECK(all->predicted(from) == off->predicted(from + "model.params.window=3"));
  CHECK(all->predicted(from + "model.params.window=null", " has model.params.window 3 (") ==
        off->predicted(from));
  const auto some = with_window("true", "1");
  CHECK(complaint(*some, some->words("predict", from), 2).find("max_window_layers is 1, ") !=
        std::string::npos);
}

TEST_CASE("what the config.json beside weights says otherwise is a note of who reads them") {
  const Fixture fixture(cases()[5]);
  const auto notes = [&](const std::string& more) {
    const Finished finished = fixture.run(fixture.words("predict", "--output p.npy " + more));
    CHECK(finished.exit_code == 0);
    return finished.err;
  };
  CHECK(notes("--from .") == "");
  CHECK(notes("--from . model.params.top_k=1") ==
        "meshwork: note: ./config.json: the model of these weights has model.params.top_k 3 "
        "(num_experts_per_tok is 3), this one has 1; --sizes-of ./config.json takes over its "
        "sizes\n");
  const std::string several =
      notes("--from . model.params.wavelength=1e4 model.params.epsilon=1e-6");
  CHECK(several.find(" has model.params.wavelength 1000000.0 (rope_parameters_rope_theta is ") !=
        std::string::npos);
  CHECK(
      several.find(" has model.params.epsilon 1e-05 (rms_norm_eps is 1e-05), this one has 1e-6;") !=
      std::string::npos);
}

TEST_CASE("fit begins LoRA's factors anew; who only reads weights wants them") {
  const Fixture fixture(cases()[1]);
  const std::string lora =
      "--from . blocks.attention.layers.query.lora_rank=2 "
      "blocks.transformer.layers.gate.lora_rank=3 "
      "'dataset={name: t, format: synthetic, splits: {train: {x: {integers: [32, 8], below: 50}, "
      "y: "
      "{integers: [32, 8], below: 50}}}}' fit.epochs=1 fit.steps_per_epoch=1 fit.validation=false ";
  CHECK(
      output(fixture, fixture.words("fit", lora + "run_directory=run")).starts_with("final loss="));
  CHECK(complaint(fixture, fixture.words("evaluate", lora), 3)
            .starts_with("./model.safetensors: 8 tensors do not fit:\n  no tensor goes to "
                         "'block_0/attention/query/lora_kernel_a', float32["));
  output(fixture, fixture.words("evaluate", "--from run " + lora.substr(lora.find("blocks"))));
}

TEST_CASE("Models of Hugging Face give their outputs, on every mesh") {
  for (const Case& which : cases()) {
    CAPTURE(which.name);
    const Fixture fixture(which);
    for (const char* mesh : {"1x1", "2x1", "1x2", "2x2"}) {
      CAPTURE(mesh);
      const double difference =
          fixture.difference(fixture.predicted(std::string("--from . --mesh ") + mesh));
      CAPTURE(difference);
      CHECK(difference < 1e-5);
    }
  }
}

TEST_CASE("training goes on from there, and what was read goes out in other formats") {
  const Fixture fixture(cases()[0]);
  const std::vector<float> values = fixture.predicted("--from model.safetensors.index.json");
  const std::string data =
      "--from . 'dataset={name: t, format: synthetic, splits: {train: {x: {integers: [48, 8], "
      "below: "
      "50}, y: {integers: [48, 8], below: 50}}}}' fit.batch_size=6 fit.steps_per_epoch=8 "
      "fit.epochs=1 fit.validation=false ";
  const std::string trained = output(fixture, fixture.words("fit", data + "run_directory=run"));
  CHECK(trained.starts_with("final loss="));
  CHECK(output(fixture, fixture.words("fit", data + "--mesh 2x2 run_directory=b"))
            .starts_with(trained.substr(0, trained.find("loss=") + 9)));
  CHECK(fixture.predicted("--from run") != values);
  for (const char* file : {"ours.npz", "ours.safetensors", "ours.weights.h5"}) {
    output(fixture, std::string("export . --config run/config.yaml --output ") + file);
    CHECK(fixture.predicted(std::string("--from ") + file) == values);
  }
}

TEST_CASE("fit begins a classifier anew; who only reads weights wants all of them") {
  Case which = cases()[4];
  which.name = "bert";
  const Fixture fixture(which);
  const std::string labels =
      "--from . 'dataset={name: t, format: synthetic, splits: {train: {input: {integers: [32, 8], "
      "below: 50}, segment: {integers: [32, 8], below: 2}, y: {integers: [32], below: 3}}}}' "
      "fit.epochs=1 fit.steps_per_epoch=1 fit.validation=false compile.metrics=null ";
  CHECK(output(fixture, fixture.words("fit", labels + "run_directory=run"))
            .starts_with("final loss="));
  CHECK(complaint(fixture, fixture.words("evaluate", labels), 3)
            .starts_with("./model.safetensors: 2 tensors do not fit:\n  no tensor goes to "
                         "'classifier/bias', float32[3]; the file has none that "));
}

TEST_CASE("weights that do not fit the model or the map end the job with a word") {
  const Fixture fixture(cases()[0]);
  const auto predict = [&](const std::string& more) {
    return complaint(fixture, fixture.words("predict", "--from . " + more), 3);
  };
  const std::string file = "./model.safetensors.index.json: ";
  const std::string deep = predict("model.params.depth=3");
  CHECK(deep.starts_with(
      file +
      "16 tensors do not fit:\n  no tensor goes to "
      "'block_2/attention/attention_output/bias', float32[16]; the file has none that "));
  const std::string wide = predict("model.params.width=20");
  CHECK(wide.find("'transformer.h.0.attn.c_attn.bias', float32[48], is rearranged by '(part heads "
                  "width) -> heads width' (") != std::string::npos);
  CHECK(wide.find("), but that gives no 'block_0/attention/query/bias', float32[4, 5]: (part heads "
                  "width) is 48 there, 60 in the model\n") != std::string::npos);
  CHECK(predict("weights_map=null") ==
        file +
            "its tensors, such as 'transformer.h.0.attn.bias', have names of another program; say "
            "which variables they are with weights_map: gpt2, llama, mixtral, bert or a map of "
            "your own");
  const std::string llama = fixture.words("predict", "--from . weights_map=llama");
  CHECK(complaint(fixture, llama, 2).ends_with(" must hold: model_type is gpt2"));
  fs::remove(fixture.path / "config.json");
  CHECK(complaint(fixture, llama, 3).find("matches no pattern of ") != std::string::npos);
  CHECK(complaint(fixture, fixture.words("predict", "--from . weights_map=gpt3"), 2)
            .starts_with("command line: 'weights_map=gpt3': weights_map 'gpt3' is not described; "
                         "nearest: 'gpt2'; looked for gpt3.yaml in "));
  const std::string validate =
      "validate '" + fs::absolute("configs/gpt2.yaml").string() + "' dataset=null weights_map=gpt3";
  CHECK(complaint(fixture, validate, 2)
            .starts_with("command line: 'weights_map=gpt3': weights_map 'gpt3' is not described"));
  const std::string shard = "model-00002-of-00002.safetensors";
  const std::string bytes = fixture.read(shard);
  fixture.write(shard, bytes.substr(0, bytes.size() - 4));
  CHECK(predict("").starts_with("./" + shard + ": not a good safetensors file: "));
  fs::remove(fixture.path / shard);
  CHECK(predict("") ==
        file + "its shard '" + shard + "' is not beside it; fetch all files of the model again");
}
