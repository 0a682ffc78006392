// Convolutions by cuDNN, whatever their size, against the naive kernels; which of its algorithms
// are chosen, and what happens where it is missing.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "backend/cuda/kernel.h"
#include "backend/cuda/windows/cudnn/by_cudnn.h"
#include "backend/cuda/windows/cudnn/task.h"
#include "backend/cuda_libraries.h"
#include "base/error.h"
#include "cuda/case_runs.h"
#include "cuda/window_uses.h"
#include "ops/ops.h"
#include "support/environment_variable.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;
using cuda::windows::Sought;
using cuda::windows::Task;

namespace {

constexpr DType kFloat32 = DType::kFloat32, kBFloat16 = DType::kBFloat16;

/// With operands of float32 that may be rounded: others are not cuDNN's.
template <Sought kSought>
Task task_of(const KernelArgs& args) {
  Task task = cuda::windows::task_of(kSought, args);
  task.tensor_float32 = true;
  return task;
}

const KernelDef& usual_kernel(Sought sought) {
  return *gpu_backend().find(sought == Sought::kY   ? "convolution"
                             : sought == Sought::kX ? "convolution_backward_data"
                                                    : "convolution_backward_filter");
}

template <Sought kSought>
Launch bind(const KernelArgs& args) {
  const Task task = task_of<kSought>(args);
  if (cuda::windows::cudnn_takes(task)) {
    if (const auto launch =
            cuda::windows::launch_by_cudnn(cuda::stream_of(args), task, args.workspace)) {
      return *launch;
    }
    REQUIRE_MESSAGE(!has_emulated_cudnn(), "cuDNN does not take it");
  }
  return usual_kernel(kSought).bind(args);
}

template <Sought kSought>
std::int64_t workspace(const KernelArgs& args) {
  return std::max(cuda::windows::cudnn_workspace(task_of<kSought>(args)),
                  usual_kernel(kSought).workspace(args));
}

template <Sought kSought>
KernelDef by_cudnn() {
  return {"", bind<kSought>, workspace<kSought>};
}

void check_twice(const Use& use, const KernelDef& kernel, std::int64_t shift) {
  check_use(use, kernel, shift);
  CHECK(on_gpu(use, kernel, shift) == on_gpu(use, kernel, shift));
}

void check_types(const Geometry& g, DType dtype, DType result, std::int64_t shift = 0) {
  check_twice(convolution(g, dtype, result), by_cudnn<Sought::kY>(), shift);
  check_twice(backward_data(g, dtype, result), by_cudnn<Sought::kX>(), shift);
  check_twice(backward_filter(g, dtype, result), by_cudnn<Sought::kW>(), shift);
}

void check_all(const Geometry& g) {
  check_types(g, kFloat32, kFloat32);
  check_types(g, kBFloat16, kBFloat16);
  check_types(g, kBFloat16, kFloat32);
}

/// Of operands that TensorFloat-32 rounds; sums are exact in float32.
Use with_fine_numbers(Use use) {
  use.inputs[0] = integers(use.inputs[0].type.shape, kFloat32, 5, 1, 3000);
  use.inputs[1] = integers(use.inputs[1].type.shape, kFloat32, 6, 1, 2);
  return use;
}

template <Sought kSought>
bool is_for_cudnn(const Use& use, bool tensor_float32 = false) {
  const auto view = [](const TensorType& type) {
    return TensorView{type, whole_region(type.shape)};
  };
  const KernelArgs args{.inputs = {view(use.inputs[0].type), view(use.inputs[1].type)},
                        .output = view(use.output),
                        .attrs = use.attrs};
  Task task = task_of<kSought>(args);
  task.tensor_float32 = tensor_float32;
  return cuda::windows::is_for_cudnn(task);
}

const Geometry kPlain{{2, 9, 8, 16}, {3, 3, 16, 24}, {1, 1}, {1, 1}, {1, 1}};

}  // namespace

TEST_CASE("convolutions by cuDNN: plain, strided, dilated, padded to one side") {
  check_all(kPlain);
  check_all({{2, 11, 10, 8}, {3, 2, 8, 16}, {2, 3}, {0, 1}, {1, 0}});
  check_all({{1, 12, 15, 5}, {3, 3, 5, 7}, {1, 1}, {2, 3}, {2, 3}, {2, 3}});
  check_all({{3, 8, 8, 24}, {1, 1, 24, 40}, {2, 2}, {0, 0}, {0, 0}});
  check_all({{1, 3, 2, 4}, {2, 2, 4, 5}, {1, 2}, {4, 5}, {3, 6}});
}

