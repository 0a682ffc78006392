// numpy.save's .npy, plain or gzip.
#include "data/formats/array_source.h"
#include "data/formats/concatenated.h"
#include "data/formats/npy_header.h"

namespace meshwork::data {
namespace {

Opener parse(const FieldEntry& entry) {
  return open_files(files_of(entry), [](const std::string& path, const OpenContext& context) {
    auto file = std::make_unique<FileBytes>(path);
    const HeapBytes head = file->head(kNpyHeaderLimit);
    const ArrayHeader header = parse_npy_header(file->path(), head.span());
    return open_array(std::move(file), header, context);
  });
}

}  // namespace

const Format kNpy{.name = "npy", .parse = parse, .takes_files = true};

}  // namespace meshwork::data
