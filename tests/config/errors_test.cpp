#include <doctest/doctest.h>

#include "config/config_text.h"

using namespace meshwork::config;

namespace {

struct BadConfig {
  const char* text;
  const char* message;
};

void check(const std::vector<BadConfig>& cases) {
  for (const BadConfig& bad : cases) {
    CAPTURE(std::string(bad.text));
    CHECK(parse_error(bad.text) == std::string(bad.message));
  }
}

/// The section under test stands after the model, from line 5 on.
void check_sections(const std::vector<BadConfig>& cases) {
  for (const BadConfig& bad : cases) {
    CAPTURE(std::string(bad.text));
    CHECK(parse_error(kModel + bad.text) == std::string(bad.message));
  }
}

/// The layers under test stand at line 4, column 5.
void check_layers(const std::vector<BadConfig>& cases) {
  for (const BadConfig& bad : cases) {
    CAPTURE(std::string(bad.text));
    CHECK(parse_error(std::string("model:\n  input: [4]\n  layers:\n    ") + bad.text) ==
          std::string(bad.message));
  }
}

}  // namespace

TEST_CASE("errors of the whole file") {
  check({
      {"", "c.yaml: the file is empty"},
      {"# nothing but a comment\n", "c.yaml: the file is empty"},
      {"hello", "c.yaml:1:1: the file must be a map of keys, such as 'model:', not 'hello'"},
      {"[1, 2]", "c.yaml:1:1: the file must be a map of keys, such as 'model:', not a list"},
      {"seed: 1\n", "c.yaml: the configuration needs the key 'model'"},
      {"modle: {}\n", "c.yaml:1:1: the configuration has no key 'modle'; nearest: 'model'"},
      {"seed: 1\nseed: 2\n",
       "c.yaml:2:1: key 'seed' stands twice, first at c.yaml:1:1; remove one"},
      {"seed: 1\n  mesh: 3\n", "c.yaml:2:7: not valid YAML: illegal map value"},
      {"mesh:\n\tdata: 2\n", "c.yaml:2:6: not valid YAML: a tab indents this line; take spaces"},
      {"fit:\n  epochs: 2\n \tshuffle: true\n",
       "c.yaml:3:2: not valid YAML: a tab indents this line; take spaces"},
      {"a: [1, 2\n", "c.yaml:2:1: not valid YAML: end of sequence flow not found"},
      {"? [a]\n: 3\n", "c.yaml:1:3: a key must be plain text"},
      {"a: 1\n---\nb: 1\n", "c.yaml:2:1: a second document begins; keep one in a file"},
  });
  // Newer releases of yaml-cpp also name the anchor.
  const std::string anchor = "c.yaml:1:4: not valid YAML: the referenced anchor is not defined";
  const std::string found = parse_error("a: *b\n");
  CHECK((found == anchor || found == anchor + ": b"));
}

