#pragma once

#include <map>
#include <string>
#include <string_view>

namespace meshwork {

/// Keras's spelling of a class as a name: "MaxPooling2D" -> "max_pooling2d", "ReLU" -> "re_lu".
std::string snake_case(std::string_view class_name);

/// The class that Keras means by one of its other spellings: "MaxPool2D" -> "MaxPooling2D",
/// "GlobalAvgPool1D" -> "GlobalAveragePooling1D", "Convolution2D" -> "Conv2D".
std::string without_alias(std::string_view class_name);

/// Keras's automatic names: dense, dense_1, dense_2, whatever the spelling of the class; one object
/// per model or block.
class AutoNames {
 public:
  std::string next(std::string_view class_name);

 private:
  std::map<std::string, int> used_;
};

}  // namespace meshwork
