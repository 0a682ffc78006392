// horizontal fusion: passes of one form, such as the updates of all weights, are launched as one
#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "base/check.h"
#include "graph/op_def.h"
#include "graph/readers.h"
#include "graph/views.h"
#include "plan/pass_form.h"
#include "plan/plan.h"

namespace meshwork {
namespace {

class Joining {
 public:
  Joining(Plan& plan, const Target& target)
      : plan_(plan),
        target_(target),
        program_(plan.program),
        forms_(plan.program, target),
        before_(predecessors(plan.program)),
        waits_(plan.program.nodes.size(), false),
        block_(plan.program.nodes.size()),
        bytes_(plan.program.nodes.size(), 0),
        unread_(plan.program.nodes.size(), 0),
        is_updated_(plan.program.nodes.size(), false) {
    find_blocks();
    for (const Instruction& instruction : plan.instructions) {
      for (const ValueId block : blocks_read_by(instruction)) ++unread_[block];
    }
    for (const NamedValue& output : program_.outputs) ++unread_[block_of(output.value)];
    for (const Update& update : program_.updates) {
      ++unread_[block_of(update.value)];
      is_updated_[viewed(program_, update.value)] = true;
    }
  }

  void run() {
    std::vector<Instruction> old = std::exchange(plan_.instructions, {});
    number_.assign(old.size(), -1);
    for (std::size_t i = 0; i < old.size(); ++i) visit(old[i], i);
    emit_all();
    for (Instruction& instruction : plan_.instructions) {
      if (instruction.kind != Instruction::Kind::kFinish) continue;
      instruction.started = number_[static_cast<std::size_t>(instruction.started)];
    }
  }

 private:
  /// Passes of one form that wait for more of them.
  struct Batch {
    std::string form;
    std::vector<Instruction> passes;
  };

  void visit(Instruction& instruction, std::size_t number) {
    const bool is_finish = instruction.kind == Instruction::Kind::kFinish;
    is_finish ? emit_all() : emit_needed_by(instruction);
    if (takes_memory(instruction)) emit_what_holds_much();
    for (const ValueId block : blocks_read_by(instruction)) --unread_[block];
    if (forms_.is_pass(instruction)) return wait(std::move(instruction));
    number_[number] = static_cast<int>(plan_.instructions.size());
    plan_.instructions.push_back(std::move(instruction));
  }

  void wait(Instruction pass) {
    for (const ValueId id : pass.nodes) waits_[id] = true;
    std::string form = forms_.form_of(pass);
    const auto open = std::ranges::find(open_, form, &Batch::form);
    if (open != open_.end()) return open->passes.push_back(std::move(pass));
    open_.push_back({std::move(form), {std::move(pass)}});
  }

  void emit(Batch& batch) {
    std::ranges::sort(batch.passes, {}, [](const Instruction& pass) { return pass.nodes.front(); });
    Instruction joined{.nodes = {}, .passes = static_cast<int>(batch.passes.size())};
    for (const Instruction& pass : batch.passes) {
      joined.nodes.insert(joined.nodes.end(), pass.nodes.begin(), pass.nodes.end());
    }
    for (const ValueId id : joined.nodes) waits_[id] = false;
    plan_.instructions.push_back(std::move(joined));
  }

  void emit_all() {
    for (Batch& batch : open_) emit(batch);
    open_.clear();
  }

  /// What waits needs nothing of what else waits.
  void emit_needed_by(const Instruction& instruction) {
    std::set<ValueId> needed;
    for (const ValueId id : instruction.nodes) {
      for (const ValueId before : before_[id]) {
        if (waits_[before]) needed.insert(before);
      }
    }
    if (needed.empty()) return;
    std::erase_if(open_, [&](Batch& batch) {
      const bool is_needed = std::ranges::any_of(batch.passes, [&](const Instruction& pass) {
        return std::ranges::any_of(pass.nodes, [&](ValueId id) { return needed.contains(id); });
      });
      if (is_needed) emit(batch);
      return is_needed;
    });
  }

  /// Values that share one piece of memory: views with what they show, and the results of
  /// all-reduces that are one. It is called by one of them.
  void find_blocks() {
    for (const ValueId id : program_.ids()) {
      block_[id] = viewed(program_, id);
      const Leaf leaf = program_.node(id).op->leaf;
      const bool stays = leaf == Leaf::kVariable || leaf == Leaf::kSamples;
      if (block_[id] == id && !stays) bytes_[id] = num_bytes(program_.type(id));
    }
    for (const Instruction& instruction : plan_.instructions) {
      if (instruction.kind != Instruction::Kind::kStart) continue;
      const ValueId first = instruction.nodes.front();
      for (const ValueId id : instruction.nodes) {
        if (id == first) continue;
        block_[id] = first;
        bytes_[first] += std::exchange(bytes_[id], 0);
      }
    }
  }

  ValueId block_of(ValueId id) const { return block_[viewed(program_, id)]; }

  /// But for what the instruction gives itself.
  std::set<ValueId> blocks_read_by(const Instruction& instruction) const {
    std::set<ValueId> blocks;
    for (const ValueId id : instruction.nodes) {
      for (const ValueId input : program_.node(id).inputs) {
        const bool is_own = std::ranges::binary_search(instruction.nodes, input);
        if (!is_own) blocks.insert(block_of(input));
      }
    }
    return blocks;
  }

  void emit_what_holds_much() {
    while (held_bytes(open_) > target_.launch_bytes) {
      const auto most = std::ranges::max_element(open_, {}, [&](const Batch& batch) {
        return held_bytes({&batch, 1});
      });
      emit(*most);
      open_.erase(most);
    }
  }

  /// What is kept for nothing but passes that wait.
  std::int64_t held_bytes(std::span<const Batch> batches) const {
    std::set<ValueId> held;
    for (const Batch& batch : batches) {
      for (const Instruction& pass : batch.passes) held.merge(blocks_read_by(pass));
    }
    std::int64_t bytes = 0;
    for (const ValueId block : held) {
      if (unread_[block] == 0) bytes += target_.aligned(bytes_[block]);
    }
    return bytes;
  }

  /// Whether something that it gives is read, and is no new value of a variable, which stands where
  /// the old one does.
  bool takes_memory(const Instruction& instruction) const {
    return std::ranges::any_of(instruction.nodes, [&](ValueId id) {
      return !is_view(program_, id) && !is_updated_[id] && forms_.is_read(instruction, id);
    });
  }

  Plan& plan_;
  const Target& target_;
  const Graph& program_;
  PassForms forms_;
  ValueMap<std::vector<ValueId>> before_;  ///< nodes that must run before each
  ValueMap<bool> waits_;
  ValueMap<ValueId> block_;
  ValueMap<std::int64_t> bytes_;  ///< of blocks that are freed
  ValueMap<int> unread_;          ///< instructions to come, and names, that read a block
  ValueMap<bool> is_updated_;     ///< the new value of a variable
  std::vector<Batch> open_;
  std::vector<int> number_;  ///< of instructions that do not wait: where they stand now
};

}  // namespace

void join_alike(Plan& plan, const Target& target) { Joining(plan, target).run(); }

}  // namespace meshwork