TEST_CASE("errors of single keys") {
  check_sections({
      {"seed: -1", "c.yaml:5:7: seed must be an integer from 0 to 2^64 - 1, not '-1'"},
      {"seed: x", "c.yaml:5:7: seed must be an integer from 0 to 2^64 - 1, not 'x'"},
      {"seed: 18446744073709551616",
       "c.yaml:5:7: seed must be an integer from 0 to 2^64 - 1, not '18446744073709551616'"},
      {"seed: \"7\"", "c.yaml:5:7: seed must be an integer from 0 to 2^64 - 1, not '7'"},
      {"precision: mixed_bfloat",
       "c.yaml:5:12: precision 'mixed_bfloat' is unknown; nearest: 'mixed_bfloat16', "
       "'mixed_float16'"},
      {"precision: [float32]", "c.yaml:5:12: precision must be a word, not a list"},
      {"device: cudda", "c.yaml:5:9: device 'cudda' is unknown; nearest: 'cuda'"},
      {"device: [cuda]", "c.yaml:5:9: device must be a word, not a list"},
      {"strategy: model_paralel",
       "c.yaml:5:11: strategy 'model_paralel' is unknown; nearest: 'model_parallel', "
       "'data_parallel'"},
      {"strategy: [data_parallel]", "c.yaml:5:11: strategy must be a word, not a list"},
      {"strategy: model_parallel",
       "c.yaml:5:11: strategy model_parallel needs a layout_map; {} is one without rules"},
      {"layout_map: {}\nstrategy: data_parallel",
       "c.yaml:6:11: strategy data_parallel takes no layout_map; remove it (on the command line: "
       "layout_map=null), or write model_parallel"},
      {"batch_axis: dat",
       "c.yaml:5:13: batch_axis: the mesh (data=-1) has no axis 'dat'; "
       "nearest: 'data'"},
      {"batch_axis: {data: 1}",
       "c.yaml:5:13: batch_axis must be an axis of the mesh or a list of them, not a map"},
      {"batch_axis: [data, data]", "c.yaml:5:20: batch_axis: axis 'data' stands twice"},
      {"max_replicated: 2%", "c.yaml:5:17: max_replicated must be a number, not '2%'"},
      {"max_replicated: 1.5",
       "c.yaml:5:17: max_replicated is 1.5; give a part of the weights' bytes, from 0 to 1"},
      {"keep_gathered: 1", "c.yaml:5:16: keep_gathered must be true or false, not '1'"},
      {"fusion: 1", "c.yaml:5:9: fusion must be true or false, not '1'"},
      {"fusion: [elementwise]",
       "c.yaml:5:9: fusion must be true, false or a map of names, such as {elementwise: false}, "
       "not a "
       "list"},
      {"fusion: {elementwise: 2}",
       "c.yaml:5:23: fusion: elementwise must be true or false, not '2'"},
      {"rematerialize: ful", "c.yaml:5:16: rematerialize: mode 'ful' is unknown; nearest: 'full'"},
      {"rematerialize: list_of_layers",
       "c.yaml:5:16: rematerialize: list_of_layers needs the list; write {mode: list_of_layers, "
       "layer_names: ['stage_1/.*']}"},
      {"rematerialize: {mode: full, layer_names: [d1]}",
       "c.yaml:5:16: rematerialize: mode list_of_layers and layer_names go together; give both "
       "or "
       "neither"},
      {"rematerialize: {mode: larger_than, output_size_threshold: -1}",
       "c.yaml:5:59: rematerialize: output_size_threshold is -1; give 0 or more"},
      {"memory_limit: 2 GB",
       "c.yaml:5:15: memory_limit is '2 GB'; give the bytes of a device, such as 2 GiB, 512 MiB or "
       "64 KiB"},
      {"memory_limit: 0",
       "c.yaml:5:15: memory_limit is '0'; give the bytes of a device, such as 2 GiB, 512 MiB or 64 "
       "KiB"},
      {"run_directory: [a]", "c.yaml:5:16: run_directory must be a word, not a list"},
      {"run_directory: ''", "c.yaml:5:16: run_directory is empty; name a folder"},
      {"run_directory: ~/a",
       "c.yaml:5:16: run_directory '~/a': ~ is a home directory to shells alone; write the whole "
       "path, or ./~/a for a folder of that name"},
  });
}

