#include "train/runner.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "job/local_devices.h"
#include "machine/topology.h"
#include "optim/optimizer.h"
#include "state/json_integer.h"
#include "train/numerics.h"

namespace meshwork {
namespace {

/// Bytes between two results that are read along.
constexpr std::int64_t kReadAlong = std::int64_t{4} << 10U;

/// A float32 tensor as its single elements.
void add_elements(const TensorView& tensor, std::vector<TensorView>& elements) {
  const std::int64_t count = num_elements(tensor.type.shape);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto offset = static_cast<std::ptrdiff_t>(sizeof(float)) * i;
    elements.push_back({{DType::kFloat32, {}}, {}, tensor.data + offset});
  }
}

}  // namespace

Runner::Runner(const Session& session, ProgramKind kind, const data::Split& split)
    : session_(session),
      kind_(kind),
      fields_(split.fields),
      uploaded_{session.device().make_event(), session.device().make_event()} {
  if (kind == ProgramKind::kTrain) {
    steps_per_update_ = steps_per_update(session.job().config.compile->optimizer);
  }
  name_results();
  for (const auto& [key, program] : session.job().programs) {
    const bool accumulates = kind == ProgramKind::kTrain && key.kind == ProgramKind::kAccumulate;
    if (key.kind == kind || accumulates) {
      bound_.emplace(key, bind(session.executable(key)));
    }
  }
  std::int64_t given = 0, left = 0;
  for (const auto& [key, bound] : bound_) {
    given = std::max(given, bound.given.bytes);
    left = std::max(left, bound.results.bytes);
  }
  ring_.emplace(session.device(), session.stream(), given, left,
                [this](std::int64_t batch, auto results) { add_results(batch, results); });
}

/// All programs of a kind, and those that accumulate gradients, put out the same numbers.
void Runner::name_results() {
  const config::Config& config = session_.job().config;
  std::map<std::string, LoggedValue> logged;
  if (config.compile) {
    for (const LoggedValue& value : logged_values(config)) logged[value.name] = value;
  }
  for (const auto& [key, program] : session_.job().programs) {
    if (key.kind != kind_) continue;
    const Graph& graph = program.partitioned.graph;
    for (const NamedValue& output : graph.outputs) name_result(graph, output, logged);
    return;
  }
}

void Runner::name_result(const Graph& graph, const NamedValue& output,
                         const std::map<std::string, LoggedValue>& logged) {
  const std::string& name = output.name;
  const std::size_t slash = std::min(name.find('/'), name.size());
  const std::string metric = name.substr(0, slash), ending = name.substr(slash);
  if (name == names::kLoss) {
    has_loss_ = true;
  } else if (name == names::kStepTaken) {
    tells_taken_ = true;
  } else if (ending == names::kTotal) {
    means_.push_back({logged.at(metric), {name, metric + names::kCount}});
  } else if (ending == names::kCounts) {
    const auto counts = static_cast<std::size_t>(num_elements(graph.type(output.value).shape));
    means_.push_back({logged.at(metric), {name}, std::vector<double>(counts)});
  } else {
    // Predictions are asked for by output(); a count stands beside its total.
    MW_CHECK(kind_ == ProgramKind::kPredict || ending == names::kCount, "who reads '{}'?", name);
  }
}

