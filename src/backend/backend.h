#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace meshwork {

/// A dense row-major tensor in device memory: the device's part of a global tensor.
struct TensorView {
  TensorType type;            ///< local
  Window window;              ///< where the part lies in the global tensor
  std::byte* data = nullptr;  ///< null while memory is being planned
  /// Of an input [m, ..] of which only products are computed: panel p has the p-th part of every
  /// row, one row after the other. Backend::reads_panels.
  std::int64_t panels = 1;

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

/// One node, ready to be bound. Extents may be zero.
struct KernelArgs {
  std::vector<TensorView> inputs;
  TensorView output;
  Attrs attrs;
  std::byte* workspace = nullptr;
};

/// Elementwise nodes of one shape, to be computed in one pass over it, and at most one product of
/// two matrices (einsum) of this shape that no others read: rows of it are computed as the pass
/// comes to them. Memory for scratch is asked for with links whose outputs have no data.
struct ChainArgs {
  struct Link {
    std::string_view op;
    Attrs attrs;
    /// Below inputs.size(): an input of the chain; above: the link of that number minus it.
    std::vector<std::size_t> operands;
    TensorView output;
    bool is_read = false;  ///< by others: it is written to the output
  };
  std::vector<TensorView> inputs;  ///< each once
  std::vector<Link> links;         ///< operands first
  std::byte* workspace = nullptr;
};

/// A bound kernel: pointers, shapes and primitives are fixed; calling it computes the output.
using Launch = std::function<void()>;

/// A kernel of one op, in the list of its backend.
struct KernelDef {
  std::string_view op;
  Launch (*bind)(const KernelArgs& args);
  /// Bytes of scratch that the kernel needs for these shapes; nullptr: none. Asked on the thread
  /// that binds and launches: it may depend on the number of threads that this one computes with.
  std::int64_t (*workspace)(const KernelArgs& args) = nullptr;
};

/// Gives zeroed, line-aligned host memory of this many bytes, or nullptr.
using HostMemory = std::function<std::shared_ptr<std::byte>(std::int64_t bytes)>;

/// A kind of device that computes.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;

  /// Kernel of an op; nullptr if the backend has none.
  virtual const KernelDef* find(std::string_view op) const = 0;

  /// A chain, link by link through memory where the backend knows nothing better. The output of a
  /// link may stand where an input of its type stands that no later link reads.
  virtual Launch bind_chain(const ChainArgs& args) const;
  /// Bytes of scratch for it.
  virtual std::int64_t chain_workspace(const ChainArgs& args) const;

  /// Whether a kernel, one that is no collective, keeps one of several threads busy at most, so
  /// that the others may do something else while it runs. Of a chain: each of its ops.
  virtual bool leaves_threads_idle(std::string_view /*op*/, std::span<const TensorType> /*inputs*/,
                                   const TensorType& /*output*/, double /*flops*/) const {
    return false;
  }

  /// Whether its products (einsum) read a first operand in panels: [m, panels, k], or [k, m], of
  /// which m is in panels. Else inputs are dense, whatever the program says.
  virtual bool reads_panels() const { return false; }

  /// Zeroed device memory, 64-byte aligned; throws Error when there is not enough. Where the device
  /// computes in host memory, what `host` has is taken first.
  virtual std::shared_ptr<std::byte> allocate(std::int64_t bytes, const HostMemory& host = {}) = 0;

  /// Lets `write` fill device memory through memory of the host, which may be the same.
  virtual void fill(std::byte* device, std::int64_t bytes,
                    const std::function<void(std::byte* host)>& write) = 0;
  virtual void copy_to_device(std::byte* device, const void* host, std::int64_t bytes) = 0;
  virtual void copy_to_host(void* host, const std::byte* device, std::int64_t bytes) = 0;
};

/// The kernel of an op; an Error that names `path` if the backend has none.
const KernelDef& find_kernel(const Backend& backend, std::string_view op, const std::string& path);

/// Kernels on oneDNN and vectorized loops, and naive ones where there is nothing better.
/// `threads`: how many threads one device computes with, set for the calling thread; on all of them
/// numbers below float32's normal range count as zero from then on.
std::unique_ptr<Backend> make_cpu_backend(int threads);

/// Naive kernels only: what the others are tested against.
std::unique_ptr<Backend> make_reference_backend();

}  // namespace meshwork
