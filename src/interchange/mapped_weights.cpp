#include "interchange/mapped_weights.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/join.h"
#include "base/nearest.h"
#include "base/quote.h"
#include "state/problems.h"

namespace meshwork {
namespace {

using config::Rearrangement;
using config::TensorRule;

/// "'wte.weight', float16[50257, 768],".
std::string shown(const StoredTensor& tensor) {
  return fmt::format("'{}', {},", excerpt(tensor.path), describe(tensor));
}

std::string shown(const GlobalTensor& variable) {
  return fmt::format("'{}', {}", variable.path, describe(variable.dtype, variable.shape));
}

bool is_readable(const StoredTensor& tensor) {
  const std::optional<DType> dtype = dtype_of(tensor);
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

/// A stored dimension, and what it must have.
struct Fitted {
  StoredDimension stored;
  std::int64_t extent = 0;
};

/// How the tensors of one rule lie in their file: what each name of the rearrangement stands for.
class Fitting {
 public:
  /// `variables`: one for each part.
  Fitting(const Rearrangement& rearrange, const std::vector<const GlobalTensor*>& variables)
      : rearrange_(rearrange), variables_(variables) {}

  /// A variable whose shape is none of the rearrangement.
  const GlobalTensor* misshapen() const {
    const auto fits = [&](const GlobalTensor* variable) {
      if (variable->shape.size() != rearrange_.variable.size()) return false;
      for (std::size_t d = 0; d < variable->shape.size(); ++d) {
        if (rearrange_.variable[d] == Rearrangement::kOne && variable->shape[d] != 1) return false;
      }
      return true;
    };
    const auto found = std::find_if_not(variables_.begin(), variables_.end(), fits);
    return found == variables_.end() ? nullptr : *found;
  }

  /// Of variable `number`, the stored dimension that is made of `names`.
  Fitted fit(std::size_t number, const std::vector<std::string>& names) const {
    Fitted fitted;
    for (const std::string& name : names) {
      if (name == Rearrangement::kOne) continue;
      if (name != rearrange_.part) {
        const std::size_t d = dimension(name);
        fitted.stored.factors.push_back(
            {.extent = variables_[number]->shape[d], .dimension = static_cast<int>(d)});
      } else if (name != names.front()) {
        fitted.stored.factors.push_back({.extent = std::ssize(variables_),
                                         .dimension = StoredDimension::Factor::kFixed,
                                         .index = static_cast<std::int64_t>(number)});
      }
    }
    if (!names.empty() && names.front() == rearrange_.part) {  // blocks, each as large as its own
      for (std::size_t i = 0; i < variables_.size(); ++i) {
        if (i == number) fitted.stored.begin = fitted.extent;
        fitted.extent += block(i, names);
      }
    } else {
      fitted.extent = 1;
      for (const auto& factor : fitted.stored.factors) fitted.extent *= factor.extent;
    }
    return fitted;
  }

 private:
  std::size_t dimension(const std::string& name) const {
    const auto& names = rearrange_.variable;
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  }
  std::int64_t block(std::size_t number, const std::vector<std::string>& names) const {
    std::int64_t extent = 1;
    for (const std::string& name : names) {
      if (name == rearrange_.part || name == Rearrangement::kOne) continue;
      extent *= variables_[number]->shape[dimension(name)];
    }
    return extent;
  }

  const Rearrangement& rearrange_;
  const std::vector<const GlobalTensor*>& variables_;
};

/// "(heads width)".
std::string shown(const std::vector<std::string>& names) {
  return names.size() == 1 ? names[0] : fmt::format("({})", join(names, " "));
}

/// That of a tensor which stays as it is: "0 1 -> 0 1".
Rearrangement as_it_is(std::size_t rank) {
  Rearrangement same;
  for (std::size_t d = 0; d < rank; ++d) {
    same.variable.push_back(fmt::format("d{}", d));
    same.stored.push_back({same.variable.back()});
  }
  return same;
}

class Mapper {
 public:
  Mapper(const config::WeightsMap& map, const TensorFile& file,
         const std::vector<GlobalTensor>& variables, const MayKeep& may_keep)
      : map_(map), file_(file), may_keep_(may_keep) {
    for (const GlobalTensor& variable : variables) {
      variables_[variable.path] = &variable;
      paths_.push_back(variable.path);
    }
  }

  std::vector<RenamedTensor> run(bool may_lack) {
    for (const StoredTensor& tensor : file_.tensors()) {
      if (const TensorRule* rule = rule_for(tensor)) take(tensor, *rule);
    }
    for (const auto& [path, variable] : variables_) {
      if (is_filled(*variable)) continue;
      if ((may_lack && is_lackable(path)) || keeps(path)) continue;
      problems_.add([&, v = variable] {
        return fmt::format(
            "no tensor goes to {}; the file has none that {} gives it; make the model one that the "
            "file is of, or write a pattern",
            shown(*v), map_.file);
      });
    }
    problems_.throw_if_any(file_.name());
    return std::move(result_);
  }

 private:
  /// What a tensor fills: the path of a variable, or "path at 3".
  static std::string filled(const std::string& path, std::int64_t slice) {
    return slice == RenamedTensor::kWhole ? path : fmt::format("{} at {}", path, slice);
  }

  /// Whether a tensor goes to it, or to some of its slices: then what is missing is a problem.
  bool is_filled(const GlobalTensor& variable) {
    if (givers_.contains(variable.path)) return true;
    const auto found = slices_.find(variable.path);
    if (found == slices_.end()) return false;
    for (std::int64_t i = 0; i < variable.shape[0]; ++i) {
      if (givers_.contains(filled(variable.path, i))) continue;
      problems_.add([&] {
        return fmt::format("no tensor goes to {}, at {}, though '{}' does ({})", shown(variable), i,
                           excerpt(found->second.first), to_string(found->second.second->at));
      });
    }
    return true;
  }

  bool is_lackable(const std::string& path) const {
    return std::any_of(map_.may_lack.begin(), map_.may_lack.end(),
                       [&](const config::PathPattern& pattern) { return pattern.matches(path); });
  }

  bool keeps(const std::string& path) const { return may_keep_ && may_keep_(path); }

  /// nullptr where the tensor is left out, or nothing fits.
  const TensorRule* rule_for(const StoredTensor& tensor) {
    std::vector<const TensorRule*> found;
    for (const auto* rules : {&map_.tensors, &map_.leave_out}) {
      for (const TensorRule& rule : *rules) {
        if (rule.pattern.matches(tensor.path)) found.push_back(&rule);
      }
    }
    if (found.empty()) {
      problems_.add([&] {
        return fmt::format("{} matches no pattern of {}; write one, or add it to leave_out",
                           shown(tensor), map_.file);
      });
    } else if (found.size() > 1) {
      problems_.add([&] {
        return fmt::format("'{}' matches both '{}' ({}) and '{}' ({}); make one narrower",
                           excerpt(tensor.path), found[0]->key, to_string(found[0]->at),
                           found[1]->key, to_string(found[1]->at));
      });
    }
    return found.size() == 1 && !found[0]->to.empty() ? found[0] : nullptr;
  }

  void take(const StoredTensor& tensor, const TensorRule& rule) {
    const std::vector<std::string> paths = config::paths_for(rule, tensor.path);
    std::vector<const GlobalTensor*> variables;
    for (const std::string& path : paths) {
      const auto found = variables_.find(path);
      if (found != variables_.end()) variables.push_back(found->second);
    }
    const auto is_kept = [&](const std::string& path) { return keeps(path); };
    if (variables.empty() && (rule.optional || std::ranges::all_of(paths, is_kept))) return;
    if (variables.size() < paths.size()) return refuse_paths(tensor, rule, paths);
    std::int64_t slice = RenamedTensor::kWhole;
    if (!rule.at_index.empty()) {
      slice = config::index_for(rule, tensor.path);
      const Shape& shape = variables[0]->shape;
      if (slice < 0 || shape.empty() || slice >= shape[0]) {
        return refuse_index(tensor, rule, *variables[0]);
      }
      slices_.try_emplace(paths[0], tensor.path, &rule);
    }
    for (const std::string& path : paths) {
      const auto [giver, is_new] = givers_.emplace(filled(path, slice), tensor.path);
      if (is_new) continue;
      return problems_.add([&, to = giver->first, other = giver->second] {
        return fmt::format("both '{}' and '{}' go to '{}' ({}); add one of them to leave_out",
                           excerpt(other), excerpt(tensor.path), to, to_string(rule.at));
      });
    }
    if (!is_readable(tensor)) {
      return problems_.add([&] {
        return fmt::format(
            "{} goes to '{}' ({}); only float32, float16 and bfloat16 are read: add it to "
            "leave_out",
            shown(tensor), paths[0], to_string(rule.at));
      });
    }
    fit(tensor, rule, variables, slice);
  }

  void refuse_index(const StoredTensor& tensor, const TensorRule& rule,
                    const GlobalTensor& variable) {
    problems_.add([&] {
      return fmt::format("{} goes to {}, at '{}' ({}), which is none of its {}", shown(tensor),
                         shown(variable),
                         excerpt(rule.pattern.substituted(tensor.path, rule.at_index)),
                         to_string(rule.at), variable.shape.empty() ? 0 : variable.shape[0]);
    });
  }

  void refuse_paths(const StoredTensor& tensor, const TensorRule& rule,
                    const std::vector<std::string>& paths) {
    const auto unknown = [&](const std::string& path) { return !variables_.contains(path); };
    const std::string path = *std::find_if(paths.begin(), paths.end(), unknown);
    problems_.add([&] {
      return fmt::format("{} goes to '{}' ({}), which the model has not{}", shown(tensor),
                         excerpt(path), to_string(rule.at), suggestion(path, paths_));
    });
  }

  void fit(const StoredTensor& tensor, const TensorRule& rule,
           const std::vector<const GlobalTensor*>& given, std::int64_t slice) {
    GlobalTensor rest = *given[0];
    std::vector<const GlobalTensor*> variables = given;
    if (slice != RenamedTensor::kWhole) {
      rest.shape.erase(rest.shape.begin());
      variables = {&rest};
    }
    const Rearrangement rearrange = rule.rearrange.value_or(as_it_is(tensor.shape.size()));
    const Fitting fitting(rearrange, variables);
    const GlobalTensor* misshapen = fitting.misshapen();
    if (misshapen != nullptr || rearrange.stored.size() != tensor.shape.size()) {
      return refuse(tensor, rule, misshapen != nullptr ? *misshapen : *variables[0], "");
    }
    for (std::size_t i = 0; i < variables.size(); ++i) {
      RenamedTensor renamed{*given[i], tensor.path, {}, slice};
      for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
        const auto& names = rearrange.stored[d];
        Fitted fitted = fitting.fit(i, names);
        const bool is_cropped = !rule.crop.empty() && names.front() == rule.crop;
        const bool fits =
            is_cropped ? fitted.extent <= tensor.shape[d] : fitted.extent == tensor.shape[d];
        if (!fits) {
          return refuse(tensor, rule, *variables[i],
                        fmt::format(": {} is {} there, {} in the model", shown(names),
                                    tensor.shape[d], fitted.extent));
        }
        renamed.dimensions.push_back(std::move(fitted.stored));
      }
      result_.push_back(std::move(renamed));
    }
  }

  void refuse(const StoredTensor& tensor, const TensorRule& rule, const GlobalTensor& variable,
              const std::string& why) {
    if (keeps(variable.path)) return;
    problems_.add([&] {
      if (rule.rearrange) {
        return fmt::format("{} is rearranged by '{}' ({}), but that gives no {}{}", shown(tensor),
                           rule.rearrange->text, to_string(rule.at), shown(variable), why);
      }
      return fmt::format(
          "{} goes to {} ({}); give the model its size (--sizes-of), or rearrange the tensor, as "
          "in 'out in -> in out'",
          shown(tensor), shown(variable), to_string(rule.at));
    });
  }

  const config::WeightsMap& map_;
  const TensorFile& file_;
  const MayKeep& may_keep_;
  std::map<std::string, const GlobalTensor*> variables_;
  std::vector<std::string> paths_;
  std::map<std::string, std::string> givers_;  ///< of what is filled(), the tensors
  /// Of variables that are filled slice by slice, the first tensor and its rule.
  std::map<std::string, std::pair<std::string, const TensorRule*>> slices_;
  std::vector<RenamedTensor> result_;
  Problems problems_;
};

}  // namespace

std::vector<RenamedTensor> map_weights(const config::WeightsMap& map, const TensorFile& file,
                                       const std::vector<GlobalTensor>& variables, bool may_lack,
                                       const MayKeep& may_keep) {
  return Mapper(map, file, variables, may_keep).run(may_lack);
}

}  // namespace meshwork
