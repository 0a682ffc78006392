#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "data/dataset.h"
#include "data/field_plan.h"
#include "data/sample_reader.h"
#include "data/shuffle.h"

namespace meshwork::data {

/// Which part of the batch of field number `field` (of the split) a device needs, as the program
/// gets it, for a batch of that size.
using PartOf = std::function<LocalPart(std::size_t field, std::int64_t batch)>;

/// Gives line-aligned memory of this many bytes.
using StagingMemory = std::function<std::shared_ptr<std::byte>(std::int64_t bytes)>;
std::shared_ptr<std::byte> heap_memory(std::int64_t bytes);

struct LoaderOptions {
  std::int64_t batch_size = 32;  ///< global
  bool shuffle = false;          ///< a new permutation for every pass
  std::uint64_t seed = 0;
  std::optional<std::int64_t> steps_per_epoch = {};  ///< default: one pass over the data
  std::int64_t first_step = 0;         ///< steps done before, in a run that is resumed
  bool drop_remainder = false;         ///< leave out the samples of a pass that fill no batch
  std::int64_t prefetch = 2;           ///< batches that are kept ready
  bool augment = false;                ///< as the fields say: for training
  int threads = 1;                     ///< that decode and augment; they change no result
  StagingMemory memory = heap_memory;  ///< for batches
};

/// A device's part of the batch of one field, dense row-major: samples as they are stored, row
/// numbers where all samples lie in memory, or augmented samples (data::Arrival).
struct FieldBatch {
  DType dtype = DType::kFloat32;
  LocalPart part;
  const std::byte* data = nullptr;

  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(data);
  }
};

struct Batch {
  std::int64_t size = 0;  ///< samples of the global batch; fewer in the last one of a pass
  std::vector<FieldBatch> fields;
};

/// The batches of one device, in a ring that a thread, with the help of others, fills ahead: read,
/// decoded, augmented. What several devices of a process need is decoded by one of them. Where
/// there are row numbers alone to write, it takes no thread.
///
/// Batches come without end, pass after pass over the data; a pass ends with a batch of the
/// samples left over, never padded, and dropped only if the options say so. An epoch is one pass,
/// or `steps_per_epoch` batches of the same stream: it then goes on in the next epoch where it
/// stopped, over as many (reshuffled) passes as it takes. Keras, too, goes on, but stops an epoch
/// short when its data runs out; here every epoch has all of its steps.
class Loader {
 public:
  /// `part_of` is called here only, for the sizes of a full and of the last batch. With
  /// drop_remainder there must be samples for one batch.
  Loader(const Split& split, const LoaderOptions& options, const PartOf& part_of);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  std::int64_t steps_per_epoch() const { return steps_per_epoch_; }

  /// The next batch, the first one at first. It stays until the second call after this one: one may
  /// be under way to the device while the next is handed out. Throws what went wrong in reading,
  /// again at every later call.
  const Batch& next();

 private:
  struct Plan;
  struct Slot;

  void run();
  Rows rows_of(std::int64_t step, const LocalPart& part);
  void find_partners(std::int64_t batch_size, Rows& rows);
  const Plan& plan_of(std::int64_t step) const;
  void fill(Slot& slot, std::int64_t step);
  Slot& slot_of(std::int64_t number);

  Split split_;
  LoaderOptions options_;
  std::int64_t steps_per_pass_;
  std::int64_t steps_per_epoch_;
  std::vector<Plan> plans_;            ///< for a full batch, and for the last one of a pass
  std::vector<SampleReader> readers_;  ///< one per field
  std::vector<Slot> slots_;            ///< a ring: two in use, the others ready or being filled
  PassOrder order_;
  std::vector<std::int64_t> rows_;      ///< what rows_of gave last
  std::vector<std::int64_t> partners_;  ///< where samples are mixed
  bool mixes_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t filled_ = 0;  ///< batches ready or used, counted from the first
  std::int64_t taken_ = 0;   ///< batches handed out
  bool stop_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace meshwork::data
