// Products of experts with the rows that chose them: of one expert after the other the rows are
// packed, multiplied as one matrix, and added or written to where they belong.
#include <algorithm>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>

#include "backend/cpu/chosen.h"
#include "backend/cpu/few_rows.h"
#include "backend/cpu/gemm.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/simd.h"
#include "backend/cpu/store.h"
#include "backend/types.h"
#include "base/parallel.h"
#include "graph/sparse_roles.h"

namespace meshwork::cpu {
namespace {

/// What is multiplied (graph/sparse_roles.h): [rows, a], [rows, experts, b] or, packed, [rows,
/// blocks, b], and kernels [experts, a, b] or, turned, [experts, b, a]. A result may be float32
/// where the operands are narrower.
struct Operands {
  std::int64_t count, experts, blocks, a, b;
  bool is_packed;
  SparseRoles roles;
  DType dtype, result;
  const TensorView& at(const KernelArgs& args, int role) const {
    return role == 2 ? args.output : args.inputs[static_cast<std::size_t>(role)];
  }

  explicit Operands(const KernelArgs& args)
      : is_packed(args.attrs.find("packed") != nullptr),
        roles(sparse_roles(args.attrs)),
        dtype(args.inputs[0].type.dtype),
        result(args.output.type.dtype) {
    const Shape& spread = at(args, roles.spread).type.shape;
    experts = args.inputs[2].type.shape.back();
    blocks = spread[spread.size() - 2];
    a = at(args, roles.rows).type.shape.back();
    b = spread.back();
    count = 1;
    for (std::size_t d = 0; d + 2 < spread.size(); ++d) count *= spread[d];
  }
};

/// A row that chose an expert, and the number of their block.
struct Entry {
  std::int32_t row;
  std::int64_t block;
};

/// Where each part of the workspace begins, in bytes.
struct Workspace {
  std::int64_t begins, list;  ///< int32: of each expert in the list; its entries
  std::int64_t left, right;   ///< packed rows, and the result or the other operand
  std::int64_t sums, kernel;  ///< float32: of a narrow result, and of an expert's narrow kernel
  std::int64_t scratch, end;

  explicit Workspace(const Operands& of) {
    const std::int64_t widest = of.count * std::max(of.a, of.b) * 4;
    const bool is_narrow = is_narrow_float(of.dtype);
    begins = 0;
    list = whole_lines((of.experts + 1) * 4);
    left = list + whole_lines(of.count * of.blocks * static_cast<std::int64_t>(sizeof(Entry)));
    right = left + whole_lines(widest);
    sums = right + whole_lines(widest);
    const bool is_rounded = of.roles.rows == 2 && is_narrow_float(of.result);
    kernel = sums + (is_rounded ? whole_lines(of.count * of.a * 4) : 0);
    scratch = kernel + (is_narrow ? whole_lines(of.a * of.b * 4) : 0);
    end = scratch + (is_narrow ? whole_lines(widest) : 0);
  }
};

/// A dense matrix, or the transpose of one: in memory a single row or column is either.
void set_order(MatrixView& view, std::int64_t rows, std::int64_t columns, bool is_turned) {
  if (is_turned && rows > 1) {
    view.columns = rows;
  } else {
    view.rows = columns;
  }
}

/// [m, k] times [k, n], of which the second may be turned in memory.
EinsumPlan plan_of(std::int64_t m, std::int64_t n, std::int64_t k, bool is_turned) {
  EinsumPlan plan;
  plan.m = m;
  plan.n = n;
  plan.k = k;
  plan.x.rows = k;
  set_order(plan.w, k, n, is_turned);
  plan.y.rows = n;
  return plan;
}

template <class From, class To>
void convert_all(const From* from, To* to, std::int64_t count) {
  const auto run = vectorized<ConvertLoop<From, To>>();
  for_each_range(count, [&](std::int64_t begin, std::int64_t end) {
    run(from + begin, to + begin, end - begin);
  });
}

/// Of operands of T and results of R.
template <class T, class R>
class SparseProduct {
 public:
  explicit SparseProduct(const KernelArgs& args)
      : of_(args),
        rows_(of_.at(args, of_.roles.rows).data),
        spread_(of_.at(args, of_.roles.spread).data),
        kernels_(of_.at(args, of_.roles.kernels).data),
        chosen_(args.inputs[2].as<T>()),
        workspace_(args.workspace),
        places_(of_) {
    prepare_sgemm();
  }