TEST_CASE("convolutions by cuDNN: in groups, of one and of three dimensions") {
  check_all({{2, 7, 6, 24}, {3, 3, 8, 48}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 3});
  check_all({{2, 7, 6, 24}, {3, 3, 1, 24}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 24});
  check_all({{2, 40, 8}, {5, 8, 16}, {2}, {2}, {1}});
  check_all({{1, 5, 6, 7, 8}, {3, 2, 3, 8, 16}, {1, 2, 1}, {1, 0, 1}, {1, 1, 1}});
}

TEST_CASE("convolutions by cuDNN: tensors that begin anywhere") {
  check_types(kPlain, kFloat32, kFloat32, 1);
}

TEST_CASE("cuDNN rounds operands of float32, and computes them where that is asked for alone") {
  const auto check = [&](const Use& plain, const KernelDef& rounding) {
    const Use use = with_fine_numbers(plain);
    const HostTensor result = on_gpu(use, rounding, 0);
    if (has_emulated_cudnn()) CHECK(difference(result, naive(use), 0) != "");
    CHECK(difference(result, naive(use), 1e-2) == "");
    const EnvironmentVariable choice("MESHWORK_CUDNN", "always");
    check_use(use);
  };
  check(convolution(kPlain, kFloat32, kFloat32), by_cudnn<Sought::kY>());
  check(backward_data(kPlain, kFloat32, kFloat32), by_cudnn<Sought::kX>());
  check(backward_filter(kPlain, kFloat32, kFloat32), by_cudnn<Sought::kW>());
}

TEST_CASE("large convolutions go to cuDNN where that pays") {
  const auto is_for_cudnn = [](const Geometry& g, DType dtype, bool tensor_float32 = false) {
    return ::is_for_cudnn<Sought::kY>(convolution(g, dtype, dtype), tensor_float32);
  };
  if (has_emulated_cudnn()) CHECK(convolution_library().rfind("cuDNN 9.", 0) == 0);
  const Geometry large{{8, 32, 32, 64}, {3, 3, 64, 64}, {1, 1}, {1, 1}, {1, 1}};
  CHECK(!is_for_cudnn(large, kFloat32));
  CHECK(is_for_cudnn(large, kFloat32, true));
  CHECK(is_for_cudnn(large, kBFloat16));
  CHECK(!is_for_cudnn(kPlain, kBFloat16));
  // A product.
  CHECK(!is_for_cudnn({{32, 64, 64, 32}, {1, 1, 32, 32}, {1, 1}, {0, 0}, {0, 0}}, kBFloat16));
  CHECK(is_for_cudnn({{32, 64, 64, 32}, {1, 1, 32, 32}, {2, 2}, {0, 0}, {0, 0}}, kBFloat16));
  const Geometry depthwise{{8, 64, 64, 64}, {3, 3, 1, 64}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 64};
  CHECK(!is_for_cudnn(depthwise, kBFloat16));
  {
    const EnvironmentVariable choice("MESHWORK_CUDNN", "always");
    CHECK(is_for_cudnn(kPlain, kBFloat16));
    CHECK(!is_for_cudnn(kPlain, kFloat32));
    // Elements in front that no window reads.
    CHECK(!is_for_cudnn({{2, 9, 8, 16}, {3, 3, 16, 24}, {1, 1}, {-1, 1}, {1, 1}}, kBFloat16));
  }
  const EnvironmentVariable choice("MESHWORK_CUDNN", "never");
  CHECK(!is_for_cudnn(large, kBFloat16));
  const EnvironmentVariable mistake("MESHWORK_CUDNN", "no");
  CHECK_THROWS_AS(is_for_cudnn(large, kBFloat16), const Error&);
}

TEST_CASE("convolutions of 2^31 elements and more are our own kernels'") {
  const EnvironmentVariable choice("MESHWORK_CUDNN", "always");
  Use use = convolution(kPlain, kBFloat16, kBFloat16);
  const std::int64_t image =
      std::max(num_elements(use.inputs[0].type.shape), num_elements(use.output.shape)) /
      kPlain.x[0];
  const auto is_taken = [&](std::int64_t images) {
    use.inputs[0].type.shape[0] = use.output.shape[0] = images;
    return is_for_cudnn<Sought::kY>(use);
  };
  const std::int64_t most = ((std::int64_t{1} << 31) - 2) / image;
  CHECK(is_taken(most));
  CHECK(!is_taken(most + 1));
}

