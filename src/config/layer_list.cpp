#include "config/layer_list.h"

#include "base/join.h"

namespace meshwork::config {
namespace {

bool is_same(const Location& a, const Location& b) {
  return a.file == b.file && a.line == b.line && a.column == b.column;
}

}  // namespace

std::string to_string(const LayerOutput& output) {
  return output.output.empty() ? output.layer : output.layer + "/" + output.output;
}

std::string to_string(const std::vector<LayerOutput>& outputs) {
  std::vector<std::string> words;
  for (const LayerOutput& output : outputs) words.push_back(to_string(output));
  return join(words, ", ");
}

void LayerList::check(const std::string& local, const Location& at, const Location& name_at) const {
  if (local.empty()) fail_at(name_at, "a name is empty");
  if (local.find('/') != std::string::npos) {
    fail_at(name_at, "name '{}' contains '/', which separates the parts of a variable path", local);
  }
  const auto other = layers_.find(local);
  if (other == layers_.end()) return;
  if (!is_same(at, name_at)) {
    fail_at(name_at, "the name '{}' stands twice, first at {}; rename one", local,
            to_string(other->second.name_at));
  }
  fail_at(at, "the name '{}' is taken by what stands at {}; give one of them another 'name'", local,
          to_string(other->second.at));
}

void LayerList::add(const std::string& local, NamedLayer layer) {
  check(local, layer.at, layer.name_at);
  layers_.emplace(local, std::move(layer));
  order_.push_back(local);
}

const NamedLayer* LayerList::find(const std::string& local) const {
  const auto found = layers_.find(local);
  return found == layers_.end() ? nullptr : &found->second;
}

std::string LayerList::next_use(const std::string& local) {
  return fmt::format("{}_{}", local, ++uses_[local]);
}

}  // namespace meshwork::config
