#include "explain/explain_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/join.h"
#include "explain/draw/devices.h"
#include "explain/draw/tensor.h"
#include "explain/words.h"

namespace meshwork {
namespace {

/// Writes the lines of one value.
class Writer {
 public:
  Writer(const Explanation& explanation, const config::Config& config, const Mesh& mesh,
         const Pen& pen)
      : explanation_(explanation), config_(config), mesh_(mesh), pen_(pen) {}

  std::string run() {
    lines(0, show_mesh(mesh_));
    lines(0, "boxes name the devices that hold a part");
    for (const ValueExplanation& value : explanation_.values) {
      const ValueExplanation* same = weight_of(value);
      same != nullptr ? write_same(value, *same) : write(value);
    }
    if (!explanation_.inside.empty()) {
      text_ += "\n" + bold("Between its ops", pen_) + "\n";
      double bytes = 0;
      for (const std::size_t i : explanation_.inside) {
        write_move(explanation_.transfers[i], what(explanation_.transfers[i]));
        bytes += explanation_.transfers[i].bytes;
      }
      write_total(bytes, explanation_.inside.size());
    }
    return finished(text_, pen_);
  }

 private:
  /// Text as a paragraph with `indent` columns before it.
  void lines(std::size_t indent, const std::string& text) {
    const std::size_t width = static_cast<std::size_t>(std::max(pen_.width, 40)) - indent;
    for (const std::string& line : wrap(text, width)) {
      text_ += std::string(indent, ' ') + line + "\n";
    }
  }

  void field(const std::string& name, const std::string& value) {
    constexpr std::size_t kName = 12;
    const auto width = static_cast<std::size_t>(std::max(pen_.width, 40)) - kName - 2;
    std::string head = name;
    for (const std::string& line : wrap(value, width)) {
      text_ += "  " + pad(head, kName) + line + "\n";
      head.clear();
    }
  }

  /// Among several values, the weight whose picture that of a slot or gradient would repeat.
  const ValueExplanation* weight_of(const ValueExplanation& value) const {
    if (value.kind != ValueKind::kSlot && value.kind != ValueKind::kGradient) return nullptr;
    for (const ValueExplanation& other : explanation_.values) {
      const bool own = value.kind == ValueKind::kSlot ? value.like == other.path
                                                      : value.path == other.path + "/gradient";
      if (own && other.layout == value.layout) return &other;
    }
    return nullptr;
  }

  void write_same(const ValueExplanation& value, const ValueExplanation& weight) {
    text_ += fmt::format("\n{}  {}, held as {}\n", bold(value.path, pen_), describe(value.kind),
                         weight.path);
  }

  void write(const ValueExplanation& value) {
    const Shape& shape = value.type.shape;
    text_ += fmt::format("\n{}  {}\n", bold(value.path, pen_),
                         is_input(value) ? "input of the model" : describe(value.kind));
    field("tensor", fmt::format("{} {}, {}", to_string(value.type.dtype), show_shape(shape),
                                show_size(static_cast<double>(num_bytes(value.type)))));
    if (value.local) {
      field("layout", "none: it depends on no data, and every device computes the part it needs");
      return;
    }
    field("layout", to_string(value.layout, mesh_));
    write_reason(value);
    write_local_shapes(value);
    write_picture(value);
    write_moves(value);
  }

  bool is_input(const ValueExplanation& value) const {
    const auto& inputs = config_.model.inputs;
    return std::any_of(inputs.begin(), inputs.end(), [&](const config::InputSpec& input) {
      return value.path == input.name + "/output";
    });
  }

  void write_reason(const ValueExplanation& value) {
    if (value.rule && value.like.empty()) {
      field("rule", (value.optimizer_rule ? "optimizer_layout: " : "") + show_rule(*value.rule));
      return;
    }
    if (value.kind == ValueKind::kSlot && value.like.empty()) {
      field("rule", "none: a number of no weight, which every device has");
    } else if (value.kind == ValueKind::kSlot) {
      field("rule", "none of its own: as its weight " + value.like +
                        (value.rule ? ", by rule " + show_rule(*value.rule) : ""));
    } else if (value.kind == ValueKind::kGradient) {
      field("follows", "kept as " + value.like + ", with which it is used");
    } else if (value.kind != ValueKind::kOutput) {
      const bool is_data_parallel = config_.strategy == config::Strategy::kDataParallel;
      field("rule", is_data_parallel ? "none: strategy data_parallel replicates every weight"
                                     : "no rule: replicated");
    } else if (value.origins.empty()) {
      field("follows", "no rule, and no operand brings an axis: replicated");
    }
    bool first = true;
    for (const auto& group : grouped(value.origins)) {
      field(first ? "follows" : "", show_origins(value, group));
      first = false;
    }
  }

