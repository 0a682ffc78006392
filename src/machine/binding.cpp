#include "machine/binding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "base/launcher.h"

namespace meshwork {
namespace {

bool is_set(const char* name) { return std::getenv(name) != nullptr; }

/// The texts of a file that ends each with a 0.
std::vector<std::string> texts_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> texts;
  for (std::string text; std::getline(file, text, '\0');) texts.push_back(text);
  return texts;
}

bool has_processors(std::string mapping) {
  std::ranges::transform(mapping, mapping.begin(), [](unsigned char c) { return std::tolower(c); });
  return mapping.find("pe=") != std::string::npos ||
         mapping.find("pe-list=") != std::string::npos ||
         mapping.find("rankfile") != std::string::npos;
}

/// Of Open MPI 4, for a rank that it has bound.
bool decided_by_environment() {
  for (const char* by_user : {"OMPI_MCA_hwloc_base_binding_policy", "OMPI_MCA_hwloc_base_cpu_set",
                              "OMPI_MCA_orte_rankfile", "OMPI_MCA_rmaps_rank_file_path",
                              "OMPI_MCA_rmaps_base_cpus_per_rank", "OMPI_MCA_hwloc_base_slot_list",
                              "OMPI_MCA_rmaps_rank_file_slot_list"}) {
    if (is_set(by_user)) return true;
  }
  const char* mapping = std::getenv("OMPI_MCA_rmaps_base_mapping_policy");
  return mapping != nullptr && has_processors(mapping);
}

/// What Open MPI 5's mpirun was told: its arguments, and the parameters from its environment.
std::vector<std::string> settings_of(int pid) {
  constexpr std::string_view kParameter = "PRTE_MCA_";
  std::vector<std::string> settings = texts_of(fmt::format("/proc/{}/cmdline", pid));
  for (const std::string& variable : texts_of(fmt::format("/proc/{}/environ", pid))) {
    if (variable.starts_with(kParameter)) settings.push_back(variable.substr(kParameter.size()));
  }
  return settings;
}

}  // namespace

bool decide_binding(const std::vector<std::string>& settings) {
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const std::string_view all = settings[i];
    const std::size_t equals = all.find('=');
    std::string_view name = all.substr(0, equals);
    name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
    for (const std::string_view deciding :
         {"bind-to", "cpu-set", "cpu-list", "rankfile", "rf", "cpus-per-proc", "cpus-per-rank",
          "hwloc_default_binding_policy", "hwloc_default_cpu_list"}) {
      if (name == deciding) return true;
    }
    if (name != "map-by" && name != "rmaps_default_mapping_policy") continue;
    const bool is_next = equals == std::string_view::npos;
    const std::string value{is_next ? "" : all.substr(equals + 1)};
    if (has_processors(is_next && i + 1 < settings.size() ? settings[i + 1] : value)) return true;
  }
  return false;
}

bool bound_by_default() {
  if (is_set("OMPI_MCA_orte_bound_at_launch")) return !decided_by_environment();
  if (!is_set("PRTE_LAUNCHED")) return false;
  const int launcher = launcher_process();
  return launcher > 0 && !decide_binding(settings_of(launcher));
}

}  // namespace meshwork
