// Products and matrices of a warp (PTX ISA, mma.m16n8k16 and ldmatrix): computed for all lanes by
// the last that asks, for lane by lane it takes many times as long.
#include "emulated_gpu/tensor_cores.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "emulated_gpu/block.h"
#include "emulated_gpu/narrow_floats.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace emulated_gpu {
namespace {

constexpr int kRows = 16, kColumns = 8, kDepth = 16;

struct Load : LaneWork {
  unsigned* to;
  const unsigned short* row;
};

struct Product : LaneWork {
  float* c;
  const unsigned* a;
  const unsigned* b;
};

template <class Work>
const Work& work_of(const WarpWork& lanes, int lane) {
  return static_cast<const Work&>(*lanes[static_cast<std::size_t>(lane)]);
}

unsigned pair(unsigned short low, unsigned short high) {
  return low | static_cast<unsigned>(high) << 16U;
}

/// Row r of matrix m is that of lane 8 m + r.
template <bool kTransposed>
void load(const WarpWork& lanes) {
  for (int lane = 0; lane < 32; ++lane) {
    for (int m = 0; m < 4; ++m) {
      const auto row = [&](int r) { return work_of<Load>(lanes, 8 * m + r).row; };
      const int i = lane / 4, j = lane % 4 * 2;
      work_of<Load>(lanes, lane).to[m] =
          kTransposed ? pair(row(j)[i], row(j + 1)[i]) : pair(row(i)[j], row(i)[j + 1]);
    }
  }
}

struct Matrices {
  float a[kRows][kDepth], b[kDepth][kColumns], c[kRows][kColumns];
};

void multiply_plainly(Matrices& x) {
  for (int i = 0; i < kRows; ++i) {
    for (int k = 0; k < kDepth; ++k) {
      for (int j = 0; j < kColumns; ++j) x.c[i][j] = std::fma(x.a[i][k], x.b[k][j], x.c[i][j]);
    }
  }
}
#if defined(__x86_64__)
/// The same, a row of eight at once.
__attribute__((target("avx2,fma"))) void multiply_in_vectors(Matrices& x) {
  for (int i = 0; i < kRows; ++i) {
    __m256 row = _mm256_loadu_ps(x.c[i]);
    for (int k = 0; k < kDepth; ++k) {
      row = _mm256_fmadd_ps(_mm256_set1_ps(x.a[i][k]), _mm256_loadu_ps(x.b[k]), row);
    }
    _mm256_storeu_ps(x.c[i], row);
  }
}
void multiply(Matrices& x) {
  static const bool kHasVectors = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  kHasVectors ? multiply_in_vectors(x) : multiply_plainly(x);
}
#else
void multiply(Matrices& x) { multiply_plainly(x); }
#endif

/// Lane l has of c columns 2 (l % 4) and the next of rows l / 4 and 8 more; of a these rows in 0
/// and 1, and in 2 and 3 eight columns on; of b rows 2 (l % 4) and the next of column l / 4, and
/// eight rows on.
template <bool kBfloat16>
void multiply_add(const WarpWork& lanes) {
  Matrices x;
  const auto number = [](unsigned word) {
    const auto bits = static_cast<unsigned short>(word);
    return kBfloat16 ? from_bfloat16(bits) : from_float16(bits);
  };
  for (int lane = 0; lane < 32; ++lane) {
    const auto& own = work_of<Product>(lanes, lane);
    const int row = lane / 4, column = lane % 4 * 2;
    for (int n = 0; n < 4; ++n) {
      for (int half = 0; half < 2; ++half) {
        x.a[row + n % 2 * 8][column + n / 2 * 8 + half] = number(own.a[n] >> (16U * half));
        x.c[row + n / 2 * 8][column + n % 2] = own.c[n];
        if (n < 2) x.b[column + n * 8 + half][row] = number(own.b[n] >> (16U * half));
      }
    }
  }
  multiply(x);
  for (int lane = 0; lane < 32; ++lane) {
    for (int n = 0; n < 4; ++n) {
      work_of<Product>(lanes, lane).c[n] = x.c[lane / 4 + n / 2 * 8][lane % 4 * 2 + n % 2];
    }
  }
}

void ask(LaneWork& work) {
  BlockRunner::current()->exchange(kExchangeWork, ~0U, reinterpret_cast<std::uintptr_t>(&work), 0);
}

}  // namespace
}  // namespace emulated_gpu

void emulated_gpu_load_matrices(unsigned* to, const void* row, bool transposed) {
  using namespace emulated_gpu;
  if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0) {
    std::fprintf(stderr,
                 "emulated GPU: kernel %s loads a row of a matrix from %p, which is no "
                 "multiple of 16 bytes\n",
                 running_kernel(), row);
    std::abort();
  }
  Load work{};
  work.together = transposed ? &load<true> : &load<false>;
  work.to = to;
  work.row = static_cast<const unsigned short*>(row);
  ask(work);
}

void emulated_gpu_multiply_add(float* c, const unsigned* a, const unsigned* b, bool is_bfloat16) {
  using namespace emulated_gpu;
  Product work{};
  work.together = is_bfloat16 ? &multiply_add<true> : &multiply_add<false>;
  work.c = c;
  work.a = a;
  work.b = b;
  ask(work);
}
