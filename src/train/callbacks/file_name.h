#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/value.h"
#include "train/logs.h"

namespace meshwork {

/// A file name with Python's replacement fields: "{epoch:02d}-{val_loss:.2f}.safetensors". `{{` and
/// `}}` stand for braces.
class FileName {
 public:
  /// `counts` are the names of whole numbers, `logs` those of reals; an Error with the place for a
  /// field that is neither, and for a format that does not fit its field.
  FileName(const config::Value& text, const std::string& what,
           const std::vector<std::string>& counts, const std::vector<std::string>& logs);

  /// The file name for these values; all fields must be among them.
  std::string format(const std::map<std::string, std::int64_t>& counts, const Logs& logs) const;

  /// The folder, as written, in which and below which its files lie: "best/" or "".
  std::string folder() const;
  /// Whether it may give this name: there are numbers where it has fields.
  bool may_give(std::string_view name) const { return may_give(name, 0); }

 private:
  /// Text, then a field; the last has no field.
  struct Part {
    std::string text;
    std::string field;
    std::string spec;  ///< ":02d"
  };

  using Refuse = std::function<void(const std::string& why)>;  ///< throws
  void split(const Refuse& refuse);
  bool may_give(std::string_view name, std::size_t first) const;

  std::string text_;
  std::vector<Part> parts_;
};

}  // namespace meshwork
