// horizontal fusion: passes of one form, such as the updates of all weights, are launched as one
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/index.h"
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
        waits_in_(plan.program.nodes.size(), kNone),
        block_(plan.program.nodes.size()),
        bytes_(plan.program.nodes.size(), 0),
        unread_(plan.program.nodes.size(), 0),
        waiting_(plan.program.nodes.size(), 0),
        is_held_(plan.program.nodes.size(), false),
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
      instruction.started = number_[index(instruction.started)];
    }
  }

 private:
  static constexpr int kNone = -1;

  /// Passes of one form that wait for more of them.
  struct Batch {
    std::string form;
    std::vector<Instruction> passes = {};
    std::vector<Instruction> views = {};  ///< of what they give
    std::set<int> needed = {};            ///< numbers of batches, some of which may have run
  };

  void visit(Instruction& instruction, std::size_t number) {
    if (instruction.kind == Instruction::Kind::kFinish) emit_what_takes_long();
    if (show(instruction)) return;
    const bool is_pass = forms_.is_pass(instruction);
    if (!is_pass) emit(needed_by(instruction));
    if (takes_memory(instruction)) emit_what_holds_much();
    count_read(instruction);
    if (is_pass) return wait(std::move(instruction));
    number_[number] = static_cast<int>(plan_.instructions.size());
    plan_.instructions.push_back(std::move(instruction));
  }

  /// A view of what waits comes behind it, whenever that is. Whether it is one.
  bool show(Instruction& instruction) {
    if (instruction.nodes.size() != 1) return false;
    const ValueId id = instruction.nodes.front();
    if (!is_view(program_, id)) return false;
    const int number = waits_in_[program_.node(id).inputs[0]];
    std::set<int> alone;
    add(number, alone);
    if (alone.empty() || needed_by(instruction) != alone) return false;
    count_read(instruction);
    waits_in_[id] = number;
    open_.at(number).views.push_back(std::move(instruction));
    return true;
  }

  /// It waits with those of its form, unless it needs them.
  void wait(Instruction pass) {
    const std::string form = forms_.form_of(pass);
    const auto has_form = [&](const auto& entry) { return entry.second.form == form; };
    auto open = std::ranges::find_if(open_, has_form);
    std::set<int> needed = needed_by(pass);
    if (open != open_.end() && needed.contains(open->first)) {
      emit({open->first});
      open = open_.end();
    }
    if (open == open_.end()) open = open_.emplace(batches_++, Batch{form}).first;
    open->second.needed.merge(needed);
    set_waiting(pass, open->first);
    open->second.passes.push_back(std::move(pass));
  }

  /// The batches that an instruction needs, and what those need.
  std::set<int> needed_by(const Instruction& instruction) const {
    std::set<int> needed;
    for (const ValueId id : instruction.nodes) {
      for (const ValueId before : before_[id]) add(waits_in_[before], needed);
    }
    return needed;
  }

  void add(int number, std::set<int>& needed) const {
    const auto batch = open_.find(number);
    if (batch == open_.end() || !needed.insert(number).second) return;
    for (const int other : batch->second.needed) add(other, needed);
  }

  /// Each behind what it needs.
  void emit(const std::set<int>& numbers) {
    for (const int number : numbers) {
      auto batch = open_.extract(number);
      if (batch.empty()) continue;
      emit(batch.mapped().needed);
      emit(batch.mapped());
    }
  }

  void emit(Batch& batch) {
    std::ranges::sort(batch.passes, {}, [](const Instruction& pass) { return pass.nodes.front(); });
    Instruction joined{.nodes = {}, .passes = static_cast<int>(batch.passes.size())};
    for (const Instruction& pass : batch.passes) {
      joined.nodes.insert(joined.nodes.end(), pass.nodes.begin(), pass.nodes.end());
      set_waiting(pass, kNone);
    }
    plan_.instructions.push_back(std::move(joined));
    for (Instruction& view : batch.views) {
      waits_in_[view.nodes.front()] = kNone;
      plan_.instructions.push_back(std::move(view));
    }
  }

  void emit_all() {
    while (!open_.empty()) emit({open_.begin()->first});
  }

  /// What would be computed while a collective is under way, if it takes longer than a launch.
  void emit_what_takes_long() {
    std::set<int> long_ones;
    for (const auto& [number, batch] : open_) {
      if (moved_bytes(batch) > target_.launch_bytes) long_ones.insert(number);
    }
    emit(long_ones);
  }

  /// Read and written.
  std::int64_t moved_bytes(const Batch& batch) const {
    std::int64_t bytes = 0;
    for (const Instruction& pass : batch.passes) {
      std::set<ValueId> values = read_by(pass);
      std::ranges::copy_if(pass.nodes, std::inserter(values, values.end()),
                           [&](ValueId id) { return forms_.is_read(pass, id); });
      for (const ValueId id : values) bytes += num_bytes(program_.type(id));
    }
    return bytes;
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
  std::set<ValueId> read_by(const Instruction& instruction) const {
    std::set<ValueId> values;
    for (const ValueId id : instruction.nodes) {
      for (const ValueId input : program_.node(id).inputs) {
        if (!std::ranges::binary_search(instruction.nodes, input)) values.insert(input);
      }
    }
    return values;
  }

  std::set<ValueId> blocks_read_by(const Instruction& instruction) const {
    std::set<ValueId> blocks;
    for (const ValueId id : read_by(instruction)) blocks.insert(block_of(id));
    return blocks;
  }

  void emit_what_holds_much() {
    const auto bytes_of = [&](const auto& entry) { return held_bytes(entry.second); };
    while (held_bytes_ > target_.launch_bytes) {
      emit({std::ranges::max_element(open_, {}, bytes_of)->first});
    }
  }

  /// What is kept for nothing but passes that wait, those of this batch among them.
  std::int64_t held_bytes(const Batch& batch) const {
    std::set<ValueId> read;
    for (const Instruction& pass : batch.passes) read.merge(blocks_read_by(pass));
    std::int64_t bytes = 0;
    for (const ValueId block : read) {
      if (is_held_[block]) bytes += target_.aligned(bytes_[block]);
    }
    return bytes;
  }

  void count_read(const Instruction& instruction) {
    for (const ValueId block : blocks_read_by(instruction)) {
      --unread_[block];
      count_held(block);
    }
  }

  /// A pass waits in the batch of this number; kNone: no longer.
  void set_waiting(const Instruction& pass, int number) {
    for (const ValueId block : blocks_read_by(pass)) {
      waiting_[block] += number == kNone ? -1 : 1;
      count_held(block);
    }
    for (const ValueId id : pass.nodes) {
      waits_in_[id] = number;
      count_held(id);
    }
  }

  /// Counts a block, if it is there, and kept for nothing but passes that wait.
  void count_held(ValueId block) {
    const bool is_held = waiting_[block] > 0 && unread_[block] == 0 && waits_in_[block] == kNone;
    if (is_held == is_held_[block]) return;
    is_held_[block] = is_held;
    held_bytes_ += (is_held ? 1 : -1) * target_.aligned(bytes_[block]);
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
  ValueMap<int> waits_in_;                 ///< the number of a batch, or kNone
  ValueMap<ValueId> block_;
  ValueMap<std::int64_t> bytes_;  ///< of blocks that are freed
  ValueMap<int> unread_;          ///< instructions to come, and names, that read a block
  ValueMap<int> waiting_;         ///< passes that wait and read a block
  ValueMap<bool> is_held_;        ///< blocks that are kept for nothing but these
  std::int64_t held_bytes_ = 0;   ///< of all such blocks
  ValueMap<bool> is_updated_;     ///< the new value of a variable
  std::map<int, Batch> open_;     ///< by number
  int batches_ = 0;
  std::vector<int> number_;  ///< of instructions that do not wait: where they stand now
};

}  // namespace

void join_alike(Plan& plan, const Target& target) { Joining(plan, target).run(); }

}  // namespace meshwork
