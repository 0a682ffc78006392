#include "cli/notes.h"

#include <algorithm>

#include "base/terminal.h"
#include "cli/rank.h"
#include "data/packed_advice.h"
#include "data/taken_classes.h"

namespace meshwork::cli {

namespace {

/// Names of the splits that a job reads, as they are before validation takes some off.
std::vector<std::string> splits_of(const Job& job) {
  std::vector<std::string> names;
  if (job.dataset == nullptr) return names;
  if (job.dataset->has(job.split.name)) names.push_back(job.split.name);
  const bool validates = job.validation && job.validation->name != job.split.name;
  if (validates && job.dataset->has(job.validation->name)) names.push_back(job.validation->name);
  return names;
}

}  // namespace

std::vector<std::string> notes_of(const Job& job) {
  std::vector<std::string> notes;
  for (const auto& [key, program] : job.programs) {
    for (const std::string& note : program.notes) {
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
    }
  }
  const bool is_shuffled = job.config.fit.shuffle && job.splits.contains(ProgramKind::kTrain);
  if (is_shuffled) {
    for (const std::string& advice : data::packed_advice(job.split)) notes.push_back(advice);
  }
  for (const std::string& name : splits_of(job)) {
    const auto advice = data::taken_classes(job.dataset->split(name));
    if (advice) notes.push_back(*advice);
  }
  return notes;
}

void print_notes(const Job& job) {
  if (launched_rank() != 0) return;
  for (const std::string& note : notes_of(job)) say("note: " + note);
}

}  // namespace meshwork::cli
