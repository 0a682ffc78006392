#include "data/preparation.h"

namespace meshwork::data {

Preparation::Preparation(const Split& split) {
  for (const Field& field : split.fields) sources_.push_back(field.source);
  thread_ = std::thread([this] {
    for (const auto& source : sources_) {
      try {
        source->prepare();
      } catch (...) {
        return;  // read() will throw it where it can be reported
      }
    }
  });
}

void Preparation::wait() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace meshwork::data
