#define PCRE2_CODE_UNIT_WIDTH 8
#include "optim/leaf_pattern.h"

#include <pcre2.h>

namespace meshwork {

struct LeafPatterns::Compiled {
  explicit Compiled(pcre2_code* compiled) : code(compiled) {}
  ~Compiled() { pcre2_code_free(code); }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  pcre2_code* code;
};

namespace {

pcre2_code* compile(const config::Value& pattern) {
  const std::string text = pattern.as_string("exclude_from_weight_decay");
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0,
                                   &error, &offset, nullptr);
  if (code == nullptr) {
    PCRE2_UCHAR message[256] = {};
    pcre2_get_error_message(error, message, sizeof message);
    fail_at(pattern.at, "exclude_from_weight_decay: '{}' is no regex: {} at character {}", text,
            reinterpret_cast<const char*>(message), offset + 1);
  }
  return code;
}

}  // namespace

LeafPatterns::LeafPatterns(const config::Value& patterns) {
  if (!patterns.is_list()) {
    patterns_.push_back(std::make_shared<Compiled>(compile(patterns)));
    return;
  }
  for (const config::Value& pattern : patterns.list) {
    patterns_.push_back(std::make_shared<Compiled>(compile(pattern)));
  }
}

bool LeafPatterns::match(const std::string& path) const {
  const std::size_t slash = path.rfind('/');
  const std::string leaf = slash == std::string::npos ? path : path.substr(slash + 1);
  for (const auto& pattern : patterns_) {
    pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
    const int found = pcre2_match(pattern->code, reinterpret_cast<PCRE2_SPTR>(leaf.data()),
                                  leaf.size(), 0, 0, data, nullptr);
    pcre2_match_data_free(data);
    // 0: more groups than the match data has room for, which is a match too.
    if (found >= 0) return true;
  }
  return false;
}

}  // namespace meshwork
