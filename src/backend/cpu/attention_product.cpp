#include "backend/cpu/attention_product.h"

#include <omp.h>

#include <array>

#include "backend/cpu/gemm.h"
#include "backend/cpu/onednn.h"
#include "backend/cpu/simd.h"
#include "backend/cpu/store.h"

namespace meshwork::cpu {
namespace {

/// y [rows, columns] of x [rows, inner] and w [inner, columns], each as it lies or transposed.
struct Matrices {
  std::int64_t rows, inner, columns;
  char x_order = 'N', w_order = 'N';
  std::int64_t x_stride, w_stride;
};

Matrices matrices_of(TileSum sum, AttentionTiles::TileShape tile, std::int64_t features,
                     TileStrides strides) {
  const auto [queries, keys] = tile;
  if (sum == TileSum::kDots) return {queries, features, keys, 'N', 'T', strides.x, strides.w};
  if (sum == TileSum::kOverKeys) return {queries, keys, features, 'N', 'N', keys, strides.w};
  return {keys, queries, features, 'T', 'N', keys, strides.w};
}

AttentionTiles::TileShape shape_of(const AttentionTiles::Tile& tile) {
  return {tile.queries.count(), tile.keys.count()};
}

struct FactorLoop {
  [[gnu::always_inline]] static void run(float* y, float factor, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) y[i] *= factor;
  }
};

struct SettleLoop {
  [[gnu::always_inline]] static void run(const float* from, std::int64_t from_stride, float factor,
                                         BFloat16* to, std::int64_t to_stride, std::int64_t lines,
                                         std::int64_t width) {
    for (std::int64_t i = 0; i < lines; ++i) {
      const float* line = from + i * from_stride;
      BFloat16* result = to + i * to_stride;
#pragma omp simd
      for (std::int64_t j = 0; j < width; ++j) store(result[j], factor * line[j]);
    }
  }
};

}  // namespace

bool multiplies_narrow(const SiblingArgs& args) {
  const DType dtype = args.inputs[0].type.dtype;
  return dtype == DType::kBFloat16 && multiplies(dtype);
}

const BFloat16* as_operand(const float* from, std::int64_t count, BFloat16* to) {
  vectorized<ConvertLoop<float, BFloat16>>()(from, to, count);
  return to;
}

void settle(Lines<float> sum, float factor, Lines<float> /*result*/, std::int64_t lines,
            std::int64_t width) {
  if (factor == 1) return;
  for (std::int64_t i = 0; i < lines; ++i) {
    vectorized<FactorLoop>()(sum.data + i * sum.stride, factor, width);
  }
}

void settle(Lines<float> sum, float factor, Lines<BFloat16> result, std::int64_t lines,
            std::int64_t width) {
  vectorized<SettleLoop>()(sum.data, sum.stride, factor, result.data, result.stride, lines, width);
}

TileProduct<float>::TileProduct(TileSum sum, const AttentionTiles& /*tiles*/, std::int64_t features,
                                TileStrides strides, float factor)
    : sum_(sum), features_(features), strides_(strides), factor_(factor) {
  prepare_sgemm();
}

void TileProduct<float>::operator()(const AttentionTiles::Tile& tile, const float* x,
                                    const float* w, Lines<float> y, std::byte* /*scratch*/) const {
  const Matrices matrices = matrices_of(sum_, shape_of(tile), features_, strides_);
  multiply({.x_order = matrices.x_order,
            .w_order = matrices.w_order,
            .m = matrices.rows,
            .n = matrices.columns,
            .k = matrices.inner,
            .alpha = factor_,
            .x = x,
            .x_stride = matrices.x_stride,
            .w = w,
            .w_stride = matrices.w_stride,
            .beta = sum_ == TileSum::kDots ? 0.0F : 1.0F,
            .y = y.data,
            .y_stride = y.stride});
}

/// A primitive with the arguments of each thread, whose memory is set before each call.
struct TileProduct<BFloat16>::Primitive {
  struct Arguments {
    std::array<dnnl::memory, 4> memories;  ///< of x, w, y and the scratchpad
    std::array<dnnl_exec_arg_t, 4> list;
  };

  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::matmul::primitive_desc description;
  dnnl::matmul matmul;
  std::vector<Arguments> of_threads;

  Primitive(const Matrices& matrices, bool adds) {
    using Desc = dnnl::memory::desc;
    using Strides = dnnl::memory::dims;
    const auto strides = [](char order, std::int64_t stride) {
      return order == 'N' ? Strides{stride, 1} : Strides{1, stride};
    };
    const auto narrow = data_type_of(DType::kBFloat16), wide = data_type_of(DType::kFloat32);
    const Desc x({matrices.rows, matrices.inner}, narrow,
                 strides(matrices.x_order, matrices.x_stride));
    const Desc w({matrices.inner, matrices.columns}, narrow,
                 strides(matrices.w_order, matrices.w_stride));
    const Desc y({matrices.rows, matrices.columns}, wide, Strides{matrices.columns, 1});
    of_threads.resize(static_cast<std::size_t>(omp_get_max_threads()));
    const SerialScope scope(true);
    description = make_matmul(engine, x, w, y, adds);
    matmul = dnnl::matmul(description);
    for (Arguments& arguments : of_threads) {
      arguments.memories = {dnnl::memory(x, engine, nullptr), dnnl::memory(w, engine, nullptr),
                            dnnl::memory(y, engine, nullptr),
                            dnnl::memory(description.scratchpad_desc(), engine, nullptr)};
      constexpr int kNames[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD};
      for (std::size_t i = 0; i < arguments.list.size(); ++i) {
        arguments.list[i] = {kNames[i], arguments.memories[i].get()};
      }
    }
  }

  void run(const BFloat16* x, const BFloat16* w, float* y, std::byte* scratch) const {
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    const Arguments& arguments = of_threads[thread];
    arguments.memories[0].set_data_handle(const_cast<BFloat16*>(x));
    arguments.memories[1].set_data_handle(const_cast<BFloat16*>(w));
    arguments.memories[2].set_data_handle(y);
    arguments.memories[3].set_data_handle(scratch);
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(matmul.get(), stream.get(), static_cast<int>(arguments.list.size()),
                               arguments.list.data()),
        "a product of attention failed");
  }
};

TileProduct<BFloat16>::TileProduct(TileSum sum, const AttentionTiles& tiles, std::int64_t features,
                                   TileStrides strides, float factor)
    : factor_(factor) {
  for (const AttentionTiles::TileShape& shape : tiles.tile_shapes()) {
    const auto primitive = std::make_shared<const Primitive>(
        matrices_of(sum, shape, features, strides), sum != TileSum::kDots);
    const auto bytes =
        static_cast<std::int64_t>(primitive->description.scratchpad_desc().get_size());
    scratch_bytes_ = std::max(scratch_bytes_, bytes);
    primitives_.emplace(shape, primitive);
  }
}

void TileProduct<BFloat16>::operator()(const AttentionTiles::Tile& tile, const BFloat16* x,
                                       const BFloat16* w, Lines<float> y,
                                       std::byte* scratch) const {
  primitives_.at(shape_of(tile))->run(x, w, y.data, scratch);
  if (factor_ != 1) {
    vectorized<FactorLoop>()(y.data, factor_, tile.queries.count() * tile.keys.count());
  }
}

}  // namespace meshwork::cpu
