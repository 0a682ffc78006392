#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace meshwork::cli {

/// How an option with a value is shown and checked.
struct OptionText {
  std::string name;  ///< "--from", or "CONFIG" for an argument without a name
  std::string help;
  std::string value;  ///< what stands for the value in the help: "DIR"
  bool is_required = false;
  std::vector<std::string> choices = {};  ///< empty: any text
};

/// The options that a command takes. The parse fills the places they are given, which must live
/// until then. CLI11 stands behind it, in parse.cpp alone: it is slow to compile.
class Options {
 public:
  explicit Options(CLI::App& app) : app_(app) {}

  void add_flag(const std::string& name, const std::string& help, bool& given);
  void add(const OptionText& text, std::string& value);
  /// A number that may be left out.
  void add(const OptionText& text, std::optional<double>& value);
  /// Whole numbers, from `least` to `most`.
  void add(const OptionText& text, int& value, int least, int most);
  void add(const OptionText& text, std::int64_t& value, std::int64_t least = 1,
           std::int64_t most = std::numeric_limits<std::int64_t>::max());
  void add(const OptionText& text, std::optional<std::int64_t>& value, std::int64_t least = 1,
           std::int64_t most = std::numeric_limits<std::int64_t>::max());
  void add(const OptionText& text, std::optional<std::uint64_t>& value);
  /// An option that may be given several times.
  void add_repeated(const OptionText& text, std::vector<std::string>& values);
  /// All arguments without a name that are left.
  void add(const OptionText& text, std::vector<std::string>& values);
  /// Another help for an option that is there.
  void change_help(const std::string& name, const std::string& help);

 private:
  CLI::App& app_;
};

}  // namespace meshwork::cli
