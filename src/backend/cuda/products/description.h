#pragma once

#include <memory>
#include <type_traits>

#include "backend/cuda/products/cublaslt.h"
#include "backend/cuda/products/problem.h"

namespace meshwork::cuda::products {

/// A description that cuBLASLt keeps, given back in the end.
template <class Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, cublasStatus_t (*)(Handle)>;

template <class Handle, class Attribute, class Value>
void set(cublasStatus_t (*function)(Handle, Attribute, const void*, std::size_t),
         const Owned<Handle>& owner, Attribute attribute, Value value) {
  check(function(owner.get(), attribute, &value, sizeof value), "describing a product");
}

/// A problem in cuBLASLt's words. The bias is where the call reads it.
struct Description {
  Owned<cublasLtMatmulDesc_t> operation;
  Owned<cublasLtMatrixLayout_t> a, b, y;

  Description(const Problem& problem, const std::byte* bias);
};

}  // namespace meshwork::cuda::products
