#include "data/formats/source.h"

#include <algorithm>

#include "base/error.h"

namespace meshwork::data {

config::Reader keys_of(const FieldEntry& entry) {
  return {entry.value.is_map() ? entry.value : config::Value{},
          fmt::format("splits.{}.{}", entry.split, entry.field)};
}

std::string file_of(const FieldEntry& entry, config::Reader& keys) {
  const std::string what = fmt::format("splits.{}.{}", entry.split, entry.field);
  std::string file;
  if (entry.value.is_scalar()) {
    file = entry.value.as_string(what);
  } else if (entry.value.is_map()) {
    file = keys.require("file").as_string(what + ".file");
  }
  if (file.empty()) config::fail_at(entry.value.at, "{} must name a file", what);
  return file;
}

std::string file_of(const FieldEntry& entry) {
  config::Reader keys = keys_of(entry);
  std::string file = file_of(entry, keys);
  keys.finish();
  return file;
}

std::int64_t checked_elements(const std::string& name, const Shape& shape, std::size_t size) {
  std::int64_t most = static_cast<std::int64_t>(size);  // bytes, a zero extent taken as 1
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0) {
      fail(ExitCode::kFile, "{}: shape {} has a negative dimension; is the file damaged?", name,
           to_string(shape));
    }
    if (__builtin_mul_overflow(most, std::max<std::int64_t>(extent, 1), &most) ||
        most > (std::int64_t{1} << 62)) {
      fail(ExitCode::kFile, "{}: shape {} is more than any file can hold; is the file damaged?",
           name, to_string(shape));
    }
    elements *= extent;
  }
  return elements;
}

std::string printable(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string shown(text.substr(0, kMost));
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; }, '?');
  return text.size() > kMost ? shown + "..." : shown;
}

void fail_not_int32(const SourceInfo& info, std::int64_t index, double raw,
                    const Conversion& conversion) {
  const Shape strides = row_major_strides(info.shape);
  const std::string scaled =
      conversion.scale == 1.0 && conversion.offset == 0.0
          ? ""
          : fmt::format(" * {} + {} = {}", conversion.scale, conversion.offset,
                        raw * conversion.scale + conversion.offset);
  fail(ExitCode::kFile,
       "{}: sample {}: {}{} is not an int32; mend the file, or read the field as dtype float32",
       info.name, index / strides[0], raw, scaled);
}

}  // namespace meshwork::data
