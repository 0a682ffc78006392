#include "train/predict.h"

#include <algorithm>
#include <filesystem>

#include "base/check.h"
#include "base/file.h"
#include "comm/collectively.h"
#include "data/npy_writer.h"
#include "graph/op_def.h"
#include "job/same_job.h"
#include "sharding/layout.h"
#include "train/progress_bar.h"
#include "train/watchdog.h"

namespace meshwork {
namespace {

/// The graph of the programs that predict.
const Graph& prediction_graph(const Job& job) {
  for (const auto& [key, program] : job.programs) {
    if (key.kind == ProgramKind::kPredict) return program.partitioned.graph;
  }
  MW_CHECK(false, "no program predicts");
}

/// The split without fields that no input of the model takes, such as labels.
data::Split inputs_of(const Job& job) {
  const data::Split& split = job.splits.at(ProgramKind::kPredict);
  std::vector<std::string> names;
  for (const Node& node : prediction_graph(job).nodes) {
    if (node.op->leaf != Leaf::kInput) continue;
    const std::string& name = node.attrs.text("name");
    const bool is_field = std::any_of(split.fields.begin(), split.fields.end(),
                                      [&](const data::Field& field) { return field.name == name; });
    if (is_field) names.push_back(name);
  }
  return data::select_fields(split, names);
}

/// Runs over a split and hands every batch of local predictions to the writers, one per file.
class Predictor {
 public:
  Predictor(const Session& session, const data::Split& split,
            const std::vector<PredictionFile>& files)
      : session_(session),
        files_(files),
        samples_(split.samples),
        runner_(session, ProgramKind::kPredict, split),
        loader_(split, runner_.in_order(), runner_.parts()) {}

  void run(std::vector<data::NpyWriter>& writers, ProgressBar& bar) {
    std::int64_t first = 0;
    bar.begin(loader_.steps_per_epoch());
    for (std::int64_t step = 1; step <= loader_.steps_per_epoch(); ++step) {
      const std::int64_t batch = runner_.step(loader_);
      for (std::size_t i = 0; i < files_.size(); ++i) {
        write(files_[i].output, writers[i], first, batch);
      }
      first += batch;
      bar.update(step, [] { return Logs{}; });
    }
    bar.finish({});
  }

 private:
  void write(const std::string& output, data::NpyWriter& writer, std::int64_t first,
             std::int64_t batch) {
    const Partitioned& program =
        session_.job().programs.at({ProgramKind::kPredict, batch}).partitioned;
    const ValueId id = output_value(program.graph, output);
    const Layout& layout = program.layouts[id];
    if (!is_first_replica(layout, session_.job().mesh, session_.hosts().rank())) return;
    const TensorView view = runner_.output(output);
    Region region = view.region;
    region.global[0] = samples_;
    region.offset[0] += first;
    host_.resize(static_cast<std::size_t>(num_bytes(view.type)));
    session_.download(host_.data(), view);
    writer.write(region, view.type.shape, host_.data());
  }

  const Session& session_;
  const std::vector<PredictionFile>& files_;
  std::int64_t samples_;
  Runner runner_;
  data::Loader loader_;
  std::vector<std::byte> host_;
};

}  // namespace

void prepare_predict(Job& job, const data::Split& split) {
  add_programs(job, ProgramKind::kPredict, split);
}

std::vector<PredictionFile> prediction_files(const Job& job, const data::Split& split,
                                             const std::string& file) {
  const Graph& graph = prediction_graph(job);
  const config::ModelSpec& model = job.config.model;
  std::vector<PredictionFile> files;
  for (std::size_t i = 0; i < model.outputs.size(); ++i) {
    PredictionFile entry{prediction_name(model, i), file, {}};
    entry.shape = graph.type(output_value(graph, entry.output)).shape;
    entry.shape[0] = split.samples;
    if (model.outputs.size() > 1) {
      std::filesystem::path path(file);
      path.replace_filename(path.stem().string() + "_" + model.outputs[i].name +
                            path.extension().string());
      entry.file = path.string();
    }
    files.push_back(std::move(entry));
  }
  return files;
}

void predict(const Job& job, const World& world, const GivenWeights& weights,
             const std::vector<PredictionFile>& files, int verbose, std::ostream& out) {
  check_same_job(job, *world.hosts, describe_options(weights));
  Session session = watched_session(job, world);
  const Watchdog watchdog(session);
  load(session, weights);
  std::vector<data::NpyWriter> writers;
  collectively(session.hosts(), [&] {
    if (!session.is_first()) return;
    for (const PredictionFile& entry : files) {
      create_parent_directory(entry.file, "; name another with --output");
      writers.push_back(data::NpyWriter::create(entry.file, DType::kFloat32, entry.shape));
    }
  });
  std::vector<std::string> partial(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (session.is_first()) partial[i] = writers[i].partial();
    broadcast_text(session.hosts(), partial[i], 0);
  }
  collectively(session.hosts(), [&] {
    if (session.is_first()) return;
    for (std::size_t i = 0; i < files.size(); ++i) {
      writers.push_back(data::NpyWriter::join(partial[i], DType::kFloat32, files[i].shape));
    }
  });
  ProgressBar bar(out, session.is_first() ? verbose : 0, terminal_of(1));
  session.with_place_of_failure(
      [&] { Predictor(session, inputs_of(job), files).run(writers, bar); });
  collectively(session.hosts(), [&] {
    for (data::NpyWriter& writer : writers) writer.close();
  });
  collectively(session.hosts(), [&] {
    if (!session.is_first()) return;
    for (data::NpyWriter& writer : writers) writer.publish();
  });
}

}  // namespace meshwork
