#pragma once

#include <string_view>

/// What the inputs and outputs of a program are called by those who build it, read its data and run
/// it. No other file spells these names.
namespace meshwork::names {

// Fields of a data set, and the inputs that they go to.
inline constexpr const char* kFeatures = "x";
inline constexpr const char* kLabels = "y";
inline constexpr const char* kSampleWeight = "sample_weight";  ///< weighs samples in the loss

/// Fields of a data set of tokens where it has documents, and of the inputs by which a model takes
/// them, int32 [context] each: to which document of a window a token belongs, and its place in
/// that. A sequence that is generated is one document.
inline constexpr const char* kSegments = "segments";
inline constexpr const char* kPositions = "positions";

inline bool is_of_documents(std::string_view field) {
  return field == kSegments || field == kPositions;
}

// Scalars that are given in every step. No field may be called so.
inline constexpr const char* kIteration = "iteration";
inline constexpr const char* kLearningRate = "learning_rate";

inline bool is_given_in_steps(std::string_view input) {
  return input == kIteration || input == kLearningRate;
}

// Inputs of a program that generates, see model/decoder.h.
inline constexpr const char* kTokens = "tokens";
inline constexpr const char* kStart = "start";
inline constexpr const char* kLast = "last";

// Outputs.
inline constexpr const char* kLoss = "loss";
inline constexpr const char* kStepTaken = "step_taken";  ///< 1, or 0 where a step was left out
inline constexpr const char* kPrediction = "prediction";
inline constexpr const char* kScores = "scores";  ///< of a program that generates

// Endings of outputs, behind the name under which a metric is logged, which has no '/'.
inline constexpr const char* kTotal = "/total";
inline constexpr const char* kCount = "/count";
inline constexpr const char* kCounts = "/counts";

}  // namespace meshwork::names
