#pragma once

#include <map>
#include <string>
#include <string_view>

namespace meshwork {

/// Keras's spelling of a class as a name: "MaxPooling2D" -> "max_pooling2d", "ReLU" -> "re_lu".
std::string snake_case(std::string_view class_name);

/// Keras's automatic names: dense, dense_1, dense_2; one object per model or block.
class AutoNames {
 public:
  std::string next(std::string_view class_name);

 private:
  std::map<std::string, int> used_;
};

}  // namespace meshwork
