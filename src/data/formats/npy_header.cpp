// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include "data/formats/npy_header.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/join.h"

namespace meshwork::data {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);

constexpr std::array<std::pair<std::string_view, DType>, 12> kTypes{{
    {"b1", DType::kUInt8},  // numpy's bool: 0 or 1
    {"u1", DType::kUInt8},
    {"i1", DType::kInt8},
    {"u2", DType::kUInt16},
    {"i2", DType::kInt16},
    {"u4", DType::kUInt32},
    {"i4", DType::kInt32},
    {"u8", DType::kUInt64},
    {"i8", DType::kInt64},
    {"f2", DType::kFloat16},
    {"f4", DType::kFloat32},
    {"f8", DType::kFloat64},
}};

/// A cursor over the Python dict of a header:
/// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class DictReader {
 public:
  DictReader(const std::string& name, std::string_view text) : name_(name), text_(text) {}

  bool accept(std::string_view token) {
    skip_space();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  void expect(std::string_view token) {
    if (!accept(token)) broken();
  }

  std::string_view quoted() {
    const std::string_view quote = accept("'") ? "'" : "\"";
    if (quote == "\"") expect(quote);
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) broken();
    const std::string_view inside = text_.substr(at_, end - at_);
    at_ = end + 1;
    return inside;
  }

  bool boolean() {
    if (accept("True")) return true;
    expect("False");
    return false;
  }

  Shape tuple() {
    Shape shape;
    expect("(");
    while (!accept(")")) {
      shape.push_back(integer());
      accept("L");  // Python 2's long integers
      if (!accept(",")) {
        expect(")");
        break;
      }
    }
    return shape;
  }

  void end() {
    skip_space();
    if (at_ != text_.size()) broken();
  }

  [[noreturn]] void broken() const {
    fail(ExitCode::kFile, "{}: cannot read the .npy header {}; is the file damaged?", name_,
         printable(text_));
  }

 private:
  std::int64_t integer() {
    skip_space();
    std::int64_t value = 0;
    const char* first = text_.data() + at_;
    const auto [stop, status] = std::from_chars(first, text_.data() + text_.size(), value);
    if (status != std::errc{}) broken();
    at_ += static_cast<std::size_t>(stop - first);
    return value;
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  const std::string& name_;
  std::string_view text_;
  std::size_t at_ = 0;
};

Element parse_descr(const std::string& name, std::string_view descr) {
  if (descr.size() == 3 && std::string_view("<>|=").find(descr[0]) != std::string_view::npos) {
    const bool little = descr[0] == '<';
    const bool native = (std::endian::native == std::endian::little) == little;
    for (const auto& [code, type] : kTypes) {
      if (descr.substr(1) != code) continue;
      return {type, (descr[0] == '<' || descr[0] == '>') && !native && size_of(type) > 1};
    }
  }
  fail(ExitCode::kFile,
       "{}: dtype '{}' holds no real numbers; convert it to float32, int32 or uint8 "
       "(numpy: array.astype)",
       name, printable(descr));
}

std::string_view text_of(std::span<const std::byte> head) {
  return {reinterpret_cast<const char*>(head.data()), head.size()};
}

/// The text of the header and where the elements begin.
std::pair<std::string_view, std::size_t> header_text(const std::string& name,
                                                     std::span<const std::byte> head) {
  const std::string_view text = text_of(head);
  if (!is_npy(head)) {
    fail(ExitCode::kFile, "{}: not a .npy file (it does not begin with \\x93NUMPY)", name);
  }
  const auto byte = [&](std::size_t i) -> std::size_t {
    return i < head.size() ? std::to_integer<std::size_t>(head[i]) : 0;
  };
  const std::size_t version = byte(6);
  if (version < 1 || version > 3) {
    fail(ExitCode::kFile, "{}: .npy version {}.{}; known: 1.0, 2.0, 3.0", name, version, byte(7));
  }
  const std::size_t begin = version == 1 ? 10 : 12;
  std::size_t length = byte(8) | byte(9) << 8U;
  if (version > 1) length |= byte(10) << 16U | byte(11) << 24U;
  if (head.size() < begin || head.size() - begin < length) {
    fail(ExitCode::kFile, "{}: cut off in the .npy header of {} bytes; fetch the file again", name,
         length);
  }
  return {text.substr(begin, length), begin + length};
}

}  // namespace

bool is_npy(std::span<const std::byte> head) { return text_of(head).starts_with(kMagic); }

ArrayHeader parse_npy_header(const std::string& name, std::span<const std::byte> head) {
  const auto [text, offset] = header_text(name, head);
  DictReader dict(name, text);
  std::optional<Element> element;
  std::optional<bool> fortran;
  std::optional<Shape> shape;
  dict.expect("{");
  while (!dict.accept("}")) {
    const std::string_view key = dict.quoted();
    dict.expect(":");
    if (key == "descr") {
      if (dict.accept("[")) {
        fail(ExitCode::kFile, "{}: a structured dtype; save each of its columns as an array", name);
      }
      element = parse_descr(name, dict.quoted());
    } else if (key == "fortran_order") {
      fortran = dict.boolean();
    } else if (key == "shape") {
      shape = dict.tuple();
    } else {
      dict.broken();
    }
    if (!dict.accept(",")) {
      dict.expect("}");
      break;
    }
  }
  dict.end();
  if (!element || !fortran || !shape) dict.broken();
  if (*fortran && shape->size() > 1) {
    fail(ExitCode::kFile,
         "{}: shape {} is stored in Fortran order, which is not read; save "
         "numpy.ascontiguousarray(array)",
         name, to_string(*shape));
  }
  return {*element, *shape, offset};
}

std::string npy_header(DType type, const Shape& shape) {
  const auto entry = std::find_if(kTypes.rbegin(), kTypes.rend(),
                                  [&](const auto& known) { return known.second == type; });
  MW_CHECK(entry != kTypes.rend(), "{} in a .npy file", to_string(type));
  // A Python tuple: "(7, 5)", "(7,)", "()".
  const std::string extents = fmt::format("{}{}", join(shape, ", "), shape.size() == 1 ? "," : "");
  std::string dict = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                 size_of(type) == 1 ? '|' : '<', entry->first, extents);
  constexpr std::size_t kFixed = 10;
  dict.append(63 - (kFixed + dict.size()) % 64, ' ');
  dict += '\n';
  std::string header(kMagic);
  header +=
      {'\1', '\0', static_cast<char>(dict.size() & 0xFFU), static_cast<char>(dict.size() >> 8U)};
  return header + dict;
}

}  // namespace meshwork::data
