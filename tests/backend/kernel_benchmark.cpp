// Speed of the fast kernels beside the limits of the machine: `meson test --benchmark kernels -v`.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "backend/backend.h"

using namespace meshwork;

namespace {

using Clock = std::chrono::steady_clock;

double seconds(const std::function<void()>& work, int repeats) {
  const auto start = Clock::now();
  for (int i = 0; i < repeats; ++i) work();
  return std::chrono::duration<double>(Clock::now() - start).count() / repeats;
}

/// Seconds of the fastest of nine samples, each of at least two milliseconds.
double best_time(const std::function<void()>& work) {
  const double once = std::max(seconds(work, 1), 1e-8);
  const int repeats = std::max(1, static_cast<int>(0.002 / once));
  double best = 1e9;
  for (int sample = 0; sample < 9; ++sample) best = std::min(best, seconds(work, repeats));
  return best;
}

TensorView view_of(const Shape& shape) {
  TensorView view;
  view.type.shape = shape;
  view.region = whole_region(shape);
  return view;
}

/// A kernel on memory of its own.
struct Bound {
  std::vector<std::shared_ptr<std::byte>> memory;
  Launch launch;
  double bytes = 0;  ///< read and written
};

Bound bind(Backend& backend, const std::string& op, const std::vector<Shape>& inputs,
           const Shape& output, const Attrs& attrs) {
  const KernelDef* kernel = backend.find(op);
  KernelArgs args;
  args.attrs = attrs;
  args.output = view_of(output);
  for (const Shape& shape : inputs) args.inputs.push_back(view_of(shape));
  Bound bound;
  const auto give = [&](std::int64_t bytes) {
    bound.memory.push_back(backend.device().allocate(bytes));
    return bound.memory.back().get();
  };
  args.workspace = give(backend.workspace(*kernel, args));
  for (TensorView& input : args.inputs) {
    input.data = give(num_bytes(input.type));
    std::fill_n(input.as<float>(), num_elements(input.type.shape), 0.5F);
    bound.bytes += static_cast<double>(num_bytes(input.type));
  }
  args.output.data = give(num_bytes(args.output.type));
  bound.bytes += static_cast<double>(num_bytes(args.output.type));
  bound.launch = backend.bind(*kernel, args, *backend.device().make_stream());
  return bound;
}

void time_einsum(Backend& backend, const std::string& equation, const Shape& x, const Shape& w,
                 const Shape& y, double multiplications) {
  const Bound bound = bind(backend, "einsum", {x, w}, y, {{"equation", equation}});
  const double time = best_time(bound.launch);
  fmt::print("  {:<26} {:>14} x {:<14} {:9.1f} us {:8.1f} GFLOP/s\n", equation, to_string(x),
             to_string(w), time * 1e6, 2 * multiplications / time * 1e-9);
}

/// A layer [m, k] [k, n] and both of its gradients.
void time_layer(Backend& backend, std::int64_t m, std::int64_t k, std::int64_t n) {
  const double work = static_cast<double>(m * k) * static_cast<double>(n);
  time_einsum(backend, "m k, k n -> m n", {m, k}, {k, n}, {m, n}, work);
  time_einsum(backend, "m n, k n -> m k", {m, n}, {k, n}, {m, k}, work);
  time_einsum(backend, "m k, m n -> k n", {m, k}, {m, n}, {k, n}, work);
}

void time_kernel(Backend& backend, const std::string& op, const std::vector<Shape>& inputs,
                 const Shape& output, const Attrs& attrs = {}) {
  const Bound bound = bind(backend, op, inputs, output, attrs);
  const double time = best_time(bound.launch);
  std::string shapes;
  for (const Shape& shape : inputs) shapes += to_string(shape) + " ";
  fmt::print("  {:<16} {:<36} {:9.1f} us {:8.1f} GB/s\n", op, shapes + "-> " + to_string(output),
             time * 1e6, bound.bytes / time * 1e-9);
}

void time_memcpy(std::int64_t elements) {
  const auto size = static_cast<std::size_t>(elements);
  const std::vector<float> from(size, 0.5F);
  std::vector<float> to(size);
  const double time = best_time([&] { std::memcpy(to.data(), from.data(), size * sizeof(float)); });
  fmt::print("  {:<16} {:<36} {:9.1f} us {:8.1f} GB/s\n", "memcpy", to_string(Shape{elements}),
             time * 1e6, 8.0 * static_cast<double>(elements) / time * 1e-9);
}

void time_elementwise(Backend& backend, std::int64_t rows, std::int64_t columns) {
  const Shape matrix{rows, columns}, row{columns}, column{rows, 1};
  time_memcpy(rows * columns);
  for (const auto op : {"relu", "exp", "log", "tanh", "sigmoid", "erf", "softplus"}) {
    time_kernel(backend, op, {matrix}, matrix);
  }
  time_kernel(backend, "add", {matrix, matrix}, matrix);
  time_kernel(backend, "add", {matrix, row}, matrix);
  time_kernel(backend, "multiply", {matrix, column}, matrix);
  time_kernel(backend, "multiply", {matrix, {}}, matrix);
  time_kernel(backend, "greater", {matrix, {}}, matrix);
  time_kernel(backend, "select", {matrix, matrix, {}}, matrix);
  time_kernel(backend, "softmax", {matrix}, matrix, {{"axis", std::int64_t{1}}});
  time_kernel(backend, "log_softmax", {matrix}, matrix, {{"axis", std::int64_t{1}}});
  const auto axes = [](std::vector<std::int64_t> dims) {
    return Attrs{{"axes", std::move(dims)}, {"keepdims", false}};
  };
  time_kernel(backend, "reduce_sum", {matrix}, row, axes({0}));
  time_kernel(backend, "reduce_sum", {matrix}, {rows}, axes({1}));
  time_kernel(backend, "reduce_sum", {matrix}, {}, axes({0, 1}));
  time_kernel(backend, "sum_of_squares", {matrix}, {}, axes({0, 1}));
  time_kernel(backend, "reduce_max", {matrix}, {rows}, axes({1}));
  time_kernel(backend, "transpose", {matrix}, {columns, rows},
              {{"perm", std::vector<std::int64_t>{1, 0}}});
  time_kernel(backend, "random_uniform", {}, matrix,
              {{"key", std::int64_t{42}}, {"low", 0.0}, {"high", 1.0}});
}

/// A square layer of a convolutional network: padding so that every stride-th element has a result.
struct Layer {
  std::int64_t images, extent, channels, filters, window, stride;
  std::int64_t groups = 1;
};

/// The three products of a layer.
void time_convolution(Backend& backend, const Layer& l) {
  const std::int64_t extent = (l.extent + l.stride - 1) / l.stride;
  const std::int64_t padding =
      std::max<std::int64_t>(0, (extent - 1) * l.stride + l.window - l.extent) / 2;
  const auto both = [](std::int64_t value) { return std::vector<std::int64_t>{value, value}; };
  const Attrs attrs{{"strides", both(l.stride)},
                    {"padding", both(padding)},
                    {"dilations", both(1)},
                    {"groups", l.groups}};
  const Shape x{l.images, l.extent, l.extent, l.channels}, y{l.images, extent, extent, l.filters};
  const Shape w{l.window, l.window, l.channels / l.groups, l.filters};
  const double multiplications =
      static_cast<double>(num_elements(y)) * static_cast<double>(num_elements(w) / l.filters);
  fmt::print("  {:>18} -> {:3} {}x{} stride {} groups {:2}", to_string(x), l.filters, l.window,
             l.window, l.stride, l.groups);
  const auto time = [&](const std::string& op, const std::vector<Shape>& inputs,
                        const Shape& output) {
    const double seconds = best_time(bind(backend, op, inputs, output, attrs).launch);
    fmt::print(" {:9.1f} us {:6.1f} GFLOP/s", seconds * 1e6, 2e-9 * multiplications / seconds);
  };
  time("convolution", {x, w}, y);
  time("convolution_backward_data", {y, w}, x);
  time("convolution_backward_filter", {x, y}, w);
  fmt::print("\n");
}

void time_convolutions(Backend& backend) {
  fmt::print("  convolutions: y, gradient of x, gradient of w\n");
  for (const Layer& layer : std::vector<Layer>{{64, 28, 1, 12, 3, 1},
                                               {64, 28, 12, 24, 6, 2},
                                               {64, 14, 24, 32, 6, 2},
                                               {128, 28, 1, 16, 3, 1},
                                               {128, 32, 3, 16, 3, 1},
                                               {128, 28, 16, 16, 3, 1},
                                               {128, 28, 16, 32, 3, 2},
                                               {128, 28, 16, 32, 1, 2},
                                               {128, 14, 32, 32, 3, 1},
                                               {128, 14, 32, 64, 3, 2},
                                               {128, 7, 64, 64, 3, 1},
                                               {128, 14, 64, 16, 1, 1},
                                               {64, 28, 8, 8, 3, 1},
                                               {64, 28, 32, 32, 3, 1, 32},
                                               {64, 28, 12, 24, 3, 1, 12},
                                               {64, 28, 32, 32, 3, 1, 2}}) {
    time_convolution(backend, layer);
  }
}

void time_pools(Backend& backend, std::int64_t channels) {
  const auto both = [](std::int64_t value) { return std::vector<std::int64_t>{value, value}; };
  const Attrs pool{{"window", both(2)}, {"strides", both(2)}, {"padding", both(0)}};
  const Shape x{128, 28, 28, channels}, y{128, 14, 14, channels}, c{channels};
  time_kernel(backend, "max_pool", {x}, y, pool);
  time_kernel(backend, "max_pool_input", {x, y}, x, pool);
  time_kernel(backend, "sum_pool", {x}, y, pool);
  time_kernel(backend, "sum_pool_input", {y}, x, pool);
  const Shape padded{128, 32, 32, channels};
  time_kernel(backend, "pad", {x}, padded,
              {{"low", std::vector<std::int64_t>{0, 2, 2, 0}}, {"shape", padded}});
  const Attrs last{{"axis", std::int64_t{3}}};
  time_kernel(backend, "shifted_sums", {x, c}, {3, channels}, last);
  time_kernel(backend, "scale_offset", {x, c, c}, x, last);
  time_kernel(backend, "scale_offset_sums", {x, x}, {2, channels}, last);
}

}  // namespace

int main() {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  for (const int threads : {1, cores}) {
    const auto backend = make_cpu_backend(threads);
    fmt::print("{} thread(s)\n", threads);
    time_layer(*backend, 128, 784, 128);
    time_layer(*backend, 128, 128, 10);
    time_layer(*backend, 128, 784, 1);
    time_layer(*backend, 512, 784, 4096);
    time_elementwise(*backend, 128, 200);
    time_elementwise(*backend, 128, 10);
    time_elementwise(*backend, 512, 4096);
    time_convolutions(*backend);
    time_pools(*backend, 12);
    time_pools(*backend, 64);
    if (cores == 1) break;
  }
  return 0;
}
