#include "data/packed_advice.h"

#include <fmt/format.h>

#include "base/byte_size.h"
#include "data/formats/source.h"

namespace meshwork::data {

std::vector<std::string> packed_advice(const Split& split) {
  std::vector<std::string> advice;
  for (const Field& field : split.fields) {
    const Source& source = *field.source;
    if (!source.unpacks_files()) continue;
    advice.push_back(fmt::format(
        "{}: '{}' takes {} unpacked, of which {} are kept: each shuffled batch unpacks {}",
        source.info().name, field.name, show_bytes(source.holder().bytes()),
        show_bytes(source.kept_bytes()), source.unpacking_advice()));
  }
  return advice;
}

}  // namespace meshwork::data
