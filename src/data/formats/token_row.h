#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "data/formats/source.h"

namespace meshwork::data {

/// Sets begins[i] to 1 where a document begins with token first + i of a row, else to 0.
using DocumentStarts = std::function<void(std::int64_t first, std::span<std::uint8_t> begins)>;

/// A row of tokens, perhaps of several documents.
struct TokenRow {
  std::shared_ptr<const Source> tokens;  ///< of shape [n]
  DocumentStarts starts = {};            ///< empty: nobody asks for documents
};

/// A row that is made in memory.
class TokenRowBuilder {
 public:
  /// The least type that holds numbers below `count` is that of the row.
  explicit TokenRowBuilder(std::int64_t count);

  /// So many tokens more are to come.
  void reserve(std::int64_t tokens);
  /// What is added from here on is another document.
  void begin_document();
  void add(std::span<const std::int32_t> tokens);

  TokenRow build(std::string name, std::shared_ptr<const Vocabulary> vocabulary) &&;

 private:
  DType dtype_;
  std::vector<std::byte> bytes_;
  std::vector<std::int64_t> starts_;
};

/// The numbers of tokens of any type of whole numbers, [first, first + out.size()) of a row.
void read_tokens(const Source& tokens, std::int64_t first, std::span<std::int32_t> out);

}  // namespace meshwork::data