TEST_CASE("errors of checkpoints") {
  check_sections({
      {"checkpoint: [1]",
       "c.yaml:5:13: checkpoint must be true, false or a map such as {every: 500 steps, keep: 3}, "
       "not a list"},
      {"checkpoint: sometimes", "c.yaml:5:13: checkpoint must be true or false, not 'sometimes'"},
      {"checkpoint: {kept: 1}", "c.yaml:5:14: checkpoint has no key 'kept'; nearest: 'keep'"},
      {"checkpoint: {keep: 0}", "c.yaml:5:20: checkpoint: keep is 0; give 1 or more"},
      {"checkpoint: {every: 0 steps}",
       "c.yaml:5:21: checkpoint: every is '0 steps'; give epochs, steps or a time: 1 epoch, 500 "
       "steps, 10 min"},
      {"checkpoint: {every: 1.5 epochs}",
       "c.yaml:5:21: checkpoint: every is '1.5 epochs'; give epochs, steps or a time: 1 epoch, 500 "
       "steps, 10 min"},
      {"checkpoint: {every: 3}",
       "c.yaml:5:21: checkpoint: every is '3'; give epochs, steps or a time: 1 epoch, 500 steps, "
       "10 min"},
      {"checkpoint: {every: often}",
       "c.yaml:5:21: checkpoint: every is 'often'; give epochs, steps or a time: 1 epoch, 500 "
       "steps, 10 min"},
      {"checkpoint: {every: 1e300 epochs}",
       "c.yaml:5:21: checkpoint: every is '1e300 epochs'; give epochs, steps or a time: 1 epoch, "
       "500 steps, 10 min"},
      {"checkpoint: {every: 1e400 steps}",
       "c.yaml:5:21: checkpoint: every is '1e400 steps'; give epochs, steps or a time: 1 epoch, "
       "500 steps, 10 min"},
      {"stall_timeout: 1e400 s",
       "c.yaml:5:16: stall_timeout is '1e400 s'; give a time, such as 120 s or 10 min, or never"},
      {"stall_timeout: 5 epochs",
       "c.yaml:5:16: stall_timeout is '5 epochs'; give a time, such as 120 s or 10 min, or never"},
      {"stall_timeout: 0",
       "c.yaml:5:16: stall_timeout is '0'; give a time, such as 120 s or 10 min, or never"},
      {"resume: maybe", "c.yaml:5:9: resume 'maybe' is unknown; known: 'auto', 'never'"},
  });
}

TEST_CASE("errors of the mesh") {
  check_sections({
      {"mesh: [2, 4]",
       "c.yaml:5:7: mesh must be a map of axes and sizes, such as "
       "{data: 2, model: 4}, not a list"},
      {"mesh: 8",
       "c.yaml:5:7: mesh must be a map of axes and sizes, such as "
       "{data: 2, model: 4}, not '8'"},
      {"mesh: {}", "c.yaml:5:7: mesh has no axes; write one, such as {data: -1}"},
      {"mesh: {data: 2, data: 4}",
       "c.yaml:5:17: key 'data' stands twice, first at c.yaml:5:8; remove one"},
      {"mesh:\n  data: 0",
       "c.yaml:6:9: mesh axis 'data': size is 0; give at least 1, or -1 for all "
       "that is left"},
      {"mesh: {data: -2}",
       "c.yaml:5:14: mesh axis 'data': size is -2; give at least 1, or -1 for "
       "all that is left"},
      {"mesh: {data: two}", "c.yaml:5:14: mesh axis 'data': size must be an integer, not 'two'"},
      {"mesh: {data:}", "c.yaml:5:13: mesh axis 'data': size must be an integer, not nothing"},
      {"mesh: {data: 1.5}", "c.yaml:5:14: mesh axis 'data': size must be an integer, not '1.5'"},
      {"mesh: {data: -1, model: -1}",
       "c.yaml:5:25: mesh axes 'data' and 'model' are both -1; one "
       "size at most may be left open"},
      {"mesh: {2d: 4}",
       "c.yaml:5:8: mesh axis '2d': a name is made of letters, digits and _, no "
       "digit first"},
      {"mesh: {'a b': 4}",
       "c.yaml:5:8: mesh axis 'a b': a name is made of letters, digits and _, "
       "no digit first"},
      {"mesh: {'': 4}",
       "c.yaml:5:8: mesh axis '': a name is made of letters, digits and _, no digit first"},
      {"mesh: {a: 65536, b: 65536}",
       "c.yaml:5:7: mesh (a=65536, b=65536) has more than 2147483647 devices"},
      {"mesh: {a: 9223372036854775807, b: 9223372036854775807}",
       "c.yaml:5:7: mesh (a=9223372036854775807, b=9223372036854775807) has more than 2147483647 "
       "devices"},
  });
}

