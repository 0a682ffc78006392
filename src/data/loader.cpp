#include "data/loader.h"

#include <algorithm>
#include <new>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/local_work.h"

namespace meshwork::data {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr std::int64_t kInUse = 2;  ///< batches that were handed out last

}  // namespace

struct Loader::Plan {
  std::int64_t size = 0;  ///< of the global batch
  std::vector<FieldPlan> fields;
};

struct Loader::Slot {
  Batch batch;
  std::vector<std::shared_ptr<std::byte>> buffers;
};

std::shared_ptr<std::byte> heap_memory(std::int64_t bytes) {
  auto* memory = new (kAlignment) std::byte[static_cast<std::size_t>(bytes)];
  return {memory, [](std::byte* data) { ::operator delete[](data, kAlignment); }};
}

Loader::Loader(const Split& split, const LoaderOptions& options, const PartOf& part_of)
    : split_(split), options_(options), order_(split.samples, options.shuffle, options.seed) {
  MW_CHECK(split.samples > 0 && options.batch_size > 0 && options.first_step >= 0);
  MW_CHECK(options.steps_per_epoch.value_or(1) > 0 && options.prefetch > 0);
  MW_CHECK(!options.drop_remainder || split.samples >= options.batch_size);
  const std::int64_t full = std::min(options.batch_size, split.samples);
  steps_per_pass_ = options.drop_remainder ? split.samples / full : (split.samples - 1) / full + 1;
  steps_per_epoch_ = options.steps_per_epoch.value_or(steps_per_pass_);
  const std::int64_t last = std::min(full, split.samples - (steps_per_pass_ - 1) * full);
  for (const Field& field : split.fields) {
    readers_.emplace_back(field, options.seed, options.augment, options.threads);
  }
  for (const std::int64_t size : {full, last}) {
    Plan plan{size, {}};
    for (std::size_t i = 0; i < split.fields.size(); ++i) {
      plan.fields.push_back(plan_field(split.fields[i], options.augment, part_of(i, size), size));
    }
    plans_.push_back(std::move(plan));
  }
  const bool has_rows_alone =
      std::all_of(readers_.begin(), readers_.end(),
                  [](const SampleReader& reader) { return reader.arrival() == Arrival::kRows; });
  slots_.resize(static_cast<std::size_t>(has_rows_alone ? kInUse : options.prefetch + kInUse));
  for (Slot& slot : slots_) {
    for (std::size_t i = 0; i < split.fields.size(); ++i) {
      const std::int64_t bytes = std::max(plans_[0].fields[i].bytes, plans_[1].fields[i].bytes);
      slot.buffers.push_back(options.memory(bytes));
      const DType dtype = batch_dtype(split.fields[i], options.augment);
      slot.batch.fields.push_back({dtype, {}, slot.buffers.back().get()});
    }
  }
  rows_.resize(static_cast<std::size_t>(full));
  mixes_ = options.augment && std::ranges::any_of(split.fields, [](const Field& field) {
             return field.mixer != nullptr;
           });
  if (mixes_) partners_.resize(rows_.size());
  if (!has_rows_alone) thread_ = std::thread([this] { run(); });
}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

const Batch& Loader::next() {
  if (!thread_.joinable()) {
    Slot& slot = slot_of(taken_);
    fill(slot, options_.first_step + taken_++);
    return slot.batch;
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return filled_ > taken_ || failure_ != nullptr; });
  if (filled_ == taken_) std::rethrow_exception(failure_);
  const std::int64_t number = taken_++;
  lock.unlock();
  changed_.notify_all();
  return slot_of(number).batch;
}

Loader::Slot& Loader::slot_of(std::int64_t number) {
  return slots_[static_cast<std::size_t>(number) % slots_.size()];
}

void Loader::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    // The slots of batches taken_ - 2 and taken_ - 1 come round after `prefetch` others.
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

const Loader::Plan& Loader::plan_of(std::int64_t step) const {
  return plans_[step % steps_per_pass_ == steps_per_pass_ - 1 ? 1 : 0];
}

/// The samples of a device's part of a batch.
Rows Loader::rows_of(std::int64_t step, const LocalPart& part) {
  const std::int64_t batch_first = step % steps_per_pass_ * plans_[0].size;
  const std::int64_t first = batch_first + part.region.offset[0];
  const std::span rows = std::span(rows_).first(static_cast<std::size_t>(part.shape[0]));
  for (std::int64_t place = first; std::int64_t & row : rows) {
    row = split_.first + order_.at(place++);
  }
  Rows found{.samples = rows,
             .pass = step / steps_per_pass_,
             .first = first,
             .readers = part.readers,
             .batch_first = batch_first};
  if (mixes_) find_partners(plan_of(step).size, found);
  return found;
}

/// The samples that others are mixed with.
void Loader::find_partners(std::int64_t batch_size, Rows& rows) {
  rows.partner_first = 2 * rows.batch_first + batch_size - 1 - rows.first;
  const std::span partners = std::span(partners_).first(rows.samples.size());
  for (std::int64_t place = rows.partner_first; std::int64_t & partner : partners) {
    partner = split_.first + order_.at(place--);
  }
  rows.partners = partners;
}

void Loader::fill(Slot& slot, std::int64_t step) {
  const LocalWork work;  // a batch may take long to decode and augment
  order_.begin(step / steps_per_pass_);
  const Plan& plan = plan_of(step);
  slot.batch.size = plan.size;
  for (std::size_t i = 0; i < plan.fields.size(); ++i) {
    const FieldPlan& field = plan.fields[i];
    slot.batch.fields[i].part = field.part;  // of the same rank: nothing is allocated
    readers_[i].read(rows_of(step, field.part), field.runs, slot.buffers[i].get());
  }
}

}  // namespace meshwork::data
