#include "train/runner.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "data/panels.h"
#include "graph/op_def.h"
#include "graph/views.h"
#include "optim/optimizer.h"

namespace meshwork {
namespace {

/// Whether a collective reads a value.
bool is_sent(const Graph& program, ValueId id) {
  return std::any_of(program.nodes.begin(), program.nodes.end(), [&](const Node& node) {
    return node.op->collective != Collective::kNone && viewed(program, node.inputs[0]) == id;
  });
}

}  // namespace

Runner::Runner(const Session& session, ProgramKind kind, const data::Split& split)
    : session_(session), kind_(kind), fields_(split.fields) {
  if (kind == ProgramKind::kTrain) {
    steps_per_update_ = steps_per_update(session.job().config.compile->optimizer);
  }
  name_metrics();
  for (const auto& [key, program] : session.job().programs) {
    const bool accumulates = kind == ProgramKind::kTrain && key.kind == ProgramKind::kAccumulate;
    if (key.kind == kind || accumulates) {
      bound_.emplace(key, bind(key, session.executable(key)));
    }
  }
}

/// All programs of a kind put out the same metrics.
void Runner::name_metrics() {
  constexpr std::string_view kTotal = "/total";
  for (const auto& [key, program] : session_.job().programs) {
    if (key.kind != kind_) continue;
    for (const NamedValue& output : program.partitioned.graph.outputs) {
      if (!output.name.ends_with(kTotal)) continue;
      means_.push_back({output.name.substr(0, output.name.size() - kTotal.size())});
    }
    return;
  }
}

Runner::Bound Runner::bind(const ProgramKey& key, const Executable& executable) const {
  Bound bound;
  bound.executable = &executable;
  for (const data::Field& field : fields_) {
    bound.fields.push_back(bound.executable->input(field.name));
  }
  bound.iteration = bound.executable->input("iteration");
  bound.learning_rate = bound.executable->input("learning_rate");
  for (const NamedValue& output : session_.job().programs.at(key).partitioned.graph.outputs) {
    if (output.name == "loss") bound.loss = bound.executable->output("loss");
  }
  for (const Mean& mean : means_) {
    bound.metrics.push_back({bound.executable->output(mean.name + "/total"),
                             bound.executable->output(mean.name + "/count")});
  }
  return bound;
}

const Runner::Bound& Runner::bound(const ProgramKey& key) const {
  const auto found = bound_.find(key);
  MW_CHECK(found != bound_.end(), "a batch of {}", key.batch);
  return found->second;
}

double Runner::read(const TensorView& scalar) const {
  float value = 0;
  session_.backend().copy_to_host(&value, scalar.data, sizeof value);
  return value;
}

ProgramKey Runner::key_for(std::int64_t batch, std::int64_t iteration) const {
  const bool updates = (iteration + 1) % steps_per_update_ == 0;
  return {updates ? kind_ : ProgramKind::kAccumulate, batch};
}

const Runner::Bound& Runner::bound_for(std::int64_t batch, std::int64_t iteration) const {
  return bound(key_for(batch, iteration));
}

/// Programs that train over full batches, all of them or none.
void Runner::make_ahead() {
  ahead_.emplace();
  if (kind_ != ProgramKind::kTrain) return;
  std::map<ProgramKey, const Bound*> full;
  const std::int64_t batch = bound_.rbegin()->first.batch;
  for (const auto& [key, bound] : bound_) {
    if (key.batch == batch) full.emplace(key, &bound);
  }
  const std::vector<TensorView>& views = bound({kind_, batch}).fields;
  for (auto& places : ahead_->places) places.resize(views.size(), nullptr);
  for (std::size_t i = 0; i < views.size(); ++i) {
    const bool is_ahead = std::all_of(full.begin(), full.end(), [&](const auto& program) {
      return can_read_ahead(*program.second, i, views[i].data);
    });
    if (!is_ahead) continue;
    ahead_->memory.push_back(session_.backend().allocate(num_bytes(views[i].type)));
    ahead_->places[0][i] = views[i].data;
    ahead_->places[1][i] = ahead_->memory.back().get();
  }
  if (ahead_->memory.empty()) return;
  for (const auto& [key, bound] : full) {
    InputPlaces places;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const ValueId input = input_value(bound->executable->plan().program, fields_[i].name);
      if (ahead_->places[1][i] != nullptr) places[input] = ahead_->places[1][i];
    }
    ahead_->executables.push_back(session_.executable_over(key, std::move(places)));
    ahead_->bound.emplace(key, bind(key, *ahead_->executables.back()));
  }
}

/// Whether a program has time to read a field ahead to its place `data`, which it leaves alone and
/// from which no collective sends it.
bool Runner::can_read_ahead(const Bound& bound, std::size_t field, const std::byte* data) const {
  if (data == nullptr || bound.fields[field].data != data) return false;
  const Plan& plan = bound.executable->plan();
  return plan.keeps_inputs && bound.executable->has_idle_threads() &&
         !is_sent(plan.program, input_value(plan.program, fields_[field].name));
}

