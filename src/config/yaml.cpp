#include "config/yaml.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include "base/quote.h"
#include "config/parameters.h"

namespace meshwork::config {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 20U;  // of a file
constexpr std::size_t kMaxDepth = 64;
// Aliases of aliases can stand for any number.
constexpr std::size_t kMaxValues = 200'000;
constexpr std::size_t kMaxLetters = std::size_t{8} << 20U;

/// The number of values in a value, itself included.
std::size_t count_of(const Value& value) {
  std::size_t count = 1;
  for (const Value& item : value.list) count += count_of(item);
  for (const Value::Entry& entry : value.map) count += count_of(entry.value);
  return count;
}

/// Makes a value of what the parser finds, and stops it where that is too much.
class Builder : public YAML::EventHandler {
 public:
  /// `fixed`: every place is `source`; else source names the file that the places are in.
  Builder(Location source, bool fixed) : source_(std::move(source)), fixed_(fixed) {
    root_.at = source_;
  }

  Location place(const YAML::Mark& mark) const {
    if (fixed_ || mark.is_null()) return source_;
    return {source_.file, mark.line + 1, mark.column + 1};
  }

  Value take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) fail_at(place(mark), "a second document begins; keep one in a file");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(made(Value::Kind::kNull, mark), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    Value value = made(Value::Kind::kScalar, mark);
    if (!is_plain_text(text)) {
      fail_at(value.at, "'{}' is no text: it has control characters, or is not in UTF-8",
              excerpt(text));
    }
    value.scalar = text;
    value.quoted = tag == "!";
    add(std::move(value), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end()) fail_at(place(mark), "an alias stands within what it stands for");
    check_depth(place(mark), open_.size() + depth_of(known->second));
    count(count_of(known->second), size_of(known->second), place(mark));
    add(known->second, 0);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(made(Value::Kind::kList, mark), anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(made(Value::Kind::kMap, mark), anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  /// A list or map that has not ended.
  struct Open {
    Value value;
    YAML::anchor_t anchor = 0;
    std::map<std::string, Location> keys = {};  ///< of a map
    std::optional<Value> key = {};              ///< whose value comes next
  };

  Value made(Value::Kind kind, const YAML::Mark& mark) {
    Value value;
    value.kind = kind;
    value.at = place(mark);
    check_depth(value.at, open_.size());
    count(1, 0, value.at);
    return value;
  }

  static std::size_t depth_of(const Value& value) {
    std::size_t depth = 0;
    for (const Value& item : value.list) depth = std::max(depth, 1 + depth_of(item));
    for (const Value::Entry& entry : value.map) depth = std::max(depth, 1 + depth_of(entry.value));
    return depth;
  }

  static void check_depth(const Location& at, std::size_t depth) {
    if (depth > kMaxDepth) fail_at(at, "values are nested more than {} deep", kMaxDepth);
  }

  void count(std::size_t values, std::size_t letters, const Location& at) {
    values_ += values;
    letters_ += letters;
    if (values_ > kMaxValues) fail_at(at, "more than {} values, with aliases", kMaxValues);
    if (letters_ > kMaxLetters) fail_at(at, "aliases stand for more than {} letters", kMaxLetters);
  }

  void open(Value value, YAML::anchor_t anchor) { open_.push_back({std::move(value), anchor}); }

  void close() {
    Open ended = std::move(open_.back());
    open_.pop_back();
    add(std::move(ended.value), ended.anchor);
  }

  /// Puts a whole value where it belongs.
  void add(Value value, YAML::anchor_t anchor) {
    if (anchor != 0) anchors_[anchor] = value;
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().value.is_list()) {
      open_.back().value.list.push_back(std::move(value));
    } else if (!open_.back().key) {
      add_key(std::move(value), open_.back());
    } else {
      Open& map = open_.back();
      map.value.map.push_back({map.key->scalar, map.key->at, std::move(value)});
      map.key.reset();
    }
  }

  static void add_key(Value key, Open& map) {
    if (!key.is_scalar()) fail_at(key.at, "a key must be plain text");
    const auto [known, is_new] = map.keys.emplace(key.scalar, key.at);
    if (!is_new) {
      fail_at(key.at, "key '{}' stands twice, first at {}; remove one", excerpt(key.scalar),
              to_string(known->second));
    }
    map.key = std::move(key);
  }

  Location source_;
  bool fixed_;
  Value root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Value> anchors_;
  std::size_t values_ = 0;
  std::size_t letters_ = 0;  ///< that aliases stand for
  int documents_ = 0;
};

[[noreturn]] void fail_too_long(const Location& at) {
  fail_at(at, "has more than {} bytes, too many for a configuration; is it the right file?",
          kMaxBytes);
}

/// What is wrong where the parser stops, in its words but for what these leave unclear.
std::string reason_of(const YAML::Exception& error, const std::string& text) {
  std::istringstream stream(text);
  std::string line;
  for (int i = 0; i <= error.mark.line; ++i) std::getline(stream, line);
  const std::size_t indent = line.find_first_not_of(" \t");
  if (line.substr(0, indent).find('\t') == std::string::npos) return error.msg;
  return "a tab indents this line; take spaces";
}

Value parse(const std::string& text, const Location& at, bool fixed) {
  if (text.size() > kMaxBytes) fail_too_long(at);
  Builder builder(at, fixed);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    // YAML::LoadAll never ends on some broken files.
    if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(builder);
    return builder.take();
  } catch (const YAML::Exception& error) {
    fail_at(builder.place(error.mark), "not valid YAML: {}", reason_of(error, text));
  }
}

/// An open file, or none.
struct Descriptor {
  int fd;
  explicit Descriptor(int opened) : fd(opened) {}
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
};

void emit(const Value& value, YAML::Emitter& out) {
  switch (value.kind) {
    case Value::Kind::kNull:
      out << YAML::Null;
      break;
    case Value::Kind::kScalar:
      if (value.quoted) out << YAML::DoubleQuoted;
      out << value.scalar;
      break;
    case Value::Kind::kList:
      out << YAML::Flow << YAML::BeginSeq;
      for (const Value& item : value.list) emit(item, out);
      out << YAML::EndSeq;
      break;
    case Value::Kind::kMap:
      out << YAML::BeginMap;
      for (const Value::Entry& entry : value.map) {
        out << YAML::Key << entry.key << YAML::Value;
        emit(entry.value, out);
      }
      out << YAML::EndMap;
      break;
  }
}

}  // namespace

