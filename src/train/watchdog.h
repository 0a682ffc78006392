#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ticker.h"
#include "job/session.h"
#include "state/run_directory.h"

namespace meshwork {

/// Ends a job that no longer gets on. A thread of each device watches its progress. After half of
/// `limit` without any, the first device that waits says on stderr what each waits for, and who
/// says nothing; after all of it, it says so again and ends the process with
/// ExitCode::kCommunication, upon which mpirun ends the other ranks. As long as one device gets on,
/// for which the others may wait, nothing ends; one whose process does LocalWork gets on, too, and
/// one whose host computes a kernel, however long.
///
/// Devices tell each other in files of a directory, which all must reach. Where the run directory
/// has been moved, each speaks for itself, and no other run that has its place is touched.
class Watchdog {
 public:
  /// Over a run of `fit`, in its directory.
  Watchdog(const Session& session, const std::string& run_directory);
  /// Over other commands; all devices call it.
  explicit Watchdog(const Session& session);
  /// Over what comes before there is a session. No directory: of another command than `fit`; all
  /// devices call it.
  Watchdog(const Job& job, HostGroup& hosts, const std::optional<std::string>& run_directory);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  /// How far the device is; two that are equal are no progress.
  struct Sign {
    std::uint64_t count = 0;
    const Executable* program = nullptr;
    std::size_t step = 0;
    std::int32_t mark = 0;         ///< that the device has come to
    std::uint64_t local_work = 0;  ///< of its process
    bool operator==(const Sign&) const = default;
  };

  /// What the files of all devices say.
  struct Roll {
    std::string text;  ///< "rank 0 waits in ..; rank 2 says nothing"
    int first = 0;     ///< device that waits
    bool one_gets_on = false;
    bool all_speak = false;
  };

  void start();
  void look(double now);
  Sign sign() const;
  bool is_at_work() const;
  bool is_held() const;
  /// Whether the device that ends the job has taken the files of all with it.
  bool is_taken() const;
  std::string describe() const;
  void tell(const std::string& text);
  Roll call_roll() const;
  void warn(const Roll& roll, double waited);
  [[noreturn]] void end_job_with(const Roll& roll, double waited) const;
  std::string file_of(int rank) const;

  Watchdog(HostGroup& hosts, const ProgramStreams* streams, double limit)
      : hosts_(hosts), streams_(streams), limit_(limit) {}
  void stay_in(const std::string& run_directory);
  void stay_beside(const std::string& run_directory);

  HostGroup& hosts_;
  const ProgramStreams* streams_;  ///< none: there is no session yet
  double limit_;                   ///< seconds; 0: nothing is watched
  std::string run_directory_;      ///< whose record says how the run ends; "" of what is no fit
  std::optional<FileId> holder_;   ///< of it: another run may have made one in its place since
  std::string directory_;          ///< for the files
  std::string remedy_;
  Sign last_;
  double since_ = 0;  ///< seconds of the ticker when it was first seen
  bool has_warned_ = false;
  bool has_file_ = false;  ///< to tell the others
  std::optional<Ticker> ticker_;
};

/// A watched start: Session(job, world).
Session watched_session(const Job& job, const World& world,
                        const std::optional<std::string>& run_directory = std::nullopt);

}  // namespace meshwork