/// Other programs over the arena, such as an evaluation, take the place of what has been begun.
std::int64_t Runner::advance(data::Loader& loader) const {
  if (!ahead_ || ahead_->runs != session_.runs()) loader.drop_begun();
  return loader.advance();
}

void Runner::read(data::Loader& loader, const Bound& bound) const {
  for (std::size_t i = 0; i < bound.fields.size(); ++i) {
    const TensorView& input = bound.fields[i];
    if (input.data == nullptr) continue;
    session_.backend().fill(input.data, num_bytes(input.type),
                            [&](std::byte* host) { loader.read(i, host); });
  }
}

std::int64_t Runner::fill(data::Loader& loader, std::int64_t iteration) {
  const std::int64_t batch = advance(loader);
  read(loader, bound_for(batch, iteration));
  return batch;
}

std::int64_t Runner::step(data::Loader& loader, std::int64_t iteration, double learning_rate) {
  if (!ahead_) make_ahead();
  const std::int64_t batch = advance(loader);
  const auto elsewhere = ahead_->bound.find(key_for(batch, iteration));
  const bool is_elsewhere = ahead_->is_elsewhere && elsewhere != ahead_->bound.end();
  const Bound& bound = is_elsewhere ? elsewhere->second : bound_for(batch, iteration);
  read(loader, bound);
  ahead_->is_elsewhere = !is_elsewhere;
  const bool is_begun = ahead_->bound.contains(key_for(batch, iteration + 1)) &&
                        loader.begin_next(ahead_->places[is_elsewhere ? 0 : 1]);
  run(bound, batch, iteration, learning_rate, is_begun ? &loader : nullptr);
  ahead_->runs = session_.runs();
  return batch;
}

void Runner::step(const data::Batch& batch, std::int64_t iteration, double learning_rate) {
  const Bound& bound = bound_for(batch.size, iteration);
  MW_CHECK(bound.fields.size() == batch.fields.size());
  for (std::size_t i = 0; i < bound.fields.size(); ++i) {
    write_field(bound.fields[i], batch.fields[i].data);
  }
  run(bound, batch.size, iteration, learning_rate);
}

void Runner::write(const TensorView& input, const void* host) const {
  if (input.data == nullptr) return;
  session_.backend().copy_to_device(input.data, host, num_bytes(input.type));
}

void Runner::write_field(const TensorView& input, const void* host) const {
  if (input.panels == 1) return write(input, host);
  const std::int64_t bytes = num_bytes(input.type), rows = input.type.shape[0];
  session_.backend().fill(input.data, bytes, [&](std::byte* out) {
    data::copy_to_panels(static_cast<const std::byte*>(host), rows,
                         bytes / std::max<std::int64_t>(1, rows), input.panels, out);
  });
}

void Runner::run(const Bound& bound, std::int64_t batch, std::int64_t iteration,
                 double learning_rate, data::Loader* next) {
  const auto rate = static_cast<float>(learning_rate);
  write(bound.iteration, &iteration);
  write(bound.learning_rate, &rate);
  if (next != nullptr) {
    bound.executable->run([next] { return next->read_some(); });
  } else {
    bound.executable->run();
  }
  last_ = &bound;

  const auto samples = static_cast<double>(batch);
  if (bound.loss.data != nullptr) {
    loss_ = read(bound.loss);
    loss_mean_.total += loss_ * samples;
    loss_mean_.count += samples;
  }
  for (std::size_t i = 0; i < means_.size(); ++i) {
    means_[i].total += read(bound.metrics[i].total);
    means_[i].count += read(bound.metrics[i].count);
  }
}

Logs Runner::logs() const {
  Logs logs;
  const auto add = [&](const Mean& mean) {
    logs[mean.name] = mean.count == 0 ? 0 : mean.total / mean.count;
  };
  if (last_ != nullptr && last_->loss.data != nullptr) add(loss_mean_);
  for (const Mean& mean : means_) add(mean);
  return logs;
}

void Runner::reset() {
  loss_mean_ = {"loss"};
  for (Mean& mean : means_) mean = {mean.name};
}

TensorView Runner::output(const std::string& name) const {
  MW_CHECK(last_ != nullptr);
  return last_->executable->output(name);
}

data::LoaderOptions Runner::in_order() const {
  const config::Config& config = session_.job().config;
  return {.batch_size = batch_size_of(config.fit, kind_),
          .shuffle = false,
          .seed = config.seed,
          .prefetch = config.fit.prefetch};
}

data::PartOf Runner::parts() const {
  return [this](std::size_t field, std::int64_t batch) {
    const TensorView& view = bound({kind_, batch}).fields[field];
    for (const auto& [key, program] : bound_) {
      const TensorView& other = program.fields[field];
      MW_CHECK(key.batch != batch || other.data == nullptr || other.panels == view.panels,
               "field '{}' in {} panels and in {}", fields_[field].name, other.panels, view.panels);
    }
    if (view.data != nullptr) {
      return data::LocalPart{view.window, view.type.shape, view.panels};
    }
    Shape global = fields_[field].shape;
    global.insert(global.begin(), batch);
    return data::LocalPart{whole_window(global), Shape(global.size(), 0)};
  };
}

}  // namespace meshwork
