#include "state/renamed_tensors.h"

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "base/conversion.h"
#include "base/runs.h"
#include "state/stored_tensors.h"

namespace meshwork {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 20U;  // bytes of the file in memory

/// Visits all indices of a box, the last dimension fastest.
void for_each_index(const Shape& extents, const std::function<void(const Shape&)>& visit) {
  Shape index(extents.size(), 0);
  for (std::int64_t left = num_elements(extents); left > 0; --left) {
    visit(index);
    for (std::size_t d = extents.size(); d-- > 0;) {
      if (++index[d] < extents[d]) break;
      index[d] = 0;
    }
  }
}

/// What a part of a variable takes of one stored dimension.
struct Taken {
  std::vector<Run> runs;         ///< `global` counts in the stored dimension, `local` in `to`
  std::vector<std::int64_t> to;  ///< how far each index moves in the part, in elements
};

Taken taken_of(const StoredDimension& stored, const Region& region, const Shape& local,
               const Shape& strides) {
  Region block;
  Shape part, steps;
  for (const StoredDimension::Factor& factor : stored.factors) {
    const bool is_fixed = factor.dimension == StoredDimension::Factor::kFixed;
    const auto d = static_cast<std::size_t>(factor.dimension);
    block.global.push_back(factor.extent);
    block.offset.push_back(is_fixed ? factor.index : region.offset[d]);
    part.push_back(is_fixed ? 1 : local[d]);
    steps.push_back(is_fixed ? 0 : strides[d]);
  }
  Taken taken{runs_of(block, part), {}};
  for (Run& run : taken.runs) run.global += stored.begin;
  for_each_index(part, [&](const Shape& index) {
    std::int64_t to = 0;
    for (std::size_t i = 0; i < index.size(); ++i) to += index[i] * steps[i];
    taken.to.push_back(to);
  });
  return taken;
}

/// The largest box inside of `extents` of at most kMost bytes, whole in its last dimensions.
Shape piece_of(const Shape& extents, std::int64_t element_bytes) {
  Shape piece = extents;
  std::int64_t budget = kMost / element_bytes;
  for (std::size_t d = extents.size(); d-- > 0;) {
    piece[d] = std::min(extents[d], std::max<std::int64_t>(budget, 1));
    budget /= piece[d];
  }
  return piece;
}

/// Reads boxes of one stored tensor into a part of a variable.
class BoxReader {
 public:
  BoxReader(const TensorFile& file, const StoredTensor& stored, std::vector<Taken> taken, float* to)
      : file_(file),
        stored_(stored),
        dtype_(*dtype_of(stored)),
        taken_(std::move(taken)),
        to_(to) {}

  void read_all() {
    Shape counts;
    for (const Taken& taken : taken_) counts.push_back(std::ssize(taken.runs));
    for_each_index(counts, [&](const Shape& choice) {
      std::vector<Run> box;
      for (std::size_t d = 0; d < choice.size(); ++d) {
        box.push_back(taken_[d].runs[static_cast<std::size_t>(choice[d])]);
      }
      read_box(box);
    });
  }

 private:
  void read_box(const std::vector<Run>& box) {
    Shape extents, counts;
    for (const Run& run : box) extents.push_back(run.count);
    const Shape piece = piece_of(extents, static_cast<std::int64_t>(size_of(dtype_)));
    for (std::size_t d = 0; d < box.size(); ++d) {
      counts.push_back((extents[d] + piece[d] - 1) / piece[d]);
    }
    for_each_index(counts, [&](const Shape& number) {
      std::vector<Run> part = box;
      for (std::size_t d = 0; d < box.size(); ++d) {
        const std::int64_t begin = number[d] * piece[d];
        part[d] = {box[d].global + begin, box[d].local + begin,
                   std::min(piece[d], extents[d] - begin)};
      }
      read_piece(part);
    });
  }

