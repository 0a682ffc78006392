#include "data/preparation.h"

namespace meshwork::data {

Preparation::Preparation(const Split& split)
    : thread_([fields = split.fields] {
        for (const Field& field : fields) {
          try {
            if (field.source->is_resident()) field.source->samples();
          } catch (...) {
            return;
          }
        }
      }) {}

void Preparation::wait() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace meshwork::data
