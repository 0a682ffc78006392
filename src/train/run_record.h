#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "job/job.h"
#include "job/memory_report.h"
#include "state/run_directory.h"
#include "train/trainer.h"

namespace meshwork {

constexpr const char* kRecordFile = "run.json";

/// What a run was, how fast it trained and how it ended. The file is there from the
/// moment that nothing can refuse the run, with the status "running", and says "completed",
/// "stopped" or "failed" at its end; one that still says "running" belongs to a run that goes on,
/// or that was killed: was_killed().
class RunRecord {
 public:
  /// `command` is what started the run. The directory must outlive it.
  RunRecord(const Job& job, const RunDirectory& directory, const std::string& command);
  ~RunRecord();
  RunRecord(const RunRecord&) = delete;
  RunRecord& operator=(const RunRecord&) = delete;

  /// Writes the file, in the place of that of an earlier run; throws what replace_file throws.
  void begin();

  /// What training has come to, whatever the end.
  void add(const TrainerResult& trained);
  void add(const std::vector<DeviceMemory>& devices);

  /// These write the file, if it was begun; one that cannot be written costs a warning on stderr.
  /// `message` says why the run has ended before its time.
  void complete(std::uint64_t digest);
  void stop(const std::string& message);
  void fail(ExitCode code, const std::string& message);

  /// The whole as one line.
  std::string line() const;

 private:
  void end(const char* status, ExitCode code);

  const RunDirectory& directory_;
  std::string path_;
  double started_;  ///< of the clock
  bool is_begun_ = false;
  std::unique_ptr<nlohmann::ordered_json> json_;
};

/// Has the record of a run that goes on say that it has failed, where the job ends at once and the
/// device that keeps the record cannot. Where there is none, or it cannot be written, nothing is.
void fail_record_in(const std::string& run_directory, ExitCode code, const std::string& message);

/// The digest of the final weights of a run that has come to its end; "" where no record says so.
std::string final_digest(const std::string& run_directory);

/// Whether the record of a run says that it goes on, though no process has its directory.
bool was_killed(const std::string& run_directory);

}  // namespace meshwork
