#include "data/loader.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/parallel.h"
#include "data/panels.h"
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

std::int64_t Loader::Begun::parts_of(std::size_t field, const Plan& plan) const {
  return places[field] == nullptr ? 0 : plan.fields[field].parts();
}

PartOf whole_parts(const Split& split) {
  return [fields = split.fields](std::size_t field, std::int64_t batch) {
    const Shape shape = batch_shape(fields.at(field), batch);
    return LocalPart{whole_window(shape), shape};
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
    const std::int64_t step = options_.first_step + taken_++;
    finish_begun(step);
    return plan_of(step).size;
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
    copy_to_panels(slot_of(taken_ - 1).buffers[field].get(), plan.rows(), plan.row_bytes(),
                   plan.part.panels, out);
    return;
  }
  if (begun_.step == step && begun_.places[field] == out) return;
  read_or_fail(step, field, plan_of(step).fields[field].part.panels, out);
}

void Loader::read_or_fail(std::int64_t step, std::size_t field, std::int64_t panels,
                          std::byte* out) {
  try {
    read(step, field, panels, out);
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
}

bool Loader::begin_next(std::span<std::byte* const> places) {
  const std::int64_t step = options_.first_step + taken_;
  const bool is_known = is_direct_ && failure_ == nullptr && step / steps_per_pass_ == order_pass_;
  if (!is_known || plan_of(step).size != plan_of(step - 1).size) return false;
  begun_.step = step;
  begun_.places.assign(places.begin(), places.end());
  begun_.parts = 0;
  for (std::size_t f = 0; f < places.size(); ++f) begun_.parts += begun_.parts_of(f, plan_of(step));
  begun_.next = 0;
  begun_.failed = false;
  return true;
}

bool Loader::read_some() {
  const std::int64_t part = begun_.next++;
  if (part >= begun_.parts || begun_.failed) return false;
  try {
    read_begun(part);
  } catch (...) {
    begun_.failed = true;
  }
  return true;
}

/// Parts are numbered field by field, the last panel first: it is for the threads that are idle.
void Loader::read_begun(std::int64_t part) {
  const Plan& plan = plan_of(begun_.step);
  std::size_t f = 0;
  for (; part >= begun_.parts_of(f, plan); ++f) part -= begun_.parts_of(f, plan);
  const FieldPlan& field = plan.fields[f];
  const std::int64_t panel = field.part.panels - 1 - part / field.parts_of_panel();
  const std::int64_t begin = part % field.parts_of_panel() * field.rows_of_part();
  const std::int64_t end = std::min(begin + field.rows_of_part(), field.rows());
  readers_[f].read(rows_of(begun_.step, field.part, begin, end),
                   field.panels[static_cast<std::size_t>(panel)],
                   begun_.places[f] + field.begin(field.part.panels, panel, begin));
}

/// What has been begun of `step` is read to its end by all threads, unless nothing has been read of
/// it: then each had better read what it will compute with.
void Loader::finish_begun(std::int64_t step) {
  if (begun_.step != step || begun_.next == 0 || begun_.failed) {
    begun_.step = -1;
  } else if (begun_.next < begun_.parts) {
    const auto read_all = [&] {
      while (read_some()) {
      }
    };
    run_beside(read_all, [&] { return read_some(); });
    if (begun_.failed) begun_.step = -1;
  }
}

const Batch& Loader::next() {
  advance();
  Slot& slot = slot_of(taken_ - 1);
  if (is_direct_) {
    const std::int64_t step = options_.first_step + taken_ - 1;
    describe(slot, plan_of(step));
    for (std::size_t i = 0; i < slot.buffers.size(); ++i) {
      read_or_fail(step, i, 1, slot.buffers[i].get());
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
  const std::int64_t first = step % steps_per_pass_ * plans_[0].size + part.window.offset[0];
  const std::span<const std::int64_t> order(order_);
  const auto rows = order.subspan(static_cast<std::size_t>(first + begin),
                                  static_cast<std::size_t>(part.shape[0] - begin));
  const auto count = static_cast<std::size_t>(end - begin);
  return {rows.first(count), step / steps_per_pass_, first + begin, rows.subspan(count)};
}

/// In the panels of the part, or in one.
void Loader::read(std::int64_t step, std::size_t field, std::int64_t panels, std::byte* out) {
  const std::int64_t pass = step / steps_per_pass_;
  order_rows(pass);
  const FieldPlan& plan = plan_of(step).fields[field];
  const auto read_rows = [&](std::int64_t panel, std::int64_t begin, std::int64_t end) {
    const Runs& runs = panels == 1 ? plan.runs : plan.panels[static_cast<std::size_t>(panel)];
    readers_[field].read(rows_of(step, plan.part, begin, end), runs,
                         out + plan.begin(panels, panel, begin));
  };
  if (!is_direct_) return read_rows(0, 0, plan.rows());
  // Each thread converts what it will compute with.
  std::atomic<bool> failed = false;
  const std::int64_t elements = num_elements(plan.part.shape);
  const bool is_long = elements >= kParallelElements;
  const std::int64_t shares =
      is_long ? std::max<std::int64_t>(1, omp_get_max_threads() / panels) : 1;
  for_each_task(panels * shares, elements, [&](std::int64_t task) {
    const std::int64_t share = task % shares;
    try {
      read_rows(task / shares, plan.rows() * share / shares, plan.rows() * (share + 1) / shares);
    } catch (...) {
      failed = true;
    }
  });
  if (!failed) return;
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    read_rows(panel, 0, plan.rows());  // throws what is wrong first
  }
}

void Loader::describe(Slot& slot, const Plan& plan) {
  slot.batch.size = plan.size;
  for (std::size_t i = 0; i < plan.fields.size(); ++i) {
    slot.batch.fields[i].part = plan.fields[i].part;  // of the same rank: nothing is allocated
  }
}

void Loader::fill(Slot& slot, std::int64_t step) {
  describe(slot, plan_of(step));
  for (std::size_t i = 0; i < slot.buffers.size(); ++i) read(step, i, 1, slot.buffers[i].get());
}

}  // namespace meshwork::data
