#include "train/runner.h"

#include "base/check.h"

namespace meshwork {

Runner::Runner(const Session& session, ProgramKind kind, const data::Split& split)
    : session_(session), kind_(kind) {
  for (const auto& [key, program] : session.job().programs) {
    if (key.kind == kind) bound_.emplace(key.batch, bind(key.batch, split));
  }
  reset();
}

Runner::Bound Runner::bind(std::int64_t batch, const data::Split& split) const {
  constexpr std::string_view kTotal = "/total";
  const ProgramKey key{kind_, batch};
  Bound bound;
  bound.executable = &session_.executable(key);
  for (const data::Field& field : split.fields) {
    bound.fields.push_back(bound.executable->input(field.name));
  }
  bound.iteration = bound.executable->input("iteration");
  bound.learning_rate = bound.executable->input("learning_rate");
  for (const NamedValue& output : session_.job().programs.at(key).partitioned.graph.outputs) {
    if (output.name == "loss") bound.loss = bound.executable->output("loss");
    if (!output.name.ends_with(kTotal)) continue;
    const std::string name = output.name.substr(0, output.name.size() - kTotal.size());
    bound.metrics.push_back(
        {name, bound.executable->output(output.name), bound.executable->output(name + "/count")});
  }
  return bound;
}

double Runner::read(const TensorView& scalar) const {
  float value = 0;
  session_.backend().copy_to_host(&value, scalar.data, sizeof value);
  return value;
}

void Runner::step(const data::Batch& batch, std::int64_t iteration, double learning_rate) {
  const auto found = bound_.find(batch.size);
  MW_CHECK(found != bound_.end() && found->second.fields.size() == batch.fields.size(),
           "a batch of {}", batch.size);
  const Bound& bound = found->second;
  const auto fill = [&](const TensorView& input, const void* host) {
    if (input.data != nullptr) {
      session_.backend().copy_to_device(input.data, host, num_bytes(input.type));
    }
  };
  for (std::size_t i = 0; i < bound.fields.size(); ++i) fill(bound.fields[i], batch.fields[i].data);
  const auto rate = static_cast<float>(learning_rate);
  fill(bound.iteration, &iteration);
  fill(bound.learning_rate, &rate);
  bound.executable->run();
  last_ = &bound;

  const auto samples = static_cast<double>(batch.size);
  if (bound.loss.data != nullptr) {
    loss_ = read(bound.loss);
    means_["loss"].total += loss_ * samples;
    means_["loss"].count += samples;
  }
  for (const Metric& metric : bound.metrics) {
    means_[metric.name].total += read(metric.total);
    means_[metric.name].count += read(metric.count);
  }
}

Logs Runner::logs() const {
  Logs logs;
  for (const auto& [name, mean] : means_) {
    logs[name] = mean.count == 0 ? 0 : mean.total / mean.count;
  }
  return logs;
}

void Runner::reset() { means_.clear(); }

TensorView Runner::output(const std::string& name) const {
  MW_CHECK(last_ != nullptr);
  return last_->executable->output(name);
}

data::PartOf Runner::parts() const {
  return [this](std::size_t field, std::int64_t batch) {
    const auto found = bound_.find(batch);
    MW_CHECK(found != bound_.end(), "a batch of {}", batch);
    const TensorView& view = found->second.fields[field];
    return data::LocalPart{view.window, view.type.shape};
  };
}

}  // namespace meshwork
