#include "state/safetensors.h"

#include "base/file.h"
#include "state/formats/format.h"

namespace meshwork::formats {
namespace {

class Tensors : public TensorFile {
 public:
  explicit Tensors(const std::string& file) : TensorFile(file), file_(file) {
    set_tensors(file_.tensors());
  }

  void read(const StoredTensor& tensor, const Region& region, const Shape& local,
            std::byte* to) const override {
    file_.read({tensor.path, *dtype_of(tensor), tensor.shape}, region, local, to);
  }

 private:
  SafetensorsFile file_;
};

void write(const std::string& file, const TensorsToWrite& what) {
  const SafetensorsPlan plan =
      plan_safetensors(what.tensors, {{"format", "meshwork"}, {"version", "1"}}, file);
  write_in_one_step(file, [&](const std::string& partial) {
    File out = File::create(partial);
    out.resize(plan.file_bytes);
    out.write_at(plan.head.data(), plan.head.size(), 0);
    std::vector<std::byte> data;
    for (std::size_t i = 0; i < what.tensors.size(); ++i) {
      data.resize(bytes_of(what.tensors[i]));
      what.read(i, data.data());
      out.write_at(data.data(), data.size(), plan.offsets[i]);
    }
    out.close();
  });
}

}  // namespace

const Format kSafetensors{
    .name = "safetensors",
    .suffixes = {".safetensors"},
    .recognizes = [](const std::string& /*file*/,
                     std::string_view head) { return head.size() > 8 && head[8] == '{'; },
    .open = [](const std::string& file) -> std::unique_ptr<TensorFile> {
      return std::make_unique<Tensors>(file);
    },
    .write = write};

}  // namespace meshwork::formats
