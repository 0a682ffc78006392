// numpy.savez's .npz: a zip archive with an entry "<path>.npy" for each tensor
#include "base/file.h"
#include "base/fitting_product.h"
#include "base/runs.h"
#include "data/formats/npy_header.h"
#include "state/formats/format.h"
#include "state/formats/open_zip.h"

namespace meshwork::formats {
namespace {

constexpr std::string_view kSuffix = ".npy";

class Tensors : public TensorFile {
 public:
  explicit Tensors(const std::string& file) : TensorFile(file), archive_(open_zip(file)) {
    std::vector<StoredTensor> tensors;
    for (std::size_t i = 0; i < archive_.entries().size(); ++i) tensors.push_back(look_at(i));
    set_tensors(std::move(tensors));
  }

  /// An entry may be packed: it is read from its beginning, 1 MiB at a time, to the end of the
  /// part.
  void read(const StoredTensor& tensor, const Region& region, const Shape& local,
            std::byte* to) const override {
    const DType dtype = *dtype_of(tensor);
    check_part({tensor.path, dtype, tensor.shape}, region, local);
    const auto size = static_cast<std::int64_t>(size_of(dtype));
    data::ZipEntry entry = archive_.open(*archive_.find(tensor.path + std::string(kSuffix)));
    std::vector<std::byte> skipped;
    std::int64_t at = 0;
    const auto skip_to = [&](std::int64_t begin) {
      constexpr std::int64_t kBytes = std::int64_t{1} << 20U;
      while (at < begin) {
        skipped.resize(static_cast<std::size_t>(std::min(kBytes, begin - at)));
        entry.read_all(skipped.data(), skipped.size());
        at += static_cast<std::int64_t>(skipped.size());
      }
    };
    const auto head = static_cast<std::int64_t>(tensor.begin);
    for_each_run(region, local, [&](const Run& run) {
      skip_to(head + run.global * size);
      entry.read_all(to + run.local * size, static_cast<std::size_t>(run.count * size));
      at += run.count * size;
    });
    // The end is met, and with it the checksum, where all of the array is read.
    if (at == static_cast<std::int64_t>(tensor.end)) entry.read(&at, 1);
  }

 private:
  /// `begin` and `end` are those of the data in the entry.
  StoredTensor look_at(std::size_t i) const {
    const std::string& entry = archive_.entries()[i];
    const std::string what = name() + ": array '" + entry + "'";
    if (!entry.ends_with(kSuffix)) fail(ExitCode::kFile, "{}: not a .npy file", what);
    const std::uint64_t bytes = archive_.size(i);
    std::vector<std::byte> head(std::min<std::uint64_t>(bytes, data::kNpyHeaderLimit));
    archive_.open(i).read_all(head.data(), head.size());
    const data::ArrayHeader header = data::parse_npy_header(what, head);
    if (header.element.swapped) {
      fail(ExitCode::kFile, "{}: big-endian; convert it (numpy: array.astype('float32'))", what);
    }
    const auto size = static_cast<std::int64_t>(size_of(header.element.type));
    const std::optional<std::int64_t> taken = fitting_product(header.shape, size);
    if (!taken || static_cast<std::uint64_t>(*taken) + header.offset != bytes) {
      fail(ExitCode::kFile, "{}: {} bytes, but shape {} of {} needs others; write the file again",
           what, bytes, to_string(header.shape), to_string(header.element.type));
    }
    return {entry.substr(0, entry.size() - kSuffix.size()), stored_dtype(header.element.type),
            header.shape, header.offset, bytes};
  }

  data::ZipArchive archive_;
};

void write(const std::string& file, const TensorsToWrite& what) {
  std::vector<data::ZipContent> content;
  for (std::size_t i = 0; i < what.tensors.size(); ++i) {
    const GlobalTensor& tensor = what.tensors[i];
    content.push_back({tensor.path + std::string(kSuffix), [&what, &tensor, i] {
                         std::string bytes = data::npy_header(tensor.dtype, tensor.shape);
                         const std::size_t head = bytes.size();
                         bytes.resize(head + bytes_of(tensor));
                         what.read(i, reinterpret_cast<std::byte*>(bytes.data() + head));
                         return bytes;
                       }});
  }
  write_in_one_step(file, [&](const std::string& partial) { data::write_zip(partial, content); });
}

}  // namespace

const Format kNpz{
    .name = "npz",
    .suffixes = {".npz"},
    .naming = Naming::kPaths,
    .recognizes = [](const std::string& /*file*/,
                     std::string_view head) { return head.starts_with(data::kZipMagic); },
    .open = [](const std::string& file) -> std::unique_ptr<TensorFile> {
      return std::make_unique<Tensors>(file);
    },
    .write = write};

}  // namespace meshwork::formats
