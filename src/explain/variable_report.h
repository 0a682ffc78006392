#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/job.h"

namespace meshwork {

/// One variable as `paths` shows it.
struct VariableRow {
  std::string path;
  TensorType type;   ///< global
  std::string rule;  ///< the pattern that hit it, "" for none
  config::Location rule_at;
  std::string layout;       ///< "[null, model]"
  std::int64_t bytes = 0;   ///< that the device with the largest part holds
  bool replicated = false;  ///< every device holds all of it, and there are several
  bool slot = false;        ///< state of the optimizer
  bool trainable = true;    ///< a weight that the optimizer changes
};

/// Weights, then optimizer state, in the order of the program.
std::vector<VariableRow> variable_rows(const GlobalProgram& program, const Mesh& mesh);

/// The output of a layer, block or input, which a layout map may name.
struct OutputRow {
  std::string path;  ///< "d1/output"
  Shape shape;       ///< the batch included
  std::string rule;  ///< the pattern that hit it, "" for none
  config::Location rule_at;
  std::string layout;      ///< as a layout map would say it: "[data, null]"
  bool has_parts = false;  ///< it names parts of axes, "model.0", which a layout map cannot
};

/// All of them in the order of the program, each path once.
std::vector<OutputRow> output_rows(const CompileTrace& trace, const Mesh& mesh);

struct VariableTotals {
  std::int64_t parameters = 0;        ///< elements of the global tensors
  std::int64_t bytes = 0;             ///< per device
  std::int64_t replicated_bytes = 0;  ///< of these, what every device holds alike
};
VariableTotals totals_of(const std::vector<VariableRow>& rows, bool slots);

/// Elements of the weights that are not trained: frozen, or state such as moving_mean.
std::int64_t non_trainable_parameters(const std::vector<VariableRow>& rows);

/// As make_job(), but checks more, and makes do without data: `missing` then says what was not
/// there, and the signature is what the model states.
Job job_for_checks(const config::Config& config, int devices, std::string& missing);

/// The program from which variables are read, which is added to the job: the full step of training
/// where there is data and a `compile:` section, else the bare model. `trace` as in compile().
const GlobalProgram& program_for_checks(Job& job, CompileTrace* trace = nullptr);

}  // namespace meshwork
