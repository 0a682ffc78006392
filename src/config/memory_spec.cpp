#include <charconv>
#include <limits>

#include "config/sections.h"

namespace meshwork::config {
namespace {

using Mode = RematerializeSpec::Mode;

Mode read_mode(const Value& value) {
  if (value.is_bool()) return value.as_bool("rematerialize") ? Mode::kFull : Mode::kNone;
  return choose<Mode>(value, "rematerialize: mode",
                      {{"full", Mode::kFull},
                       {"activations", Mode::kActivations},
                       {"larger_than", Mode::kLargerThan},
                       {"list_of_layers", Mode::kListOfLayers}});
}

/// Bytes of a unit; 0 for a word that is none.
double bytes_of_unit(std::string_view unit) {
  constexpr double kKibi = 1024;
  if (unit.empty() || unit == "B") return 1;
  if (unit == "KiB") return kKibi;
  if (unit == "MiB") return kKibi * kKibi;
  if (unit == "GiB") return kKibi * kKibi * kKibi;
  if (unit == "TiB") return kKibi * kKibi * kKibi * kKibi;
  return 0;
}

}  // namespace

RematerializeSpec read_rematerialize(const Value* value) {
  RematerializeSpec spec;
  if (value == nullptr) return spec;
  if (!value->is_map()) {
    spec.mode = read_mode(*value);
    if (spec.mode == Mode::kListOfLayers) {
      fail_at(value->at,
              "rematerialize: list_of_layers needs the list; write {{mode: list_of_layers, "
              "layer_names: ['stage_1/.*']}}");
    }
    return spec;
  }
  Reader reader(*value, "rematerialize");
  const Value* mode = reader.find("mode");
  spec.output_size_threshold =
      reader.get("output_size_threshold", spec.output_size_threshold, at_least(0));
  const Value* names = reader.find("layer_names");
  reader.finish();
  spec.mode = mode != nullptr ? read_mode(*mode) : Mode::kFull;
  spec.layer_names = read_path_rules(names, "layer_names");
  if ((spec.mode == Mode::kListOfLayers) != !spec.layer_names.empty()) {
    fail_at(value->at,
            "rematerialize: mode list_of_layers and layer_names go together; give both or neither");
  }
  return spec;
}

std::optional<MemoryLimit> read_memory_limit(const Value* value) {
  if (value == nullptr) return std::nullopt;
  const std::string text = value->as_string("memory_limit");
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  const double bytes = number * bytes_of_unit(unit);
  constexpr double kMost = 9e18;
  if (error != std::errc{} || !(bytes >= 1) || bytes > kMost) {
    fail_at(value->at,
            "memory_limit is '{}'; give the bytes of a device, such as 2 GiB, 512 MiB or 64 KiB",
            text);
  }
  return MemoryLimit{static_cast<std::int64_t>(bytes), value->at};
}

}  // namespace meshwork::config
