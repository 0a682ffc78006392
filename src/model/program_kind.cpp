#include "model/program_kind.h"

#include <fmt/format.h>

namespace meshwork {

Mode mode_of(ProgramKind kind) {
  switch (kind) {
    case ProgramKind::kEvaluate:
      return Mode::kEvaluate;
    case ProgramKind::kPredict:
      return Mode::kPredict;
    case ProgramKind::kDecode:
      return Mode::kDecode;
    default:
      return Mode::kTrain;
  }
}

bool trains(ProgramKind kind) {
  return kind == ProgramKind::kTrain || kind == ProgramKind::kAccumulate;
}

bool only_updates(ProgramKind kind) {
  return kind == ProgramKind::kInitialize || kind == ProgramKind::kAverage ||
         kind == ProgramKind::kReduce;
}

std::string describe(ProgramKind kind, std::int64_t batch) {
  switch (kind) {
    case ProgramKind::kTrain:
      return fmt::format("a training step with a batch of {}", batch);
    case ProgramKind::kAccumulate:
      return fmt::format("a step that accumulates gradients with a batch of {}", batch);
    case ProgramKind::kEvaluate:
      return fmt::format("evaluation with a batch of {}", batch);
    case ProgramKind::kPredict:
      return fmt::format("prediction with a batch of {}", batch);
    case ProgramKind::kDecode:
      return fmt::format("generation of {} sequences at a time", batch);
    case ProgramKind::kInitialize:
    case ProgramKind::kAverage:
    case ProgramKind::kReduce:
      break;
  }
  return "holding the variables";
}

std::string smaller_batch(ProgramKind kind) {
  if (trains(kind)) {
    return "lower fit.batch_size (gradient_accumulation_steps of the optimizer makes up for it)";
  }
  if (kind == ProgramKind::kEvaluate) return "lower fit.validation_batch_size";
  if (kind == ProgramKind::kDecode) return "generate fewer sequences at a time (--batch)";
  return only_updates(kind) ? "" : "lower fit.batch_size";
}

}  // namespace meshwork
