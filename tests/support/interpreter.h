#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "graph/graph.h"
#include "support/host_tensor.h"

namespace meshwork {

/// Runs a program without collectives on a backend, one node after the other, every value in memory
/// of its own: the plainest execution, against which others are compared.
class Interpreter {
 public:
  /// `graph` and `backend` must outlive the interpreter. Throws Error for an op without a kernel.
  Interpreter(const Graph& graph, Backend& backend);

  /// Sets an `input` or `variable` node, by id or by its name or path. They are zero at first.
  void feed(ValueId id, const HostTensor& tensor);
  void feed(std::string_view name, const HostTensor& tensor);
  /// Gives every variable its initial value.
  void initialize();

  /// Computes all values from the inputs and variables.
  void run();
  /// Moves the updated values into their variables, all at once.
  void update();

  HostTensor read(ValueId id) const;
  /// The output, or else the variable, of this name.
  HostTensor read(std::string_view name) const;

 private:
  ValueId named(std::string_view name) const;
  TensorView allocate(ValueId id);
  Launch bind(const OpDef& op, KernelArgs args);

  const Graph& graph_;
  Backend& backend_;
  std::unique_ptr<Stream> stream_;
  std::vector<TensorView> values_;
  std::vector<std::shared_ptr<std::byte>> memory_;
  std::vector<Launch> launches_;
};

}  // namespace meshwork
