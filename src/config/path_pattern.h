#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/value.h"

namespace meshwork::config {

/// A regular expression (PCRE2) over paths such as "stage_1/conv2d/kernel", as a configuration
/// writes it. A point hits '/', too, so DTensor's keys (`d1.kernel`, `feature.*kernel`) work.
class PathPattern {
 public:
  /// What it must match: the whole path, or any part of it.
  enum class Extent { kWhole, kPart };

  /// `key` names the section in errors: "layout_map". A text that is no regex is an Error.
  PathPattern(std::string text, const Location& at, std::string key,
              Extent extent = Extent::kWhole);

  bool matches(const std::string& path) const;
  /// `text` with what the groups of the pattern hold for $1, $2, .. in it; `path` must match.
  /// Groups that the pattern does not have are an Error.
  std::string substituted(const std::string& path, const std::string& text) const;
  /// Of a pattern that matches none of `paths`: "layout_map: 'd1/kernal' matches `nothing`", with
  /// the nearest path, and with what it would match as a part or in DTensor.
  std::string describe_unmatched(const std::vector<std::string>& paths,
                                 const std::string& nothing) const;
  /// Throws it as an Error.
  [[noreturn]] void fail_unmatched(const std::vector<std::string>& paths,
                                   const std::string& nothing) const {
    fail_at(at_, "{}", describe_unmatched(paths, nothing));
  }

  const std::string& text() const { return text_; }
  const Location& at() const { return at_; }

 private:
  struct Code;
  std::shared_ptr<const Code> compile(const std::string& text, unsigned options) const;
  bool run(const Code& code, const std::string& path) const;

  std::string text_;
  Location at_;
  std::string key_;
  std::shared_ptr<const Code> code_;
};

}  // namespace meshwork::config
