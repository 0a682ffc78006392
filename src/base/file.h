#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace meshwork {

/// An open file. Reads and writes are whole or an Error of ExitCode::kFile that names the file,
/// what was tried and the system's reason: "runs/a/steps.csv: cannot write: No space left on
/// device". What moves 64 KiB or more, or waits for the disk, is LocalWork.
class File {
 public:
  /// Opens a regular file for reading.
  static File open(const std::string& path);
  /// Creates a file, or empties the one that is there.
  static File create(const std::string& path);
  /// Creates a file to which whole pages, from the start of a page on, are written past the cache
  /// of the system, as long as nothing else is written and the file system can.
  static File create_unbuffered(const std::string& path);
  /// Opens an existing file for writing, as it is.
  static File open_to_write(const std::string& path);

  /// Opens a file to add to its end; makes it if there is none.
  static File open_to_append(const std::string& path);

  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  const std::string& path() const { return path_; }
  std::uint64_t size() const;
  void resize(std::uint64_t bytes);

  /// Positioned, so that threads may share the file.
  void read_at(void* data, std::size_t bytes, std::uint64_t offset) const;
  void write_at(const void* data, std::size_t bytes, std::uint64_t offset);

  /// Writes where the last append ended.
  void append(std::string_view text);

  /// Takes the file for this process, until it is closed; false where another one has it.
  bool lock();

  /// Returns when the data is on the disk.
  void sync();
  /// Closes and reports what the system only now finds out.
  void close();

 private:
  File(std::string path, int fd, bool unbuffered = false)
      : path_(std::move(path)), fd_(fd), unbuffered_(unbuffered) {}
  void go_on_buffered();

  std::string path_;
  int fd_ = -1;
  bool unbuffered_ = false;
};

/// Makes the directory in which `file` is to stand, with its parents. An Error of ExitCode::kFile
/// ends with `remedy`: "; name another with --output".
void create_parent_directory(const std::string& file, std::string_view remedy = "");

/// Returns when the names in a directory are on the disk.
void sync_directory(const std::string& directory);

/// Gives the file `from` the name `to`, in one step, also across a crash.
void rename_file(const std::string& from, const std::string& to);

/// Removes a file, or a directory with all that is in it; none may be there. Errors as of File.
void remove_path(const std::string& path);

/// Bytes that may still be written to the disk of a directory; the greatest number where the system
/// does not tell.
std::int64_t free_space(const std::string& directory);

/// Whether a regular file, or a link to one, has this path. What cannot be looked at is none.
bool is_regular_file(const std::string& path);

/// The text of a regular file.
std::string read_text_file(const std::string& path);

/// The path of the file that is to be written in the place of what `path` names: behind symbolic
/// links. An Error of ExitCode::kFile where that is there, and no regular file.
std::string file_to_replace(const std::string& path);

/// A name beside `file` for what is not whole yet, which no other process and no other call gets:
/// "FILE.5c1e09ab77d2.partial".
std::string partial_name(const std::string& file);

/// The file that a partial name is for; "" for any other name.
std::string_view file_of_partial(std::string_view name);

/// Writes a file under a partial name and gives it its own when it is on the disk: a reader of
/// `file` meets the old one or the new, never a part. What an exception or a signal leaves is
/// removed. Errors of file_to_replace.
void write_in_one_step(const std::string& file,
                       const std::function<void(const std::string& partial)>& write);

/// Writes a file of that text in one step.
void replace_file(const std::string& path, std::string_view text);

/// The same; where the disk takes no other file, the text is written over the file that is there,
/// if that is as long: readers may then meet a part of it.
void replace_or_overwrite(const std::string& path, std::string_view text);

}  // namespace meshwork