TEST_CASE("errors of layout maps") {
  check_sections({
      {"layout_map: [a]",
       "c.yaml:5:13: layout_map must be a map of patterns and layouts, not a "
       "list"},
      {"mesh: {data: 2}\nlayout_map:\n  d1/kernel: [null, modl]",
       "c.yaml:7:21: layout_map: 'd1/kernel': the mesh (data=2) has no axis 'modl'; known: 'data'"},
      {"mesh: {data: 2, model: 2}\nlayout_map:\n  d1/kernel: [null, modl]",
       "c.yaml:7:21: layout_map: 'd1/kernel': the mesh (data=2, model=2) has no axis 'modl'; "
       "nearest: 'model'"},
      {"layout_map: {d1/bias: data}",
       "c.yaml:5:23: layout_map: 'd1/bias' must be a list with null, an axis or a list of axes for "
       "each dimension, such as [null, data], not 'data'"},
      {"layout_map: {d1/bias:}",
       "c.yaml:5:22: layout_map: 'd1/bias' must be a list with null, an axis or a list of axes for "
       "each dimension, such as [null, data], not nothing"},
      {"layout_map: {d1/kernel: [data, data]}",
       "c.yaml:5:32: layout_map: 'd1/kernel': axis 'data' is used twice; it can shard one "
       "dimension "
       "only"},
      {"layout_map: {d1/kernel: [[data, data]]}",
       "c.yaml:5:33: layout_map: 'd1/kernel': axis 'data' stands twice"},
      {"layout_map: {d1/kernel: [{data: 1}]}",
       "c.yaml:5:26: layout_map: 'd1/kernel': an entry must be null, an axis or a list of axes, "
       "not "
       "a map"},
      {"layout_map: {d1/kernel: [[[data]]]}",
       "c.yaml:5:27: layout_map: 'd1/kernel' must be an axis of the mesh or a list of them, not a "
       "list"},
      {"layout_map: {d1/kernel: [[data, null]]}",
       "c.yaml:5:33: layout_map: 'd1/kernel' must be an axis of the mesh or a list of them, not "
       "nothing"},
      {"layout_map: {'': [data]}", "c.yaml:5:14: layout_map: a pattern is empty"},
      {"optimizer_layout: {d1/kernel: [x]}",
       "c.yaml:5:32: optimizer_layout: 'd1/kernel': the mesh (data=-1) has no axis 'x'; known: "
       "'data'"},
  });
}

