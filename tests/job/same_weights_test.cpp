#include "job/same_weights.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "comm/single.h"
#include "comm/thread.h"
#include "state/checkpoint.h"
#include "state/safetensors.h"
#include "support/errors.h"
#include "support/temp_directory.h"

using namespace meshwork;
using meshwork::test::error_of;
using meshwork::test::TempDirectory;

namespace {

/// A table of 100 by 40, numbered, but for its last element, and a scalar.
struct Weights {
  std::vector<float> table = std::vector<float>(4000);
  float scalar = 1;

  explicit Weights(float last) {
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i);
    table.back() = last;
  }

  std::vector<GlobalTensor> tensors() const {
    return {{"table", DType::kFloat32, {100, 40}}, {"scalar", DType::kFloat32, {}}};
  }
  std::vector<TensorPart> parts() const {
    const auto part = [&](std::size_t tensor, const Shape& shape, const float* data) {
      return TensorPart{tensor, whole_region(shape), shape,
                        [data](std::int64_t begin, std::int64_t) {
                          return reinterpret_cast<const std::byte*>(data) + begin;
                        }};
    };
    return {part(0, {100, 40}, table.data()), part(1, {}, &scalar)};
  }

  std::string write_file(const std::string& path) const {
    const World world = single_world({});
    write_safetensors(path, tensors(), parts(), {}, *world.hosts);
    return path;
  }
  std::string write_checkpoint(const std::string& path) const {
    std::filesystem::create_directories(path);
    CheckpointIndex index;
    std::vector<GlobalTensor> sorted{tensors()[1], tensors()[0]};
    std::vector<TensorPart> sorted_parts = parts();
    for (TensorPart& part : sorted_parts) part.tensor = 1 - part.tensor;
    index.tensors = stored_tensors(sorted);
    index.state = "{}";
    index.slices = write_slices(path, part_file(0), index.tensors, sorted_parts);
    write_index(path, index);
    return path;
  }
};

/// What the second of three ranks throws where the third reads `theirs`, and the others `mine`.
std::string error_where(const std::string& mine, const std::string& theirs) {
  std::string error;
  run_devices(3, [&](World& world) {
    const int rank = world.hosts->rank();
    const std::string thrown =
        error_of([&] { check_same_weights(rank == 2 ? theirs : mine, *world.hosts); });
    if (rank == 1) error = thrown;
  });
  return error;
}

}  // namespace

TEST_CASE("ranks whose files of weights, or checkpoints, differ say so before they read them") {
  const TempDirectory directory;
  const std::string file = Weights(1).write_file(directory.file("w.safetensors"));
  const std::string other = Weights(2).write_file(directory.file("other.safetensors"));
  CHECK(error_where(file, Weights(1).write_file(directory.file("copy.safetensors"))).empty());
  const std::string error = error_where(file, other);
  CAPTURE(error);
  CHECK(error.starts_with("4: " + file +
                          ": rank 2 has other weights than rank 0: '2 tensors, fingerprint "));
  CHECK(error.ends_with("' here; see that all ranks read the same file"));

  const std::string checkpoint = Weights(1).write_checkpoint(directory.file("a/step-3"));
  CHECK(error_where(checkpoint, Weights(1).write_checkpoint(directory.file("b/step-3"))).empty());
  CHECK(error_where(checkpoint, Weights(2).write_checkpoint(directory.file("c/step-3")))
            .starts_with("4: " + checkpoint +
                         ": rank 2 has other weights than rank 0: 'checkpoint, fingerprint "));
  CHECK(error_where(checkpoint, file).find("'2 tensors, ") != std::string::npos);
  CHECK(error_where(file, directory.file("absent.safetensors")).starts_with("3: "));
}
