#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/initializers/initializer.h"
#include "model/layers/layer.h"

namespace meshwork::layers {

struct Equation;
struct EquationPart;

/// The equation of an EinsumDense, "btd,dnh->btnh", "...d,dh->...h" or "bd...,dh->bh...", for one
/// shape of its input: each dimension has a name, those behind "..." too.
class Contraction {
 public:
  using Factors = std::vector<std::string>;

  /// Reads `equation` and `output_shape`. Throws an Error where they and the shape of the input,
  /// with the batch, do not fit.
  Contraction(config::Reader& args, const Shape& x_shape);

  Shape kernel_shape() const { return shape_of(kernel_); }
  /// In: what is summed over; out: what the result keeps (Keras 3.15, EinsumDense).
  Fans fans() const;
  /// From the first of the axes, letters of the output, on; 1 along those that are not among them.
  Shape bias_shape(const config::Value& axes) const;
  ValueId apply(GraphBuilder& b, ValueId x, ValueId kernel) const;

 private:
  Shape shape_of(const Factors& factors) const;
  Factors with_dots(const EquationPart& part) const;
  void name_dimensions(const Equation& equation, const Shape& x_shape);
  void read_output(const config::Value& value, const EquationPart& y);
  void check_kernel() const;
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const;

  config::Location at_;
  std::string what_, text_;
  Factors x_, kernel_, y_;
  Factors dots_;  ///< what "..." stands for
  std::map<std::string, std::int64_t> extents_;
};

}  // namespace meshwork::layers