BoundProgram Runner::bind(const Executable& executable) const {
  BoundProgram bound;
  bound.executable = &executable;
  std::vector<std::string> inputs{names::kIteration, names::kLearningRate};
  std::vector<TensorView> given, results;
  const Target& target = session_.device().target();
  for (const data::Field& field : fields_) {
    const TensorView input = executable.input(field.name);
    inputs.push_back(field.name);
    bound.fields.push_back(input);
    given.push_back(num_bytes(input.type) <= target.small_copy ? input : TensorView{});
  }
  given.push_back(executable.input(names::kIteration));
  given.push_back(executable.input(names::kLearningRate));
  check_inputs(executable.plan().program, inputs);
  if (has_loss_) results.push_back(executable.output(names::kLoss));
  if (tells_taken_) results.push_back(executable.output(names::kStepTaken));
  for (const Mean& mean : means_) {
    for (const std::string& output : mean.outputs) add_elements(executable.output(output), results);
  }
  bound.given = PackedCopy(given, target.alignment);
  bound.results = PackedCopy(results, kReadAlong);
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
  bool uploads = false;
  for (std::size_t i = 0; i < bound.fields.size(); ++i) {
    const TensorView& to = bound.fields[i];
    if (to.data == nullptr || bound.given.places[i] != PackedCopy::kNowhere) continue;
    session_.stream().copy_to_device(to.data, batch.fields[i].data, num_bytes(to.type));
    uploads = true;
  }
  if (uploads) session_.stream().record(*uploaded_[next_upload_]);
  next_upload_ = 1 - next_upload_;
}

const data::Batch& Runner::fill(data::Loader& loader, std::int64_t iteration) {
  uploaded_[next_upload_]->wait();  // the loader takes back the batch before the last
  const data::Batch& batch = loader.next();
  end_of(HostPart::kData);
  upload(bound_for(batch.size, iteration), batch);
  return batch;
}

std::int64_t Runner::step(data::Loader& loader, std::int64_t iteration, double learning_rate) {
  const data::Batch& batch = fill(loader, iteration);
  run(batch, iteration, learning_rate);
  return batch.size;
}

void Runner::step(const data::Batch& batch, std::int64_t iteration, double learning_rate) {
  upload(bound_for(batch.size, iteration), batch);
  run(batch, iteration, learning_rate);
}

void Runner::give(const BoundProgram& bound, const data::Batch& batch, std::int64_t iteration,
                  float learning_rate) {
  std::byte* const staged = ring_->begin(batch.size);
  const auto put = [&](std::size_t i, const void* from, std::int64_t bytes) {
    const std::int64_t place = bound.given.places[i];
    if (place == PackedCopy::kNowhere) return;
    std::memcpy(staged + place, from, static_cast<std::size_t>(bytes));
  };
  const std::size_t fields = bound.fields.size();
  for (std::size_t i = 0; i < fields; ++i) {
    put(i, batch.fields[i].data, num_bytes(bound.fields[i].type));
  }
  put(fields, &iteration, sizeof iteration);
  put(fields + 1, &learning_rate, sizeof learning_rate);
  ring_->give(bound.given);
}

void Runner::run(const data::Batch& batch, std::int64_t iteration, double learning_rate) {
  const BoundProgram& bound = bound_for(batch.size, iteration);
  give(bound, batch, iteration, static_cast<float>(learning_rate));
  end_of(HostPart::kBatch);
  if (trace_ != nullptr) {
    trace_->run(*bound.executable);
  } else if (session_.job().config.debug.check_numerics) {
    run_checked(session_, *bound.executable);
  } else {
    bound.executable->run();
  }
  end_of(HostPart::kProgram);
  ring_->end(bound.results);
  last_ = &bound;
  if (trace_ != nullptr) trace_->end(loss());
}

void Runner::add_results(std::int64_t batch, std::span<const float> results) {
  const auto samples = static_cast<double>(batch);
  ++steps_;
  if (has_loss_) {
    loss_ = results[0];
    results = results.subspan(1);
    if (tells_taken_) {
      const bool counts = !is_left_out(results[0] != 0);
      results = results.subspan(1);
      if (!counts) return;
    }
    loss_mean_.sums[0] += loss_ * samples;
    loss_mean_.sums[1] += samples;
    if (!bad_step_ && !std::isfinite(loss_)) bad_step_ = steps_;
  }
  for (Mean& mean : means_) {
    for (std::size_t i = 0; i < mean.sums.size(); ++i) mean.sums[i] += results[i];
    results = results.subspan(mean.sums.size());
  }
}