TEST_CASE("errors of compile and fit") {
  check_sections({
      {"compile: mse", "c.yaml:5:10: compile must be a map of keys, not 'mse'"},
      {"compile: {los: mse}", "c.yaml:5:11: compile has no key 'los'; nearest: 'loss'"},
      {"compile: {foo: 1}",
       "c.yaml:5:11: compile has no key 'foo'; known: 'optimizer', 'auto_scale_loss', 'metrics', "
       "'weighted_metrics', 'loss_weights', 'labels', 'loss'"},
      {"compile: {loss: mse, jit_compile: true}",
       "c.yaml:5:35: compile: jit_compile is how Keras runs steps, and changes no numbers; leave "
       "it "
       "out"},
      {"compile: {loss: []}",
       "c.yaml:5:17: loss must be the name of a class, or a class with its "
       "arguments, not a list"},
      {"compile: {loss: {}}",
       "c.yaml:5:17: loss must be the name of a class, or a class with its "
       "arguments, not a map"},
      {"compile: {loss: mse, optimizer: {Adam: 0.1}}",
       "c.yaml:5:40: optimizer: arguments of 'Adam' must be a map of keys, not '0.1'"},
      {"compile:\n  loss: mse\n  optimizer:\n    Adam:\n    learning_rate: 0.1",
       "c.yaml:9:5: optimizer is one class, but here stand 'Adam' and 'learning_rate'; indent "
       "arguments deeper than the class"},
      {"compile: {loss: mse, metrics: [[a]]}",
       "c.yaml:5:32: metric must be the name of a class, or a class with its arguments, not a "
       "list"},
      {"fit: 3", "c.yaml:5:6: fit must be a map of keys, not '3'"},
      {"fit: {epoch: 3}", "c.yaml:5:7: fit has no key 'epoch'; nearest: 'epochs'"},
      {"fit: {foo: 3}",
       "c.yaml:5:7: fit has no key 'foo'; known: 'batch_size', 'epochs', 'initial_epoch', "
       "'steps_per_epoch', 'validation_split', 'validation', 'validation_steps', "
       "'validation_batch_size', 'validation_freq', 'class_weight', 'callbacks', 'shuffle', "
       "'drop_remainder', 'prefetch', 'log_steps', 'log_format'"},
      {"fit: {verbose: 2}",
       "c.yaml:5:16: fit: verbose is an option of the command; leave it out and give --verbose 0, "
       "1 "
       "or 2"},
      {"fit: {validation_data: [x, y]}",
       "c.yaml:5:24: fit: validation_data is a split of the dataset; name it 'validation' there, "
       "and "
       "set validation: true"},
      {"fit: {batch_size: 0}", "c.yaml:5:19: fit: batch_size is 0; give 1 or more"},
      {"fit: {batch_size: 1e3}", "c.yaml:5:19: batch_size must be an integer, not '1e3'"},
      {"fit: {epochs: -1}", "c.yaml:5:15: fit: epochs is -1; give 0 or more"},
      {"fit: {epochs: 99999999999999999999}",
       "c.yaml:5:15: epochs must be an integer, not '99999999999999999999'"},
      {"fit: {steps_per_epoch: 0}",
       "c.yaml:5:24: fit: steps_per_epoch is 0; give 1 or more, or leave it out"},
      {"fit: {validation_split: 1}",
       "c.yaml:5:25: fit: validation_split is 1; give 0 or more and less than 1"},
      {"fit: {validation_split: -0.1}",
       "c.yaml:5:25: fit: validation_split is -0.1; give 0 or more and less than 1"},
      {"fit: {validation_split: nan}", "c.yaml:5:25: validation_split must be a number, not 'nan'"},
      {"fit: {shuffle: batch}", "c.yaml:5:16: shuffle must be true or false, not 'batch'"},
      {"fit: {validation: \"true\"}", "c.yaml:5:19: validation must be true or false, not 'true'"},
      {"fit: {drop_remainder: 1}", "c.yaml:5:23: drop_remainder must be true or false, not '1'"},
      {"fit: {prefetch: 0}", "c.yaml:5:17: fit: prefetch is 0; give 1 or more"},
      {"fit: {prefetch: 5000}", "c.yaml:5:17: prefetch is 5000 batches; it must be at most 1024"},
      {"fit: {log_steps: 2}", "c.yaml:5:18: log_steps must be true or false, not '2'"},
  });
}

