// Files of data, as a description names them.
#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "config/weights_sizes.h"
#include "config/yaml.h"
#include "data/dataset.h"
#include "data/image/image.h"
#include "data/tokenizer/tokenizer.h"
#include "fuzz/targets.h"
#include "interchange/mapped_weights.h"
#include "state/checkpoint_index.h"
#include "state/formats/format.h"
#include "state/safetensors.h"
#include "state/stored_tensors.h"

namespace meshwork::fuzz {
namespace {

/// A file that has no place on a disk.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
    MW_CHECK(fd_ >= 0 && write(fd_, bytes.data(), bytes.size()) == std::ssize(bytes));
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return fmt::format("/proc/self/fd/{}", fd_); }

 private:
  int fd_;
};

/// Reads all elements of x in a dataset.
void read_x(const std::string& description) {
  constexpr std::int64_t kMost = 1 << 20;
  try {
    const data::Dataset dataset(config::parse_yaml(description, "d.yaml"), 1);
    const auto source = dataset.split("train").find("x")->source;
    const std::int64_t elements = num_elements(source->info().shape);
    const auto item = static_cast<std::int64_t>(size_of(source->info().dtype));
    std::vector<std::byte> all(static_cast<std::size_t>(std::min(elements, kMost) * item));
    source->read(0, std::min(elements, kMost), all.data());
  } catch (const Error&) {
  }
}

/// An array in a file of this format.
void read_array(const char* format, std::string_view bytes) {
  const MemoryFile file(bytes);
  read_x(fmt::format("{{format: {}, splits: {{train: {{x: {}}}}}}}", format, file.path()));
}

/// Windows of tokens.
void read_tokens(const char* format, std::string_view bytes) {
  const MemoryFile file(bytes);
  read_x(fmt::format("{{format: {}, context: 2, splits: {{train: {}}}}}", format, file.path()));
}

}  // namespace

void idx(std::string_view bytes) { read_array("idx", bytes); }
void npy(std::string_view bytes) { read_array("npy", bytes); }
void npz(std::string_view bytes) { read_array("npz", bytes); }
void hdf5(std::string_view bytes) { read_array("hdf5", bytes); }
void csv(std::string_view bytes) { read_array("csv", bytes); }
void text(std::string_view bytes) { read_tokens("text", bytes); }
/// Lines of JSON, each with a document.
void json_lines(std::string_view bytes) {
  const MemoryFile file(bytes);
  read_x(fmt::format("{{format: text, context: 2, splits: {{train: {}}}, documents: {{key: t}}}}",
                     file.path()));
}

void tokens(std::string_view bytes) { read_tokens("tokens", bytes); }

void vocabulary(std::string_view bytes) {
  const MemoryFile letters("abc");
  const MemoryFile file(bytes);
  read_x(fmt::format("{{format: text, context: 2, splits: {{train: {}}}, vocabulary: {}}}",
                     letters.path(), file.path()));
}

/// What a tokenizer makes of a text, and of all its tokens.
void tokenizer(std::string_view bytes) {
  try {
    const data::Tokenizer read(bytes, "f");
    std::vector<std::int32_t> tokens = read.encode("<|e|> Ab, a  b's \u00e9\u4e00 12-3 ab\n\t ?");
    const auto count = static_cast<std::int32_t>(std::min<std::size_t>(read.texts().size(), 99));
    for (std::int32_t token = 0; token < count; ++token) tokens.push_back(token);
    read.decode(tokens, {.skips_special = true});
    read.decode(tokens, {.whole = false});
  } catch (const Error&) {
  }
}

void image(std::string_view bytes) {
  const std::span file(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size());
  std::vector<std::byte> pixels;
  for (const auto mode :
       {data::ColorMode::kGrayscale, data::ColorMode::kRgb, data::ColorMode::kRgba}) {
    try {
      constexpr std::int64_t kMost = 1 << 20;  // pixels, for the sake of time
      const data::ImageSize size = data::image_size("f", file);
      if (size.height * size.width <= kMost) data::decode_image("f", file, mode, pixels);
    } catch (const Error&) {
    }
  }
}

void safetensors(std::string_view bytes) {
  const MemoryFile file(bytes);
  try {
    const SafetensorsFile read(file.path());
    check_stored_tensors("f", read.tensors(), {{"d1/kernel", DType::kFloat32, {2, 2}}}, false);
  } catch (const Error&) {
  }
}

/// A file of any format: Keras's two, npz, safetensors.
void weights(std::string_view bytes) {
  constexpr std::int64_t kMost = 1 << 20;
  const MemoryFile file(bytes);
  try {
    const auto read = format_of(file.path()).open(file.path());
    std::vector<std::byte> all;
    for (const StoredTensor& tensor : read->tensors()) {
      const std::optional<DType> dtype = dtype_of(tensor);
      if (!dtype || num_elements(tensor.shape) > kMost) continue;
      all.resize(static_cast<std::size_t>(num_elements(tensor.shape)) * size_of(*dtype));
      read->read(tensor, whole_region(tensor.shape), tensor.shape, all.data());
    }
  } catch (const Error&) {
  }
}

/// Its shards are not there.
void safetensors_index(std::string_view bytes) {
  const MemoryFile file(bytes);
  try {
    formats::kSafetensorsIndex.open(file.path());
  } catch (const Error&) {
  }
}

/// A map, and what it makes of some tensors.
void weights_map(std::string_view bytes) {
  struct Listing : TensorFile {
    Listing() : TensorFile("w") {
      set_tensors({{"h.0.qkv", "F32", {6, 2}, 0, 0}, {"h.1.w", "F16", {2, 3}, 0, 0}});
    }
    void read(const StoredTensor& /*tensor*/, const Region& /*region*/, const Shape& /*local*/,
              std::byte* /*to*/) const override {}
  };
  const auto variable = [](const char* path, const Shape& shape) {
    return GlobalTensor{path, DType::kFloat32, shape};
  };
  try {
    const config::Value value = config::parse_yaml(std::string(bytes), "m.yaml");
    if (!value.is_map()) return;  // the name of a file
    map_weights(config::read_weights_map(value, "c.yaml"), Listing(),
                {variable("q0", {2, 2}), variable("k0", {2, 2}), variable("v0", {2, 2}),
                 variable("w1", {3, 2})},
                true);
  } catch (const Error&) {
  }
}

/// A config.json.
void weights_sizes(std::string_view bytes) {
  static const config::Value configuration = config::parse_yaml(
      "weights_map: {tensors: {}, removes: {d: $tied}, needs: [$(act == 'silu' or act == null)], "
      "sizes: {a: $width, b: '$(width // heads)', c: '$(rope_base if rope_base != null else 2)'}}",
      "c.yaml");
  const MemoryFile file(bytes);
  try {
    config::assignments_of_sizes(configuration, "c.yaml", file.path());
  } catch (const Error&) {
  }
}

void checkpoint_index(std::string_view bytes) {
  try {
    const CheckpointIndex index = parse_checkpoint_index(bytes, "f");
    parse_checkpoint_index(to_json(index), "f");
  } catch (const Error&) {
  }
}

}  // namespace meshwork::fuzz
