#include "job/same_job.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "backend/cuda_libraries.h"
#include "base/error.h"
#include "base/join.h"
#include "base/json.h"
#include "base/terminal.h"
#include "comm/collectively.h"
#include "config/yaml.h"
#include "data/fingerprint.h"
#include "device/cuda_device.h"
#include "job/other_ranks.h"
#include "job/tuned_products.h"
#include "job/versions.h"
#include "machine/topology.h"

namespace meshwork {
namespace {

using Json = nlohmann::json;

/// What devices compare, with a word for each part and what to do about it.
struct Part {
  const char* key;
  const char* name;
  const char* way_out;
  bool may_differ = false;  ///< a warning is enough
};
constexpr std::array kParts{
    Part{"versions", "other versions", "install the same on all machines"},
    Part{"configuration", "another configuration", "see that all ranks read the same files"},
    Part{"options", "other options", "start all ranks with the same"},
    Part{"data", "other data", "see that all ranks read the same files"},
    Part{"products", "other tuned products",
         "copy the file that 'meshwork devices' names to all machines, or remove it from all"},
    Part{"programs", "another program", "see that all ranks run the same meshwork"},
    Part{"processor", "another processor",
         "the numbers are not to the last bit those of processors that are alike", true},
};

std::string describe_versions(const Job& job) {
  std::string text;
  auto all = versions();
  if (is_on_gpus(job)) all.merge(gpu_library_versions());
  for (const auto& [name, version] : all) text += fmt::format("{} {}\n", name, version);
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

/// By what algorithms a device computes products.
std::string describe_products(const Job& job, int device) {
  const std::optional<TunedProducts> tuned = tuned_products(job, device);
  return tuned ? fmt::format("{} of them, digest {:016x}", tuned->count, tuned->digest) : "none";
}

/// What decides on the last bits of what a device computes.
std::string describe_processor(const Job& job, int device) {
  return is_on_gpus(job) ? gpu_name(gpu_of_device(device)) : join(describe_devices().features, " ");
}

std::string describe(const Job& job, const std::string& options, const std::string& products,
                     int device) {
  std::string data;
  for (const auto& [kind, split] : job.splits) data += describe_data(split);
  const Json json{{"versions", describe_versions(job)},
                  {"configuration", job.config.text + to_yaml(job.config.dataset)},
                  {"options", options},
                  {"data", data},
                  {"products", products},
                  {"programs", fmt::format("{:016x}", programs_hash(job))},
                  {"processor", describe_processor(job, device)}};
  return json_dump(json);
}

}  // namespace

void check_same_job(const Job& job, HostGroup& hosts, const std::string& options) {
  std::string products;
  collectively(hosts, [&] { products = describe_products(job, hosts.rank()); });
  if (hosts.size() == 1) return;
  const std::vector<std::string> all =
      gather_texts(hosts, describe(job, options, products, hosts.rank()));
  if (std::ranges::all_of(all, [&](const std::string& text) { return text == all[0]; })) return;
  std::vector<Json> jobs;
  for (const std::string& text : all) jobs.push_back(parse_json<Json>(text, "what a rank has"));
  for (const auto& [key, name, way_out, may_differ] : kParts) {
    std::vector<std::string> parts;
    for (const Json& job_of_rank : jobs) parts.push_back(job_of_rank.value(key, ""));
    const std::string others = describe_other_ranks(parts, name);
    if (others.empty()) continue;
    const std::string what = fmt::format("{}; {}", others, way_out);
    if (!may_differ) throw Error(ExitCode::kCommunication, what);
    if (hosts.rank() == 0) say("warning: " + what);
  }
}

}  // namespace meshwork
