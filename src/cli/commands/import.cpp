#include <fmt/format.h>

#include <filesystem>

#include "base/file.h"
#include "base/terminal.h"
#include "cli/command.h"
#include "interchange/from_keras/import.h"

namespace meshwork::cli {
namespace {

constexpr const char* kDetails = R"(Examples:
  meshwork import theirs.keras
      prints the configuration of a model that Keras has saved
  meshwork import theirs.keras --output theirs.yaml
  meshwork evaluate theirs.yaml dataset=mnist --from theirs.keras
      its weights come from the same file

FILE is what model.save('theirs.keras') writes, or the text of model.to_json(). The model is a
Sequential or Functional one of Keras's layers; models in it become blocks. Arguments that a layer
has by default are left out. A dataset, a mesh and layouts are yours to add.)";

struct Arguments {
  std::vector<std::string> words;
  std::string output;
};

std::string with_head(const std::string& file, const std::string& text) {
  const std::filesystem::path path = file;
  const bool has_weights = path.extension() == ".keras";
  return fmt::format("# The model of {}.{}\n{}", path.filename().string(),
                     has_weights ? fmt::format(" Its weights: --from {}", file) : "", text);
}

ExitCode run(const Arguments& arguments) {
  if (arguments.words.size() != 1) {
    fail("import takes a file of Keras, not {} arguments", arguments.words.size());
  }
  const std::string& file = arguments.words[0];
  std::vector<std::string> notes;
  const std::string text = with_head(file, configuration_of_keras(file, notes));
  for (const std::string& note : notes) say("note: " + note);
  if (arguments.output.empty()) {
    fmt::print("{}", text);
    return ExitCode::kOk;
  }
  create_parent_directory(arguments.output, "; name another with --output");
  replace_file(arguments.output, text);
  fmt::print("wrote {}\n", arguments.output);
  return ExitCode::kOk;
}

Run add(Options& options) {
  auto arguments = std::make_shared<Arguments>();
  options.add({"FILE", "a .keras file, or the JSON of a model", "FILE"}, arguments->words);
  options.add({"--output", "the configuration to write; by default it is printed", "FILE"},
              arguments->output);
  return [arguments] { return run(*arguments); };
}

}  // namespace

extern const Command kImport{
    .name = "import",
    .usage = "FILE [--output CONFIG]",
    .summary = "the configuration of a model that Keras has saved",
    .details = kDetails,
    .add = add,
};

}  // namespace meshwork::cli
