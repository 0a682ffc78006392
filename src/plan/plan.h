#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "target.h"

namespace meshwork {

/// One step of a program: a kernel, or the start or the finish of a collective, which goes on
/// beside what stands between. Several nodes stand together where a fusion group of elementwise
/// nodes, with a product that they read, is computed in one pass, where the target computes their
/// ops together, and where all-reduces are joined into one: their results stand one after the
/// other, each at a whole line, in the order of the nodes. Passes side by side are of as many nodes
/// each, one pass after the other, and none of them reads what another writes. Of a stack results,
/// and operands that differ, stand at equal distances wherever nothing else decides on their
/// places. Where the operand stands in the same place as its result, nothing has to be copied.
struct Instruction {
  enum class Kind { kKernel, kStart, kFinish };
  Kind kind = Kind::kKernel;
  std::vector<ValueId> nodes;  ///< of kFinish: none, they are those of its start
  int passes = 1;              ///< side by side
  bool is_stack = false;       ///< its passes are products of one form
  int started = -1;            ///< of kFinish: the instruction of its start
  /// Kernels go to the compute stream, collectives to that of communication. A start waits there
  /// for event `ready`, which the compute stream records first, and records event `done`, for which
  /// the compute stream waits at the finish.
  int ready = -1;
  int done = -1;
  std::int64_t workspace = 0;  ///< offset of scratch memory in the arena
  std::int64_t workspace_bytes = 0;

  std::size_t nodes_of_pass() const { return nodes.size() / static_cast<std::size_t>(passes); }
};

/// A value to be copied into a variable after the last instruction.
struct FinalCopy {
  ValueId from = kNoValue;
  ValueId variable = kNoValue;
};

/// The program of one device, in order, with a place in one arena for every value. Variables come
/// first and keep their places in every program over the same variables; nothing else is placed
/// among the first `reserved` bytes, where programs with more variables have theirs.
struct Plan {
  static constexpr std::int64_t kNoPlace = -1;

  Graph program;  ///< local
  std::vector<Instruction> instructions;
  /// Of each value in the arena, in bytes; kNoPlace for what only the nodes of its fusion read.
  ValueMap<std::int64_t> offsets;
  std::vector<FinalCopy> copies;
  int events = 0;                   ///< that its instructions number
  std::int64_t variable_bytes = 0;  ///< weights and optimizer state, with padding
  std::int64_t step_begin = 0;      ///< where what is no variable of any program begins
  std::int64_t arena_bytes = 0;     ///< all of it
  std::int64_t live_bytes = 0;      ///< the most that is in use at once: no arena could be smaller
  std::int64_t collective_bytes = 0;  ///< of device memory beside the arena, for its collectives
  std::int64_t sample_bytes = 0;      ///< the same, for stored samples of the job
};

/// What planning asks of a device, in bytes. As it stands nothing takes any.
struct MemoryQuery {
  using Of = std::function<std::int64_t(const Graph& program, const Instruction& instruction)>;
  Of workspace;              ///< scratch memory of a kernel of a local program
  Of collective;             ///< what the call of a kStart takes beside the arena
  std::int64_t samples = 0;  ///< the device's copies of stored samples, of all programs of the job
};

/// What a device takes, in bytes.
struct MemoryUse {
  std::int64_t weights = 0;
  std::int64_t cache = 0;                     ///< of keys and values, where a program decodes
  std::int64_t optimizer = 0;                 ///< its state, with padding
  std::int64_t step = 0;                      ///< inputs, values, gradients, workspaces
  std::int64_t collectives = 0, samples = 0;  ///< beside the arena
  std::int64_t arena() const { return weights + cache + optimizer + step; }
  std::int64_t bytes() const { return arena() + collectives + samples; }
};
MemoryUse memory_use(const Plan& plan);

/// The program with an edge from each node that reads a variable to the one behind it that computes
/// the new value where the variable stands: what is still read is not overwritten.
Graph with_overwrite_edges(Graph program);

/// The program with every update, and all that only updates need, right behind its last operand:
/// a gradient is freed before the next one comes. What hangs on communication stays in its place.
/// Where launching costs, weights of 16 bits that are kept for the backward pass stand first, side
/// by side, and then all that is small and made of variables alone.
Graph arranged(Graph program, const Target& target);

/// Orders the program into instructions and numbers the events that order the two streams (see
/// Instruction). Nodes that follow each other with the same number in `fusion` are one instruction;
/// empty: each node is one by itself. All stand in program order, but for collectives and what
/// waits for them:
/// - A collective starts as soon as its operand is there, and what control edges name; it finishes
///   before its first reader.
/// - All-reduces of what the target calls small start together, if all can before any of their
///   results is read.
/// - All-reduces for which no collective waits, or those of updates alone (gradients, loss,
///   metrics), fill buckets (Target::bucket) in the order in which their operands are computed. A
///   bucket is one collective.
/// - What depends on a bucket, such as updates, is computed while the next bucket is under way, or
///   when everything else is done.
/// - Gathers of what is computed so, such as updated weights, start at once; where launching costs
///   something, when there are so many that they fill a bucket.
/// - Gathers of weights that lie in parts start as far ahead as the target says (plan/ahead.h).
void schedule(Plan& plan, const Target& target, const ValueMap<int>& fusion = {});

/// Makes a stack of products of one form, of which the target computes a stack at once, where the
/// operands of all are there when the first one runs: for each operand they read one value, or
/// several that can stand side by side, all variables or all copies of such, or the results of one
/// instruction. They run where the first one did.
void stack_products(Plan& plan, const Target& target);

/// Joins passes that the device computes in one launch: those that differ in shapes and numbers
/// alone, and need nothing of each other; so are nodes of an op of which the target computes
/// several at once. A pass waits for others until something reads what it gives, a collective ends
/// during which it would be computed, and takes longer than a launch, or what waits would keep more
/// than Target::launch_bytes from being freed while anything else takes memory; so much more than
/// without it a plan takes at most.
void join_alike(Plan& plan, const Target& target);

/// Asks for the memory of every instruction and of stored samples.
void ask_for_memory(Plan& plan, const MemoryQuery& query);

/// Gives every value a place behind the first `reserved` bytes, aligned for the target; see Plan.
/// Parts that are made one after the other, and then put together (part_offsets()), are computed in
/// their places in the whole.
void lay_out_memory(Plan& plan, const Target& target, std::int64_t reserved);

/// Every instruction with types, places and bytes, and what the arena is made of.
std::string to_string(const Plan& plan);

/// What one device sends in a step, by collective: bytes counted as the bandwidth-optimal
/// algorithms send them (all-reduce 2(n-1)/n, the others (n-1)/n of the whole).
struct Traffic {
  std::string op;
  std::int64_t calls = 0;
  double bytes = 0;
};
std::vector<Traffic> traffic(const Plan& plan);

/// Of it what one collective sends, which may be several that are joined; 0 for what is none.
double sent_bytes(const Graph& program, const Instruction& instruction);

}  // namespace meshwork
