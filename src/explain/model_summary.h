#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "explain/variable_report.h"
#include "job/memory_report.h"

namespace meshwork {

/// One layer as Keras's model.summary() lists it, and where its tensors are.
struct SummaryRow {
  std::string name;
  std::string class_name;  ///< "Dense"; "InputLayer" for an input
  Shape shape;             ///< of the output, the batch included
  std::int64_t parameters = 0;
  std::vector<std::string> inputs;  ///< names of the layers it takes
  std::string layout;               ///< of the output, "" if the program does not keep it
  /// Of each variable its name in the layer, and its layout, "[null, model]".
  struct Weight {
    std::string name;
    std::string layout;
    bool replicated = false;
  };
  std::vector<Weight> variables;
};

struct ModelSummary {
  std::vector<SummaryRow> rows;
  bool training = false;  ///< of a training step, not a prediction
  bool by_nccl = false;   ///< devices exchange by NCCL
  bool is_list = true;    ///< every layer takes the one before it, and that alone
  VariableTotals weights;
  VariableTotals slots;
  std::int64_t non_trainable = 0;    ///< parameters among the weights
  std::vector<std::string> outputs;  ///< what a layout map may name beside variables: "d1/output"
  std::int64_t transfers = 0;        ///< collectives of a step
  double sent = 0;                   ///< bytes that a device sends in a step, on average
  std::vector<std::string> again;    ///< segments that the backward pass computes again,
  SegmentCost again_cost;            ///< and all that they gain and cost, of a device on average
  /// Of training, where there is data.
  std::optional<PlannedMemory> memory;
};

/// The layers in the order of the file.
ModelSummary summarize(const config::Config& config, const GlobalProgram& program,
                       const CompileTrace& trace, const Mesh& mesh);

}  // namespace meshwork
