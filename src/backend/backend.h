#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "graph/graph.h"

namespace meshwork {

/// A dense row-major tensor in device memory: the device's part of a global tensor.
struct TensorView {
  TensorType type;            ///< local
  Region region;              ///< where the part lies in the global tensor
  std::byte* data = nullptr;  ///< null while memory is being planned

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
  Stream* stream = nullptr;  ///< on which launching enqueues, where the device's are not immediate
  const Target* target = nullptr;  ///< the same, of which kernels there may depend
};

/// Nodes that are computed together. Memory for scratch is asked for with members whose outputs
/// have no data.
struct FusionGroup {
  enum class Kind {
    /// Elementwise nodes of one shape, which is gone through once. Other members may be
    /// - sums of its rows (reduce_sum over the last dimension, which is not empty, kept as 1), and
    ///   elementwise nodes of the shape of these;
    /// - where the target has column_sums, sums of its columns (reduce_sum over all dimensions but
    ///   the last), which no member reads;
    /// - instead of sums, one product of two matrices (einsum) or gradient of a table
    ///   (embedding_gradient), of the shape of the pass, that no others read: rows of it are
    ///   computed as the pass comes to them;
    /// - numbers that members read (constant, of float32), of any shape. One that others read has
    ///   the shape of the pass, which then adds up no rows.
    kPass,
    /// Two or more nodes of ops that the target says it computes together (Target::siblings). They
    /// read the same inputs, but for the last ones of some, and nothing of each other. A result
    /// that may take the place of an operand (in_place) is written when all of this has been read.
    kSiblings,
    /// One of several alike, for bind_passes: of an op of which the target computes several at once
    /// (Target::several_at_once), or a stack (Target::stacked).
    kNode,
  };
  struct Member {
    std::string_view op;
    Attrs attrs;
    /// Below inputs.size(): an input of the fusion; above: the member of that number minus it.
    std::vector<std::size_t> operands;
    TensorView output;
    bool is_read = false;  ///< by others: it is written to the output
  };
  Kind kind = Kind::kPass;
  std::vector<TensorView> inputs;  ///< each once
  std::vector<Member> members;     ///< operands first
  std::byte* workspace = nullptr;
};

/// A broken invariant unless there are members, as many as its kind has, and their operands are
/// inputs or, of a pass, members before them.
void check_kind(const FusionGroup& group);

/// A kernel of one op, in the list of its backend.
struct KernelDef {
  std::string_view op;
  /// Fixes pointers, shapes and primitives; launching it computes the output.
  Launch (*bind)(const KernelArgs& args);
  /// Bytes of scratch that the kernel needs for these shapes; nullptr: none. Asked on the thread
  /// that binds and launches: it may depend on the number of threads that this one computes with.
  std::int64_t (*workspace)(const KernelArgs& args) = nullptr;
};

/// What a device computes: its kernels.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual Device& device() const = 0;

  /// Kernel of an op; nullptr if the backend has none.
  virtual const KernelDef* find(std::string_view op) const = 0;

  /// Binds a kernel to a stream of the device, which outlives the launch.
  virtual Launch bind(const KernelDef& kernel, const KernelArgs& args, Stream& stream) const = 0;

  /// Bytes of scratch for it.
  virtual std::int64_t workspace(const KernelDef& kernel, const KernelArgs& args) const {
    return kernel.workspace == nullptr ? 0 : kernel.workspace(args);
  }

  /// The same of a fusion group. The output of a member may stand where an input of its type stands
  /// that no later member reads.
  virtual Launch bind_fusion(const FusionGroup& args, Stream& stream) const = 0;
  /// Bytes of scratch for it.
  virtual std::int64_t fusion_workspace(const FusionGroup& args) const = 0;

  /// Elementwise passes, or nodes of one op, of which none reads what another writes: in any order,
  /// or at once. Here one follows the other.
  virtual Launch bind_passes(std::span<const FusionGroup> passes, Stream& stream) const;
  /// Where in scratch that of each pass begins, in bytes, and behind them where all of it ends.
  /// Here each has some of its own.
  virtual std::vector<std::int64_t> passes_workspace(std::span<const FusionGroup> passes) const;
};

/// A fusion group as one kernel after the other, through memory: where a backend knows nothing
/// better.
Launch bind_members(const Backend& backend, const FusionGroup& args, Stream& stream);
std::int64_t members_workspace(const Backend& backend, const FusionGroup& args);

/// The kernel of an op; an Error that names `path` if the backend has none.
const KernelDef& find_kernel(const Backend& backend, std::string_view op, std::string_view path);

/// What the compiler may know of a CPU that computes with so many threads. It is the same for every
/// machine, whatever its caches are, so that a program is.
Target cpu_target(int threads);

/// Kernels on oneDNN and vectorized loops, and naive ones where there is nothing better.
/// `threads`: how many threads one device computes with, set for the calling thread; on all of them
/// numbers below float32's normal range count as zero from then on.
std::unique_ptr<Backend> make_cpu_backend(int threads);

/// The same of a GPU of NVIDIA, whether or not there is one. Throws a configuration Error in a
/// program that was built without CUDA.
Target cuda_target();

/// Kernels of our own, which NVRTC compiles, and cuBLASLt's products, on number `gpu` of the GPUs
/// of this machine, as `target` says; without a number they may be asked for, but have no device to
/// run on. Throws a configuration Error, of one line, where what they need is missing.
std::unique_ptr<Backend> make_cuda_backend(std::optional<int> gpu, Target target = cuda_target());

/// Of oneDNN: "2.6.0".
std::string onednn_version();

/// Naive kernels only: what the others are tested against.
std::unique_ptr<Backend> make_reference_backend();

}  // namespace meshwork
