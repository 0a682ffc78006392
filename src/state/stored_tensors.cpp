#include "state/stored_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/join.h"
#include "base/nearest.h"
#include "base/quote.h"
#include "state/problems.h"

namespace meshwork {
namespace {

std::string nearest_names(const std::string& path, const std::vector<std::string>& candidates) {
  std::vector<std::string> names = nearest(path, candidates);
  for (std::string& name : names) name = fmt::format("'{}'", excerpt(name));
  return names.empty() ? "" : fmt::format("; nearest: {}", join(names, ", "));
}

/// Where a file has a tensor.
std::string place_of(const std::string& path, const std::map<std::string, std::string>& places) {
  const auto place = places.find(path);
  return place == places.end() ? path : place->second;
}

/// "'d1/kernel'", "'d1/kernel', in the file 'layers/dense/vars/0',".
std::string show_path(const std::string& path, const std::string& place) {
  return place == path ? fmt::format("'{}'", path)
                       : fmt::format("'{}', in the file '{}',", path, place);
}

/// Why `stored`, or nothing, does not do for `tensor`. `extra`: paths nobody expects.
std::string problem_of(const GlobalTensor& tensor, const std::string& place,
                       const StoredTensor* stored, const std::vector<std::string>& extra) {
  const std::string type = describe(tensor.dtype, tensor.shape);
  if (stored == nullptr) {
    const std::string what =
        place == tensor.path
            ? fmt::format("no tensor '{}', {} in the model", tensor.path, type)
            : fmt::format("no tensor '{}', '{}', {}, in the model", place, tensor.path, type);
    return what + nearest_names(place, extra);
  }
  return fmt::format("{} is {} in the file, {} in the model", show_path(tensor.path, place),
                     describe(*stored), type);
}

/// Those of `paths` that are not in `others`; both sorted.
std::vector<std::string> without(const std::vector<std::string>& paths,
                                 const std::vector<std::string>& others) {
  std::vector<std::string> result;
  std::set_difference(paths.begin(), paths.end(), others.begin(), others.end(),
                      std::back_inserter(result));
  return result;
}

}  // namespace

const StoredTensor* find_stored(const std::vector<StoredTensor>& tensors, std::string_view path) {
  const auto tensor =
      std::lower_bound(tensors.begin(), tensors.end(), path,
                       [](const StoredTensor& t, std::string_view p) { return t.path < p; });
  return tensor == tensors.end() || tensor->path != path ? nullptr : &*tensor;
}

bool is_same_type(const StoredTensor& stored, const GlobalTensor& tensor) {
  return stored.dtype == safetensors_word(tensor.dtype) && stored.shape == tensor.shape;
}

std::set<std::string> kept_variables(const std::vector<StoredTensor>& stored,
                                     const std::vector<GlobalTensor>& expected,
                                     const MayKeep& may_keep,
                                     const std::map<std::string, std::string>& places) {
  std::set<std::string> kept;
  if (!may_keep) return kept;
  for (const GlobalTensor& tensor : expected) {
    const StoredTensor* found = find_stored(stored, place_of(tensor.path, places));
    const bool is_there = found != nullptr && is_same_type(*found, tensor);
    if (!is_there && may_keep(tensor.path)) kept.insert(tensor.path);
  }
  return kept;
}

void check_stored_tensors(const std::string& file, const std::vector<StoredTensor>& stored,
                          const std::vector<GlobalTensor>& expected, bool allow_extra,
                          const std::map<std::string, std::string>& places) {
  std::vector<std::string> paths, wanted;
  for (const StoredTensor& tensor : stored) paths.push_back(tensor.path);
  for (const std::size_t i : in_path_order(expected)) {
    wanted.push_back(place_of(expected[i].path, places));
  }
  std::sort(wanted.begin(), wanted.end());
  const std::vector<std::string> missing = without(wanted, paths);
  const std::vector<std::string> extra = without(paths, wanted);

  Problems problems;
  for (const std::size_t i : in_path_order(expected)) {
    const std::string place = place_of(expected[i].path, places);
    const StoredTensor* found = find_stored(stored, place);
    if (found != nullptr && is_same_type(*found, expected[i])) continue;
    problems.add([&] { return problem_of(expected[i], place, found, extra); });
  }
  for (const std::string& path : allow_extra ? std::vector<std::string>{} : extra) {
    problems.add([&] {
      return fmt::format("'{}', {} in the file, is not in the model{}", excerpt(path),
                         describe(*find_stored(stored, path)), nearest_names(path, missing));
    });
  }
  problems.throw_if_any(file,
                        "give the model that the file is of, or begin what differs anew: fit "
                        "--skip-mismatch 'REGEX'");
}

}  // namespace meshwork
