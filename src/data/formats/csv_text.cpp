#include "data/formats/csv_text.h"

#include <utility>
#include <vector>

#include "base/error.h"
#include "data/formats/csv_reader.h"

namespace meshwork::data {
namespace {

class CsvTextSource : public Source {
 public:
  CsvTextSource(CsvTexts texts, TextSamples samples)
      : Source(samples.info(texts.file->path(), texts.records)),
        texts_(std::move(texts)),
        samples_(std::move(samples)) {}

  bool is_resident() const override { return true; }

 private:
  void fetch(std::int64_t /*begin*/, std::int64_t /*count*/, std::byte* out) const override {
    const auto bytes = texts_.file->all();
    CsvReader reader(texts_.file->path(),
                     {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, texts_.delimiter);
    const auto place = [&] { return fmt::format("{}: {}", reader.place(), texts_.column_name); };
    std::vector<std::string_view> cells;
    if (texts_.header) reader.next(cells);
    WordCache cache;
    while (reader.next(cells)) out = samples_.write(cells[texts_.column], place, cache, out);
  }

  CsvTexts texts_;
  TextSamples samples_;
};

}  // namespace

std::optional<TextKeys> read_text_column(config::Reader& options) {
  const config::Value* file = options.find("tokenizer");
  if (file == nullptr) return std::nullopt;
  for (const char* key : {"classes", "one_hot"}) {
    const config::Value* other = options.find(key);
    if (other == nullptr) continue;
    config::fail_at(other->at, "a column of texts has a tokenizer; leave `{}` out", key);
  }
  const config::Value* columns = options.find("columns");
  if (columns == nullptr || columns->is_list()) {
    config::fail_at(file->at, "a tokenizer cuts the texts of one column; name it: columns: review");
  }
  return read_text_keys(options);
}

std::unique_ptr<Source> open_csv_texts(CsvTexts texts, const TextKeys& keys,
                                       const OpenContext& context) {
  return std::make_unique<CsvTextSource>(std::move(texts), TextSamples(keys, context));
}

}  // namespace meshwork::data
