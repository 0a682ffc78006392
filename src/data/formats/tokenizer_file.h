#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "config/value.h"
#include "data/formats/source.h"
#include "data/tokenizer/tokenizer.h"

namespace meshwork::data {

/// The tokenizer.json that a description names; read when it is first needed.
class TokenizerFile {
 public:
  TokenizerFile(std::string file, config::Location at)
      : file_(std::move(file)), at_(std::move(at)) {}

  struct Opened {
    std::shared_ptr<const Tokenizer> tokenizer;
    std::shared_ptr<const Vocabulary> vocabulary;
  };
  /// Any number of threads may call it.
  Opened open(const OpenContext& context);

 private:
  std::string file_;
  config::Location at_;
  std::mutex mutex_;
  Opened opened_;
};

/// The key `tokenizer` of a dataset; nullptr where it is not there.
std::shared_ptr<TokenizerFile> read_tokenizer_key(config::Reader& dataset);

}  // namespace meshwork::data
