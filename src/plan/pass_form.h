#pragma once

#include <string>
#include <vector>

#include "graph/readers.h"
#include "plan/plan.h"

namespace meshwork {

/// What passes must have in common to be launched as one.
class PassForms {
 public:
  PassForms(const Graph& program, const Target& target);

  /// Whether an instruction is an elementwise pass alone, or a node of an op of which the target
  /// computes several at once (Target::several_at_once).
  bool is_pass(const Instruction& instruction) const;

  /// A pass as a text without shapes and numbers: ops, attributes and dtypes, along which
  /// dimensions operands repeat, and what others read: "0= float32 1+1 float32 2=add float32 read;
  /// ". Of a node that is no pass its op and dtypes: "sum_of_squares float32 float32".
  std::string form_of(const Instruction& pass) const;

  /// Whether anything but other nodes of its instruction reads a value.
  bool is_read(const Instruction& instruction, ValueId id) const;

 private:
  bool is_beside_others(const Instruction& instruction) const;

  const Graph& program_;
  const Target& target_;
  Readers readers_;
};

}  // namespace meshwork
