#include "cli/parse.h"

#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdio>
#include <limits>
#include <sstream>
#include <string>
#include <utility>

#include "base/join.h"
#include "base/nearest.h"
#include "base/version.h"
#include "explain/draw/pen.h"

namespace meshwork::cli {
namespace {

constexpr const char* kSummary =
    "Train the Keras-style model of a YAML file on a named mesh of devices.";
constexpr const char* kDetails = R"(Examples:
  meshwork validate configs/keras_guide.yaml
  meshwork validate configs/keras_guide.yaml --mesh 4x2 fit.epochs=1

Under mpirun the ranks are the devices of the mesh; without it they are threads of one process.
'meshwork COMMAND --help' says more, with examples.

Exit codes: 0 done, 1 training failed or tensors differ (checkpoint diff), 2 usage or configuration,
3 a file, 4 communication or a lost rank, 5 two meshes differ (verify), 75 stopped by a signal.)";

// CLI11 takes no '=' in a name.
constexpr const char* kAssignments = "key=value";
constexpr const char* kAssignmentsInside = "key_value";

std::string name_inside(const std::string& name) {
  return name == kAssignments ? kAssignmentsInside : name;
}

/// CLI11's help with our usage line, and with lines of 100 columns at most.
class Help : public CLI::Formatter {
 public:
  explicit Help(std::string usage) : usage_(std::move(usage)) {
    column_width(kHelpColumn);
    label("Positionals", "Arguments");
  }

  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: " + usage_ + "\n";
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    return in_lines(option->get_description());
  }

  std::string make_subcommand(const CLI::App* command) const override {
    std::ostringstream line;
    CLI::detail::format_help(line, command->get_name(), in_lines(command->get_description()),
                             kHelpColumn);
    return line.str();
  }

  std::string make_option_name(const CLI::Option* option, bool is_argument) const override {
    const std::string name = CLI::Formatter::make_option_name(option, is_argument);
    return name == kAssignmentsInside ? kAssignments : name;
  }

 private:
  static constexpr std::size_t kWidth = 100;
  static constexpr std::size_t kHelpColumn = 24;  // where the texts begin

  static std::string in_lines(const std::string& text) {
    return join(wrap(text, kWidth - kHelpColumn), "\n");
  }

  std::string usage_;
};

template <class T>
CLI::Option* add_to(CLI::App& app, const OptionText& text, T& value) {
  return app.add_option(name_inside(text.name), value, text.help)
      ->type_name(text.name.starts_with('-') ? text.value : "")
      ->required(text.is_required);
}

/// A whole number in decimals: CLI11 cuts off what is too large, and reads 010 as 8.
template <class T>
T whole_number(const std::string& option, const std::string& word, T least, T most) {
  T value = 0;
  const char* const end = word.data() + word.size();
  const auto [at, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc() || at != end || value < least || value > most) {
    fail("{} must be a whole number from {} to {}, not '{}'", option, least, most, word);
  }
  return value;
}

template <class T, class Place>
void add_whole(CLI::App& app, const OptionText& text, Place& value, T least, T most) {
  const auto read = [&value, least, most,
                     name = text.name.substr(0, text.name.find(','))](const std::string& word) {
    value = whole_number<T>(name, word, least, most);
  };
  app.add_option_function<std::string>(name_inside(text.name), read, text.help)
      ->type_name(text.name.starts_with('-') ? text.value : "")
      ->required(text.is_required);
}

struct Parser {
  CLI::App app;
  std::vector<std::pair<CLI::App*, Task>> tasks;
};

void describe(CLI::App& app, const std::string& usage, const char* details) {
  app.formatter(std::make_shared<Help>(usage));
  app.footer(details);
  app.set_help_flag("-h,--help", "print this and exit");
  app.allow_extras();  // what is left over is reported by us, with what it may have meant
}