TEST_CASE("errors of the model") {
  check({
      {"model: 3", "c.yaml:1:8: model must be a map of keys, not '3'"},
      {"model: {input: [4]}", "c.yaml:1:8: model needs the key 'layers'"},
      {"model: {input: [4], layer: []}",
       "c.yaml:1:21: model has no key 'layer'; nearest: 'layers'"},
      {"model: {layers: [Flatten]}",
       "c.yaml:1:18: no input stands before Flatten; give model the "
       "key 'input', its sample shape"},
      {"model: {input: [4], inputs: {a: [4]}, layers: [Flatten]}",
       "c.yaml:1:29: model has both 'input' and 'inputs'; keep one"},
      {"model: {input: [4, 0], layers: [Flatten]}",
       "c.yaml:1:16: input shape [4, 0] has an extent less than 1; leave out the batch dimension"},
      {"model: {input: [null, 4], layers: [Flatten]}",
       "c.yaml:1:17: input shape: an extent is left open, but all samples have one length here; "
       "give it, and pad the samples to it (leave out the batch dimension)"},
      {"model: {layers: [InputLayer: {batch_shape: [4, 3]}, Flatten]}",
       "c.yaml:1:44: batch_shape must begin with null: the batch size is that of fit; or give "
       "'shape', that of a sample"},
      {"model: {layers: [Input: {batch_shape: [null, 3], shape: [3]}, Flatten]}",
       "c.yaml:1:39: input 'input' has both 'shape' and 'batch_shape'; keep one"},
      {"model: {layers: [InputLayer: {batch_shape: [null, 3], sparse: true}, Flatten]}",
       "c.yaml:1:63: input 'input': 'sparse' is not supported; leave it out"},
      {"model: {input: four, layers: [Flatten]}",
       "c.yaml:1:16: input shape must be a list of integers, not 'four'"},
      {"model: {input: [1048576, 1048577], layers: [Flatten]}",
       "c.yaml:1:16: input shape [1048576, 1048577] has more than 2^40 elements"},
      {"model: {inputs: [4], layers: [Flatten]}",
       "c.yaml:1:17: inputs must be a map of names and shapes, such as {image: [28, 28]}, not a "
       "list"},
      {"model: {inputs: {a: [4], b: [4]}, layers: [Flatten]}",
       "c.yaml:1:44: Flatten is the first layer and the model has 2 inputs; say which with "
       "'inputs'"},
      {"model: {layers: [Input: {name: a}, Flatten]}",
       "c.yaml:1:25: input 'a' needs the key 'shape'"},
      {"model: {layers: [Input: {shapes: [4]}, Flatten]}",
       "c.yaml:1:26: input 'input' has no key 'shapes'; nearest: 'shape'"},
      {"model: {input: [4], layers: []}",
       "c.yaml:1:29: the model has no layers; list at least one"},
      {"model: {layers: [Input: {shape: [4]}]}",
       "c.yaml:1:17: the model has no layers; list at least one"},
      {"model: {input: [4], layers: {Dense: {units: 3}}}",
       "c.yaml:1:29: layers must be a list, each element a layer, such as - Dense: {units: 10}, "
       "not "
       "a map"},
  });
}

TEST_CASE("errors of layers") {
  check_layers({
      {"- [Dense]",
       "c.yaml:4:7: a layer must be the name of a class, or a class with its "
       "arguments, not a list"},
      {"- Dense: 10", "c.yaml:4:14: a layer: arguments of 'Dense' must be a map of keys, not '10'"},
      {"- Dense:\n      units: 10",
       "c.yaml:5:7: a layer is one class, but here stand 'Dense' and "
       "'units'; indent arguments deeper than the class"},
      {"- Dense: {name: a/b}",
       "c.yaml:4:21: name 'a/b' contains '/', which separates the parts of "
       "a variable path"},
      {"- Dense: {name: ''}", "c.yaml:4:21: a name is empty"},
      {"- Dense: {name: [a]}", "c.yaml:4:21: name must be a word, not a list"},
      {"- Dense: {name: a}\n    - Dense: {name: a}",
       "c.yaml:5:21: the name 'a' stands twice, first at c.yaml:4:21; rename one"},
      {"- Dense: {name: input}",
       "c.yaml:4:21: the name 'input' stands twice, first at c.yaml:2:10; rename one"},
      {"- Dense: {name: d2, inputs: d1}\n    - Dense: {name: d1}",
       "c.yaml:4:33: layer 'd2' (Dense): no input or layer 'd1' stands before it; known: "
       "'input'"},
      {"- Dense: {name: d2, inputs: d2}",
       "c.yaml:4:33: layer 'd2' (Dense): no input or layer 'd2' stands before it; known: "
       "'input'"},
      {"- Dense: {name: left}\n    - Add: {inputs: [left, imput]}",
       "c.yaml:5:28: Add: no input or layer 'imput' stands before it; nearest: 'input'"},
      {"- Add: {inputs: [input, 1.0]}",
       "c.yaml:4:29: Add: no input or layer '1.0' stands before it; it is a number: Rescaling: "
       "{scale, offset} multiplies by one and adds one"},
      {"- Add: {inputs: []}", "c.yaml:4:21: Add: inputs is empty; name a layer, or leave it out"},
      {"- Add: {inputs: {a: [[b]]}}", "c.yaml:4:26: inputs must be a word, not a list"},
      {"- Add: {inputs: {a: b}}",
       "c.yaml:4:25: Add: no input or layer 'b' stands before it; known: 'input'"},
  });
}