  void operator()() const {
    list_rows();
    if (of_.roles.spread == 2) return spread();
    of_.roles.rows == 2 ? gather() : multiply_rows();
  }

 private:
  static constexpr bool kIsRounded = !std::is_same_v<R, float>;

  template <class N>
  N* place(std::int64_t bytes) const {
    return reinterpret_cast<N*>(workspace_ + bytes);
  }

  /// Counts the rows of each expert, then lists them.
  void list_rows() const {
    auto* const begins = place<std::int32_t>(places_.begins);
    auto* const list = place<Entry>(places_.list);
    std::fill_n(begins, of_.experts + 1, 0);
    for_each(
        [&](std::int64_t /*row*/, std::int64_t e, std::int64_t /*place*/) { ++begins[e + 1]; });
    std::partial_sum(begins, begins + of_.experts + 1, begins);
    for_each([&](std::int64_t row, std::int64_t e, std::int64_t place) {
      const std::int64_t block = row * of_.blocks + (of_.is_packed ? place : e);
      list[begins[e]++] = {static_cast<std::int32_t>(row), block};
    });
    std::copy_backward(begins, begins + of_.experts, begins + of_.experts + 1);
    begins[0] = 0;
  }

  template <class Use>
  void for_each(const Use& use) const {
    for_each_chosen(chosen_, of_.count, of_.experts, of_.blocks, use);
  }

  float chosen(std::int64_t row, std::int64_t expert) const {
    return convert<float>(chosen_[row * of_.experts + expert]);
  }

  /// The rows that chose an expert.
  std::span<const Entry> rows_of(std::int64_t expert) const {
    const auto* const begins = place<const std::int32_t>(places_.begins);
    const auto* const list = place<const Entry>(places_.list);
    return {list + begins[expert], list + begins[expert + 1]};
  }

  /// use(entry, its place in the list) for each, on several threads.
  template <class Use>
  void for_each_row(std::int64_t expert, std::int64_t width, const Use& use) const {
    const auto rows = rows_of(expert);
    for_each_share(std::ssize(rows), std::ssize(rows) * width,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i)
                       use(rows[static_cast<std::size_t>(i)], i);
                   });
  }

  template <class N>
  N* pack_rows(std::int64_t expert, std::int64_t to) const {
    N* const packed = place<N>(to);
    const auto convert_row = vectorized<ConvertLoop<T, N>>();
    for_each_row(expert, of_.a, [&](const Entry& entry, std::int64_t i) {
      convert_row(reinterpret_cast<const T*>(rows_) + entry.row * of_.a, packed + i * of_.a, of_.a);
    });
    return packed;
  }

  /// Times `chosen`.
  template <class N>
  N* pack_spread(std::int64_t expert, std::int64_t to) const {
    N* const packed = place<N>(to);
    for_each_row(expert, of_.b, [&](const Entry& entry, std::int64_t i) {
      const T* const from = reinterpret_cast<const T*>(spread_) + entry.block * of_.b;
      const float factor = chosen(entry.row, expert);
      for (std::int64_t j = 0; j < of_.b; ++j)
        store(packed[i * of_.b + j], convert<float>(from[j]) * factor);
    });
    return packed;
  }

  /// Packed rows times the kernel of an expert, to `places_.right`. pack(number, where) packs them
  /// as numbers of this type.
  template <class Pack>
  const float* multiply_kernel(std::int64_t expert, std::int64_t k, std::int64_t n, bool is_turned,
                               const Pack& pack) const {
    const EinsumPlan plan = plan_of(std::ssize(rows_of(expert)), n, k, is_turned);
    const T* const kernel = reinterpret_cast<const T*>(kernels_) + expert * k * n;
    auto* const y = place<std::byte>(places_.right);
    if (FewRows::pays(plan)) {
      const T* const x = pack(T{}, places_.left);
      FewRows{plan, of_.dtype, DType::kFloat32}.bind(reinterpret_cast<const std::byte*>(x),
                                                     reinterpret_cast<const std::byte*>(kernel), y,
                                                     workspace_ + places_.scratch)();
    } else {
      const float* const x = pack(float{}, places_.left);
      Gemm(plan, reinterpret_cast<const std::byte*>(x),
           reinterpret_cast<const std::byte*>(wide(kernel)), y)();
    }
    return reinterpret_cast<const float*>(y);
  }

