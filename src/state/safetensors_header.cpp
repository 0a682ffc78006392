#include "state/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "base/check.h"
#include "base/error.h"
#include "base/fitting_product.h"
#include "base/json.h"
#include "base/nearest.h"
#include "base/quote.h"

namespace meshwork {
namespace {

using Json = nlohmann::json;

constexpr const char* kMetadataKey = "__metadata__";

struct Format {
  std::string_view word;
  std::uint64_t bits;          ///< of one element
  std::optional<DType> dtype;  ///< ours
};

const std::array kFormats{
    Format{"F32", 32, DType::kFloat32},
    Format{"I32", 32, DType::kInt32},
    Format{"I64", 64, DType::kInt64},
    Format{"U8", 8, DType::kUInt8},
    Format{"BF16", 16, DType::kBFloat16},
    Format{"BOOL", 8, {}},
    Format{"C64", 64, {}},
    Format{"F16", 16, DType::kFloat16},
    Format{"F4", 4, {}},
    Format{"F64", 64, {}},
    Format{"F6_E2M3", 6, {}},
    Format{"F6_E3M2", 6, {}},
    Format{"F8_E4M3", 8, {}},
    Format{"F8_E4M3FNUZ", 8, {}},
    Format{"F8_E5M2", 8, {}},
    Format{"F8_E5M2FNUZ", 8, {}},
    Format{"F8_E8M0", 8, {}},
    Format{"I16", 16, {}},
    Format{"I8", 8, {}},
    Format{"U16", 16, {}},
    Format{"U32", 32, {}},
    Format{"U64", 64, {}},
};

const Format* find_format(std::string_view word) {
  const auto format = std::find_if(kFormats.begin(), kFormats.end(),
                                   [&](const Format& f) { return f.word == word; });
  return format == kFormats.end() ? nullptr : &*format;
}

constexpr std::size_t kLongestReason = 1000;  // it quotes what stands in the file

/// Throws for the header of `file`.
template <class... Args>
[[noreturn]] void refuse(const std::string& file, fmt::format_string<Args...> format,
                         Args&&... args) {
  fail(ExitCode::kFile, "{}: not a good safetensors file: {}", file,
       shortened(fmt::format(format, std::forward<Args>(args)...), kLongestReason));
}

Metadata read_metadata(const Json& json, const std::string& file) {
  if (!json.is_object()) refuse(file, "{} is not a map", kMetadataKey);
  Metadata metadata;
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) refuse(file, "{}: '{}' is not a string", kMetadataKey, key);
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

std::uint64_t read_unsigned(const Json& json, const std::string& what, const std::string& file) {
  if (!json.is_number_unsigned()) refuse(file, "{} is not a list of integers from 0 on", what);
  const auto number = json.get<std::uint64_t>();
  if (number > static_cast<std::uint64_t>(INT64_MAX))
    refuse(file, "{}: {} is too large", what, number);
  return number;
}

Shape read_shape(const Json& json, const std::string& what, const std::string& file) {
  if (!json.is_array()) refuse(file, "{} is not a list of integers from 0 on", what);
  Shape shape;
  for (const Json& extent : json) {
    shape.push_back(static_cast<std::int64_t>(read_unsigned(extent, what, file)));
  }
  return shape;
}

/// Bytes of a tensor; an Error if 62 bits do not hold the number, or it is no number of bytes.
std::uint64_t bytes_of(const StoredTensor& tensor, std::uint64_t bits, const std::string& file) {
  const auto count = fitting_product(tensor.shape, static_cast<std::int64_t>(bits));
  if (!count) refuse(file, "'{}': shape {} is too large", tensor.path, to_string(tensor.shape));
  if (*count % 8 != 0) {
    refuse(file, "'{}': {} bits are no whole number of bytes", tensor.path, *count);
  }
  return static_cast<std::uint64_t>(*count) / 8;
}

/// Offsets are from the start of the data here; parse_safetensors_header makes them absolute.
StoredTensor read_tensor(const std::string& path, const Json& json, const std::string& file) {
  if (!json.is_object()) refuse(file, "'{}' is not a map", path);
  const std::vector<std::string> known{"data_offsets", "dtype", "shape"};
  for (const auto& [key, value] : json.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      refuse(file, "'{}' has the key '{}'{}", path, key, suggestion(key, known));
    }
  }
  for (const std::string& key : known) {
    if (!json.contains(key)) refuse(file, "'{}' has no key '{}'", path, key);
  }
  StoredTensor tensor;
  tensor.path = path;
  if (!json["dtype"].is_string()) refuse(file, "'{}': dtype is not a string", path);
  tensor.dtype = json["dtype"].get<std::string>();
  const Format* format = find_format(tensor.dtype);
  if (format == nullptr) refuse(file, "'{}': unknown dtype '{}'", path, tensor.dtype);
  tensor.shape = read_shape(json["shape"], fmt::format("'{}': shape", path), file);