std::unique_ptr<Parser> make_parser() {
  auto parser = std::make_unique<Parser>();
  CLI::App& app = parser->app;
  app.name("meshwork");
  app.description(kSummary);
  describe(app, "meshwork COMMAND [arguments] [options]", kDetails);
  app.set_version_flag("--version", fmt::format("meshwork {}", kVersion), "print the version");
  app.require_subcommand(0, 1);
  for (const Command* command : commands()) {
    CLI::App* sub = app.add_subcommand(command->name, command->summary);
    describe(*sub, fmt::format("meshwork {} {}", command->name, command->usage), command->details);
    sub->group("Commands");
    Options options(*sub);
    parser->tasks.emplace_back(sub, Task{command->add(options), command->prints_progress});
  }
  return parser;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command* command : commands()) names.emplace_back(command->name);
  return names;
}

/// The commands that do what methods of Keras's models do.
constexpr std::pair<std::string_view, std::string_view> kMethods[] = {
    {"summary", "explain"}, {"test", "evaluate"}, {"train", "fit"}};

[[noreturn]] void fail_before_command(const CLI::App& app, const std::string& word) {
  for (const auto& [method, command] : kMethods) {
    if (word == method) fail("there is no command '{}'; take '{}'", word, command);
  }
  if (!word.starts_with('-')) {
    fail("there is no command '{}'{}", word, suggestion(word, command_names()));
  }
  const std::string option = word.substr(0, word.find('='));
  fail("there is no option '{}' before a command{}; the options of a command stand after its name",
       option, suggestion(option, option_names(app)));
}

[[noreturn]] void fail_after_command(const CLI::App& command, const std::string& word) {
  if (!word.starts_with('-')) {
    fail("{} takes no argument '{}'; see --help", command.get_name(), word);
  }
  const std::string option = word.substr(0, word.find('='));
  fail("{} has no option '{}'{}", command.get_name(), option,
       suggestion(option, option_names(command)));
}

void reject_leftovers(const Parser& parser) {
  const auto left = parser.app.remaining();
  if (!left.empty()) fail_before_command(parser.app, left[0]);
  for (const CLI::App* sub : parser.app.get_subcommands()) {
    const auto sub_left = sub->remaining();
    if (!sub_left.empty()) fail_after_command(*sub, sub_left[0]);
  }
}

}  // namespace

void Options::add_flag(const std::string& name, const std::string& help, bool& given) {
  app_.add_flag(name, given, help);
}

void Options::add(const OptionText& text, std::string& value) {
  CLI::Option* option = add_to(app_, text, value);
  if (!text.choices.empty()) option->check(CLI::IsMember(text.choices));
  // An empty text is $NAME that was not set.
  const auto error = [what = text.value](const std::string& word) {
    return word.empty() ? fmt::format("is empty; give {}, or leave it out", what) : "";
  };
  option->check(CLI::Validator(error, ""));
}

void Options::add(const OptionText& text, std::optional<double>& value) {
  add_to(app_, text, value);
}

void Options::add(const OptionText& text, int& value, int least, int most) {
  add_whole(app_, text, value, least, most);
}

void Options::add(const OptionText& text, std::int64_t& value, std::int64_t least,
                  std::int64_t most) {
  add_whole(app_, text, value, least, most);
}

void Options::add(const OptionText& text, std::optional<std::int64_t>& value, std::int64_t least,
                  std::int64_t most) {
  add_whole(app_, text, value, least, most);
}

void Options::add(const OptionText& text, std::optional<std::uint64_t>& value) {
  add_whole(app_, text, value, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max());
}

void Options::add_repeated(const OptionText& text, std::vector<std::string>& values) {
  add_to(app_, text, values)->allow_extra_args(false);
}

void Options::add(const OptionText& text, std::vector<std::string>& values) {
  add_to(app_, text, values);
}

void Options::change_help(const std::string& name, const std::string& help) {
  app_.get_option(name_inside(name))->description(help);
}

std::optional<Task> parse(int argc, const char* const* argv, int rank) {
  const std::unique_ptr<Parser> parser = make_parser();
  try {
    parser->app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    if (rank == 0) parser->app.exit(asked);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    fail("{}; see --help", error.what());
  }
  reject_leftovers(*parser);
  for (const auto& [sub, task] : parser->tasks) {
    if (sub->parsed()) return task;
  }
  fail("no command given{}", suggestion("", command_names()));
}

}  // namespace meshwork::cli
