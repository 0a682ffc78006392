#include "state/stored_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/join.h"
#include "base/nearest.h"

namespace meshwork {
namespace {

std::string nearest_names(const std::string& path, const std::vector<std::string>& candidates) {
  std::vector<std::string> names = nearest(path, candidates);
  for (std::string& name : names) name = fmt::format("'{}'", name);
  return names.empty() ? "" : fmt::format("; nearest: {}", join(names, ", "));
}

/// Why `stored`, or nothing, does not do for `tensor`; "" if it does. `extra`: paths nobody
/// expects.
std::string problem_of(const GlobalTensor& tensor, const StoredTensor* stored,
                       const std::vector<std::string>& extra) {
  const std::string type = describe(tensor.dtype, tensor.shape);
  if (stored == nullptr) {
    return fmt::format("no tensor '{}', {} in the model{}", tensor.path, type,
                       nearest_names(tensor.path, extra));
  }
  if (is_same_type(*stored, tensor)) return {};
  return fmt::format("'{}' is {} in the file, {} in the model", tensor.path, describe(*stored),
                     type);
}

/// Those of `paths` that are not in `others`; both sorted.
std::vector<std::string> without(const std::vector<std::string>& paths,
                                 const std::vector<std::string>& others) {
  std::vector<std::string> result;
  std::set_difference(paths.begin(), paths.end(), others.begin(), others.end(),
                      std::back_inserter(result));
  return result;
}

/// One line, or a list of the first ten.
[[noreturn]] void fail_with(const std::string& file, const std::vector<std::string>& problems) {
  constexpr std::size_t kMost = 10;
  if (problems.size() == 1) fail(ExitCode::kFile, "{}: {}", file, problems[0]);
  std::string text = fmt::format("{}: {} tensors do not fit:", file, problems.size());
  for (std::size_t i = 0; i < std::min(kMost, problems.size()); ++i) text += "\n  " + problems[i];
  if (problems.size() > kMost) text += fmt::format("\n  and {} more", problems.size() - kMost);
  throw Error(ExitCode::kFile, text);
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

void check_stored_tensors(const std::string& file, const std::vector<StoredTensor>& stored,
                          const std::vector<GlobalTensor>& expected, bool allow_extra) {
  std::vector<std::string> paths, wanted;
  for (const StoredTensor& tensor : stored) paths.push_back(tensor.path);
  for (const std::size_t i : in_path_order(expected)) wanted.push_back(expected[i].path);
  const std::vector<std::string> missing = without(wanted, paths);
  const std::vector<std::string> extra = without(paths, wanted);

  std::vector<std::string> problems;
  for (const std::size_t i : in_path_order(expected)) {
    const std::string problem =
        problem_of(expected[i], find_stored(stored, expected[i].path), extra);
    if (!problem.empty()) problems.push_back(problem);
  }
  for (const std::string& path : allow_extra ? std::vector<std::string>{} : extra) {
    problems.push_back(fmt::format("'{}', {} in the file, is not in the model{}", path,
                                   describe(*find_stored(stored, path)),
                                   nearest_names(path, missing)));
  }
  if (!problems.empty()) fail_with(file, problems);
}

}  // namespace meshwork
