#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "config/value.h"
#include "data/formats/source.h"

namespace meshwork::data {

struct ColumnName {
  std::string name;                   ///< where `index` is not given
  std::optional<std::int64_t> index;  ///< from the end if negative
  config::Location at;
};

/// What the file says before its numbers are read.
struct CsvLayout {
  std::vector<std::string> names;  ///< empty without a header
  std::size_t cells = 0;           ///< of every record
  std::int64_t records = 0;
};

/// The columns of a field, by their place in the record: those of `columns`, or, of a field that
/// takes the `rest`, all others. An Error names one that is not there; of the others it may be
/// missing, as the label of new data is.
std::vector<std::size_t> columns_of(const std::string& path, const CsvLayout& layout,
                                    const std::vector<ColumnName>& columns, bool rest);

/// "column 'rooms'", "column 3"; for errors.
std::string name_of_column(const CsvLayout& layout, std::size_t column);

/// The names of some columns.
std::vector<std::string> names_of(const CsvLayout& layout, const std::vector<std::size_t>& columns);

/// What a dataset keeps of fields that take the rest, whose columns stand in the same order for all
/// of its files.
struct Headers {
  struct Header {
    std::string path;  ///< of the first file
    std::vector<std::string> names;
  };
  std::map<std::string, FileNames> first;  ///< files of each field in the first split
  std::mutex mutex;                        ///< of what follows
  std::map<std::string, Header> of_fields;
};

/// The columns of a file in the order in which those of the first stand; an Error names what one of
/// them has and the other has not.
std::vector<std::size_t> in_order_of(const Headers::Header& first, const std::string& path,
                                     const CsvLayout& layout,
                                     const std::vector<std::size_t>& columns);

}  // namespace meshwork::data