TEST_CASE("gradients of filters go to cuDNN where lines of channels are whole") {
  const EnvironmentVariable choice("MESHWORK_CUDNN", "always");
  const auto is_taken = [](const Geometry& g) {
    return is_for_cudnn<Sought::kW>(backward_filter(g, kBFloat16, kFloat32));
  };
  CHECK(is_taken(kPlain));
  CHECK(!is_taken({{2, 9, 8, 2}, {3, 3, 2, 24}, {1, 1}, {1, 1}, {1, 1}}));
  CHECK(!is_taken({{2, 9, 8, 16}, {3, 3, 16, 2}, {1, 1}, {1, 1}, {1, 1}}));
}

TEST_CASE("large convolutions, and of odd sizes, as a program asks for them") {
  const Geometry large{{2, 33, 31, 61}, {3, 3, 61, 67}, {1, 1}, {1, 1}, {1, 1}};
  for (const DType dtype : {kFloat32, kBFloat16}) {
    check_use(convolution(large, dtype, dtype));
    check_use(backward_data(large, dtype, dtype));
    check_use(backward_filter(large, dtype, kFloat32));
  }
}

TEST_CASE("a recorded convolution by cuDNN reads its operands anew") {
  Device& device = gpu_backend().device();
  const auto stream = device.make_stream();
  const Use use = convolution(kPlain, kBFloat16, kBFloat16);
  const KernelDef kernel = by_cudnn<Sought::kY>();
  const auto view = [](const TensorType& type, std::byte* data) {
    return TensorView{type, whole_region(type.shape), data};
  };
  const auto x = device.allocate(num_bytes(use.inputs[0].type));
  const auto w = device.allocate(num_bytes(use.inputs[1].type));
  const auto y = device.allocate(num_bytes(use.output));
  KernelArgs args{.inputs = {view(use.inputs[0].type, x.get()), view(use.inputs[1].type, w.get())},
                  .output = view(use.output, y.get()),
                  .attrs = use.attrs};
  const auto scratch = device.allocate(kernel.workspace(args));
  args.workspace = scratch.get();
  args.stream = stream.get();
  const Launch program = stream->recorded(kernel.bind(args));
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Use other = use;
    for (HostTensor& input : other.inputs) {
      input = integers(input.type.shape, kBFloat16, seed, -2, 2);
    }
    const auto fill = [&](std::byte* to, const HostTensor& from) {
      upload(device, *stream, to, from.bytes.data(), static_cast<std::int64_t>(from.bytes.size()));
    };
    fill(x.get(), other.inputs[0]);
    fill(w.get(), other.inputs[1]);
    program();
    HostTensor result = host_tensor(use.output);
    download(device, *stream, result.bytes.data(), y.get(), num_bytes(use.output));
    CHECK(difference(result, naive(other), 0) == "");
  }
}

TEST_CASE("a convolutional network trains on meshes of GPUs with cuDNN as on the CPU") {
  const std::string text = R"(
PRECISION
mesh: {data: 1}
LAYOUTS
dataset:
  name: t
  format: synthetic
  splits: {train: {x: {normal: [24, 12, 12, 3]}, y: {integers: [24], below: 5}}}
model:
  input: [12, 12, 3]
  layers:
    - Conv2D: {name: a, filters: 16, kernel_size: 3, padding: same, activation: relu}
    - Conv2D: {name: b, filters: 24, kernel_size: 3, strides: 2, padding: same}
    - BatchNormalization: {name: n}
    - Conv2D: {name: c, filters: 8, kernel_size: 1, activation: relu}
    - Conv2DTranspose: {name: d, filters: 8, kernel_size: 3, strides: 2, padding: same}
    - GlobalAveragePooling2D:
    - Dense: {name: e, units: 5}
compile: {optimizer: {SGD: {learning_rate: 0.05}}, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {batch_size: 8}
)";
  const auto with = [&](const std::string& precision, const std::string& layouts) {
    std::string mine = text;
    mine.replace(mine.find("PRECISION"), 9, precision);
    mine.replace(mine.find("LAYOUTS"), 7, layouts);
    return mine;
  };
  const char* const kByFilters = "layout_map: {'[abc]/kernel': [null, null, null, model]}";
  const char* const kByRows = "layout_map: {'input/output': [data, model, null, null]}";
  const std::vector<std::pair<const char*, const char*>> layouts{
      {"", ""}, {"", "data=2"}, {kByFilters, "data=1,model=2"}, {kByRows, "data=2,model=2"}};
  const EnvironmentVariable choice("MESHWORK_CUDNN", "always");
  for (const auto& layout : layouts) {
    const std::string mesh = layout.second,
                      config = with("precision: mixed_bfloat16", layout.first);
    CAPTURE(mesh);
    const Trajectory cpu = train(config, {.mesh = mesh, .steps = 4});
    const auto on_gpu = [&] { return train("device: cuda" + config, {.mesh = mesh, .steps = 4}); };
    const Trajectory gpu = on_gpu();
    CHECK(loss_difference(gpu, cpu) < 0.01);
    CHECK(on_gpu().digest == gpu.digest);
    const EnvironmentVariable other("MESHWORK_CUDNN", "never");
    if (has_emulated_cudnn()) CHECK(on_gpu().digest != gpu.digest);  // sums in another order
  }
  const std::string wide = with("tensor_float_32: true", "");
  const Trajectory cpu = train(wide, {.steps = 4});
  const Trajectory gpu = train("device: cuda" + wide, {.steps = 4});
  CHECK(loss_difference(gpu, cpu) < 0.01);
}

