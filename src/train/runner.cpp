#include "train/runner.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "optim/optimizer.h"
#include "state/json_integer.h"
#include "train/numerics.h"

namespace meshwork {

Runner::Runner(const Session& session, ProgramKind kind, const data::Split& split)
    : session_(session),
      kind_(kind),
      fields_(split.fields),
      uploaded_{session.device().make_event(), session.device().make_event()},
      ring_(session.device(), session.stream(),
            [this](std::int64_t batch, auto results) { add_results(batch, results); }) {
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
  const config::Config& config = session_.job().config;
  std::map<std::string, LoggedValue> logged;
  if (config.compile) {
    for (const LoggedValue& value : logged_values(config)) logged[value.name] = value;
  }
  for (const auto& [key, program] : session_.job().programs) {
    if (key.kind != kind_) continue;
    for (const NamedValue& output : program.partitioned.graph.outputs) {
      if (!output.name.ends_with(kTotal)) continue;
      means_.push_back({logged.at(output.name.substr(0, output.name.size() - kTotal.size()))});
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
    bound.has_loss = bound.has_loss || output.name == "loss";
  }
  if (bound.has_loss) bound.results.push_back(executable.output("loss"));
  for (const Mean& mean : means_) {
    bound.results.push_back(executable.output(mean.logged.name + "/total"));
    bound.results.push_back(executable.output(mean.logged.name + "/count"));
  }
  return bound;
}

const BoundProgram& Runner::bound(const ProgramKey& key) const {
  const auto found = bound_.find(key);
  MW_CHECK(found != bound_.end(), "a batch of {}", key.batch);
  return found->second;
}

const BoundProgram& Runner::bound_for(std::int64_t batch, std::int64_t iteration) const {
  const bool updates = (iteration + 1) % steps_per_update_ == 0;
  return bound({updates ? kind_ : ProgramKind::kAccumulate, batch});
}

void Runner::upload(const BoundProgram& bound, const data::Batch& batch) {
  MW_CHECK(bound.fields.size() == batch.fields.size());
  for (std::size_t i = 0; i < bound.fields.size(); ++i) {
    const TensorView& to = bound.fields[i];
    if (to.data == nullptr) continue;
    session_.stream().copy_to_device(to.data, batch.fields[i].data, num_bytes(to.type));
  }
  session_.stream().record(*uploaded_[next_upload_]);
  next_upload_ = 1 - next_upload_;
}

std::int64_t Runner::fill(data::Loader& loader, std::int64_t iteration) {
  uploaded_[next_upload_]->wait();  // the loader takes back the batch before the last
  const data::Batch& batch = loader.next();
  upload(bound_for(batch.size, iteration), batch);
  return batch.size;
}

std::int64_t Runner::step(data::Loader& loader, std::int64_t iteration, double learning_rate) {
  const std::int64_t batch = fill(loader, iteration);
  run(bound_for(batch, iteration), batch, iteration, learning_rate);
  return batch;
}

void Runner::step(const data::Batch& batch, std::int64_t iteration, double learning_rate) {
  const BoundProgram& bound = bound_for(batch.size, iteration);
  upload(bound, batch);
  run(bound, batch.size, iteration, learning_rate);
}

void Runner::run(const BoundProgram& bound, std::int64_t batch, std::int64_t iteration,
                 double learning_rate) {
  const auto rate = static_cast<float>(learning_rate);
  ring_.begin(batch);
  ring_.upload(bound.iteration, &iteration);
  ring_.upload(bound.learning_rate, &rate);
  if (session_.job().config.debug.check_numerics) {
    run_checked(session_, *bound.executable);
  } else {
    bound.executable->run();
  }
  ring_.end(bound.results);
  last_ = &bound;
}

/// All programs of a kind but those that accumulate gradients give the same results.
void Runner::add_results(std::int64_t batch, std::span<const float> results) {
  const auto samples = static_cast<double>(batch);
  ++steps_;
  if (results.size() % 2 == 1) {
    loss_ = results[0];
    loss_mean_.total += loss_ * samples;
    loss_mean_.count += samples;
    if (!bad_step_ && !std::isfinite(loss_)) bad_step_ = steps_;
    results = results.subspan(1);
  }
  for (std::size_t i = 0; i < means_.size(); ++i) {
    means_[i].total += results[2 * i];
    means_[i].count += results[2 * i + 1];
  }
}

double Runner::loss() {
  ring_.drain();
  return loss_;
}

std::optional<std::int64_t> Runner::bad_step() {
  ring_.drain();
  return bad_step_;
}

Logs Runner::logs() {
  ring_.drain();
  Logs logs;
  const auto add = [&](const Mean& mean) {
    logs[mean.logged.name] = mean.logged.of(mean.total, mean.count);
  };
  if (loss_mean_.count > 0) add(loss_mean_);
  for (const Mean& mean : means_) add(mean);
  return logs;
}

void Runner::reset() {
  ring_.drain();
  steps_ = 0;
  bad_step_.reset();
  loss_mean_ = {{"loss"}};
  for (Mean& mean : means_) mean = {mean.logged};
}

Json Runner::state() {
  ring_.drain();
  Json means = Json::object();
  const auto add = [&](const Mean& mean) {
    means[mean.logged.name] = {number_to_json(mean.total), number_to_json(mean.count)};
  };
  add(loss_mean_);
  for (const Mean& mean : means_) add(mean);
  return {{"steps", steps_}, {"bad_step", bad_step_.value_or(0)}, {"means", means}};
}

void Runner::restore(const Json& state) {
  reset();
  steps_ = integer_of(state.at("steps"));
  const auto bad_step = integer_of(state.at("bad_step"));
  if (bad_step > 0) bad_step_ = bad_step;
  const auto read = [&](Mean& mean) {
    const Json& sums = state.at("means").at(mean.logged.name);
    mean.total = number_of(sums.at(0));
    mean.count = number_of(sums.at(1));
  };
  read(loss_mean_);
  for (Mean& mean : means_) read(mean);
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
          .prefetch = config.fit.prefetch,
          .memory = staging_memory()};
}

data::StagingMemory Runner::staging_memory() const {
  return [&session = session_](std::int64_t bytes) {
    const std::shared_ptr<std::byte> memory = session.device().allocate_staging(bytes);
    // A copy from it may be under way when the loader goes.
    const auto free = [memory, &session](std::byte*) { session.stream().drain(); };
    return std::shared_ptr<std::byte>(memory.get(), free);
  };
}

data::PartOf Runner::parts() const {
  return [this](std::size_t field, std::int64_t batch) {
    const TensorView& view = bound({kind_, batch}).fields[field];
    if (view.data != nullptr) return data::LocalPart{view.region, view.type.shape};
    const Shape global = data::batch_shape(fields_[field], trains(kind_), batch);
    return data::LocalPart{whole_region(global), Shape(global.size(), 0)};
  };
}

}  // namespace meshwork