std::string to_yaml(const Value& value) {
  YAML::Emitter out;
  emit(value, out);
  return std::string(out.c_str()) + "\n";
}

std::string to_line(const Value& value) {
  YAML::Emitter out;
  out.SetSeqFormat(YAML::Flow);
  out.SetMapFormat(YAML::Flow);
  emit(value, out);
  std::string line = out.c_str();
  // The emitter breaks long lines, which means a space.
  for (std::size_t at = 0; (at = line.find('\n', at)) != std::string::npos;) {
    const std::size_t end = std::min(line.find_first_not_of(" \n", at), line.size());
    line.replace(at, end - at, " ");
  }
  return line;
}

Value parse_yaml(const std::string& text, const std::string& file) {
  return parse(text, {file, 0, 0}, false);
}

Value parse_yaml_at(const std::string& text, const Location& at) { return parse(text, at, true); }

Value load_yaml(const std::string& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    fail("{}: is a folder; name a file in it", file);
  }
  // A pipe without a writer is an empty file; one with a writer gets a minute to say something.
  constexpr int kPatience = 60'000;
  const Descriptor input{::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  std::string text;
  std::array<char, 1U << 16U> part{};
  while (input.fd >= 0 && text.size() <= kMaxBytes) {
    const ssize_t got = ::read(input.fd, part.data(), part.size());
    if (got == 0) return parse_yaml(text, file);
    if (got > 0) {
      text.append(part.data(), static_cast<std::size_t>(got));
    } else if (errno == EAGAIN) {
      pollfd ready{input.fd, POLLIN, 0};
      if (::poll(&ready, 1, kPatience) == 0) fail("{}: nothing comes from it to be read", file);
    } else if (errno != EINTR) {
      break;
    }
  }
  if (text.size() > kMaxBytes) fail_too_long({file, 0, 0});
  fail("{}: cannot read the file; check the path", file);
}

}  // namespace meshwork::config
