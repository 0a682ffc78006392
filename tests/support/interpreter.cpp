#include "support/interpreter.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "graph/op_def.h"
#include "graph/views.h"

namespace meshwork {
namespace {

bool is_fed(const Node& node) { return is_leaf(node); }

}  // namespace

Interpreter::Interpreter(const Graph& graph, Backend& backend)
    : graph_(graph), backend_(backend), stream_(backend.device().make_stream()) {
  for (ValueId id = 0; id < static_cast<ValueId>(graph.nodes.size()); ++id) {
    const Node& node = graph.node(id);
    if (const auto offset = view_offset(graph, id)) {
      TensorView view = values_[static_cast<std::size_t>(node.inputs[0])];
      view.data += *offset;
      view.type = node.type;
      view.region = whole_region(node.type.shape);
      values_.push_back(std::move(view));
      continue;
    }
    values_.push_back(allocate(id));
    if (is_fed(node)) continue;
    KernelArgs args{.inputs = {}, .output = values_.back(), .attrs = node.attrs};
    for (const ValueId input : node.inputs) {
      args.inputs.push_back(values_[static_cast<std::size_t>(input)]);
    }
    launches_.push_back(bind(*node.op, std::move(args)));
  }
}

TensorView Interpreter::allocate(ValueId id) {
  const TensorType& type = graph_.type(id);
  memory_.push_back(backend_.device().allocate(std::max<std::int64_t>(num_bytes(type), 1)));
  const Region region = graph_.regions.empty() ? whole_region(type.shape)
                                               : graph_.regions[static_cast<std::size_t>(id)];
  return {type, region, memory_.back().get()};
}

Launch Interpreter::bind(const OpDef& op, KernelArgs args) {
  const KernelDef* kernel = backend_.find(op.name);
  if (kernel == nullptr) fail("no {} kernel for op '{}'", backend_.device().target().name, op.name);
  const std::int64_t workspace = backend_.workspace(*kernel, args);
  if (workspace > 0) {
    memory_.push_back(backend_.device().allocate(workspace));
    args.workspace = memory_.back().get();
  }
  return backend_.bind(*kernel, args, *stream_);
}

void Interpreter::feed(ValueId id, const HostTensor& tensor) {
  MW_CHECK(is_fed(graph_.node(id)) && tensor.type == graph_.type(id), "%{} is not fed with {}", id,
           to_string(tensor.type));
  upload(backend_.device(), *stream_, values_[static_cast<std::size_t>(id)].data,
         tensor.bytes.data(), static_cast<std::int64_t>(tensor.bytes.size()));
}

void Interpreter::feed(std::string_view name, const HostTensor& tensor) {
  feed(named(name), tensor);
}

ValueId Interpreter::named(std::string_view name) const {
  for (ValueId id = 0; id < static_cast<ValueId>(graph_.nodes.size()); ++id) {
    const Node& node = graph_.node(id);
    if (node.op->name == "input" && node.attrs.text("name") == name) return id;
    if (node.op->name == "variable" && node.attrs.text("path") == name) return id;
  }
  MW_CHECK(false, "no input and no variable '{}'", name);
  return kNoValue;
}

void Interpreter::initialize() {
  for (const Variable& variable : graph_.variables) {
    MW_CHECK(variable.init != nullptr, "'{}' has no initial value", variable.path);
    const TensorView& value = values_[static_cast<std::size_t>(variable.value)];
    bind(*variable.init, {.inputs = {}, .output = value, .attrs = variable.init_attrs})();
  }
}

void Interpreter::run() {
  for (const Launch& launch : launches_) launch();
}

void Interpreter::update() {
  std::vector<HostTensor> updated;
  for (const Update& update : graph_.updates) updated.push_back(read(update.value));
  for (std::size_t i = 0; i < updated.size(); ++i) feed(graph_.updates[i].variable, updated[i]);
}

HostTensor Interpreter::read(ValueId id) const {
  HostTensor tensor = host_tensor(graph_.type(id));
  download(backend_.device(), *stream_, tensor.bytes.data(),
           values_[static_cast<std::size_t>(id)].data,
           static_cast<std::int64_t>(tensor.bytes.size()));
  return tensor;
}

HostTensor Interpreter::read(std::string_view name) const {
  for (const NamedValue& output : graph_.outputs) {
    if (output.name == name) return read(output.value);
  }
  return read(named(name));
}

}  // namespace meshwork
