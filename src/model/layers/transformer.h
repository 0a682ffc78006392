#pragma once

#include <array>
#include <string>

#include "model/layers/part.h"

namespace meshwork::layers {

/// The arguments of keras-hub's TransformerEncoder and TransformerDecoder, and the parts that both
/// are made of.
class Transformer {
 public:
  /// `x`: what goes through it, [batch, steps, features].
  Transformer(Scope& scope, config::Reader& args, ValueId x);

  /// x + dropout(attention(x)), normalized before or after.
  struct Attention {
    std::string name, norm, dropout;  ///< of its parts
    bool is_causal = false;
    ValueId source = kNoValue;          ///< keys and values; none: x itself
    ValueId query_mask = kNoValue;      ///< of x
    ValueId key_mask = kNoValue;        ///< of keys and values
    ValueId attention_mask = kNoValue;  ///< [queries, keys] of each sample
  };
  ValueId attend(const Attention& attention, ValueId x);

  /// x + dropout(output(activation(intermediate(x)))), normalized before or after.
  ValueId feed_forward(ValueId x);

 private:
  ValueId normalize(const std::string& name, ValueId x);
  ValueId drop(const std::string& name, ValueId x);
  ValueId dense(const std::string& name, std::int64_t units, const PartArguments& more, ValueId x);

  Scope& scope_;
  const config::Reader& args_;
  std::int64_t width_ = 0, units_ = 0, heads_ = 0;
  double dropout_ = 0, epsilon_ = 0;
  const config::Value *activation_ = nullptr, *kernel_ = nullptr, *bias_ = nullptr;
  const char* default_activation_ = "relu";
  bool normalizes_first_ = false;
};

/// An input that may be left out; kNoValue if it is.
ValueId input_at(std::span<const ValueId> inputs, std::size_t input);

/// Which steps of an input count, by the input of masks [steps], else by the mask that it has.
ValueId padding_of(Scope& scope, const config::Reader& args, std::span<const ValueId> inputs,
                   std::size_t input, std::size_t padding_mask);

}  // namespace meshwork::layers
