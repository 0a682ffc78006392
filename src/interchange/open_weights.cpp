#include "interchange/open_weights.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/quote.h"
#include "config/weights_map.h"
#include "config/weights_sizes.h"
#include "config/yaml.h"
#include "interchange/keras_model.h"
#include "interchange/mapped_weights.h"

namespace meshwork {
namespace {

/// Whether a file is of a program whose names are no paths.
bool has_other_names(const TensorFile& file) {
  const auto& tensors = file.tensors();
  return !tensors.empty() && std::none_of(tensors.begin(), tensors.end(), [](const auto& tensor) {
    return tensor.path.find('/') != std::string::npos;
  });
}

}  // namespace

WeightsFile open_weights(const config::Config& config, const std::string& file,
                         const std::vector<GlobalTensor>& weights, bool may_lack,
                         const MayKeep& may_keep, std::vector<std::string>* notes) {
  const Format& format = format_of(file);
  if (format.naming != Naming::kPaths) {
    WeightsFile of_layers(file, weights, keras_models(config), may_keep);
    if (notes != nullptr && !of_layers.note().empty()) notes->push_back(of_layers.note());
    return of_layers;
  }
  std::unique_ptr<TensorFile> opened = format.open(file);
  if (knows_by_path(*opened, weights)) return {std::move(opened), weights, may_keep};
  if (config.weights_map.is_null()) {
    if (has_other_names(*opened)) {
      fail(ExitCode::kFile,
           "{}: its tensors, such as '{}', have names of another program; say which variables they "
           "are with weights_map: gpt2, llama, mixtral, bert or a map of your own",
           file, excerpt(opened->tensors()[0].path));
    }
    return {std::move(opened), weights, may_keep};
  }
  const config::WeightsMap map = config::read_weights_map(config.weights_map, config.file);
  const config::Value root = config::parse_yaml(config.text, config.file);
  std::vector<std::string> differences = config::check_model_beside(map, root, file);
  if (notes != nullptr) *notes = std::move(differences);
  std::vector<RenamedTensor> renamed = map_weights(map, *opened, weights, may_lack, may_keep);
  std::vector<GlobalTensor> found;
  std::set<std::string> paths;  // a variable in slices is found once
  for (const RenamedTensor& tensor : renamed) {
    if (paths.insert(tensor.variable.path).second) found.push_back(tensor.variable);
  }
  return {std::make_unique<RenamedTensors>(std::move(opened), std::move(renamed)), found};
}

}  // namespace meshwork