// Apart: a real cuDNN compiles hundreds of plans for most.
TEST_CASE("every case of convolutions by cuDNN, whole and shared by devices") {
  const EnvironmentVariable choice("MESHWORK_CUDNN", "always");
  check_cases({"convolution"});
}

TEST_CASE("every case of gradients of images by cuDNN, whole and shared by devices") {
  const EnvironmentVariable choice("MESHWORK_CUDNN", "always");
  check_cases({"convolution_backward_data"});
}

TEST_CASE(
    "every case of gradients of filters, none of which cuDNN takes, whole and shared by devices") {
  const EnvironmentVariable choice("MESHWORK_CUDNN", "always");
  check_cases({"convolution_backward_filter"});
}

TEST_CASE("our own kernels take over where cuDNN does not start") {
  const EnvironmentVariable choice("MESHWORK_CUDNN", "always"),
      failing("EMULATED_GPU_FAIL_CUDNN", "1");
  check_use(convolution(kPlain, kBFloat16, kFloat32));
  check_use(backward_data(kPlain, kBFloat16, kFloat32));
  check_use(backward_filter(kPlain, kBFloat16, kFloat32));
}

TEST_CASE("plans of cuDNN that were compiled are kept for other streams, unless they are damaged") {
  if (!has_emulated_cudnn()) return;  // a real one compiles others
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / fmt::format("cudnn_plans.{}", getpid());
  const EnvironmentVariable place("MESHWORK_CUDA_CACHE", folder.c_str());
  const Geometry g{{1, 6, 5, 11}, {2, 2, 11, 13}, {1, 1}, {0, 0}, {0, 0}};
  Use use = convolution(g, kBFloat16, kFloat32);
  use.inputs[0] = integers(g.x, kBFloat16, 5, 1, 200);
  // Each on a stream of its own, where no other was: those that live on hold the places.
  std::vector<std::unique_ptr<Stream>> streams;
  const auto is_right = [&] {
    const HostTensor result = on_gpu(use, by_cudnn<Sought::kY>(), 0);
    for (int i = 0; i < 4; ++i) streams.push_back(gpu_backend().device().make_stream());
    return difference(result, naive(use), 0) == "";
  };
  CHECK(is_right());
  std::vector<fs::path> kept;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".cudnn") kept.push_back(entry.path());
  }
  REQUIRE(kept.size() == 1);
  constexpr std::size_t kDigest = 16;
  const auto write = [&](const std::string& text) { std::ofstream(kept[0]) << text; };
  const auto with_digest = [](const std::string& text) {
    return text + fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
  };
  std::string text;
  std::getline(std::ifstream(kept[0]), text);
  text.resize(text.size() - kDigest);
  REQUIRE(text.substr(text.size() - 3) == "1 0");                   // one note: tensor cores
  const std::string other = text.substr(0, text.size() - 1) + "3";  // a transform of Fourier's
  write(with_digest(other));
  CHECK(!is_right());
  for (const std::string& damaged : {other, text.substr(0, text.size() / 2)}) {
    write(damaged);
    CHECK(is_right());
  }
  fs::remove_all(folder);
}
