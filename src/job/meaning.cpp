#include "job/meaning.h"

#include "job/run_names.h"
#include "job/run_vocabulary.h"

namespace meshwork {

void write_meaning(const Job& job, const std::string& directory) {
  write_vocabulary(job, directory);
  write_names(job.split, directory);
}

void check_same_meaning(const Job& job, const std::string& weights) {
  check_same_vocabulary(job, weights);
  check_same_names(job.split, weights);
}

}  // namespace meshwork
