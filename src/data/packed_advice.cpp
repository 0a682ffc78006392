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
    const auto show = [](std::int64_t bytes) { return show_bytes(static_cast<double>(bytes)); };
    if (source.kept_bytes() == 0) {
      advice.push_back(fmt::format(
          "{}: '{}' takes {} unpacked, of which nothing is kept: each shuffled batch unpacks the "
          "chunks of its samples again; keep all with dataset.cache=true, or store one sample in a "
          "chunk",
          source.info().name, field.name, show(source.holder().bytes())));
      continue;
    }
    advice.push_back(fmt::format(
        "{}: '{}' takes {} unpacked, of which {} are kept: each shuffled batch unpacks its files "
        "again; keep all with dataset.cache=true, or store them unpacked: python3 -c 'import sys, "
        "numpy; [numpy.savez(f, **numpy.load(f)) for f in sys.argv[1:]]' FILES",
        source.info().name, field.name, show(source.holder().bytes()), show(source.kept_bytes())));
  }
  return advice;
}

}  // namespace meshwork::data