  const std::string what = fmt::format("'{}': data_offsets", path);
  const Shape offsets = read_shape(json["data_offsets"], what, file);
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    refuse(file, "{} are {}, not [begin, end]", what, to_string(offsets));
  }
  tensor.begin = static_cast<std::uint64_t>(offsets[0]);
  tensor.end = static_cast<std::uint64_t>(offsets[1]);
  const std::uint64_t bytes = bytes_of(tensor, format->bits, file);
  if (tensor.end - tensor.begin != bytes) {
    refuse(file, "{} are {}, but {}{} has {} bytes", what, to_string(offsets), tensor.dtype,
           to_string(tensor.shape), bytes);
  }
  return tensor;
}

/// Every byte of the data belongs to just one tensor.
void check_coverage(const std::vector<StoredTensor>& tensors, std::uint64_t data_bytes,
                    const std::string& file) {
  std::vector<const StoredTensor*> order;
  for (const StoredTensor& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const StoredTensor* a, const StoredTensor* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  std::uint64_t reached = 0;
  for (const StoredTensor* tensor : order) {
    if (tensor->end > data_bytes) {
      refuse(file, "'{}' ends at byte {} of the data, of which the file has {}", tensor->path,
             tensor->end, data_bytes);
    }
    if (tensor->begin < reached) {
      refuse(file, "'{}' begins at byte {} of the data, inside another tensor", tensor->path,
             tensor->begin);
    }
    if (tensor->begin > reached) {
      refuse(file, "bytes {} to {} of the data belong to no tensor", reached, tensor->begin);
    }
    reached = tensor->end;
  }
  if (reached < data_bytes) {
    refuse(file, "bytes {} to {} of the data belong to no tensor", reached, data_bytes);
  }
}

/// Indices in the order of the data.
std::vector<std::size_t> in_data_order(const std::vector<GlobalTensor>& tensors) {
  std::vector<std::size_t> order = in_path_order(tensors);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return size_of(tensors[a].dtype) > size_of(tensors[b].dtype);
  });
  return order;
}

/// Length and JSON, padded so that the data begins at a multiple of 8.
std::string encode_head(const Json& header, const std::string& file) {
  std::string json;
  try {
    json = header.dump();
  } catch (const Json::exception&) {
    fail(ExitCode::kFile, "{}: a path or the metadata is not UTF-8 text", file);
  }
  json.resize((json.size() + 7) / 8 * 8, ' ');
  if (json.size() > kMaxSafetensorsHeader) {
    fail(ExitCode::kFile, "{}: the header would take {} bytes, more than the {} of the format",
         file, json.size(), kMaxSafetensorsHeader);
  }
  std::string head(sizeof(std::uint64_t), '\0');
  const std::uint64_t length = json.size();
  std::memcpy(head.data(), &length, sizeof length);
  return head + json;
}

}  // namespace

std::string describe(const StoredTensor& tensor) {
  const std::optional<DType> dtype = dtype_of(tensor);
  return dtype ? describe(*dtype, tensor.shape) : tensor.dtype + to_string(tensor.shape);
}

std::optional<DType> dtype_of(const StoredTensor& tensor) {
  const Format* format = find_format(tensor.dtype);
  return format == nullptr ? std::nullopt : format->dtype;
}

std::string_view safetensors_word(DType dtype) {
  const auto format = std::find_if(kFormats.begin(), kFormats.end(),
                                   [&](const Format& f) { return f.dtype == dtype; });
  MW_CHECK(format != kFormats.end(), "no safetensors word for {}", to_string(dtype));
  return format->word;
}

SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_begin,
                                           std::uint64_t data_bytes, const std::string& file) {
  const auto root =
      parse_strict_json<Json>(json, file + ": not a good safetensors file", "the header");
  if (!root.is_object()) refuse(file, "the header is not a map");
  SafetensorsHeader header;
  for (const auto& [path, value] : root.items()) {
    if (path == kMetadataKey) {
      header.metadata = read_metadata(value, file);
    } else {
      header.tensors.push_back(read_tensor(path, value, file));
    }
  }
  check_coverage(header.tensors, data_bytes, file);
  for (StoredTensor& tensor : header.tensors) {
    tensor.begin += data_begin;
    tensor.end += data_begin;
  }
  return header;
}

SafetensorsPlan plan_safetensors(const std::vector<GlobalTensor>& tensors, const Metadata& metadata,
                                 const std::string& file) {
  Json header = Json::object();
  if (!metadata.empty()) header[kMetadataKey] = metadata;
  SafetensorsPlan plan;
  plan.offsets.resize(tensors.size());
  std::uint64_t reached = 0;
  for (const std::size_t i : in_data_order(tensors)) {
    const GlobalTensor& tensor = tensors[i];
    MW_CHECK(tensor.path != kMetadataKey);
    const std::uint64_t end =
        reached + static_cast<std::uint64_t>(num_elements(tensor.shape)) * size_of(tensor.dtype);
    header[tensor.path] = {{"dtype", safetensors_word(tensor.dtype)},
                           {"shape", tensor.shape},
                           {"data_offsets", {reached, end}}};
    plan.offsets[i] = reached;
    reached = end;
  }
  plan.head = encode_head(header, file);
  for (std::uint64_t& offset : plan.offsets) offset += plan.head.size();
  plan.file_bytes = plan.head.size() + reached;
  return plan;
}

}  // namespace meshwork
