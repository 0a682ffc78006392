#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/byte_size.h"
#include "base/join.h"
#include "explain/draw/table.h"
#include "explain/explain_text.h"

namespace meshwork {
namespace {

/// "(None, 28, 28, 1)": the batch is None, as Keras has it.
std::string show_shape(const Shape& shape) {
  std::string text = "(";
  for (std::size_t d = 0; d < shape.size(); ++d) {
    text += (d > 0 ? ", " : "") + (d == 0 ? "None" : std::to_string(shape[d]));
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

/// A line for each that is sharded, then the others.
std::string show_variables(const SummaryRow& row) {
  std::vector<std::string> lines;
  std::vector<std::string> whole;
  for (const SummaryRow::Weight& weight : row.variables) {
    if (weight.replicated) {
      whole.push_back(weight.name);
    } else {
      lines.push_back(weight.name + " " + weight.layout);
    }
  }
  if (lines.empty()) return whole.empty() ? "-" : "replicated";
  if (!whole.empty()) lines.push_back(fmt::format("{} replicated", join(whole, ", ")));
  return join(lines, "\n");
}

std::string show_parameters(const std::string& what, std::int64_t count, std::int64_t bytes) {
  return fmt::format(" {}: {} ({})\n", what, show_count(count), show_bytes(bytes));
}

std::string show_memory(const PlannedMemory& memory, int devices) {
  const MemoryUse& use = memory.use;
  const std::string bytes = show_bytes(use.bytes());
  const auto part = [](const char* what, std::int64_t size) {
    return size == 0 ? "" : fmt::format(", {} {}", what, show_bytes(size));
  };
  return fmt::format(
      " Training takes {}: weights {}, optimizer state {}, step {}{}{}\n"
      " A process keeps {} of the data set in memory besides\n",
      devices == 1 ? bytes : fmt::format("at most {} per device", bytes), show_bytes(use.weights),
      show_bytes(use.optimizer), show_bytes(use.step), part("samples of the data", use.samples),
      part("collectives", use.collectives), show_bytes(memory.data));
}

std::string outputs(const ModelSummary& summary, const Pen& pen) {
  const std::string all =
      fmt::format("Outputs that a layout map may name: {}", join(summary.outputs, ", "));
  std::string text;
  const auto width = static_cast<std::size_t>(std::max(pen.width, 40)) - 1;
  for (const std::string& line : wrap(all, width)) text += " " + line + "\n";
  return text;
}

std::string totals(const ModelSummary& summary, const Mesh& mesh) {
  // Of 4 bytes each: weights are float32, and so is what optimizers keep, or int32.
  const auto line = [](const std::string& what, std::int64_t count) {
    return show_parameters(what, count, 4 * count);
  };
  const std::int64_t weights = summary.weights.parameters;
  std::string text = line("Total params", weights + summary.slots.parameters);
  text += line("Trainable params", weights - summary.non_trainable);
  text += line("Non-trainable params", summary.non_trainable);
  if (summary.slots.parameters > 0) text += line("Optimizer params", summary.slots.parameters);
  const int devices = mesh.num_devices();
  text += fmt::format(" Mesh {}: {} device{}\n", to_string(mesh), devices, devices == 1 ? "" : "s");
  text += fmt::format(" A {} sends {} per device in {} collective{}\n",
                      summary.training ? "training step" : "prediction", show_bytes(summary.sent),
                      summary.transfers, summary.transfers == 1 ? "" : "s");
  if (!summary.again.empty()) {
    text += fmt::format(
        " Computed again in the backward pass: {}; {} not kept, {} operations per device\n",
        join(summary.again, ", "), show_bytes(summary.again_cost.bytes),
        show_count(static_cast<std::int64_t>(summary.again_cost.flops)));
  }
  text += summary.memory
              ? show_memory(*summary.memory, devices)
              : fmt::format(" Per device: {} of weights, {} of optimizer state\n",
                            show_bytes(summary.weights.bytes), show_bytes(summary.slots.bytes));
  return text;
}

}  // namespace

std::string summary_text(const ModelSummary& summary, const config::Config& config,
                         const Mesh& mesh, const Pen& pen) {
  std::vector<Column> columns{
      {"Layer (type)", Align::kLeft}, {"Output Shape", Align::kLeft}, {"Param #", Align::kRight}};
  if (!summary.is_list) columns.push_back({"Connected to", Align::kLeft});
  columns.push_back({"Layout", Align::kLeft});
  columns.push_back({"Weights' layout", Align::kLeft});
  std::vector<std::vector<std::string>> rows;
  for (const SummaryRow& row : summary.rows) {
    std::vector<std::string>& cells = rows.emplace_back();
    cells.push_back(fmt::format("{} ({})", row.name, row.class_name));
    cells.push_back(show_shape(row.shape));
    cells.push_back(show_count(row.parameters));
    if (!summary.is_list) {
      cells.push_back(row.inputs.empty() ? "-" : join(row.inputs, "\n"));
    }
    cells.push_back(row.layout.empty() ? "-" : row.layout);
    cells.push_back(show_variables(row));
  }
  const std::string name = std::filesystem::path(config.file).stem().string();
  return bold(fmt::format("Model: \"{}\"", name), pen) + "\n" + draw_table(columns, rows, pen) +
         outputs(summary, pen) + totals(summary, mesh);
}

}  // namespace meshwork
