#include "support/npz.h"

#include <zip.h>

#include <memory>

#include "base/check.h"
#include "base/conversion.h"
#include "base/error.h"
#include "data/formats/source.h"

namespace meshwork {
namespace {

config::Value text_value(const std::string& text) {
  config::Value value;
  value.kind = config::Value::Kind::kScalar;
  value.scalar = text;
  return value;
}

/// `{file: .., array: ..}` in a dataset description.
config::Value entry_value(const std::string& file, const std::string& array) {
  config::Value value;
  value.insert("file", {}).value = text_value(file);
  value.insert("array", {}).value = text_value(array);
  return value;
}

}  // namespace

HostTensor read_npz(const std::string& file, const std::string& array) {
  const config::Value value = entry_value(file, array);
  const config::Value description;
  config::Reader dataset(description, "dataset");
  config::Reader options(description, "field");
  std::shared_ptr<void> kept;
  const data::FieldEntry entry{"train", "x", value, {"x"}, description, dataset, options, kept};
  const auto source = data::kNpz.parse(entry)({.directories = {"."}});
  const data::SourceInfo& info = source->info();
  const DType dtype = is_floating(info.dtype) ? DType::kFloat32 : DType::kInt32;
  HostTensor tensor = host_tensor({dtype, info.shape});
  const std::int64_t elements = num_elements(info.shape);
  const auto converted = convert_elements(source->samples(), info.dtype, elements, {.dtype = dtype},
                                          tensor.bytes.data());
  MW_CHECK(converted == elements, "{}: array '{}'", file, array);
  return tensor;
}

std::vector<std::string> npz_names(const std::string& file, const std::string& prefix) {
  int code = 0;
  const std::unique_ptr<zip_t, void (*)(zip_t*)> archive(zip_open(file.c_str(), ZIP_RDONLY, &code),
                                                         zip_discard);
  if (!archive) fail(ExitCode::kFile, "{}: cannot open", file);
  std::vector<std::string> names;
  for (zip_int64_t i = 0; i < zip_get_num_entries(archive.get(), 0); ++i) {
    std::string name = zip_get_name(archive.get(), static_cast<zip_uint64_t>(i), 0);
    name.resize(name.size() - 4);  // ".npy"
    if (name.starts_with(prefix)) names.push_back(name);
  }
  return names;
}

}  // namespace meshwork
