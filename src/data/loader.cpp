#include "data/loader.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/parallel.h"
#include "data/shuffle.h"

namespace meshwork::data {
namespace {

constexpr std::align_val_t kAlignment{64};

struct FreeAligned {
  void operator()(std::byte* data) const { ::operator delete[](data, kAlignment); }
};
using AlignedBytes = std::unique_ptr<std::byte[], FreeAligned>;

AlignedBytes allocate(std::int64_t bytes) {
  return AlignedBytes(new (kAlignment) std::byte[static_cast<std::size_t>(bytes)]);
}

}  // namespace

struct Loader::Plan {
  std::int64_t size = 0;  ///< of the global batch
  std::vector<FieldPlan> fields;
};

struct Loader::Slot {
  Batch batch;
  std::vector<AlignedBytes> buffers;
};

PartOf whole_parts(const Split& split) {
  return [fields = split.fields](std::size_t field, std::int64_t batch) {
    const Shape shape = batch_shape(fields.at(field), batch);
    return LocalPart{whole_region(shape), shape};
  };
}

Loader::Loader(const Split& split, const LoaderOptions& options, const PartOf& part_of)
    : split_(split), options_(options) {
  MW_CHECK(split.samples > 0 && options.batch_size > 0 && options.first_step >= 0);
  MW_CHECK(options.steps_per_epoch.value_or(1) > 0 && options.prefetch > 0);
  MW_CHECK(!options.drop_remainder || split.samples >= options.batch_size);
  const std::int64_t full = std::min(options.batch_size, split.samples);
  steps_per_pass_ = options.drop_remainder ? split.samples / full : (split.samples - 1) / full + 1;
  steps_per_epoch_ = options.steps_per_epoch.value_or(steps_per_pass_);
  const std::int64_t last = std::min(full, split.samples - (steps_per_pass_ - 1) * full);
  for (const Field& field : split.fields) {
    readers_.emplace_back(field, options.seed, options.augment);
  }
  for (const std::int64_t size : {full, last}) {
    Plan plan{size, {}};
    for (std::size_t i = 0; i < split.fields.size(); ++i) {
      plan.fields.push_back(plan_field(split.fields[i], part_of(i, size), size));
    }
    plans_.push_back(std::move(plan));
  }
  is_direct_ = std::all_of(readers_.begin(), readers_.end(),
                           [](const SampleReader& reader) { return reader.reads_memory(); });
  slots_.resize(is_direct_ ? 1 : static_cast<std::size_t>(options.prefetch) + 1);
  for (Slot& slot : slots_) {
    for (std::size_t i = 0; i < split.fields.size(); ++i) {
      slot.buffers.push_back(
          allocate(std::max(plans_[0].fields[i].bytes, plans_[1].fields[i].bytes)));
      slot.batch.fields.push_back({split.fields[i].dtype, {}, slot.buffers.back().get()});
    }
  }
  order_.resize(static_cast<std::size_t>(split.samples));
  if (is_direct_) {
    preparation_.emplace(split);
  } else {
    thread_ = std::thread([this] { run(); });
  }
}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::int64_t Loader::advance() {
  if (is_direct_) {
    preparation_.reset();
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    return plan_of(options_.first_step + taken_++).size;
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return filled_ > taken_ || failure_ != nullptr; });
  if (filled_ == taken_) std::rethrow_exception(failure_);
  const std::int64_t number = taken_++;
  lock.unlock();
  changed_.notify_all();
  return slot_of(number).batch.size;
}

void Loader::read(std::size_t field, std::byte* out) {
  MW_CHECK(taken_ > 0, "read() before advance()");
  const std::int64_t step = options_.first_step + taken_ - 1;
  if (!is_direct_) {
    const FieldPlan& plan = plan_of(step).fields[field];
    const std::byte* ready = slot_of(taken_ - 1).buffers[field].get();
    if (plan.bytes > 0) std::memcpy(out, ready, static_cast<std::size_t>(plan.bytes));
    return;
  }
  read_or_fail(step, field, out);
}

