// crossentropy:          y[..] = log sum exp x - x[.., label[..]]
// crossentropy_gradient: dx[.., c] = d (1 where c = label[..], else 0, minus softmax x[.., c])
// 0 for a label that is no class. Both, and argmax, are one kernel where they read the same.
#include "backend/cuda/kernels.h"
#include "backend/cuda/reductions/kernels.h"
#include "backend/cuda/reductions/lines.h"
#include "backend/cuda/reductions/softmax.h"
#include "backend/siblings.h"

namespace meshwork::cuda {
namespace {

constexpr std::string_view kText = R"cuda(
// The place of the greatest x of a line, to each of its threads, which find it where their chunk
// `best` has it. Where x are no numbers, and where all are -infinity, they look once more.
DEVICE int32 place_of_greatest(const T* x, const Line& line, const Moments& moments, float max,
                               int32 best) {
  Candidate found = no_candidate();
  if (!(moments.sum > 0)) {
    Packs packs;
    for_each_chunk(packs, x, line, [&](int32 chunk, const float (&e)[E]) {
      add_chunk(found, e, line, chunk);
    });
  } else if (max == moments.max) {
    float e[E];
    load(e, x, line, best);
    add_chunk(found, e, line, best);
  }
  return fold_team<Better>(line.team, found).place;
}

// Writes what is asked for: losses (LOSS), gradients (GRADIENT), of which one may stand where x
// does, or d where lines have one element, and the places of the greatest x, counted from `first`
// (PLACE). d is a number where there is no tensor of it.
// Two blocks of the longest lines are on a multiprocessor at a time.
KERNEL(__launch_bounds__(512, 2) crossentropy, float* losses, R* gradients, int32* places,
       const T* x, const int32* labels, const float* d, float number, int32 first, Lines lines) {
  const Line line = line_of(lines);
  const bool mine = line.number < lines.count, leads = mine && line.team.lane == 0;
  const int32 label = mine ? labels[line.number] : 0;
  const bool is_hit = label >= 0 && label < line.extent;
  const float factor = GRADIENT && d != nullptr && mine ? d[line.number] : number;
  Packs packs;
#if PLACE
  float max = -MW_INFINITY;  // of the thread, in its chunk `best`
  int32 best = 0;
  const Moments moments = moments_of(packs, x, line, [&](int32 chunk, float of_chunk) {
    best = of_chunk > max ? chunk : best;
    max = fmaxf(max, of_chunk);
  });
  const int32 place = place_of_greatest(x, line, moments, max, best);
  if (leads) places[line.number] = first + (line.extent > 0 ? place : 0);
#else
  const Moments moments = moments_of(packs, x, line);
#endif
  // The thread whose chunk it is in reads it before gradients stand in its place.
  const bool has_label = is_hit && turn_of(line, label) >= 0;
  const float label_x = has_label ? computed(x[line.begin + label]) : 0.0f;
#if LOSS
  if (has_label) losses[line.number] = logf(moments.sum) - (label_x - moments.max);
  if (leads && !is_hit) losses[line.number] = 0.0f;
#endif
#if GRADIENT
  const float share = 1.0f / moments.sum, scale = (0.0f - factor) * share;
  for_each_chunk_back(packs, x, line, [&](int32 chunk, float (&e)[E]) {
    if (is_hit) {
#pragma unroll
      for (int32 k = 0; k < E; ++k) e[k] = shifted_exp(e[k], moments.max) * scale;
    } else {
#pragma unroll
      for (int32 k = 0; k < E; ++k) e[k] = 0.0f;
    }
    save(e, gradients, line, chunk);
  });
  if (has_label) {
    store(gradients[line.begin + label],
          factor * (1.0f - shifted_exp(label_x, moments.max) * share));
  }
#endif
}
)cuda";

/// What is computed of logits and labels: what is null is not asked for.
struct Request {
  const TensorView *logits = nullptr, *labels = nullptr;
  const TensorView *loss = nullptr, *gradient = nullptr, *place = nullptr;
  const float* d = nullptr;  ///< for each line; null: a number
  float number = 0;
};

Launch bind(const Request& request, const KernelArgs& args) {
  const TensorView& x = *request.logits;
  const auto axis = static_cast<std::int64_t>(request.labels->type.shape.size());
  const auto data = [](const TensorView* view) { return view == nullptr ? nullptr : view->data; };
  const LinePlan plan = request.gradient == nullptr
                            ? plan_lines(args, axis, {&x})
                            : plan_lines(args, axis, {&x, request.gradient});
  Source source = lines_source(args, "crossentropy",
                               std::string(kMomentsText).append(kGreatestText).append(kText), plan);
  const DType result = request.gradient == nullptr ? x.type.dtype : request.gradient->type.dtype;
  source.defines += define("R", result) + define("LOSS", request.loss != nullptr) +
                    define("GRADIENT", request.gradient != nullptr) +
                    define("PLACE", request.place != nullptr);
  const auto first = static_cast<std::int32_t>(x.region.offset[static_cast<std::size_t>(axis)]);
  return kernel_launch(stream_of(args), source, source.name, plan.grid, data(request.loss),
                       data(request.gradient), data(request.place), x.data, request.labels->data,
                       request.d, request.number, first, plan.lines);
}

constexpr std::string_view kLoss = "crossentropy", kGradient = "crossentropy_gradient",
                           kPlace = "argmax";
constexpr std::array kOps{kPlace, kLoss, kGradient};

/// Adds what a node asks for.
void add(std::string_view op, const KernelArgs& args, Request& request) {
  if (op == kPlace) {
    request.place = &args.output;
    return;
  }
  request.labels = &args.inputs[1];
  if (op == kLoss) {
    request.loss = &args.output;
    return;
  }
  request.gradient = &args.output;
  if (args.inputs.size() > 2) {
    request.d = args.inputs[2].as<float>();
  } else {
    request.number = static_cast<float>(args.attrs.real("d"));
  }
}

Launch bind_alone(std::string_view op, const KernelArgs& args) {
  Request request{.logits = &args.inputs[0]};
  add(op, args, request);
  return bind(request, args);
}

Launch bind_group(const FusionGroup& group, CudaStream& stream) {
  std::vector<KernelArgs> all;
  for (const FusionGroup::Member& member : group.members) {
    all.push_back(node_of(group, member));
    all.back().stream = &stream;
  }
  Request request{.logits = &all.front().inputs[0]};
  std::optional<Launch> apart;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string_view op = group.members[i].op;
    const auto last = static_cast<std::int64_t>(all[i].inputs[0].type.shape.size()) - 1;
    if (op == kPlace && all[i].attrs.integer("axis") != last) {
      apart = argmax(all[i]);
    } else if (group.members[i].is_read) {
      add(op, all[i], request);
    }
  }
  const Launch together = bind(request, all.front());
  if (!apart) return together;
  return [first = *apart, together] {
    first();
    together();
  };
}

std::int64_t workspace_of_group(const FusionGroup& /*group*/) { return 0; }

}  // namespace

Launch crossentropy(const KernelArgs& args) { return bind_alone(kLoss, args); }
Launch crossentropy_gradient(const KernelArgs& args) { return bind_alone(kGradient, args); }

SiblingKernels crossentropy_siblings() {
  const std::vector<std::string> ops(kOps.begin(), kOps.end());
  return {{ops}, bind_group, workspace_of_group};
}

}  // namespace meshwork::cuda
