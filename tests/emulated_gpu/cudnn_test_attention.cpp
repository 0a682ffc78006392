#include "emulated_gpu/cudnn_test_attention.h"

namespace emulated_gpu::testing {
namespace {

/// The tensors that descriptions of both directions have, and steps that they share.
class Attention {
 public:
  explicit Attention(const Problem& problem) : p_(problem) {}

  Description operand(Id id, const Integers& dims) {
    return graph_.in_memory(id, id == kV ? p_.values : p_.type, dims, p_.strides(dims),
                            p_.alignment);
  }
  /// With channels as the dim before the last.
  Description transposed(Id id) {
    const Integers dims = p_.others(), strides = p_.strides(dims);
    return graph_.in_memory(id, p_.type, {dims[0], dims[1], dims[3], dims[2]},
                            {strides[0], strides[1], strides[3], strides[2]}, p_.alignment);
  }
  Description statistics() {
    return graph_.in_memory(kStats, CUDNN_DATA_FLOAT, p_.lines(), p_.statistics_strides(), 4);
  }
  Description scores(cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return graph_.between(p_.scores(), type);
  }
  Description line() { return graph_.between(p_.lines()); }

  Description scaled_product(Description q, Description k) {
    return graph_.pointwise(CUDNN_POINTWISE_MUL, {graph_.product(q, k, scores()), scale()},
                            scores());
  }
  Description masked(Description x) {
    if (!p_.causal) return x;
    const auto index = [&](std::int64_t axis) {
      return graph_.pointwise(CUDNN_POINTWISE_GEN_INDEX, {x}, scores(CUDNN_DATA_INT32), axis);
    };
    const Description sees =
        graph_.pointwise(CUDNN_POINTWISE_CMP_GE, {index(2), index(3)}, scores(CUDNN_DATA_BOOLEAN));
    return graph_.pointwise(CUDNN_POINTWISE_BINARY_SELECT, {x, graph_.by_value(kMasked), sees},
                            scores());
  }
  Description turned(Description x) {
    return graph_.reshape(x, graph_.between({p_.b, p_.h, p_.s, p_.t}, p_.type,
                                            {p_.h * p_.t * p_.s, p_.t * p_.s, 1, p_.s}));
  }
  Description scale() {
    if (scale_ == nullptr) scale_ = graph_.by_value(kScale);
    return scale_;
  }

  Graph& graph() { return graph_; }

 private:
  Problem p_;
  Graph graph_;
  Description scale_ = nullptr;
};

}  // namespace

Description forward(const Problem& p, cudnnHandle_t handle) {
  Attention a(p);
  Graph& g = a.graph();
  const Description x = a.masked(a.scaled_product(a.operand(kQ, p.queries()), a.transposed(kK)));
  const Description most = g.reduction(CUDNN_REDUCE_TENSOR_MAX, x, a.line());
  const Description e = g.pointwise(
      CUDNN_POINTWISE_EXP, {g.pointwise(CUDNN_POINTWISE_SUB, {x, most}, a.scores())}, a.scores());
  const Description sum = g.reduction(CUDNN_REDUCE_TENSOR_ADD, e, a.line());
  if (p.whole) {
    g.pointwise(CUDNN_POINTWISE_ADD, {g.pointwise(CUDNN_POINTWISE_LOG, {sum}, a.line()), most},
                p.statistics ? a.statistics() : a.line());
  }
  const Description shares = g.pointwise(CUDNN_POINTWISE_DIV, {e, sum}, a.scores(p.type));
  g.product(shares, a.operand(kV, p.others()), a.operand(kO, p.queries()));
  return g.finish(handle);
}

Description gradients(const Problem& p, cudnnHandle_t handle) {
  Attention a(p);
  Graph& g = a.graph();
  const Description q = a.operand(kQ, p.queries()), k = a.transposed(kK), one = g.by_value(kOne);
  const Description by_o = a.operand(kDO, p.queries());
  const Description products =
      g.pointwise(CUDNN_POINTWISE_MUL, {by_o, a.operand(kO, p.queries())}, g.between(p.queries()));
  const Description delta =
      g.pointwise(CUDNN_POINTWISE_MUL,
                  {g.reduction(CUDNN_REDUCE_TENSOR_ADD, products, a.line()), one}, a.line());
  const Description logits =
      g.pointwise(CUDNN_POINTWISE_SUB, {a.scaled_product(q, k), a.statistics()}, a.scores());
  const Description shares = g.pointwise(CUDNN_POINTWISE_EXP, {a.masked(logits)}, a.scores());
  g.product(a.turned(shares), by_o, a.operand(kDV, p.others()));
  const Description by_shares = g.product(by_o, a.transposed(kV), a.scores());
  const Description centred = g.pointwise(CUDNN_POINTWISE_SUB, {by_shares, delta}, a.scores());
  const Description by_logits = g.pointwise(
      CUDNN_POINTWISE_MUL,
      {g.pointwise(CUDNN_POINTWISE_MUL, {centred, shares}, a.scores()), a.scale()}, a.scores());
  g.product(a.turned(by_logits), q, a.operand(kDK, p.others()));
  const Description k2 = g.reshape(k, g.between(p.others(), p.type, p.strides(p.others())));
  g.product(by_logits, k2, a.operand(kDQ, p.queries()));
  return g.finish(handle);
}

}  // namespace emulated_gpu::testing