  /// Those that came the same way stand together.
  static std::vector<std::vector<AxisOrigin>> grouped(const std::vector<AxisOrigin>& origins) {
    std::vector<std::vector<AxisOrigin>> groups;
    for (const AxisOrigin& origin : origins) {
      const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
        const AxisOrigin& other = group.front();
        return other.kind == origin.kind && other.root == origin.root &&
               other.through == origin.through;
      });
      if (same == groups.end()) {
        groups.push_back({origin});
      } else {
        same->push_back(origin);
      }
    }
    return groups;
  }

  static std::string listed(const std::vector<std::string>& words) {
    if (words.size() < 2) return words.empty() ? "" : words.front();
    const std::vector<std::string> head(words.begin(), words.end() - 1);
    return fmt::format("{} and {}", join(head, ", "), words.back());
  }

  /// "data splits batch and model splits features: this comes with ..".
  std::string show_origins(const ValueExplanation& value,
                           const std::vector<AxisOrigin>& group) const {
    std::vector<std::string> splits;
    std::vector<std::string> through;
    std::vector<std::string> root;
    for (const AxisOrigin& origin : group) {
      splits.push_back(fmt::format("{} splits {}", axis_names({origin.axis}, mesh_),
                                   dim_name(value.path, value.type.shape.size(), origin.dim)));
      through.push_back(dim_name(origin.through, origin.through_rank, origin.through_dim));
      root.push_back(dim_name(origin.root, origin.root_rank, origin.root_dim));
    }
    const AxisOrigin& first = group.front();
    std::string text = listed(splits) + ": ";
    const bool named = !first.through.empty();
    if (named) text += fmt::format("this comes with {} of {}, ", listed(through), first.through);
    if (named && first.through != first.root) text += "in the end ";
    switch (first.kind) {
      case AxisOrigin::Kind::kBatch:
        return text + fmt::format("from the data '{}', whose batch it splits", first.root);
      case AxisOrigin::Kind::kVariable:
      case AxisOrigin::Kind::kOutput:
        if (first.through != first.root) {
          text += fmt::format("from {} of {}, ", listed(root), first.root);
        }
        return text + (first.rule ? "by rule " + show_rule(*first.rule) : "by no rule");
      case AxisOrigin::Kind::kScattered:
        return text + fmt::format("sums over it in layer '{}' are scattered", first.root);
      case AxisOrigin::Kind::kChosen:
        return text + fmt::format("layer '{}' computes it so for what follows", first.root);
    }
    return text;
  }

  void write_local_shapes(const ValueExplanation& value) {
    Shape largest;
    Shape smallest;
    for (std::size_t d = 0; d < value.type.shape.size(); ++d) {
      const auto blocks = blocks_of(value.type.shape[d], value.layout.dims[d], mesh_);
      const auto [low, high] = std::minmax_element(
          blocks.begin(), blocks.end(),
          [](const Interval& a, const Interval& b) { return a.size() < b.size(); });
      smallest.push_back(low->size());
      largest.push_back(high->size());
    }
    const auto bytes = [&](const Shape& shape) {
      return show_size(static_cast<double>(num_bytes({value.type.dtype, shape})));
    };
    std::string text = fmt::format("{}, {}", show_shape(largest), bytes(largest));
    if (smallest != largest) {
      text += fmt::format("; the smallest {}, {}", show_shape(smallest), bytes(smallest));
    }
    field("per device", text);
    if (!value.layout.partial.empty()) {
      field("partial", fmt::format("each device has a {} over {} that is still to be combined",
                                   value.layout.reduction == Reduction::kMax ? "maximum" : "sum",
                                   axis_names(value.layout.partial, mesh_)));
    }
  }

  void write_picture(const ValueExplanation& value) {
    TensorPicture picture{value.type.shape, value.layout, {}};
    const std::size_t rank = picture.shape.size();
    for (std::size_t d = 0; d < rank; ++d) picture.dims.push_back(dim_name(value.path, rank, d));
    const PictureDims dims = picture_dims(picture.shape, picture.layout, mesh_);
    if (rank > 2) {
      field("picture", fmt::format("{} by {}{}", numbered(picture, dims.rows),
                                   numbered(picture, dims.columns), others(picture, dims)));
    }
    text_ += "\n" + draw_tensor(picture, mesh_, pen_) + "\n";
    const DeviceSet empty = empty_devices(picture.shape, picture.layout, mesh_);
    if (empty.count > 0) {
      field("empty", fmt::format("{} {} nothing, for there are more parts than elements",
                                 (empty.count == 1 ? "device " : "devices ") + to_string(empty),
                                 empty.count == 1 ? "holds" : "hold"));
    }
  }

  /// "height (dimension 1)".
  static std::string numbered(const TensorPicture& picture, int dim) {
    const std::string number = fmt::format("dimension {}", dim);
    const std::string& name = picture.dims[static_cast<std::size_t>(dim)];
    return name == number ? name : fmt::format("{} ({})", name, number);
  }

