// What the emulated cuDNN refuses, as the real one does.
#include <array>

#include "emulated_gpu/cudnn_test_graph.h"

namespace emulated_gpu::testing {
namespace {

/// Windows with so much padding in front, none behind.
Description windows(std::int64_t rank, std::int64_t padding) {
  const Description made = create(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const auto all = [&](std::int64_t value) {
    return Integers(static_cast<std::size_t>(rank), value);
  };
  set(made, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  set(made, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
  set(made, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, Integers{rank});
  set(made, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, all(1));
  set(made, CUDNN_ATTR_CONVOLUTION_DILATIONS, all(1));
  set(made, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, all(padding));
  set(made, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, all(0));
  return made;
}

/// A convolution of x [1, 4, 5, 5] with a filter of these strides and windows of this rank to y
/// [1, 6, extent, 3].
Description operation(const Integers& filter_strides, std::int64_t rank, std::int64_t extent) {
  const Description made = create(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  const auto describe = [&](cudnnBackendAttributeName_t name, Description part) {
    REQUIRE(finalize(part) == CUDNN_STATUS_SUCCESS);
    REQUIRE(set(made, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, part) == CUDNN_STATUS_SUCCESS);
  };
  describe(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, tensor(1, {1, 4, 5, 5}, {100, 1, 20, 4}));
  describe(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, tensor(2, {6, 4, 3, 3}, filter_strides));
  describe(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
           tensor(3, {1, 6, extent, 3}, {18 * extent, 1, 18, 6}));
  describe(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, windows(rank, 0));
  set(made, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1.0F);
  set(made, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 0.0F);
  return made;
}

const Integers kChannelsLast{36, 1, 12, 4};

}  // namespace

TEST_CASE("cuDNN refuses attributes of other types, counts and descriptions") {
  const Description made = tensor(1, {1, 4, 5, 5}, {100, 1, 20, 4});
  CHECK(set(made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_INT64, std::int64_t{0}) ==
        CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
  CHECK(set(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, Integers{1, 2}) == CUDNN_STATUS_BAD_PARAM);
  CHECK(set(made, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT) ==
        CUDNN_STATUS_BAD_PARAM);
  CHECK(finalize(made) == CUDNN_STATUS_SUCCESS);
  CHECK(set(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, Integers{2}) == CUDNN_STATUS_BAD_PARAM);
}

TEST_CASE("cuDNN refuses descriptions that are not whole") {
  CHECK(finalize(create(CUDNN_BACKEND_TENSOR_DESCRIPTOR)) == CUDNN_STATUS_BAD_PARAM);
  CHECK(finalize(tensor(1, {1, 4, 5, 5}, {100, 1, 20})) == CUDNN_STATUS_BAD_PARAM);
  CHECK(finalize(tensor(1, {1, 4, 5, 5}, {100, 1, 20, 4}, 2)) == CUDNN_STATUS_BAD_PARAM);
  CHECK(finalize(windows(2, 1)) == CUDNN_STATUS_SUCCESS);
  CHECK(finalize(windows(2, -1)) == CUDNN_STATUS_BAD_PARAM);
  CHECK(finalize(create(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR)) ==
        CUDNN_STATUS_BAD_PARAM);
  int unknown = 0;
  CHECK(CUDNN(cudnnBackendGetAttribute)(create(CUDNN_BACKEND_ENGINE_DESCRIPTOR),
                                        CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                        1, nullptr, &unknown) == CUDNN_STATUS_NOT_INITIALIZED);
}

TEST_CASE("cuDNN refuses tensors that do not fit together") {
  CHECK(finalize(operation(kChannelsLast, 2, 3)) == CUDNN_STATUS_SUCCESS);
  CHECK(finalize(operation(kChannelsLast, 2, 4)) == CUDNN_STATUS_BAD_PARAM);
  CHECK(finalize(operation(kChannelsLast, 3, 3)) == CUDNN_STATUS_BAD_PARAM);
  CHECK(finalize(operation({72, 2, 24, 8}, 2, 3)) == CUDNN_STATUS_BAD_PARAM);
}

TEST_CASE("cuDNN enqueues nothing without a plan, or on a stream of nobody") {
  start();
  cudnnHandle_t const handle = create_handle();
  const Description plan = create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  const Description pack = create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  CHECK(CUDNN(cudnnBackendExecute)(handle, plan, pack) == CUDNN_STATUS_BAD_PARAM);
  const std::array<void*, 2> pointers{};
  REQUIRE(set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, Integers{1, 2, 3}) == CUDNN_STATUS_SUCCESS);
  REQUIRE(CUDNN(cudnnBackendSetAttribute)(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                                          CUDNN_TYPE_VOID_PTR, 2,
                                          pointers.data()) == CUDNN_STATUS_SUCCESS);
  CHECK(finalize(pack) == CUDNN_STATUS_BAD_PARAM);
  int nobody = 0;
  CHECK(CUDNN(cudnnSetStream)(handle, reinterpret_cast<cudaStream_t>(&nobody)) !=
        CUDNN_STATUS_SUCCESS);
}

}  // namespace emulated_gpu::testing
