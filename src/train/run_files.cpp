#include "train/run_files.h"

#include <algorithm>

#include "data/vocabulary.h"
#include "job/memory_report.h"
#include "job/run_names.h"
#include "state/run_directory.h"
#include "train/run_logs.h"
#include "train/run_record.h"

namespace meshwork {

std::vector<std::string> run_files() {
  std::vector<std::string> files = log_names();
  for (const char* name : {kConfigFile, kMemoryFile, kNamesFile, kRecordFile, data::kTokenizerFile,
                           data::kVocabularyFile}) {
    files.emplace_back(name);
  }
  return files;
}

bool is_of_run(std::string_view name) {
  return is_of_run_directory(name) || std::ranges::count(run_files(), name) > 0;
}

}  // namespace meshwork
