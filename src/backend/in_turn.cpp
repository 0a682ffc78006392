#include "backend/in_turn.h"

#include <utility>

namespace meshwork {

Launch in_turn(std::vector<Launch> launches) {
  if (launches.size() == 1) return std::move(launches.front());
  return [launches = std::move(launches)] {
    for (const Launch& launch : launches) launch();
  };
}

}  // namespace meshwork
