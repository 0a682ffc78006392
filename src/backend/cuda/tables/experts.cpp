// assign_slots: the slot of each choice; dispatch, combine: rows to slots of experts, and back;
// pack_chosen, unpack_chosen: blocks of experts that rows choose, side by side, and back. Experts
// and their slots are counted over the whole tensor.
#include "backend/cuda/index.h"
#include "backend/cuda/kernel.h"
#include "backend/cuda/tables/kernels.h"
#include "backend/in_turn.h"
#include "backend/slots.h"

namespace meshwork::cuda {
namespace {

constexpr int kWarps = 8;  // of a block, which takes one sample and as many experts

// A warp goes through the choices of its expert in their order, 32 at a time: each finds out how
// many of its warp come before it. A choice of no expert is left to the last warp.
constexpr char kAssignText[] = R"cuda(
KERNEL(assign_slots, int32* y, const int32* x, int32 experts, int32 capacity, int32 steps,
       int32 ranks, int32 groups) {
  const int32 lane = threadIdx.x % 32;
  const int32 expert = (int32)(blockIdx.x % groups) * WARPS + threadIdx.x / 32;
  if (expert > experts) return;
  const int64 sample = (int64)(blockIdx.x / groups) * steps * ranks;
  int32 taken = 0;
  for (int32 rank = 0; rank < ranks; ++rank) {
    for (int32 first = 0; first < steps; first += 32) {
      const int32 step = first + lane;
      const int64 at = sample + (int64)step * ranks + rank;
      int32 choice = step < steps ? x[at] : -1;
      if (choice < 0 || choice > experts) choice = experts;
      const bool is_own = step < steps && choice == expert;
      const uint32 own = __ballot_sync(0xffffffffu, is_own);
      const int32 place = taken + __popc(own & ((1u << lane) - 1));
      if (is_own) y[at] = expert < experts && place < capacity ? expert * capacity + place : -1;
      taken += __popc(own);
    }
  }
}
)cuda";

// The part of the slots that is here: [experts, samples, places, ..].
constexpr char kSlotsText[] = R"cuda(
struct Slots {
  int64 capacity, first_expert, experts, samples, first_place, places;
};

// The row of a slot of a sample; -1 if it is not here.
DEVICE int64 row_of(const Slots& slots, int64 slot, int64 sample) {
  if (slot < 0) return -1;
  const int64 expert = slot / slots.capacity - slots.first_expert;
  const int64 place = slot % slots.capacity - slots.first_place;
  const bool is_here =
      expert >= 0 && expert < slots.experts && place >= 0 && place < slots.places;
  return is_here ? (expert * slots.samples + sample) * slots.places + place : -1;
}
)cuda";

constexpr char kEmptyText[] = R"cuda(
KERNEL(empty_slots, int32* from, int64 count) {
  FOR_EACH(i, count) { from[i] = -1; }
}
)cuda";

// from[row]: the row of x that goes there. `shared` choices have one row of x.
constexpr char kFillText[] = R"cuda(
KERNEL(fill_slots, int32* from, const int32* choice, Slots slots, Divisor of_sample, Divisor shared,
       int64 count) {
  FOR_EACH(i, count) {
    Index sample = (Index)i;
    take_last(sample, of_sample);
    const int64 row = row_of(slots, choice[i], sample);
    Index own = (Index)i;
    take_last(own, shared);
    if (row >= 0) from[row] = (int32)own;
  }
}
)cuda";

// from[block]: the block of x that goes there, or -1. PACKS: to the `packed` places of a row.
constexpr char kChosenText[] = R"cuda(
KERNEL(list_chosen, int32* from, const C* chosen, int32 experts, int32 packed, int64 rows) {
  FOR_EACH(row, rows) {
    const int64 first = row * experts, place = row * packed;
    int32 taken = 0;
    for (int32 e = 0; e < experts; ++e) {
      const bool is_taken = taken < packed && to_float(chosen[first + e]) != 0;
#if PACKS
      if (is_taken) from[place + taken] = (int32)(first + e);
#else
      from[first + e] = is_taken ? (int32)(place + taken) : -1;
#endif
      taken += is_taken;
    }
#if PACKS
    for (; taken < packed; ++taken) from[place + taken] = -1;
#endif
  }
}
)cuda";

// Rows of `width` words.
constexpr char kMoveText[] = R"cuda(
KERNEL(move_rows, T* y, const T* x, const int32* from, Divisor width, int64 count) {
  FOR_EACH(i, count) {
    Index row = (Index)i;
    const Index word = take_last(row, width);
    const int32 own = from[row];
    y[i] = own >= 0 ? x[own * (int64)width.value + word] : T();
  }
}
)cuda";