  const float* wide(const T* kernel) const {
    if constexpr (std::is_same_v<T, float>) {
      return kernel;
    } else {
      auto* const to = place<float>(places_.kernel);
      convert_all(kernel, to, of_.a * of_.b);
      return to;
    }
  }

  /// y[row, expert, b] = x[row, a] kernel[expert, a, b]
  void spread() const {
    R* const y = reinterpret_cast<R*>(spread_);
    set_zero(spread_, of_.count * of_.blocks * of_.b * static_cast<std::int64_t>(sizeof(R)));
    for (std::int64_t e = 0; e < of_.experts; ++e) {
      if (rows_of(e).empty()) continue;
      const float* const sums = multiply_kernel(
          e, of_.a, of_.b, of_.roles.is_turned,
          [&](auto number, std::int64_t to) { return pack_rows<decltype(number)>(e, to); });
      for_each_row(e, of_.b, [&](const Entry& entry, std::int64_t i) {
        const float factor = chosen(entry.row, e);
        R* const to = y + entry.block * of_.b;
        for (std::int64_t j = 0; j < of_.b; ++j) store(to[j], sums[i * of_.b + j] * factor);
      });
    }
  }

  /// y[row, a] = sum over experts of x[row, expert, b] kernel[expert, a, b]
  void gather() const {
    float* const sums = kIsRounded ? place<float>(places_.sums) : reinterpret_cast<float*>(rows_);
    const std::int64_t size = of_.count * of_.a;
    set_zero(reinterpret_cast<std::byte*>(sums), size * 4);
    for (std::int64_t e = 0; e < of_.experts; ++e) {
      if (rows_of(e).empty()) continue;
      const float* const parts = multiply_kernel(
          e, of_.b, of_.a, !of_.roles.is_turned,
          [&](auto number, std::int64_t to) { return pack_spread<decltype(number)>(e, to); });
      for_each_row(e, of_.a, [&](const Entry& entry, std::int64_t i) {
        float* const to = sums + entry.row * of_.a;
        for (std::int64_t j = 0; j < of_.a; ++j) to[j] += parts[i * of_.a + j];
      });
    }
    if constexpr (kIsRounded) convert_all(sums, reinterpret_cast<R*>(rows_), size);
  }

  /// y[expert, a, b] = sum over rows of x[row, a] x[row, expert, b]
  void multiply_rows() const {
    const std::int64_t size = of_.a * of_.b;
    for (std::int64_t e = 0; e < of_.experts; ++e) {
      R* const y = reinterpret_cast<R*>(kernels_) + e * size;
      const std::int64_t k = std::ssize(rows_of(e));
      if (k == 0) {
        set_zero(reinterpret_cast<std::byte*>(y), size * static_cast<std::int64_t>(sizeof(R)));
        continue;
      }
      const auto* left = reinterpret_cast<const std::byte*>(pack_rows<float>(e, places_.left));
      const auto* right = reinterpret_cast<const std::byte*>(pack_spread<float>(e, places_.right));
      EinsumPlan plan;
      plan.m = of_.roles.is_turned ? of_.b : of_.a;
      plan.n = of_.roles.is_turned ? of_.a : of_.b;
      plan.k = k;
      if (of_.roles.is_turned) std::swap(left, right);
      set_order(plan.x, plan.m, k, true);
      plan.w.rows = plan.y.rows = plan.n;
      float* const sums = kIsRounded ? place<float>(places_.kernel) : reinterpret_cast<float*>(y);
      Gemm(plan, left, right, reinterpret_cast<std::byte*>(sums))();
      if constexpr (kIsRounded) convert_all(sums, y, size);
    }
  }

  Operands of_;
  std::byte *rows_, *spread_, *kernels_;
  const T* chosen_;
  std::byte* workspace_;
  Workspace places_;
};

bool is_empty(const Operands& of) { return of.count * of.experts * of.a * of.b == 0; }

}  // namespace

std::int64_t sparse_einsum_workspace(const KernelArgs& args) {
  const Operands of(args);
  return is_empty(of) ? 0 : Workspace(of).end;
}

Launch sparse_einsum(const KernelArgs& args) {
  const Operands of(args);
  if (is_empty(of)) {
    return [y = args.output.data, bytes = num_bytes(args.output.type)] { set_zero(y, bytes); };
  }
  return with_float(of.dtype, [&](auto operand) -> Launch {
    using T = decltype(operand);
    if (of.result == DType::kFloat32) return SparseProduct<T, float>(args);
    return SparseProduct<T, T>(args);
  });
}

}  // namespace meshwork::cpu
