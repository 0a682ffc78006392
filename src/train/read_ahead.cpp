#include "train/read_ahead.h"

#include <algorithm>
#include <utility>

#include "graph/op_def.h"
#include "graph/views.h"

namespace meshwork {
namespace {

/// Whether a collective reads a value.
bool is_sent(const Graph& program, ValueId id) {
  return std::any_of(program.nodes.begin(), program.nodes.end(), [&](const Node& node) {
    return node.op->collective != Collective::kNone && viewed(program, node.inputs[0]) == id;
  });
}

}  // namespace

ReadAhead::ReadAhead(const Session& session, std::span<const data::Field> fields,
                     const std::map<ProgramKey, const BoundProgram*>& programs, const Bind& bind)
    : session_(session), fields_(fields.begin(), fields.end()) {
  if (programs.empty()) return;
  const std::vector<TensorView>& views = programs.begin()->second->fields;
  for (auto& places : places_) places.resize(views.size(), nullptr);
  for (std::size_t i = 0; i < views.size(); ++i) {
    const bool is_ahead = std::all_of(programs.begin(), programs.end(), [&](const auto& program) {
      return can_read(*program.second, i, views[i].data);
    });
    if (!is_ahead) continue;
    memory_.push_back(session.backend().allocate(num_bytes(views[i].type)));
    places_[0][i] = views[i].data;
    places_[1][i] = memory_.back().get();
  }
  if (memory_.empty()) return;
  for (const auto& [key, program] : programs) {
    InputPlaces places;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const ValueId input = input_value(program->executable->plan().program, fields_[i].name);
      if (places_[1][i] != nullptr) places[input] = places_[1][i];
    }
    executables_.push_back(session.executable_over(key, std::move(places)));
    elsewhere_.emplace(key, bind(key, *executables_.back()));
  }
}

/// Whether a program has time to read a field ahead to its place `data`, which it leaves alone and
/// from which no collective sends it.
bool ReadAhead::can_read(const BoundProgram& program, std::size_t field,
                         const std::byte* data) const {
  if (data == nullptr || program.fields[field].data != data) return false;
  const Plan& plan = program.executable->plan();
  return plan.keeps_inputs && program.executable->has_idle_threads() &&
         !is_sent(plan.program, input_value(plan.program, fields_[field].name));
}

std::int64_t ReadAhead::advance(data::Loader& loader) const {
  if (runs_ != session_.runs()) loader.drop_begun();
  return loader.advance();
}

const BoundProgram* ReadAhead::take_turn(const ProgramKey& key) {
  const auto found = elsewhere_.find(key);
  const bool is_elsewhere = next_elsewhere_ && found != elsewhere_.end();
  next_elsewhere_ = !is_elsewhere;
  return is_elsewhere ? &found->second : nullptr;
}

bool ReadAhead::begin_next(data::Loader& loader, const ProgramKey& key) {
  return elsewhere_.contains(key) && loader.begin_next(places_[next_elsewhere_ ? 1 : 0]);
}

}  // namespace meshwork