constexpr char kCombineText[] = R"cuda(
KERNEL(combine, T* y, const T* x, const int32* choice, Slots slots, Divisor of_sample,
       Divisor width, int64 count) {
  FOR_EACH(i, count) {
    Index row = (Index)i;
    const Index word = take_last(row, width);
    Index sample = row;
    take_last(sample, of_sample);
    const int64 own = row_of(slots, choice[row], sample);
    y[i] = own >= 0 ? x[own * (int64)width.value + word] : T();
  }
}
)cuda";

std::int64_t of_sample(const TensorView& choices) {
  return choices.type.shape[1] * choices.type.shape[2];
}

/// y[row] = x[from[row]], or 0; `from` is the workspace.
Launch move_rows(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.output;
  const std::int64_t bytes = word_bytes({address_of(x.data), address_of(y.data), row_bytes(y)});
  const std::int64_t words = num_bytes(y.type) / bytes;
  const Source move{"move_rows", std::string(kIndexText) + kMoveText,
                    define_index(words) + define_word("T", bytes)};
  return launch_over(args, move, words, y.data, x.data, args.workspace,
                     divisor_of(row_bytes(y) / bytes), words);
}

Launch move_chosen(const KernelArgs& args, bool packs, std::int64_t packed) {
  if (num_elements(args.output.type.shape) == 0) return [] {};
  const TensorView& chosen = args.inputs[1];
  const std::int64_t experts = chosen.type.shape.back();
  const std::int64_t rows = experts == 0 ? 0 : num_elements(chosen.type.shape) / experts;
  const Source list{"list_chosen", kChosenText,
                    define("C", chosen.type.dtype) + define("PACKS", packs ? 1 : 0)};
  return in_turn(
      {launch_over(args, list, rows, args.workspace, chosen.data,
                   static_cast<std::int32_t>(experts), static_cast<std::int32_t>(packed), rows),
       move_rows(args)});
}

}  // namespace

Launch assign_slots(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.output;
  const Shape& shape = x.type.shape;
  if (num_elements(shape) == 0) return [] {};
  const std::int64_t experts = args.attrs.integer("experts");
  const std::int64_t groups = experts / kWarps + 1;  // one expert more, of choices of none
  const Source source{"assign_slots", kAssignText, define("WARPS", kWarps)};
  const auto number = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  return kernel_launch(stream_of(args), source, source.name, {shape[0] * groups, kWarps * 32},
                       y.data, x.data, number(experts), number(args.attrs.integer("capacity")),
                       number(shape[1]), number(shape[2]), number(groups));
}

Launch dispatch(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &choices = args.inputs[1];
  const Slots slots = slots_of(args.output);
  const std::int64_t rows = slots.rows(), count = num_elements(choices.type.shape);
  const std::int64_t shared = x.type.shape[2] == 1 ? choices.type.shape[2] : 1;
  const Source empty{"empty_slots", kEmptyText, ""};
  const Source fill{"fill_slots", std::string(kIndexText) + kSlotsText + kFillText,
                    define_index(count)};
  return in_turn({launch_over(args, empty, rows, args.workspace, rows),
                  launch_over(args, fill, count, args.workspace, choices.data, slots,
                              divisor_of(of_sample(choices)), divisor_of(shared), count),
                  move_rows(args)});
}

Launch combine(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &choices = args.inputs[1], &y = args.output;
  const std::int64_t bytes = word_bytes({address_of(x.data), address_of(y.data), row_bytes(y)});
  const std::int64_t count = num_bytes(y.type) / bytes;
  const Source source{"combine", std::string(kIndexText) + kSlotsText + kCombineText,
                      define_index(count) + define_word("T", bytes)};
  return launch_over(args, source, count, y.data, x.data, choices.data, slots_of(x),
                     divisor_of(of_sample(choices)), divisor_of(row_bytes(y) / bytes), count);
}

Launch pack_chosen(const KernelArgs& args) {
  return move_chosen(args, true, args.output.type.shape.end()[-2]);
}

Launch unpack_chosen(const KernelArgs& args) {
  return move_chosen(args, false, args.inputs[0].type.shape.end()[-2]);
}

std::int64_t chosen_bytes(const KernelArgs& args) {
  const Shape& shape = args.output.type.shape;
  return 4 * num_elements(Shape(shape.begin(), shape.end() - 1));
}

}  // namespace meshwork::cuda
