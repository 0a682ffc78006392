#include "state/run_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "base/host_name.h"
#include "comm/collectively.h"
#include "state/checkpoint.h"

namespace meshwork {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWayOut = "; set run_directory to a place that can be written";
constexpr const char* kLockName = ".lock";
constexpr const char* kCheckpoints = "checkpoints";
constexpr std::string_view kMark = ".shared";
constexpr const char* kNotRemoved = "; set run_directory, or take the next free name with --new";

std::string lock_of(const std::string& directory) { return directory + "/" + kLockName; }

void create(const std::string& path) {
  if (path.empty()) fail(ExitCode::kFile, "run_directory is empty{}", kWayOut);
  std::error_code code;
  fs::create_directories(path, code);
  if (code) {
    fail(ExitCode::kFile, "{}: cannot create the run directory: {}{}", path, code.message(),
         kWayOut);
  }
  if (!fs::is_directory(path, code)) fail(ExitCode::kFile, "{}: not a directory{}", path, kWayOut);
}

std::string holder() { return fmt::format("process {} on {}\n", getpid(), host_name()); }

/// is_in_use() of another process holds it for a moment, too.
bool lock_soon(File& file) {
  constexpr int kTries = 10;
  for (int i = 0; i < kTries; ++i) {
    if (file.lock()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

File lock(const std::string& path) {
  try {
    File file = File::open_to_append(lock_of(path));
    if (lock_soon(file)) {
      file.resize(0);
      file.append(holder());
      return file;
    }
  } catch (const Error& error) {
    throw Error(error.code(), error.what() + std::string(kWayOut));
  }
  std::string who = read_text_file(lock_of(path));
  if (!who.empty()) who.pop_back();
  fail(ExitCode::kFile,
       "{}: another run, {}, writes to it; wait for it, set run_directory, or take the next free "
       "name with --new",
       path, who);
}

/// None where there is no such file.
std::optional<FileId> id_of(const std::string& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return std::nullopt;
  return FileId{status.st_dev, status.st_ino};
}

/// What a run has left that another would destroy; "" if nothing.
std::string left_in(const std::string& path, const std::string& newest) {
  std::error_code code;
  if (fs::exists(path + "/" + kFinalWeights, code)) return kFinalWeights;
  return newest.empty() ? "" : fs::relative(newest, path, code).string();
}

void remove_leftovers(const std::string& path, const std::vector<std::string>& files) {
  std::error_code code;
  for (fs::directory_iterator entry(path, code), end; !code && entry != end;
       entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    const std::string_view file = file_of_partial(name);
    const bool is_known =
        is_of_run_directory(file) || file == kMark || std::ranges::count(files, file) > 0;
    if (!is_known) continue;  // another program's, such as predict's
    std::error_code ignored;
    fs::remove(entry->path(), ignored);
  }
}

/// Makes the first of "PATH", "PATH-2", .. that is free, and gives its name. Another run may be
/// looking for one.
std::string create_next_free(const std::string& path) {
  create_parent_directory(path, kWayOut);
  std::string name = path;
  std::error_code code;
  for (int number = 2; !fs::create_directory(name, code); ++number) {
    if (!fs::exists(name, code)) return name;  // create() says why
    name = fmt::format("{}-{}", path, number);
  }
  return name;
}

/// Whether a file that another machine has made is there. Network file systems show it late.
bool appears(const std::string& file) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kLatest{3};
  std::error_code code;
  for (const auto end = Clock::now() + kLatest; !fs::exists(file, code);) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

/// A file in a directory that is there as long as this is.
struct Mark {
  std::string file;

  explicit Mark(const std::string& directory)
      : file(partial_name(fmt::format("{}/{}", directory, kMark))) {
    File::create(file).close();
  }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  ~Mark() {
    std::error_code ignored;
    fs::remove(file, ignored);
  }
};

/// All members write into the directory, which machines may have each for itself.
void check_shared(const std::string& path, HostGroup& hosts) {
  if (hosts.size() == 1) return;
  std::optional<Mark> mark;
  collectively(hosts, [&] {
    if (hosts.rank() == 0) mark.emplace(path);
  });
  std::string file = mark ? mark->file : "";
  broadcast_text(hosts, file, 0);
  collectively(hosts, [&] {
    if (mark || appears(file)) return;
    fail(ExitCode::kFile,
         "{}: what rank 0 writes there is not to be seen on {}, by rank {}; set run_directory to "
         "a place that all machines share",
         path, host_name(), hosts.rank());
  });
}

}  // namespace

std::string run_directory_of(const std::string& weights) {
  fs::path parent = fs::path(weights).lexically_normal().parent_path();
  if (parent.filename() == kCheckpoints) parent = parent.parent_path();
  return parent.empty() ? "." : parent.string();
}

std::optional<FileId> holder_of(const std::string& run_directory) {
  return id_of(lock_of(run_directory));
}

bool is_in_use(const std::string& run_directory) {
  const std::string file = lock_of(run_directory);
  std::error_code code;
  return fs::exists(file, code) && !File::open_to_write(file).lock();
}

bool is_of_run_directory(std::string_view name) {
  return name == kFinalWeights || name == kCheckpoints || name == kLockName;
}

RunDirectory::RunDirectory(const std::string& path, Rerun rerun, HostGroup& hosts,
                           const std::vector<std::string>& files) {
  collectively(hosts, [&] {
    if (hosts.rank() == 0) open(path, rerun, files);
  });
  broadcast_text(hosts, path_, 0);
  broadcast_text(hosts, newest_, 0);
  check_shared(path_, hosts);
}

void RunDirectory::open(const std::string& path, Rerun rerun,
                        const std::vector<std::string>& files) {
  path_ = rerun == Rerun::kNew ? create_next_free(path) : path;
  create(path_);
  lock_ = lock(path_);
  lock_id_ = holder_of(path_).value_or(FileId());
  overwrites_ = rerun == Rerun::kOverwrite;
  decide(rerun);
  remove_leftovers(path_, files);
  remove_unfinished(checkpoints());
}

void RunDirectory::decide(Rerun rerun) {
  const std::vector<std::string> whole = list_checkpoints(checkpoints());
  newest_ = whole.empty() ? "" : whole.back();
  if (rerun == Rerun::kResume && newest_.empty()) {
    fail(ExitCode::kFile, "{}: no checkpoint in it to resume from; leave --resume out", path_);
  }
  const bool resumes = rerun == Rerun::kResume || rerun == Rerun::kResumeIfAny;
  if (resumes && !newest_.empty()) return;
  const std::string left = left_in(path_, newest_);
  if (left.empty()) return;
  if (rerun != Rerun::kOverwrite) {
    fail(ExitCode::kFile,
         "{}: a run has left {} in it; go on with --resume, take the next free name with --new, "
         "remove it with --overwrite, or set run_directory",
         path_, left);
  }
  newest_.clear();
}

bool RunDirectory::is_held() const { return !lock_ || holder_of(path_) == lock_id_; }

void RunDirectory::check_held() const {
  if (is_held()) return;
  fail(ExitCode::kFile,
       "{}: the run directory has been moved or removed, and another run may have this place",
       path_);
}

void RunDirectory::remove_old() const {
  if (!overwrites_) return;
  try {
    for (const std::string& checkpoint : list_checkpoints(checkpoints())) {
      remove_checkpoint(checkpoint);
    }
    remove_path(path_ + "/" + kFinalWeights);
  } catch (const Error& error) {
    throw Error(error.code(), error.what() + std::string(kNotRemoved));
  }
}

}  // namespace meshwork
