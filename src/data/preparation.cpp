#include "data/preparation.h"

namespace meshwork::data {

std::future<void> prepare(const Split& split) {
  return std::async(std::launch::async, [fields = split.fields] {
    for (const Field& field : fields) {
      try {
        const Source& source = field.source->holder();
        if (source.is_resident()) source.samples();
      } catch (...) {
        return;
      }
    }
  });
}

}  // namespace meshwork::data
