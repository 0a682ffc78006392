#include "cli/notes.h"

#include <algorithm>

#include "base/terminal.h"
#include "cli/rank.h"
#include "data/packed_advice.h"

namespace meshwork::cli {

std::vector<std::string> notes_of(const Job& job) {
  std::vector<std::string> notes;
  for (const auto& [key, program] : job.programs) {
    for (const std::string& note : program.notes) {
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
    }
  }
  const bool is_shuffled = job.config.fit.shuffle && job.splits.contains(ProgramKind::kTrain);
  if (is_shuffled) {
    for (const std::string& advice : data::packed_advice(job.train)) notes.push_back(advice);
  }
  return notes;
}

void print_notes(const Job& job) {
  if (launched_rank() != 0) return;
  for (const std::string& note : notes_of(job)) say("note: " + note);
}

}  // namespace meshwork::cli
