#include "support/remote/hazards.h"

#include <algorithm>

#include "base/error.h"

namespace meshwork::testing {
namespace {

bool overlap(const Use& a, const Use& b) {
  return a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes;
}

bool covers(const Use& all, const Use& part) {
  return all.begin <= part.begin && part.begin + part.bytes <= all.begin + all.bytes;
}

}  // namespace

void join(Clock& clock, const Clock& other) {
  for (const auto& [stream, number] : other) clock[stream] = std::max(clock[stream], number);
}

int Hazards::add_stream() {
  const std::lock_guard lock(mutex_);
  return streams_++;
}

void Hazards::check(int stream, const Clock& clock, const std::string& name,
                    const std::vector<Use>& uses) {
  const std::lock_guard lock(mutex_);
  for (const Use& use : uses) {
    if (use.bytes == 0) continue;
    for (const Past& past : past_) {
      if (!overlap(use, past.use) || (!use.writes && !past.use.writes)) continue;
      const auto known = clock.find(past.stream);
      const bool is_before = known != clock.end() && past.number <= known->second;
      if (is_before) continue;
      fail("no event orders '{}' behind '{}', and both use the same {} bytes", name, past.name,
           std::min(use.bytes, past.use.bytes));
    }
  }
  // What comes later is behind this work if it is behind what it replaces.
  std::erase_if(past_, [&](const Past& past) {
    return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
      const bool same_stream = past.stream == stream;
      return covers(use, past.use) && (use.writes || (same_stream && !past.use.writes));
    });
  });
  for (const Use& use : uses) past_.push_back({stream, clock.at(stream), name, use});
}

}  // namespace meshwork::testing
