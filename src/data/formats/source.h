#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/shape.h"
#include "config/value.h"
#include "data/formats/element.h"
#include "data/formats/file_bytes.h"
#include "data/vocabulary.h"

namespace meshwork::data {

/// What the numbers of a sample are of, by place: columns of a table; or by number: classes.
struct NumberNames {
  std::string key;                 ///< of the dataset, which sets them: "x.columns", "class_names"
  std::vector<std::string> texts;  ///< empty: nobody says
  bool may_differ = false;         ///< the description names columns, which it may for each file
};

/// What is known of an array before its payload is read.
struct SourceInfo {
  std::string name;               ///< for errors: "/data/mnist/t10k-labels-idx1-ubyte"
  Shape shape;                    ///< [n, ...]: at least one dimension, none negative
  DType dtype = DType::kFloat32;  ///< of its elements
  /// Of numbers of tokens, what these stand for; null for all other arrays.
  std::shared_ptr<const Vocabulary> vocabulary = nullptr;
  bool stays_whole = false;  ///< whether its numbers are whole ones to training, too
  NumberNames names = {};    ///< where the files say or the description lists what numbers are of
};

/// What is kept in memory where a description does not say `cache`.
constexpr std::int64_t kCachedByDefault = std::int64_t{1} << 30;

/// A sample, for errors: where it comes from.
struct SamplePlace {
  std::string name;
  std::int64_t sample = 0;
  std::string_view what = "sample";  ///< that has this number
};

/// An opened array of n samples. Opening reads a header; the payload is read when the first
/// element is. Any number of threads may read at a time.
class Source {
 public:
  explicit Source(SourceInfo info) : info_(std::move(info)) {}
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  const SourceInfo& info() const { return info_; }

  /// Copies elements [begin, begin + count) of the flat row-major array to `out`. Throws Error with
  /// ExitCode::kFile for a broken payload.
  void read(std::int64_t begin, std::int64_t count, std::byte* out) const;

  /// Whether all elements lie in memory of the process, from the first time that samples() is asked
  /// for.
  virtual bool is_resident() const { return false; }
  /// All elements of a resident source, at any alignment. Unpacks or draws them where nobody has;
  /// may throw what read() may.
  virtual const std::byte* samples() const;
  /// What samples() gives, perhaps before anything lies there.
  virtual const std::byte* place() const { return samples(); }

  /// Of all elements, as they are stored.
  std::int64_t bytes() const { return num_elements(info_.shape) * item(); }
  /// Bytes that reading all of it leaves in memory until the end, or in mapped pages of its file.
  virtual std::int64_t kept_bytes() const { return is_resident() ? bytes() : 0; }

  /// Whether a part of a sample costs as much as all of it, so that one is best read whole.
  virtual bool decodes_samples() const { return false; }

  /// Whether samples take so much work that several threads are to read them.
  virtual bool has_work() const { return false; }
  /// Makes a sample ready that so many readers are about to read, each once, where that is much
  /// work and no other thread has begun it. Never necessary.
  virtual void prepare(std::int64_t /*sample*/, int /*readers*/) const {}

  /// Whether a sample may cost the unpacking of the whole file that it lies in, so that many are
  /// best read in the order of the files.
  virtual bool unpacks_files() const { return false; }
  /// Where it unpacks_files(): what a shuffled batch unpacks, and how to store samples without.
  virtual std::string_view unpacking_advice() const { return {}; }

  /// The source in whose memory the elements lie, of which this one may be a part.
  virtual const Source& holder() const { return *this; }

  virtual SamplePlace place_of(std::int64_t sample) const { return {info_.name, sample}; }

  /// The first samples of the files that it is made of; empty where it is one.
  virtual std::span<const SamplePlace> files() const { return {}; }

 protected:
  /// read() of what is not in memory.
  virtual void fetch(std::int64_t begin, std::int64_t count, std::byte* out) const = 0;
  std::int64_t item() const { return static_cast<std::int64_t>(size_of(info_.dtype)); }

 private:
  SourceInfo info_;
  mutable std::mutex mutex_;
  mutable HeapBytes kept_;  ///< all of it, once fetched
};

/// What an opener may use.
struct OpenContext {
  std::vector<std::string> directories = {};  ///< where files are looked for, as of find_file
  std::string hint = {};                      ///< how the user gets the files
  std::uint64_t seed = 0;
  std::optional<bool> cache = {};  ///< `cache` of the description
  std::int64_t files = 1;          ///< of which the array is made

  std::string find_file(const std::string& file, const config::Location& at) const;

  /// Whether decoded data is kept: as the description says, else if all files, should they be
  /// alike, need no more than kCachedByDefault.
  bool keeps(std::int64_t bytes_of_file) const;
};

/// Opens an array whose description has been checked already.
using Opener = std::function<std::unique_ptr<Source>(const OpenContext&)>;

/// One field of one split in a dataset description. Reading keys through the readers makes them
/// known; unknown ones are errors later.
struct FieldEntry {
  std::string split;                       ///< "train"; "" where all splits are parts of `files`
  std::string field;                       ///< "x"
  const config::Value& value;              ///< what stands at splits.train.x, or files.x
  const std::vector<std::string>& fields;  ///< of the dataset
  const config::Value& description;        ///< the whole map
  config::Reader& dataset;                 ///< its keys
  config::Reader& options;                 ///< keys of the field: x: {...}
  std::shared_ptr<void>& kept;             ///< what the format keeps for all entries; null at first
};

/// A file format, or another way to make arrays.
struct Format {
  std::string_view name;
  /// Checks an entry without touching any file: a configuration Error for a bad one.
  Opener (*parse)(const FieldEntry& entry);
  bool gives_tokens = false;  ///< windows of tokens, perhaps of documents
  bool takes_files = false;   ///< splits may be parts of `files`
};

/// The format of a name; nullptr if there is none.
const Format* find_format(std::string_view name);
std::vector<std::string> format_names();

extern const Format kCifar10;
extern const Format kCifar100;
extern const Format kCsv;
extern const Format kHdf5;
extern const Format kIdx;
extern const Format kImages;
extern const Format kNpy;
extern const Format kNpz;
extern const Format kSynthetic;
extern const Format kText;
extern const Format kTexts;
extern const Format kTokens;

/// "splits.train.x", or "files.x".
std::string name_of(const FieldEntry& entry);

/// The keys of an entry that is a map; no keys for a mere file name.
config::Reader keys_of(const FieldEntry& entry);

/// The files named in a description: `train.npy`, a pattern `part-*.npy`, or a list of these; or
/// `{file: ...}` with keys of the format.
struct FileNames {
  std::vector<std::string> names;  ///< at least one
  config::Location at;
};
FileNames file_names(const config::Value& value, const std::string& what);
FileNames files_of(const FieldEntry& entry, config::Reader& keys);
/// The same where the format has no keys of its own.
FileNames files_of(const FieldEntry& entry);

/// Whether the file of an entry is that of all fields, of which this is the first, and the
/// description says neither that weights of samples are read from it nor, sample_weight: null, that
/// they are not.
bool overlooks_weights(const FieldEntry& entry);
/// The Error for such a file that has some.
[[noreturn]] void fail_for_weights(const std::string& file, const config::Location& at);

/// Elements of a shape read from a file, and never an overflow: Error if negative or if the
/// array would have more than 2^62 bytes.
std::int64_t checked_elements(const std::string& name, const Shape& shape, std::size_t size);

/// Text from a file, fit for an error message: at most 60 bytes, control characters as '?'.
std::string printable(std::string_view text);

}  // namespace meshwork::data