  void read_piece(const std::vector<Run>& piece) {
    Region region{stored_.shape, {}};
    Shape local;
    for (const Run& run : piece) {
      region.offset.push_back(run.global);
      local.push_back(run.count);
    }
    const std::int64_t count = num_elements(local);
    raw_.resize(static_cast<std::size_t>(count) * size_of(dtype_));
    values_.resize(static_cast<std::size_t>(count));
    file_.read(stored_, region, local, raw_.data());
    convert_elements(raw_.data(), dtype_, count, {}, values_.data());
    scatter(piece, local);
  }

  /// Row by row: to[sum over d of to_d[index_d]] = value.
  void scatter(const std::vector<Run>& piece, Shape local) {
    const std::int64_t row = local.empty() ? 1 : local.back();
    if (!local.empty()) local.pop_back();
    const float* from = values_.data();
    for_each_index(local, [&](const Shape& index) {
      const auto moved = [&](std::size_t d, std::int64_t i) {
        return taken_[d].to.data() + piece[d].local + i;
      };
      float* to = to_;
      for (std::size_t d = 0; d < index.size(); ++d) to += *moved(d, index[d]);
      if (piece.empty()) {
        *to = *from;
        return;
      }
      const std::int64_t* in_row = moved(piece.size() - 1, 0);
      for (std::int64_t i = 0; i < row; ++i) to[in_row[i]] = from[i];
      from += row;
    });
  }

  const TensorFile& file_;
  const StoredTensor& stored_;
  DType dtype_;
  std::vector<Taken> taken_;  ///< of each stored dimension
  float* to_;
  std::vector<std::byte> raw_;
  std::vector<float> values_;
};

}  // namespace

RenamedTensors::RenamedTensors(std::unique_ptr<TensorFile> file, std::vector<RenamedTensor> tensors)
    : TensorFile(file->name()), file_(std::move(file)), renamed_(std::move(tensors)) {
  std::sort(renamed_.begin(), renamed_.end(), [](const RenamedTensor& a, const RenamedTensor& b) {
    return a.variable.path < b.variable.path;
  });
  std::vector<StoredTensor> listed;
  for (const RenamedTensor& renamed : renamed_) {
    MW_CHECK(renamed.variable.dtype == DType::kFloat32, "{}", renamed.variable.path);
    if (!listed.empty() && listed.back().path == renamed.variable.path) continue;
    listed.push_back(
        {renamed.variable.path, stored_dtype(DType::kFloat32), renamed.variable.shape});
  }
  set_tensors(std::move(listed));
}

void RenamedTensors::read(const StoredTensor& tensor, const Region& region, const Shape& local,
                          std::byte* to) const {
  const auto begin = std::lower_bound(
      renamed_.begin(), renamed_.end(), tensor.path,
      [](const RenamedTensor& r, const std::string& path) { return r.variable.path < path; });
  const auto is_of = [&](const auto& r) {
    return r != renamed_.end() && r->variable.path == tensor.path;
  };
  MW_CHECK(is_of(begin), "{}", tensor.path);
  check_part(begin->variable, region, local);
  if (num_elements(local) == 0) return;
  auto* const values = reinterpret_cast<float*>(to);
  for (auto renamed = begin; is_of(renamed); ++renamed) {
    if (renamed->slice == RenamedTensor::kWhole) {
      read_from(*renamed, region, local, values);
      continue;
    }
    const std::int64_t own = renamed->slice - region.offset[0];
    if (own < 0 || own >= local[0]) continue;
    const auto rest = [](const Shape& shape) { return Shape(shape.begin() + 1, shape.end()); };
    read_from(*renamed, {rest(region.global), rest(region.offset)}, rest(local),
              values + own * num_elements(rest(local)));
  }
}

void RenamedTensors::read_from(const RenamedTensor& renamed, const Region& region,
                               const Shape& local, float* to) const {
  const Shape strides = row_major_strides(local);
  std::vector<Taken> taken;
  for (const StoredDimension& stored : renamed.dimensions) {
    taken.push_back(taken_of(stored, region, local, strides));
  }
  const StoredTensor* stored = find_stored(file_->tensors(), renamed.stored);
  MW_CHECK(stored != nullptr && stored->shape.size() == taken.size(), "{}", renamed.stored);
  BoxReader(*file_, *stored, std::move(taken), to).read_all();
}

}  // namespace meshwork
