#include "train/log_file.h"

namespace meshwork {

const std::vector<const LogFormat*>& log_formats() {
  static const std::vector<const LogFormat*> formats = {
      &log_files::kCsv,
      &log_files::kJsonLines,
  };
  return formats;
}

}  // namespace meshwork
