#include "data/preparation.h"

namespace meshwork::data {

std::future<void> prepare(const Split& split) {
  return std::async(std::launch::async, [fields = split.fields] {
    for (const Field& field : fields) {
      try {
        if (field.source->is_resident()) field.source->samples();
      } catch (...) {
        return;
      }
    }
  });
}

}  // namespace meshwork::data
