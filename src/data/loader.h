#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "data/dataset.h"
#include "data/field_plan.h"
#include "data/preparation.h"
#include "data/runs.h"
#include "data/sample_reader.h"

namespace meshwork::data {

/// Which part of field number `field` (of the split) a device needs, for a batch of that size.
using PartOf = std::function<LocalPart(std::size_t field, std::int64_t batch)>;

/// The whole of every field: for one device, and for tests.
PartOf whole_parts(const Split& split);

struct LoaderOptions {
  std::int64_t batch_size = 32;  ///< global
  bool shuffle = false;          ///< a new permutation for every pass
  std::uint64_t seed = 0;
  std::optional<std::int64_t> steps_per_epoch = {};  ///< default: one pass over the data
  std::int64_t first_step = 0;  ///< steps done before, in a run that is resumed
  bool drop_remainder = false;  ///< leave out the samples of a pass that fill no batch
  std::int64_t prefetch = 2;    ///< batches that are kept ready
  bool augment = false;         ///< as the fields say: for training
};

/// A device's part of one field: dense row-major float32 or int32, 64-byte aligned.
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

/// The batches of one device, read, converted and augmented by a thread that keeps some ready.
/// Where there is nothing to do but to convert numbers in memory, no thread does it but the
/// caller's, and right into the place where the batch is wanted: that takes no longer than to fetch
/// it from where another thread has put it.
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

  /// Goes on to the next batch, the first one at first. Returns its size. Throws what went wrong in
  /// reading, here or in read(), again at every later call.
  std::int64_t advance();

  /// Writes this device's part of a field of the batch to `out`.
  void read(std::size_t field, std::byte* out);

  /// Goes on to the next batch and has it all in memory of the loader, until the next call.
  const Batch& next();

  /// Whether read() does all the work, on the thread that calls it.
  bool is_direct() const { return is_direct_; }

 private:
  struct Plan;
  struct Slot;

  void run();
  void order_rows(std::int64_t pass);
  Rows rows_of(std::int64_t step, const LocalPart& part, std::int64_t begin,
               std::int64_t end) const;
  const Plan& plan_of(std::int64_t step) const;
  void read(std::int64_t step, std::size_t field, std::byte* out);
  void read_or_fail(std::int64_t step, std::size_t field, std::byte* out);
  static void describe(Slot& slot, const Plan& plan);
  void fill(Slot& slot, std::int64_t step);
  Slot& slot_of(std::int64_t number);

  Split split_;
  LoaderOptions options_;
  std::int64_t steps_per_pass_;
  std::int64_t steps_per_epoch_;
  std::vector<Plan> plans_;            ///< for a full batch, and for the last one of a pass
  std::vector<SampleReader> readers_;  ///< one per field
  bool is_direct_;
  std::optional<Preparation> preparation_;  ///< of a direct loader, until the first batch
  std::vector<Slot> slots_;          ///< a ring: one in use, the others ready or being filled
  std::vector<std::int64_t> order_;  ///< of pass order_pass_
  std::int64_t order_pass_ = -1;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t filled_ = 0;  ///< batches ready or used, counted from the first
  std::int64_t taken_ = 0;   ///< batches handed out
  bool stop_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace meshwork::data
