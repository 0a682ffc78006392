#include "train/runner.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "data/panels.h"
#include "optim/optimizer.h"

namespace meshwork {

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

BoundProgram Runner::bind(const ProgramKey& key, const Executable& executable) const {
  BoundProgram bound;
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

const BoundProgram& Runner::bound(const ProgramKey& key) const {
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

const BoundProgram& Runner::bound_for(std::int64_t batch, std::int64_t iteration) const {
  return bound(key_for(batch, iteration));
}

std::unique_ptr<ReadAhead> Runner::make_ahead() const {
  std::map<ProgramKey, const BoundProgram*> full;
  const std::int64_t batch = bound_.rbegin()->first.batch;
  for (const auto& [key, program] : bound_) {
    if (kind_ == ProgramKind::kTrain && key.batch == batch) full.emplace(key, &program);
  }
  return std::make_unique<ReadAhead>(session_, fields_, full,
                                     [this](const ProgramKey& key, const Executable& executable) {
                                       return bind(key, executable);
                                     });
}

void Runner::read(data::Loader& loader, const BoundProgram& bound) const {
  for (std::size_t i = 0; i < bound.fields.size(); ++i) {
    const TensorView& input = bound.fields[i];
    if (input.data == nullptr) continue;
    session_.backend().fill(input.data, num_bytes(input.type),
                            [&](std::byte* host) { loader.read(i, host); });
  }
}

std::int64_t Runner::fill(data::Loader& loader, std::int64_t iteration) {
  loader.drop_begun();
  const std::int64_t batch = loader.advance();
  read(loader, bound_for(batch, iteration));
  return batch;
}

std::int64_t Runner::step(data::Loader& loader, std::int64_t iteration, double learning_rate) {
  if (!ahead_) ahead_ = make_ahead();
  const std::int64_t batch = ahead_->advance(loader);
  const BoundProgram* elsewhere = ahead_->take_turn(key_for(batch, iteration));
  const BoundProgram& program = elsewhere != nullptr ? *elsewhere : bound_for(batch, iteration);
  read(loader, program);
  const bool is_begun = ahead_->begin_next(loader, key_for(batch, iteration + 1));
  run(program, batch, iteration, learning_rate, is_begun ? &loader : nullptr);
  ahead_->end_turn();
  return batch;
}

void Runner::step(const data::Batch& batch, std::int64_t iteration, double learning_rate) {
  const BoundProgram& bound = bound_for(batch.size, iteration);
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

void Runner::run(const BoundProgram& bound, std::int64_t batch, std::int64_t iteration,
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