  static std::string others(const TensorPicture& picture, const PictureDims& dims) {
    std::vector<std::string> names;
    for (const std::size_t d : dims.others) names.push_back(numbered(picture, static_cast<int>(d)));
    if (names.empty()) return "";
    return fmt::format("; one picture for each part of {}", listed(names));
  }

  void write_moves(const ValueExplanation& value) {
    if (value.transfers.empty()) {
      field("sends", fmt::format("nothing in a {}", run_name()));
      return;
    }
    field("sends", fmt::format("in a {}, bytes of one device on average:", run_name()));
    double bytes = 0;
    for (const CausedMove& caused : value.transfers) {
      const Transfer& transfer = explanation_.transfers[caused.transfer];
      write_move(transfer, what(value, transfer, caused.cause));
      write_halos(value, caused, transfer);
      bytes += transfer.bytes;
    }
    write_total(bytes, value.transfers.size());
  }

  std::string run_name() const { return explanation_.training ? "training step" : "prediction"; }

  void write_total(double bytes, std::size_t transfers) {
    if (transfers > 1) text_ += fmt::format("    in all {}\n", show_size(bytes));
  }

  /// What is moved, when it has no other name.
  static std::string what(const Transfer& transfer) {
    if (!transfer.name.empty()) return transfer.name;
    if (transfer.maker.empty()) return fmt::format("a result of {}", transfer.op);
    return fmt::format("a result of {} in {}", transfer.op, transfer.maker);
  }

  std::string what(const ValueExplanation& value, const Transfer& transfer,
                   TransferCause cause) const {
    switch (cause) {
      case TransferCause::kItself:
        return value.path;
      case TransferCause::kGradient:
        return "its gradient";
      case TransferCause::kNewValue:
        return "its new value";
      case TransferCause::kSum:
        return fmt::format("{}, which adds up over its {}", what(transfer),
                           summed(value, transfer));
      case TransferCause::kInside:
        return what(transfer);
    }
    return "";
  }

  /// The dimension of `value` over which an op adds up, as far as its own layout tells.
  std::string summed(const ValueExplanation& value, const Transfer& transfer) const {
    for (const int axis : transfer.from.partial) {
      const int dim = dim_of_axis(value.layout, axis);
      if (is_partial(transfer.to, axis) || dim < 0) continue;
      return dim_name(value.path, value.type.shape.size(), static_cast<std::size_t>(dim));
    }
    return "parts";
  }

  void write_move(const Transfer& transfer, const std::string& what) {
    const std::string layer = transfer.layer.empty() ? "input" : transfer.layer;
    lines(4, fmt::format("{}, {}: {}", phase_name(transfer.phase), layer, what));
    std::vector<std::string> others;
    for (const std::string& reader : transfer.readers) {
      if (reader != transfer.layer && !reader.empty()) others.push_back(reader);
    }
    const bool few = !others.empty() && others.size() <= 3;
    lines(6, fmt::format("{} -> {}{}", show_layout(transfer.from, mesh_),
                         show_layout(transfer.to, mesh_), few ? ", for " + listed(others) : ""));
    for (std::size_t i = 0; i < transfer.steps.size(); ++i) {
      const ReshardStep& step = transfer.steps[i];
      const std::string size = sends(step) ? show_size(transfer.step_bytes[i]) : "nothing sent";
      lines(6, fmt::format("{} over {}: {}", to_string(step.kind), axis_names(step.axes, mesh_),
                           size));
    }
  }

  /// Where it is needed with a halo: how far that reaches into the neighbours.
  void write_halos(const ValueExplanation& value, const CausedMove& caused,
                   const Transfer& transfer) {
    if (caused.cause != TransferCause::kItself) return;
    for (std::size_t d = 0; d < transfer.to.halos.size(); ++d) {
      if (!has_halo(transfer.to, d)) continue;
      const std::string name = dim_name(value.path, value.type.shape.size(), d);
      const HaloPicture picture{name, value.type.shape[d], transfer.to.dims[d],
                                blocks_of(value.type.shape[d], transfer.to.dims[d], mesh_),
                                transfer.to.halos[d]};
      std::int64_t before = 0;
      std::int64_t after = 0;
      for (std::size_t i = 0; i < picture.kept.size(); ++i) {
        if (picture.held[i].size() == 0) continue;
        before = std::max(before, picture.kept[i].begin - picture.held[i].begin);
        after = std::max(after, picture.held[i].end - picture.kept[i].end);
      }
      lines(6,
            fmt::format("halo of {}: up to {} before and {} after each part", name, before, after));
      text_ += draw_halo(picture, mesh_, pen_);
    }
  }

  const Explanation& explanation_;
  const config::Config& config_;
  const Mesh& mesh_;
  const Pen& pen_;
  std::string text_;
};

}  // namespace

std::string explain_text(const Explanation& explanation, const config::Config& config,
                         const Mesh& mesh, const Pen& pen) {
  return Writer(explanation, config, mesh, pen).run();
}

}  // namespace meshwork
