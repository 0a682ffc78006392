#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "model/scope.h"

namespace meshwork {

/// What a layer of floats of 16 bits computes in: these; in them but for its variables, rounded as
/// they are; or float32 altogether, where sums of 16 bits would be too coarse. It gives 16 bits.
enum class Inside { kLayerDtype, kFloat32Variables, kFloat32 };

struct LayerDef;

namespace layers {
struct CellDef;
}  // namespace layers

/// A layer within another.
struct LayerPart {
  std::string name;               ///< of which the names of its variables begin
  std::string stored_as;          ///< what Keras's files of weights call it
  const LayerDef* def = nullptr;  ///< that has parts itself
  config::Value args = {};        ///< where these decide of its parts
};

/// An argument that Keras reads no layer without, though it has a default.
struct WrittenDefault {
  std::string_view key;
  std::optional<double> value;  ///< none: null
};

/// One layer class, in the list of registry.cpp. `build` reads its arguments, under the builder's
/// path makes its variables, and gives its output. Keras's argument names and defaults.
struct LayerDef {
  std::vector<std::string_view> names;
  ValueId (*build)(Scope& scope, config::Reader& args, std::span<const ValueId> inputs);
  std::size_t min_inputs = 1;
  std::size_t max_inputs = 1;
  Inside inside = Inside::kLayerDtype;
  bool takes_any_dtype = false;  ///< inputs come as they are: whole numbers stay whole
  /// Keras's supports_masking: the output has the mask of the first input, if `build` gives it no
  /// other. Of other layers it has none.
  bool passes_mask = false;
  bool takes_any_rank = false;  ///< dimensions before the last are so many samples
  bool mixes_samples = false;   ///< what it gives for a sample depends on the others of the batch
  bool is_activation = false;   ///< an activation function as a layer of its own
  bool may_be_untaken = false;  ///< is of use though nothing takes what it gives
  std::vector<std::string_view> call_arguments = {};  ///< that Keras takes when the layer is called
  /// What Keras calls inputs that it takes as arguments of their own; none: one, or a list. Only of
  /// such a layer may inputs be left out before others: `build` finds kNoValue there.
  std::vector<std::string_view> call_inputs = {};
  bool ends_with_list = false;        ///< the last of `call_inputs` is a list
  std::vector<LayerPart> parts = {};  ///< in the order in which Keras makes their variables
  /// Of a layer whose arguments decide of its parts, which it makes in their order.
  std::vector<LayerPart> (*parts_of)(const config::Value& args) = nullptr;
  std::string_view module = "keras.layers";  ///< whose class it is; "": Keras has none
  std::string_view exported_as = {};         ///< the name in `module`, where not that of the class
  std::vector<WrittenDefault> written_defaults = {};  ///< stand in a .keras file in any case
  const layers::CellDef* cell = nullptr;              ///< of a layer that goes over a sequence
};

constexpr std::size_t kAnyNumber = ~std::size_t{0};

/// Whether it is one of Keras's operations (keras.ops), which are no layers there.
inline bool is_operation(const LayerDef& def) { return def.module.starts_with("keras.src.ops."); }

const std::vector<const LayerDef*>& layer_registry();

namespace layers {
/// An Error for those of Keras's classes for which other words stand here: it says which.
void refuse_known_layer(const config::ClassSpec& layer);

extern const LayerDef kAbsolute;
extern const LayerDef kActivation;
extern const LayerDef kActivityRegularization;
extern const LayerDef kAdaptiveAveragePooling1D;
extern const LayerDef kAdaptiveAveragePooling2D;
extern const LayerDef kAdaptiveAveragePooling3D;
extern const LayerDef kAdaptiveMaxPooling1D;
extern const LayerDef kAdaptiveMaxPooling2D;
extern const LayerDef kAdaptiveMaxPooling3D;
extern const LayerDef kAdd;
extern const LayerDef kAddLoss;
extern const LayerDef kAdditiveAttention;
extern const LayerDef kAlphaDropout;
extern const LayerDef kAttention;
extern const LayerDef kAverage;
extern const LayerDef kAveragePooling1D;
extern const LayerDef kAveragePooling2D;
extern const LayerDef kAveragePooling3D;
extern const LayerDef kBatchNormalization;
extern const LayerDef kBidirectional;
extern const LayerDef kClip;
extern const LayerDef kConcatenate;
extern const LayerDef kConv1D;
extern const LayerDef kConv1DTranspose;
extern const LayerDef kConv2D;
extern const LayerDef kConv2DTranspose;
extern const LayerDef kConv3D;
extern const LayerDef kConv3DTranspose;
extern const LayerDef kCos;
extern const LayerDef kCropping1D;
extern const LayerDef kCropping2D;
extern const LayerDef kCropping3D;
extern const LayerDef kCustomScaleLayer;
extern const LayerDef kDense;
extern const LayerDef kDepthwiseConv1D;
extern const LayerDef kDepthwiseConv2D;
extern const LayerDef kDivide;
extern const LayerDef kDot;
extern const LayerDef kDotProductAttention;
extern const LayerDef kDropout;
extern const LayerDef kEinsumDense;
extern const LayerDef kElu;
extern const LayerDef kEmbedding;
extern const LayerDef kErf;
extern const LayerDef kExp;
extern const LayerDef kExpm1;
extern const LayerDef kFlatten;
extern const LayerDef kFloor;
extern const LayerDef kGaussianDropout;
extern const LayerDef kGaussianNoise;
extern const LayerDef kGetItem;
extern const LayerDef kGlobalAveragePooling1D;
extern const LayerDef kGlobalAveragePooling2D;
extern const LayerDef kGlobalAveragePooling3D;
extern const LayerDef kGlobalMaxPooling1D;
extern const LayerDef kGlobalMaxPooling2D;
extern const LayerDef kGlobalMaxPooling3D;
extern const LayerDef kGroupNormalization;
extern const LayerDef kGroupQueryAttention;
extern const LayerDef kGru;
extern const LayerDef kIdentity;
extern const LayerDef kLayerNormalization;
extern const LayerDef kLayerScale;
extern const LayerDef kLeakyRelu;
extern const LayerDef kLlamaRotaryEmbedding;
extern const LayerDef kLog;
extern const LayerDef kLog1p;
extern const LayerDef kLstm;
extern const LayerDef kMasking;
extern const LayerDef kMax;
extern const LayerDef kMaxPooling1D;
extern const LayerDef kMaxPooling2D;
extern const LayerDef kMaxPooling3D;
extern const LayerDef kMaximum;
extern const LayerDef kMean;
extern const LayerDef kMin;
extern const LayerDef kMinimum;
extern const LayerDef kMixtureOfExperts;
extern const LayerDef kMultiHeadAttention;
extern const LayerDef kMultiply;
extern const LayerDef kNegative;
extern const LayerDef kNormalization;
extern const LayerDef kPRelu;
extern const LayerDef kPermute;
extern const LayerDef kPositionEmbedding;
extern const LayerDef kPower;
extern const LayerDef kReciprocal;
extern const LayerDef kRelu;
extern const LayerDef kRepeatVector;
extern const LayerDef kRescaling;
extern const LayerDef kReshape;
extern const LayerDef kReversibleEmbedding;
extern const LayerDef kRmsNormalization;
extern const LayerDef kRoll;
extern const LayerDef kRotaryEmbedding;
extern const LayerDef kRsqrt;
extern const LayerDef kSeparableConv1D;
extern const LayerDef kSeparableConv2D;
extern const LayerDef kSign;
extern const LayerDef kSimpleRnn;
extern const LayerDef kSin;
extern const LayerDef kSinePositionEncoding;
extern const LayerDef kSoftmax;
extern const LayerDef kSpatialDropout1D;
extern const LayerDef kSpatialDropout2D;
extern const LayerDef kSpatialDropout3D;
extern const LayerDef kSqrt;
extern const LayerDef kSquare;
extern const LayerDef kStd;
extern const LayerDef kStochasticDepth;
extern const LayerDef kStopGradient;
extern const LayerDef kSubtract;
extern const LayerDef kSum;
extern const LayerDef kTimeDistributed;
extern const LayerDef kTokenAndPositionEmbedding;
extern const LayerDef kTransformerDecoder;
extern const LayerDef kTransformerEncoder;
extern const LayerDef kUnitNormalization;
extern const LayerDef kUpSampling1D;
extern const LayerDef kUpSampling2D;
extern const LayerDef kUpSampling3D;
extern const LayerDef kVar;
extern const LayerDef kZeroPadding1D;
extern const LayerDef kZeroPadding2D;
extern const LayerDef kZeroPadding3D;
}  // namespace layers

}  // namespace meshwork
