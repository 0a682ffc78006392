#include "cli/generated_output.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/join.h"
#include "base/json.h"
#include "base/local_work.h"
#include "base/quote.h"

namespace meshwork::cli {
namespace {

constexpr const char* kBetween = "\n---------------\n";

}  // namespace

GeneratedOutput::GeneratedOutput(std::ostream& out, const data::TextCodec* codec, Form form,
                                 std::vector<std::vector<std::int32_t>> prompts)
    : out_(out), codec_(codec), form_(std::move(form)) {
  for (std::vector<std::int32_t>& prompt : prompts) {
    Text& text = texts_.emplace_back();
    text.prompt = std::move(prompt);
    if (codec_ != nullptr) text.stream.emplace_back(*codec_, form_.stops, text.prompt);
    if (!form_.json) text.waiting = show(text.prompt);
  }
}

bool GeneratedOutput::add(std::int64_t sequence, std::int64_t index, std::int32_t token) {
  Text& text = texts_.at(static_cast<std::size_t>(sequence));
  text.tokens.push_back(token);
  ++tokens_;
  const bool has_text = !text.stream.empty();
  print(text, has_text ? text.stream[0].add(token) : fmt::format(",{}", token));
  const bool stops = has_text && text.stream[0].has_stopped();
  if (stops || index + 1 == form_.most_tokens) {
    if (has_text) print(text, text.stream[0].finish());
    end(text);
  }
  return stops;
}

void GeneratedOutput::print(Text& text, const std::string& more) {
  if (form_.json) {
    text.text += more;
    return;
  }
  text.waiting += form_.is_terminal ? visible(more) : more;
  if (&text != &texts_[turn_]) return;
  write(text.waiting);
  text.waiting.clear();
}

/// Who reads it may let it wait.
void GeneratedOutput::write(const std::string& text) {
  const LocalWork work;
  out_ << text << std::flush;
}

void GeneratedOutput::end(Text& text) {
  text.has_ended = true;
  if (form_.json) text.waiting = json_line(text);
  while (turn_ < texts_.size() && texts_[turn_].has_ended) {
    const bool is_last = turn_ + 1 == texts_.size();
    write(texts_[turn_].waiting + (form_.json || is_last ? "\n" : kBetween));
    ++turn_;
  }
  if (turn_ == texts_.size() || form_.json) return;
  write(texts_[turn_].waiting);
  texts_[turn_].waiting.clear();
}

std::string GeneratedOutput::json_line(const Text& text) const {
  nlohmann::ordered_json line;
  if (codec_ != nullptr) {
    line["prompt"] = codec_->decode(text.prompt);
    line["text"] = text.text;
  }
  line["prompt_tokens"] = text.prompt;
  line["tokens"] = text.tokens;
  line["ended_by"] = !text.stream.empty() && text.stream[0].has_stopped() ? "stop" : "length";
  return json_dump(line);
}

std::string GeneratedOutput::show(const std::vector<std::int32_t>& tokens) const {
  if (codec_ == nullptr) return join(tokens, ",");
  const std::string text = codec_->decode(tokens);
  return form_.is_terminal ? visible(text) : text;
}

}  // namespace meshwork::cli
