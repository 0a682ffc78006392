#include "cli/config_arguments.h"

#include <CLI/CLI.hpp>

namespace meshwork::cli {

std::shared_ptr<ConfigArguments> add_config_arguments(CLI::App& app) {
  auto arguments = std::make_shared<ConfigArguments>();
  app.add_option("CONFIG", arguments->file, "the configuration, a YAML file")->type_name("");
  app.add_option("key=value", arguments->overrides.assignments,
                 "changes to it: fit.epochs=3 model.layers.d1.units=300 (null removes a key)")
      ->type_name("");
  app.add_option("--mesh", arguments->overrides.mesh,
                 "another mesh: 4x2 (sizes of its axes, in order) or data=4,model=2; -1 takes all "
                 "devices that are left")
      ->type_name("MESH");
  return arguments;
}

config::Config load(const ConfigArguments& arguments) {
  if (arguments.file.empty()) fail("no CONFIG given; name a configuration file, or see --help");
  return config::load_config(arguments.file, arguments.overrides);
}

}  // namespace meshwork::cli
