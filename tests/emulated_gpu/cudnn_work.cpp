// Plans of the emulated cuDNN: what they are made of, and their texts.
#include "emulated_gpu/cudnn_work.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <sstream>

#include "emulated_gpu/cudnn_convolution.h"
#include "emulated_gpu/cudnn_operations.h"

namespace emulated_gpu::cudnn {
namespace {

/// Other engines make other texts: raised with them.
constexpr std::int64_t kVersion = 2;
/// Between what a hash guards and the engine's notes, which tests may change.
constexpr char kNotes = ';';

class Writer : public Words {
 public:
  std::string text() const { return text_.str(); }

 private:
  void visit(std::int64_t& value) override { text_ << ' ' << value; }

  std::ostringstream text_;
};

class Reader : public Words {
 public:
  explicit Reader(const std::string& text) : words_(text) {}
  bool is_good() const { return !words_.fail(); }

 private:
  void visit(std::int64_t& value) override { words_ >> value; }

  std::istringstream words_;
};

/// The kinds of work, by the numbers that texts have for them.
std::unique_ptr<Work> make(std::size_t kind) {
  if (kind == 0) return std::make_unique<ConvolutionWork>();
  return std::make_unique<OperationsWork>();
}

std::size_t kind_of(const Work& work) {
  return dynamic_cast<const ConvolutionWork*>(&work) != nullptr ? 0 : 1;
}

bool has(const Engine& engine, cudnnBackendNumericalNote_t note) {
  return std::find(engine.notes.begin(), engine.notes.end(), note) != engine.notes.end();
}

}  // namespace

Tensor Tensor::of(const Descriptor& described) {
  Tensor tensor;
  tensor.id = described.one<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
  tensor.alignment = described.one<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  tensor.dims = described.integers(CUDNN_ATTR_TENSOR_DIMENSIONS);
  tensor.strides = described.integers(CUDNN_ATTR_TENSOR_STRIDES);
  tensor.type = described.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  tensor.is_virtual = described.one<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL);
  tensor.is_by_value = described.one<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE);
  return tensor;
}

std::int64_t Tensor::span() const {
  std::int64_t last = 0;
  for (std::size_t d = 0; d < dims.size(); ++d) last += (dims[d] - 1) * strides[d];
  return last + 1;
}

void Words::tensor(Tensor& tensor) {
  number(tensor.id);
  number(tensor.alignment);
  number(tensor.type);
  number(tensor.is_virtual);
  number(tensor.is_by_value);
  numbers(tensor.dims);
  numbers(tensor.strides);
}

std::unique_ptr<Work> Work::of(const Descriptor& graph, const Engine& engine) {
  std::unique_ptr<Work> work = ConvolutionWork::of(graph);
  if (work == nullptr) work = OperationsWork::of(graph);
  if (work != nullptr) work->engine = engine;
  return work;
}

std::string Work::text() const {
  Writer words, notes;
  std::size_t kind = kind_of(*this);
  words.number(kind);
  const std::unique_ptr<Work> shown = copy();
  shown->visit(words);
  words.number(shown->engine.index);
  words.number(shown->engine.workspace);
  notes.numbers(shown->engine.notes);
  std::ostringstream text;
  text << "emulated " << kVersion << ' ' << std::hash<std::string>()(words.text()) << words.text()
       << kNotes << notes.text();
  return text.str();
}

std::unique_ptr<Work> Work::from(const std::string& text) {
  std::istringstream words(text);
  std::string name, body, notes;
  std::int64_t version = 0;
  std::size_t kind = 0, hash = 0;
  words >> name >> version >> hash;
  std::getline(words, body, kNotes);
  std::getline(words, notes);
  if (name != "emulated" || version != kVersion || hash != std::hash<std::string>()(body)) {
    return nullptr;
  }
  Reader reader(body), of_notes(notes);
  reader.number(kind);
  std::unique_ptr<Work> work = make(kind);
  work->visit(reader);
  reader.number(work->engine.index);
  reader.number(work->engine.workspace);
  of_notes.numbers(work->engine.notes);
  return of_notes.is_good() ? std::move(work) : nullptr;
}

void Work::compute() const {
  if (engine.workspace > 0) {
    std::memset(workspace, 0xCD, static_cast<std::size_t>(engine.workspace));
  }
  compute_results();
}

unsigned mantissa_of(const Engine& engine) {
  for (const cudnnBackendNumericalNote_t note : engine.notes) {
    if (note != CUDNN_NUMERICAL_NOTE_TENSOR_CORE && note != CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP &&
        note != CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) {
      return 3;
    }
  }
  return has(engine, CUDNN_NUMERICAL_NOTE_TENSOR_CORE) ? 10 : 23;
}

float noise_of(const Engine& engine) {
  static std::atomic<std::uint32_t> turn{0};
  if (!has(engine, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) return 0.0F;
  return 0.125F * static_cast<float>(turn++ % 8);
}

}  // namespace emulated_gpu::cudnn
