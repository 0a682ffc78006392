#include "interchange/from_keras/import.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/yaml.h"
#include "interchange/from_keras/compile.h"
#include "interchange/from_keras/layers.h"
#include "interchange/from_keras/nodes.h"
#include "interchange/from_keras/read.h"
#include "interchange/from_keras/values.h"
#include "interchange/keras_model.h"
#include "model/model.h"

namespace meshwork {
namespace {

using config::Value;
using from_keras::LayerList;

std::string input_text(const TensorType& type) {
  const Json shape = Shape(type.shape.begin() + 1, type.shape.end());
  if (is_floating(type.dtype)) return config::to_line(from_keras::value_of(shape));
  return config::to_line(from_keras::value_of(Json{{"shape", shape}, {"dtype", "int32"}}));
}

std::string lines_text(const LayerList& list, int indent) {
  std::string text;
  for (const std::string& line : list.lines) {
    text += fmt::format("{:{}}- {}\n", "", indent, line);
  }
  return text;
}

std::string blocks_text(const from_keras::Layers& layers) {
  if (layers.blocks.empty()) return {};
  std::string text = "blocks:\n";
  for (const auto& [name, list] : layers.blocks) {
    text += fmt::format("  {}:\n", config::to_line(from_keras::word(name)));
    if (list.inputs != std::vector<std::string>{"input"}) {
      text += fmt::format("    inputs: {}\n", config::to_line(from_keras::words(list.inputs)));
    }
    if (list.outputs[0] != list.last) {
      text += fmt::format("    output: {}\n", config::to_line(from_keras::word(list.outputs[0])));
    }
    text += "    layers:\n" + lines_text(list, 6);
  }
  return text;
}

/// Names of layers, and what the model calls them where that is another name.
std::string outputs_text(const LayerList& list) {
  if (list.output_names.empty()) return config::to_line(from_keras::words(list.outputs));
  Value map;
  for (const std::string& output : list.outputs) {
    const auto name = list.output_names.find(output);
    const std::string& called = name == list.output_names.end() ? output : name->second;
    map.insert(called, {}).value = from_keras::word(output);
  }
  return config::to_line(map);
}

std::string model_text(const LayerList& list) {
  std::string text = "model:\n";
  if (list.inputs == std::vector<std::string>{"input"}) {
    text += fmt::format("  input: {}\n", input_text(list.types[0]));
  } else {
    text += "  inputs:\n";
    for (std::size_t i = 0; i < list.inputs.size(); ++i) {
      text += fmt::format("    {}: {}\n", config::to_line(from_keras::word(list.inputs[i])),
                          input_text(list.types[i]));
    }
  }
  const bool gives_last = list.outputs == std::vector<std::string>{list.last};
  if (!gives_last || !list.output_names.empty()) {
    text += fmt::format("  outputs: {}\n", outputs_text(list));
  }
  return text + "  layers:\n" + lines_text(list, 4);
}

/// What the model is compiled with, as far as there are words for it here: else without metrics, or
/// nothing. `text`: the configuration before it.
std::string compile_section(const Json& model, const std::string& text, const std::string& file,
                            std::vector<std::string>& notes) {
  std::string problem;
  for (const bool with_metrics : {true, false}) {
    const std::string compile = from_keras::compile_text(model, with_metrics);
    if (compile.empty()) return {};
    try {
      check_compile(config::parse_config(text + compile, file, {}));
      if (!with_metrics) {
        notes.push_back(fmt::format("the metrics of the model are left out: {}", problem));
      }
      return compile;
    } catch (const Error& error) {
      if (problem.empty()) problem = error.what();
    }
  }
  notes.push_back(fmt::format("what the model is compiled with is left out: {}", problem));
  return {};
}

}  // namespace

std::string configuration_of_keras(const std::string& file, std::vector<std::string>& notes) {
  try {
    const Json model = from_keras::read_model(file);
    if (!from_keras::is_object(model) || !from_keras::is_model(model)) {
      fail(ExitCode::kFile,
           "{}: it describes no Sequential or Functional model, which alone hold their layers",
           file);
    }
    const std::string precision = from_keras::precision_of(model);
    const from_keras::Layers layers = from_keras::read_layers(model, file, precision);
    std::string text;
    if (precision != "float32") text += fmt::format("precision: {}\n", precision);
    text += blocks_text(layers) + model_text(layers.model);
    predicting_program(config::parse_config(text, file, {}));
    return text + compile_section(model, text, file, notes);
  } catch (const Json::exception& error) {
    fail(ExitCode::kFile, "{}: it is not written as Keras 3 writes models ({})", file,
         error.what());
  }
}

}  // namespace meshwork
