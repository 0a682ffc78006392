#include "data/formats/csv_reader.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "data/formats/source.h"

namespace meshwork::data {

CsvReader::CsvReader(std::string name, std::string_view text, char delimiter)
    : name_(std::move(name)), text_(text), delimiter_(delimiter) {
  if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
  if (text_.starts_with("\xFF\xFE") || text_.starts_with("\xFE\xFF")) {
    fail(ExitCode::kFile, "{}: is UTF-16; write it as UTF-8: iconv -f UTF-16 -t UTF-8", name_);
  }
  if (text_.starts_with("PK\x03\x04")) {
    fail(ExitCode::kFile, "{}: is a zip archive; unpack it: unzip", name_);
  }
}

std::string CsvReader::place() const { return fmt::format("{}:{}", name_, record_line_); }

bool CsvReader::next(std::vector<std::string_view>& cells) {
  cells.clear();
  while (skip_line_end()) {
  }
  if (at_ == text_.size()) return false;
  record_line_ = line_;
  while (true) {
    const bool quoted = at_ < text_.size() && text_[at_] == '"';
    cells.push_back(quoted ? quoted_cell(cells.size()) : plain_cell());
    if (at_ == text_.size() || skip_line_end()) return true;
    ++at_;  // the delimiter
  }
}

std::string_view CsvReader::plain_cell() {
  const std::size_t begin = at_;
  while (at_ < text_.size() && text_[at_] != delimiter_ && text_[at_] != '\n') ++at_;
  std::string_view cell = text_.substr(begin, at_ - begin);
  if (at_ < text_.size() && text_[at_] == '\n' && cell.ends_with('\r')) cell.remove_suffix(1);
  if (at_ == text_.size() && cell.ends_with('\r')) cell.remove_suffix(1);
  return cell;
}

std::string_view CsvReader::quoted_cell(std::size_t cell) {
  const std::int64_t opened = line_;
  const std::size_t begin = ++at_;
  bool doubled = false;
  while (true) {
    const std::size_t quote = text_.find('"', at_);
    if (quote == std::string_view::npos) {
      fail(ExitCode::kFile, "{}:{}: a quote opens that nothing closes", name_, opened);
    }
    line_ += std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                        text_.begin() + static_cast<std::ptrdiff_t>(quote), '\n');
    at_ = quote + 1;
    if (at_ == text_.size() || text_[at_] != '"') break;
    doubled = true;
    ++at_;
  }
  const std::string_view raw = text_.substr(begin, at_ - 1 - begin);
  const std::string_view rest = text_.substr(at_);
  if (!rest.empty() && rest[0] != delimiter_ && rest[0] != '\n' && !rest.starts_with("\r\n") &&
      rest != "\r") {
    fail(ExitCode::kFile, "{}:{}: '{}' after a closing quote; a quote inside quotes is doubled",
         name_, line_, printable(rest.substr(0, 1)));
  }
  if (!doubled) return raw;
  if (unquoted_.size() <= cell) unquoted_.resize(cell + 1);
  std::string& text = unquoted_[cell];
  text.clear();
  for (std::size_t i = 0; i < raw.size(); ++i) {
    text += raw[i];
    if (raw[i] == '"') ++i;
  }
  return text;
}

bool CsvReader::skip_line_end() {
  const std::string_view rest = text_.substr(at_);
  if (rest.starts_with('\n')) {
    at_ += 1;
  } else if (rest.starts_with("\r\n")) {
    at_ += 2;
  } else if (rest == "\r") {
    at_ += 1;
  } else {
    return false;
  }
  ++line_;
  return true;
}

}  // namespace meshwork::data
