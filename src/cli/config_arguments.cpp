#include "cli/config_arguments.h"

namespace meshwork::cli {

std::shared_ptr<ConfigArguments> add_config_arguments(Options& options) {
  auto arguments = std::make_shared<ConfigArguments>();
  options.add({"CONFIG", "the configuration, a YAML file", "CONFIG"}, arguments->file);
  options.add({"key=value",
               "changes to it: fit.epochs=3 model.layers.d1.units=300 (null removes a key)", ""},
              arguments->overrides.assignments);
  options.add({"--mesh",
               "another mesh: 4x2 (sizes of its axes, in order) or data=4,model=2; -1 takes all "
               "devices that are left",
               "MESH"},
              arguments->overrides.mesh);
  options.add({"--device",
               "what computes: cpu, cuda (GPUs of NVIDIA), or auto: GPUs if there are any", "KIND"},
              arguments->overrides.device);
  options.add({"--sizes-of",
               "a model of the sizes in Hugging Face's config.json there, which weights_map names; "
               "key=value changes these, too",
               "DIR"},
              arguments->overrides.sizes_of);
  return arguments;
}

config::Config load(const ConfigArguments& arguments) {
  if (arguments.file.empty()) fail("no CONFIG given; name a configuration file, or see --help");
  return config::load_config(arguments.file, arguments.overrides);
}

}  // namespace meshwork::cli
