#include "model/decoder.h"

#include <algorithm>

#include "base/check.h"
#include "base/names.h"
#include "config/lookup.h"
#include "model/count_along.h"
#include "model/layer_graph.h"
#include "model/losses/loss.h"
#include "model/narrow_weights.h"
#include "model/token_paths.h"
#include "ops/ops.h"

namespace meshwork {
namespace {

/// A model that reads parts of sequences, up to what its last layer gives for all of a part.
struct Decoder {
  Graph graph;
  ValueId tokens = kNoValue;
  Decoding decoding;
  std::vector<Recurrence> recurrences;
  ValueId prediction = kNoValue;
};

/// Whether an input says of tokens where they stand among documents.
bool is_of_documents(const config::InputSpec& input) { return names::is_of_documents(input.name); }

/// The place of the input of tokens among those of the model.
std::size_t tokens_index(const config::ModelSpec& model) {
  const auto input = std::ranges::find_if_not(model.inputs, is_of_documents);
  const auto others = std::ranges::count_if(model.inputs, is_of_documents);
  const std::ptrdiff_t wanted = std::ssize(model.inputs) - others;
  if (wanted == 1 && input->shape.size() == 1) {
    return static_cast<std::size_t>(input - model.inputs.begin());
  }
  config::fail_at(model.inputs.front().at,
                  "to generate, a model takes one input of numbers of tokens, such as {{shape: "
                  "[64], dtype: int32}}, and perhaps {} and {}; this one takes {}",
                  names::kSegments, names::kPositions,
                  wanted == 1 ? to_string(input->shape) : fmt::format("{} others", wanted));
}

const config::InputSpec& tokens_input(const config::ModelSpec& model) {
  return model.inputs[tokens_index(model)];
}

/// float32 [batch, tokens]: start + 0, 1, ..
ValueId places_from(GraphBuilder& b, ValueId start, std::int64_t batch, std::int64_t tokens) {
  const ValueId first = ops::reshape(b, ops::cast(b, start, DType::kFloat32), {batch, 1});
  return ops::add(b, first, count_along(b, 2, 1, tokens));
}

/// What an input gives in a part of a sequence, which is one document: [batch, tokens].
ValueId part_of(GraphBuilder& b, const config::InputSpec& input, const Decoder& decoder) {
  const Shape shape = b.shape(decoder.tokens);
  ValueId value = decoder.tokens;
  if (input.name == names::kSegments) {
    value = ops::broadcast_to(b, ops::constant(b, 0.0), shape);
  } else if (input.name == names::kPositions) {
    value = decoder.decoding.places;
  }
  return ops::cast(b, value, input.dtype);
}

Decoder build(const config::Config& config, std::int64_t tokens, std::int64_t batch,
              ModelFacts* facts) {
  const config::InputSpec& input = tokens_input(config.model);
  Decoder decoder;
  GraphBuilder b(decoder.graph);
  Scope scope(b, config.seed, false);
  decoder.tokens = ops::input(b, names::kTokens, {DType::kInt32, {batch, tokens}});
  Decoding& decoding = decoder.decoding;
  decoding.start = ops::input(b, names::kStart, {DType::kInt32, {batch}});
  decoding.places = places_from(b, decoding.start, batch, tokens);
  decoding.tokens = tokens;
  decoding.context = input.shape[0];
  scope.set_decoding(decoding);
  std::vector<ModelInput> inputs;
  for (const config::InputSpec& one : config.model.inputs) {
    inputs.push_back({one.name, part_of(b, one, decoder)});
    decoder.graph.layer_outputs.push_back({one.name + "/output", inputs.back().value});
  }
  decoder.prediction = add_layers(scope, config.model, config.precision, inputs,
                                  facts == nullptr ? nullptr : &facts->notes)
                           .front()
                           .value;
  if (facts != nullptr) facts->absent = scope.absent();
  decoder.recurrences = scope.recurrences();
  return decoder;
}

/// The scores of one token of each part: [batch, tokens, numbers] -> [batch, numbers].
ValueId select_last(GraphBuilder& b, ValueId scores) {
  const Shape shape = b.shape(scores);
  const std::int64_t batch = shape[0], tokens = shape[1], numbers = shape[2];
  const ValueId last = ops::input(b, names::kLast, {DType::kInt32, {batch}});
  if (tokens == 1) return ops::reshape(b, scores, {batch, numbers});
  const ValueId index = ops::broadcast_to(b, ops::reshape(b, last, {batch, 1}), {batch, numbers});
  return b.add(ops::kTakeAlongAxis, {ops::transpose(b, scores, {0, 2, 1}), index});
}

/// Whether a loss takes what the model gives for the probabilities of classes.
bool is_trained_as_probabilities(const config::Config& config) {
  if (!config.compile || config.compile->objectives.empty()) return false;
  const auto& spec = config.compile->objectives.front().loss;
  if (!spec || read_loss(*spec).takes_logits) return false;
  const LossDef* loss = config::find_named(loss_registry(), spec->name);
  return loss == &losses::kSparseCategoricalCrossentropy || loss == &losses::kCrossentropy;
}

/// By the op that gives them; else, of a mean of several models say, by the loss.
bool gives_probabilities(const config::Config& config, const Graph& graph, ValueId scores) {
  return source_of_probabilities(graph, scores) != nullptr || is_trained_as_probabilities(config);
}

/// Of the whole model, as it is trained.
DecoderFacts read_facts(const config::Config& config) {
  const config::InputSpec& input = tokens_input(config.model);
  Signature signature = stated_signature(config.model);
  signature.inputs.at(tokens_index(config.model)).dtype = DType::kInt32;
  const Graph graph = build_model(config, signature, Mode::kPredict, 1);
  if (config.model.outputs.size() != 1) {
    config::fail_at(config.model.outputs[1].at,
                    "to generate, a model has one output, not {}; name the one of logits as the "
                    "only one in `outputs`",
                    config.model.outputs.size());
  }
  const ValueId scores = output_value(graph, names::kPrediction);
  const Shape shape = graph.type(scores).shape;
  const std::int64_t context = input.shape[0];
  if (shape.size() != 3 || shape[1] != context) {
    config::fail_at(config.model.outputs[0].at,
                    "to generate, a model gives logits [{}, vocabulary], a line for each token; "
                    "'{}' gives {}",
                    context, to_string(config.model.outputs[0].from),
                    to_string(Shape(shape.begin() + 1, shape.end())));
  }
  return {.context = context,
          .numbers = shape[2],
          .are_probabilities = gives_probabilities(config, graph, scores)};
}

}  // namespace

Signature part_signature(const config::Config& config, std::int64_t tokens) {
  Signature signature;
  signature.inputs.push_back({tokens_input(config.model).name, DType::kInt32, {tokens}});
  return signature;
}

Graph build_decoder(const config::Config& config, const Signature& signature, std::int64_t batch,
                    ModelFacts* facts) {
  MW_CHECK(signature.inputs.size() == 1 && signature.inputs[0].shape.size() == 1);
  Decoder decoder = build(config, signature.inputs[0].shape[0], batch, facts);
  Graph& graph = decoder.graph;
  graph.layer_outputs.push_back({names::kPrediction, decoder.prediction});
  GraphBuilder b(graph);
  graph.outputs.push_back({names::kScores, select_last(b, decoder.prediction), true});
  std::stable_partition(graph.variables.begin(), graph.variables.end(),
                        [](const Variable& v) { return !v.is_cache; });
  keep_narrow_weights(graph);
  return std::move(graph);
}

DecoderFacts check_decodes(const config::Config& config) {
  constexpr std::int64_t kPart = 3;
  const DecoderFacts facts = read_facts(config);
  if (facts.context == 1) return facts;
  const std::int64_t tokens = std::min(kPart, facts.context);
  Decoder decoder;
  try {
    decoder = build(config, tokens, 1, nullptr);
  } catch (const Error& error) {
    throw Error(error.code(),
                fmt::format("{} (generate gives the model some of the {} tokens at a time)",
                            error.what(), facts.context));
  }
  const auto mix = find_token_mix(decoder.graph, {decoder.tokens, decoder.decoding.places},
                                  decoder.recurrences, decoder.prediction);
  if (!mix) return facts;
  const std::string& path = decoder.graph.node(mix->node).path;
  const auto layer = std::ranges::find_if(config.model.layers, [&](const config::LayerSpec& spec) {
    return spec.path == path || path.starts_with(spec.path + "/");
  });
  const config::Location at = layer == config.model.layers.end() ? config.model.at : layer->at;
  if (mix->kind == TokenMix::Kind::kIsPlaced) {
    config::fail_at(at,
                    "to generate, a layer does the same at every place; '{}' has something of its "
                    "own for each of the {}, which PositionEmbedding adds in a way that can",
                    path, facts.context);
  }
  config::fail_at(at,
                  "to generate, tokens meet in MultiHeadAttention or GroupQueryAttention with "
                  "use_causal_mask: true, or in recurrent layers, alone, which remember what was "
                  "there before; '{}' mixes them otherwise",
                  path);
}

}  // namespace meshwork