void Loader::read_or_fail(std::int64_t step, std::size_t field, std::byte* out) {
  try {
    read(step, field, out);
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
}

const Batch& Loader::next() {
  advance();
  Slot& slot = slot_of(taken_ - 1);
  if (is_direct_) {
    const std::int64_t step = options_.first_step + taken_ - 1;
    describe(slot, plan_of(step));
    for (std::size_t i = 0; i < slot.buffers.size(); ++i) {
      read_or_fail(step, i, slot.buffers[i].get());
    }
  }
  return slot.batch;
}

Loader::Slot& Loader::slot_of(std::int64_t number) {
  return slots_[static_cast<std::size_t>(number) % slots_.size()];
}

void Loader::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    // Batch taken_ - 1 is in use; its slot comes round after `prefetch` others.
    changed_.wait(lock, [&] { return stop_ || filled_ < taken_ + options_.prefetch; });
    if (stop_) return;
    Slot& slot = slot_of(filled_);
    const std::int64_t step = options_.first_step + filled_;
    lock.unlock();
    try {
      fill(slot, step);
    } catch (...) {
      lock.lock();
      failure_ = std::current_exception();
      changed_.notify_all();
      return;
    }
    lock.lock();
    ++filled_;
    changed_.notify_all();
  }
}

void Loader::order_rows(std::int64_t pass) {
  const bool is_first = order_pass_ < 0;
  if (pass == order_pass_ || (!options_.shuffle && !is_first)) return;
  if (options_.shuffle) {
    permutation(options_.seed, static_cast<std::uint64_t>(pass), order_);
  } else {
    std::iota(order_.begin(), order_.end(), 0);
  }
  for (std::int64_t& row : order_) row += split_.first;
  order_pass_ = pass;
}

const Loader::Plan& Loader::plan_of(std::int64_t step) const {
  return plans_[step % steps_per_pass_ == steps_per_pass_ - 1 ? 1 : 0];
}

/// Samples [begin, end) of a device's part of a batch; the rest of it may be next.
Rows Loader::rows_of(std::int64_t step, const LocalPart& part, std::int64_t begin,
                     std::int64_t end) const {
  const std::int64_t first = step % steps_per_pass_ * plans_[0].size + part.region.offset[0];
  const std::span<const std::int64_t> order(order_);
  const auto rows = order.subspan(static_cast<std::size_t>(first + begin),
                                  static_cast<std::size_t>(part.shape[0] - begin));
  const auto count = static_cast<std::size_t>(end - begin);
  return {rows.first(count), step / steps_per_pass_, first + begin, rows.subspan(count)};
}

void Loader::read(std::int64_t step, std::size_t field, std::byte* out) {
  order_rows(step / steps_per_pass_);
  const FieldPlan& plan = plan_of(step).fields[field];
  const auto read_rows = [&](std::int64_t begin, std::int64_t end) {
    readers_[field].read(rows_of(step, plan.part, begin, end), plan.runs,
                         out + begin * plan.row_bytes());
  };
  if (!is_direct_) return read_rows(0, plan.rows());
  // Each thread converts what it will compute with.
  std::atomic<bool> failed = false;
  for_each_share(plan.rows(), num_elements(plan.part.shape), [&](auto begin, auto end) {
    try {
      read_rows(begin, end);
    } catch (...) {
      failed = true;
    }
  });
  if (failed) read_rows(0, plan.rows());  // throws what is wrong first
}

void Loader::describe(Slot& slot, const Plan& plan) {
  slot.batch.size = plan.size;
  for (std::size_t i = 0; i < plan.fields.size(); ++i) {
    slot.batch.fields[i].part = plan.fields[i].part;  // of the same rank: nothing is allocated
  }
}

void Loader::fill(Slot& slot, std::int64_t step) {
  describe(slot, plan_of(step));
  for (std::size_t i = 0; i < slot.buffers.size(); ++i) read(step, i, slot.buffers[i].get());
}

}  // namespace meshwork::data
