#include "job/same_job.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "config/yaml.h"
#include "data/fingerprint.h"
#include "job/versions.h"

namespace meshwork {
namespace {

using Json = nlohmann::json;

/// What devices compare, with a word for each part and what to do about it.
struct Part {
  const char* key;
  const char* name;
  const char* way_out;
};
constexpr std::array kParts{
    Part{"versions", "other versions", "install the same on all machines"},
    Part{"configuration", "another configuration", "see that all ranks read the same files"},
    Part{"data", "other data", "see that all ranks read the same files"},
    Part{"programs", "another program", "see that all ranks run the same meshwork"},
};

std::string describe_versions() {
  std::string text;
  for (const auto& [name, version] : versions()) text += fmt::format("{} {}\n", name, version);
  return text;
}

/// Data that this device cannot read it complains of where it needs them.
std::string describe_data(const data::Split& split) {
  try {
    return fmt::format("{}: {} samples, fingerprint {:016x}\n", split.name, split.samples,
                       data::fingerprint(split));
  } catch (const Error&) {
    return fmt::format("{}: {} samples, unreadable\n", split.name, split.samples);
  }
}

std::string describe(const Job& job) {
  std::string data;
  for (const auto& [kind, split] : job.splits) data += describe_data(split);
  const Json json{{"versions", describe_versions()},
                  {"configuration", job.config.text + to_yaml(job.config.dataset)},
                  {"data", data},
                  {"programs", fmt::format("{:016x}", programs_hash(job))}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The first line that differs.
std::string difference(const std::string& theirs, const std::string& mine) {
  std::istringstream their_lines(theirs), my_lines(mine);
  std::string their_line, my_line;
  do {
    const bool is_there = static_cast<bool>(std::getline(their_lines, their_line));
    const bool is_here = static_cast<bool>(std::getline(my_lines, my_line));
    if (!is_there) their_line = "nothing";
    if (!is_here) my_line = "nothing";
    if (!is_there && !is_here) break;
  } while (their_line == my_line);
  const auto trimmed = [](const std::string& line) {
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    return line.substr(begin, 200);
  };
  return fmt::format("'{}' there, '{}' here", trimmed(their_line), trimmed(my_line));
}

}  // namespace

void check_same_job(const Job& job, HostGroup& hosts) {
  if (hosts.size() == 1) return;
  const std::vector<std::string> all = gather_texts(hosts, describe(job));
  const auto other =
      std::find_if(all.begin(), all.end(), [&](const std::string& text) { return text != all[0]; });
  if (other == all.end()) return;
  const Json theirs = Json::parse(*other), mine = Json::parse(all[0]);
  for (const auto& [key, name, way_out] : kParts) {
    const std::string their_text = theirs.value(key, ""), my_text = mine.value(key, "");
    if (their_text == my_text) continue;
    fail(ExitCode::kCommunication, "rank {} has {} than rank 0: {}; {}", other - all.begin(), name,
         difference(their_text, my_text), way_out);
  }
}

}  // namespace meshwork