/// Whether the last step is to have no part in the means.
bool Runner::is_left_out(bool taken) {
  if (taken) return false;
  ++left_out_.all;
  if (std::isfinite(loss_)) return false;
  if (left_out_.without_loss++ == 0) left_out_.first = steps_;
  return true;
}

double Runner::loss() {
  ring_->drain();
  return loss_;
}

std::optional<std::int64_t> Runner::bad_step() {
  ring_->drain();
  return bad_step_;
}

StepsLeftOut Runner::left_out() {
  ring_->drain();
  return left_out_;
}

Logs Runner::logs() {
  ring_->drain();
  Logs logs;
  const auto add = [&](const Mean& mean) { logs[mean.logged.name] = mean.logged.of(mean.sums); };
  if (loss_mean_.sums[1] > 0) {
    add(loss_mean_);
  } else if (left_out_.without_loss > 0) {
    logs[names::kLoss] = loss_;
  }
  for (const Mean& mean : means_) add(mean);
  return logs;
}

void Runner::reset() {
  ring_->drain();
  steps_ = 0;
  bad_step_.reset();
  left_out_ = {};
  std::ranges::fill(loss_mean_.sums, 0);
  for (Mean& mean : means_) std::ranges::fill(mean.sums, 0);
}

Json Runner::state() {
  ring_->drain();
  Json means = Json::object();
  const auto add = [&](const Mean& mean) {
    Json& sums = means[mean.logged.name] = Json::array();
    for (const double sum : mean.sums) sums.push_back(number_to_json(sum));
  };
  add(loss_mean_);
  for (const Mean& mean : means_) add(mean);
  return {{"steps", steps_},
          {"bad_step", bad_step_.value_or(0)},
          {"left_out", {left_out_.all, left_out_.without_loss, left_out_.first}},
          {"means", means}};
}

std::vector<std::string> Runner::restore(const Json& state) {
  reset();
  steps_ = integer_of(state.at("steps"));
  const auto bad_step = integer_of(state.at("bad_step"));
  if (bad_step > 0) bad_step_ = bad_step;
  if (const auto all = state.find("left_out"); all != state.end()) {
    left_out_ = {integer_of(all->at(0)), integer_of(all->at(1)), integer_of(all->at(2))};
  }
  if (left_out_.without_loss > 0) loss_ = std::numeric_limits<double>::quiet_NaN();
  const Json& all = state.at("means");
  const auto read = [](Mean& mean, const Json& sums) {
    for (std::size_t i = 0; i < mean.sums.size(); ++i) mean.sums[i] = number_of(sums.at(i));
  };
  read(loss_mean_, all.at(loss_mean_.logged.name));
  std::vector<std::string> missing;
  for (Mean& mean : means_) {
    const auto sums = all.find(mean.logged.name);
    if (sums != all.end() && sums->size() == mean.sums.size()) {
      read(mean, *sums);
    } else {
      missing.push_back(mean.logged.name);
    }
  }
  return missing;
}

TensorView Runner::output(const std::string& name) const {
  MW_CHECK(last_ != nullptr);
  return last_->executable->output(name);
}

int reader_threads(const Job& job) { return threads_per_device(devices_on_node(job.mesh)); }

data::LoaderOptions Runner::in_order() const {
  const config::Config& config = session_.job().config;
  return {.batch_size = batch_size_of(config.fit, kind_),
          .shuffle = false,
          .seed = config.seed,
          .prefetch = config.fit.prefetch,
          .threads = reader_threads(session_.job()),
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
    const ProgramKey key{kind_, batch};
    const TensorView& view = bound(key).fields[field];
    const int readers = devices_with_samples(session_.job(), key, fields_[field].name);
    if (view.data != nullptr) return data::LocalPart{view.region, view.type.shape, readers};
    const Shape global = data::batch_shape(fields_[field], trains(kind_), batch);
    return data::LocalPart{whole_region(global), Shape(global.size(), 0)};
  };
}

}  // namespace meshwork
