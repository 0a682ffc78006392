#include "cli/options.h"

#include <CLI/CLI.hpp>

namespace meshwork::cli {
namespace {

template <class T>
CLI::Option* add_to(CLI::App& app, const OptionText& text, T& value) {
  return app.add_option(text.name, value, text.help)
      ->type_name(text.value)
      ->required(text.is_required);
}

}  // namespace

void Options::add_flag(const std::string& name, const std::string& help, bool& given) {
  app_.add_flag(name, given, help);
}

void Options::add(const OptionText& text, std::string& value) {
  CLI::Option* option = add_to(app_, text, value);
  if (!text.choices.empty()) option->check(CLI::IsMember(text.choices));
  if (text.if_empty.empty()) return;
  const auto error = [wrong = text.if_empty](const std::string& word) {
    return word.empty() ? wrong : "";
  };
  option->check(CLI::Validator(error, ""));
}

void Options::add(const OptionText& text, int& value, int least, int most) {
  add_to(app_, text, value)->check(CLI::Range(least, most));
}

void Options::add(const OptionText& text, std::vector<std::string>& values) {
  add_to(app_, text, values);
}

void Options::change_help(const std::string& name, const std::string& help) {
  app_.get_option(name)->description(help);
}

}  // namespace meshwork::cli
