#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/shape.h"
#include "config/value.h"

namespace meshwork {

/// Arguments that Keras has and Meshwork does not: an Error unless absent or null.
void refuse_arguments(config::Reader& args, std::initializer_list<std::string_view> keys);

/// Whether the key is there with null, Keras's None, for which find() gives what it gives for an
/// absent one.
bool is_null(config::Reader& args, std::string_view key);
/// Arguments for which Keras takes no None, though they have a default: an Error where one is null.
void refuse_null(config::Reader& args, std::initializer_list<std::string_view> keys);

/// The key `dtype`, which may only say float32.
void refuse_dtype(config::Reader& args);

/// A dimension of `rank`, counted from the end if negative, read from `axis`.
std::int64_t read_axis(const config::Value* axis, std::int64_t fallback, std::size_t rank);
/// One such dimension or a list of them, in order and without duplicates; an Error if it is empty.
std::vector<std::int64_t> read_axes(const config::Value* axes, std::int64_t fallback,
                                    std::size_t rank);

/// Dimensions of a sample, from the key `axis`: as read_axes(), the last one by default, and an
/// Error if the batch is among them.
std::vector<std::int64_t> read_sample_axes(config::Reader& args, std::size_t rank);
/// One such dimension.
std::int64_t read_sample_axis(config::Reader& args, std::size_t rank);
/// The same, read from `axis` once the rank is known; `what`, which stands at a place, is to have
/// it.
std::int64_t read_sample_axis(const std::string& what, const config::Location& at,
                              const config::Value* axis, std::size_t rank);

/// The number of elements, or -1 if there are more than 2^46, or 2^31 or more along a dimension.
std::int64_t checked_elements(const Shape& shape);

/// A shape as users see it, without the batch dimension.
std::string sample_shape(const Shape& shape);

}  // namespace meshwork
