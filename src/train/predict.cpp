#include "train/predict.h"

#include <filesystem>
#include <optional>
#include <system_error>

#include "base/check.h"
#include "base/error.h"
#include "data/npy_writer.h"
#include "sharding/layout.h"
#include "train/progress_bar.h"
#include "train/together.h"

namespace meshwork {
namespace {

data::Split inputs_of(const Job& job, const data::Split& split) {
  std::vector<std::string> names;
  for (const Field& field : job.signature.inputs) names.push_back(field.name);
  return data::select_fields(split, names);
}

void create_parent_directory(const std::string& file) {
  const std::filesystem::path parent = std::filesystem::path(file).parent_path();
  std::error_code code;
  if (!parent.empty()) std::filesystem::create_directories(parent, code);
  if (code) {
    fail(ExitCode::kFile, "{}: cannot create the directory: {}; name another with --output",
         parent.string(), code.message());
  }
}

/// Runs over a split and hands every batch of local predictions to a writer.
class Predictor {
 public:
  Predictor(const Session& session, const data::Split& split)
      : session_(session),
        samples_(split.samples),
        runner_(session, ProgramKind::kPredict, split),
        loader_(split,
                {.batch_size = session.job().config.fit.batch_size,
                 .shuffle = false,
                 .seed = session.job().config.seed,
                 .prefetch = session.job().config.fit.prefetch},
                runner_.parts()) {}

  void run(data::NpyWriter& writer, ProgressBar& bar) {
    std::int64_t first = 0;
    bar.begin(loader_.steps_per_epoch());
    for (std::int64_t step = 1; step <= loader_.steps_per_epoch(); ++step) {
      const data::Batch& batch = loader_.next();
      runner_.step(batch);
      write(writer, first, batch.size);
      first += batch.size;
      bar.update(step, {});
    }
    bar.finish({});
  }

 private:
  void write(data::NpyWriter& writer, std::int64_t first, std::int64_t batch) {
    const Partitioned& program =
        session_.job().programs.at({ProgramKind::kPredict, batch}).partitioned;
    const ValueId id = output_value(program.graph, "prediction");
    const Layout& layout = program.layouts[static_cast<std::size_t>(id)];
    if (!is_first_replica(layout, session_.job().mesh, session_.world().rank())) return;
    const TensorView view = runner_.output("prediction");
    Window window = view.window;
    window.global[0] = samples_;
    window.offset[0] += first;
    host_.resize(static_cast<std::size_t>(num_bytes(view.type)));
    session_.backend().copy_to_host(host_.data(), view.data, num_bytes(view.type));
    writer.write(window, view.type.shape, host_.data());
  }

  const Session& session_;
  std::int64_t samples_;
  Runner runner_;
  data::Loader loader_;
  std::vector<std::byte> host_;
};

}  // namespace

void prepare_predict(Job& job, const data::Split& split) {
  add_programs(job, ProgramKind::kPredict, split.samples);
}

Shape prediction_shape(const Job& job, const data::Split& split) {
  for (const auto& [key, program] : job.programs) {
    if (key.kind != ProgramKind::kPredict) continue;
    const Graph& graph = program.partitioned.graph;
    Shape shape = graph.type(output_value(graph, "prediction")).shape;
    shape[0] = split.samples;
    return shape;
  }
  MW_CHECK(false, "no program predicts");
  return {};
}

void predict(const Job& job, const DeviceContext& context, const data::Split& split,
             const std::string& weights, const std::string& file, int verbose, std::ostream& out) {
  check_same_programs(job, context.world);
  Session session(job, context);
  session.load_weights(weights);
  const Shape shape = prediction_shape(job, split);
  std::optional<data::NpyWriter> writer;
  together(session.world(), [&] {
    if (!session.is_first()) return;
    create_parent_directory(file);
    writer.emplace(data::NpyWriter::create(file, DType::kFloat32, shape));
  });
  together(session.world(), [&] {
    if (!session.is_first()) writer.emplace(data::NpyWriter::join(file, DType::kFloat32, shape));
  });
  ProgressBar bar(out, session.is_first() ? verbose : 0, terminal_of(1));
  Predictor(session, inputs_of(job, split)).run(*writer, bar);
  together(session.world(), [&] { writer->close(); });
  together(session.world(), [&] {
    if (session.is_first()) writer->publish();
  });
}

}  // namespace meshwork
