#include "data/formats/tokenizer_file.h"

#include <utility>

#include "base/file.h"

namespace meshwork::data {

TokenizerFile::Opened TokenizerFile::open(const OpenContext& context) {
  const std::lock_guard lock(mutex_);
  if (opened_.tokenizer != nullptr) return opened_;
  const std::string path = context.find_file(file_, at_);
  std::string json = read_text_file(path);
  opened_.tokenizer = std::make_shared<const Tokenizer>(json, path);
  opened_.vocabulary = std::make_shared<const Vocabulary>(
      Vocabulary{"token", opened_.tokenizer->texts(), std::move(json)});
  return opened_;
}

std::shared_ptr<TokenizerFile> read_tokenizer_key(config::Reader& dataset) {
  const config::Value* value = dataset.find("tokenizer");
  if (value == nullptr) return nullptr;
  return std::make_shared<TokenizerFile>(value->as_string("tokenizer"), value->at);
}

}  // namespace meshwork::data
