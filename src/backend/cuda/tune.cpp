#include <chrono>
#include <map>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "backend/cuda/products/kernels.h"
#include "backend/cuda/products/measure.h"
#include "backend/cuda/products/problem.h"
#include "backend/cuda/products/table.h"
#include "backend/cuda/windows/by_products.h"
#include "backend/tuned_products.h"
#include "base/error.h"
#include "base/file.h"
#include "device/cuda_device.h"

namespace meshwork {
namespace {

using namespace cuda::products;

/// Of the GPU whose stream the arguments have: what a kernel leaves to cuBLASLt.
std::vector<Product> products_of(std::string_view op, const KernelArgs& args) {
  using cuda::windows::Sought, cuda::windows::Task;
  if (op == "einsum" || op == "einsum_bias") return einsum_products(args);
  if (op == "sparse_einsum" || op == "packed_einsum") return sparse_einsum_products(args);
  static const std::map<std::string_view, Sought> kConvolutions{
      {"convolution", Sought::kY},
      {"convolution_backward_data", Sought::kX},
      {"convolution_backward_filter", Sought::kW}};
  const auto sought = kConvolutions.find(op);
  if (sought == kConvolutions.end()) return {};
  const Task task = cuda::windows::task_of(sought->second, args);
  if (cuda::windows::is_for_cudnn(task)) return {};
  if (const auto* const way = cuda::windows::by_products(task)) return {way->product(task)};
  return {};
}

/// A problem that programs have.
struct Wanted {
  Product product;
  std::int64_t in_step = 0;                    ///< how often
  std::optional<Problem> part = std::nullopt;  ///< of a stack of nodes: one of them
};

/// The problems of kernels on a GPU, whose stream says what products it takes.
class WantedProducts {
 public:
  WantedProducts(const Target& target, Stream& stream) : target_(target), stream_(stream) {}

  void add(const KernelUse& kernel) {
    std::vector<KernelArgs> nodes = kernel.nodes;
    for (KernelArgs& args : nodes) {
      args.target = &target_;
      args.stream = &stream_;
    }
    const std::int64_t in_step = kernel.is_in_step ? 1 : 0;
    if (const auto stack = nodes.size() > 1 ? stack_product(nodes) : std::nullopt) {
      const Problem part = add(*sole_product(nodes.front()), 0);
      all_.at(add(*stack, in_step)).part = part;
      return;
    }
    for (const KernelArgs& args : nodes) {
      for (const Product& whole : products_of(kernel.op, args)) {
        for (const Product& product : launched_products(whole)) add(product, in_step);
      }
    }
  }

  const std::map<Problem, Wanted>& all() const { return all_; }

 private:
  Problem add(const Product& product, std::int64_t in_step) {
    const Problem problem = problem_of(by_columns(product));
    Wanted& found = all_[problem];
    found.product = product;
    found.in_step += in_step;
    return problem;
  }

  const Target& target_;
  Stream& stream_;
  std::map<Problem, Wanted> all_;
};

/// Microseconds of the parts of a stack, one after the other.
double in_turn(const Problem& problem, const Wanted& use, const Table& table) {
  return static_cast<double>(problem.stack) * table.products.at(*use.part).microseconds;
}

/// Says of each stack whether that is faster; whether any of it is new.
bool compare_stacks(const std::map<Problem, Wanted>& wanted, Table& table) {
  bool is_new = false;
  for (const auto& [problem, use] : wanted) {
    if (!use.part) continue;
    Tuned& stack = table.products.at(problem);
    const bool before = stack.in_turn;
    stack.in_turn = in_turn(problem, use, table) < stack.microseconds;
    is_new = is_new || stack.in_turn != before;
  }
  return is_new;
}

/// The right to write a file, which one process has at a time.
class Writing {
 public:
  Writing(const std::string& file, const TuningWatch& watch)
      : lock_(File::open_to_append(file + ".lock")) {
    for (bool has_waited = false; !lock_.lock(); has_waited = true) {
      if (!has_waited) watch.waits(file);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

 private:
  File lock_;
};

std::int64_t count(const Table& table) { return static_cast<std::int64_t>(table.products.size()); }

/// Where the table of a GPU may be written.
std::string place_of_table(const cuda::Gpu& gpu) {
  const std::string file = table_file(gpu);
  if (file.empty()) {
    fail(ExitCode::kFile,
         "there is no folder to keep the products in; name one with MESHWORK_CUDA_CACHE");
  }
  create_parent_directory(file, "; name another folder with MESHWORK_CUDA_CACHE");
  return file;
}

/// Each is in the file as soon as it is measured.
void measure_missing(Device& device, const std::map<Problem, Wanted>& wanted,
                     const TuningWatch& watch, const std::string& file, Table& table,
                     Tuning& tuning) {
  for (const auto& [problem, use] : wanted)
    tuning.known += table.products.contains(problem) ? 1 : 0;
  const std::int64_t missing = static_cast<std::int64_t>(wanted.size()) - tuning.known;
  for (const auto& [problem, use] : wanted) {
    if (table.products.contains(problem)) continue;
    const Tuned tuned = fastest_algorithm(device, use.product);
    table.products[problem] = tuned;
    write_table(table, file);
    watch.measured({text_of(problem), tuned.tried, tuned.before, tuned.microseconds,
                    ++tuning.measured, missing});
  }
}

}  // namespace

std::optional<TunedProducts> tuned_products(int gpu) {
  const TableInUse* const used = table_in_use(cuda::Gpu::open(gpu));
  if (used == nullptr) return std::nullopt;
  return TunedProducts{used->file, count(used->table), used->digest};
}

Tuning tune_products(int number, const Target& target, std::span<const KernelUse> kernels,
                     const TuningWatch& watch) {
  const std::unique_ptr<Device> device = make_cuda_device(number, target);
  const cuda::Gpu& gpu = cuda::Gpu::open(number);
  const std::unique_ptr<Stream> stream = device->make_stream();
  WantedProducts sought(device->target(), *stream);
  for (const KernelUse& kernel : kernels) sought.add(kernel);
  const std::map<Problem, Wanted>& wanted = sought.all();
  const std::string file = place_of_table(gpu);
  const Writing writing(file, watch);
  Table table = read_table(gpu, file);
  Tuning tuning;
  measure_missing(*device, wanted, watch, file, table, tuning);
  if (compare_stacks(wanted, table)) write_table(table, file);
  for (const auto& [problem, use] : wanted) {
    const Tuned& tuned = table.products.at(problem);
    const double after =
        tuned.in_turn && use.part ? in_turn(problem, use, table) : tuned.microseconds;
    tuning.step_before += static_cast<double>(use.in_step) * tuned.before;
    tuning.step_after += static_cast<double>(use.in_step) * after;
  }
  tuning.table = {file, count(table), digest(table)};
  return tuning;
}

}  // namespace meshwork
