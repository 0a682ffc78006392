#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/formats/source.h"
#include "data/image/resize.h"

namespace meshwork::data {

/// The images in `files` as [n, height, width, channels], of kLabels as [n, height, width], decoded
/// when they are first read, and kept if the context says so. With `resize`, of which `size` then
/// is the size, they are float32, but of kLabels, which are resized by nearest; without it bytes,
/// and all must have that size. `name` is for errors.
std::unique_ptr<Source> make_image_source(const std::string& name, std::vector<std::string> files,
                                          ColorMode color, const ImageSize& size,
                                          const std::optional<ResizeOptions>& resize,
                                          const OpenContext& context);

}  // namespace meshwork::data
