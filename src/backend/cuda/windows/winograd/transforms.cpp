#include "backend/cuda/windows/winograd/transforms.h"

#include <string>

#include "backend/cuda/kernel.h"

namespace meshwork::cuda::windows {
namespace {

constexpr std::string_view kForms = R"cuda(
#define PLANES 16

// Transforms along one dimension, of kFrom elements to kTo; the points are 0, 1, -1 and infinity.
struct Source {
  static constexpr int kFrom = 4, kTo = 4;
  DEVICE void apply(const float (&x)[4], float (&y)[4]) {
    y[0] = x[0] - x[2];
    y[1] = x[1] + x[2];
    y[2] = x[2] - x[1];
    y[3] = x[1] - x[3];
  }
};
struct Result {
  static constexpr int kFrom = 4, kTo = 2;
  DEVICE void apply(const float (&x)[4], float (&y)[2]) {
    y[0] = x[0] + x[1] + x[2];
    y[1] = x[1] - x[2] - x[3];
  }
};
struct Kernel {
  static constexpr int kFrom = 3, kTo = 4;
  DEVICE void apply(const float (&x)[3], float (&y)[4]) {
    y[0] = x[0];
    y[1] = 0.5f * (x[0] + x[1] + x[2]);
    y[2] = 0.5f * (x[0] - x[1] + x[2]);
    y[3] = x[2];
  }
};
struct Gradient {
  static constexpr int kFrom = 2, kTo = 4;
  DEVICE void apply(const float (&x)[2], float (&y)[4]) {
    y[0] = x[0];
    y[1] = 0.5f * (x[0] + x[1]);
    y[2] = 0.5f * (x[0] - x[1]);
    y[3] = x[1];
  }
};
struct KernelGradient {
  static constexpr int kFrom = 4, kTo = 3;
  DEVICE void apply(const float (&x)[4], float (&y)[3]) {
    y[0] = x[0] + x[1] + x[2];
    y[1] = x[1] - x[2];
    y[2] = x[1] + x[2] - x[3];
  }
};

// Along both dimensions.
template <class Form>
DEVICE void transform(const float (&x)[Form::kFrom][Form::kFrom],
                      float (&y)[Form::kTo][Form::kTo]) {
  float rows[Form::kFrom][Form::kTo];
#pragma unroll
  for (int32 i = 0; i < Form::kFrom; ++i) Form::apply(x[i], rows[i]);
#pragma unroll
  for (int32 j = 0; j < Form::kTo; ++j) {
    float column[Form::kFrom], result[Form::kTo];
#pragma unroll
    for (int32 i = 0; i < Form::kFrom; ++i) column[i] = rows[i][j];
    Form::apply(column, result);
#pragma unroll
    for (int32 i = 0; i < Form::kTo; ++i) y[i][j] = result[i];
  }
}

)cuda";

constexpr std::string_view kPlaces = R"cuda(
struct ImageTiles {
  int32 height, width, channels, margin_y, margin_x, high, wide;
  int64 count, filled_up;
};

// Of a number of a tile and a channel: the channel, the first row and column of the tile, and the
// first pixel of its image.
struct Place {
  int32 channel, y, x;
  int64 image;
};
DEVICE Place place_of(uint32 i, const ImageTiles& t) {
  Place place;
  uint32 tile = i / (uint32)t.channels;
  place.channel = (int32)(i - tile * (uint32)t.channels);
  const uint32 row = tile / (uint32)t.wide, image = row / (uint32)t.high;
  place.x = 2 * (int32)(tile - row * (uint32)t.wide) - t.margin_x;
  place.y = 2 * (int32)(row - image * (uint32)t.high) - t.margin_y;
  place.image = (int64)image * t.height * t.width;
  return place;
}

// Of a row and a column of a tile the number of the element; -1 outside of the image.
DEVICE int64 element_of(const Place& place, int32 row, int32 column, const ImageTiles& t) {
  const int32 y = place.y + row, x = place.x + column;
  if ((uint32)y >= (uint32)t.height || (uint32)x >= (uint32)t.width) return -1;
  return (place.image + (int64)y * t.width + x) * t.channels + place.channel;
}
)cuda";

constexpr std::string_view kImageToPlanes = R"cuda(
KERNEL(image_to_planes, float* planes, const float* image, ImageTiles t) {
  constexpr int32 kFrom = FORM::kFrom;
  const int64 count = t.filled_up * t.channels;
  FOR_EACH(i, count) {
    float tile[kFrom][kFrom] = {}, result[4][4];
    if (i < t.count * t.channels) {
      const Place place = place_of((uint32)i, t);
#pragma unroll
      for (int32 r = 0; r < kFrom; ++r) {
#pragma unroll
        for (int32 c = 0; c < kFrom; ++c) {
          const int64 element = element_of(place, r, c, t);
          if (element >= 0) tile[r][c] = image[element];
        }
      }
    }
    transform<FORM>(tile, result);
#pragma unroll
    for (int32 p = 0; p < PLANES; ++p) planes[p * count + i] = result[p / 4][p % 4];
  }
}

)cuda";

constexpr std::string_view kPlanesToImage = R"cuda(
KERNEL(planes_to_image, float* image, const float* planes, ImageTiles t) {
  const int64 count = t.filled_up * t.channels;
  FOR_EACH(i, t.count * t.channels) {
    float tile[4][4], result[2][2];
#pragma unroll
    for (int32 p = 0; p < PLANES; ++p) tile[p / 4][p % 4] = planes[p * count + i];
    transform<FORM>(tile, result);
    const Place place = place_of((uint32)i, t);
#pragma unroll
    for (int32 r = 0; r < 2; ++r) {
#pragma unroll
      for (int32 c = 0; c < 2; ++c) {
        const int64 element = element_of(place, r, c, t);
        if (element >= 0) image[element] = result[r][c];
      }
    }
  }
}

)cuda";

constexpr std::string_view kKernelToPlanes = R"cuda(
KERNEL(kernel_to_planes, float* planes, const float* w, int64 elements, int32 backward) {
  FOR_EACH(i, elements) {
    float taps[3][3], result[4][4];
#pragma unroll
    for (int32 p = 0; p < 9; ++p) {
      taps[p / 3][p % 3] = w[(backward ? 8 - p : p) * elements + i];
    }
    transform<FORM>(taps, result);
#pragma unroll
    for (int32 p = 0; p < PLANES; ++p) planes[p * elements + i] = result[p / 4][p % 4];
  }
}

)cuda";

constexpr std::string_view kPlanesToKernel = R"cuda(
KERNEL(planes_to_kernel, float* w, const float* planes, int64 elements, int32 parts) {
  FOR_EACH(i, elements) {
    float sums[4][4], taps[3][3];
#pragma unroll
    for (int32 p = 0; p < PLANES; ++p) {
      float sum = 0;
      for (int32 part = 0; part < parts; ++part) sum += planes[(p * parts + part) * elements + i];
      sums[p / 4][p % 4] = sum;
    }
    transform<FORM>(sums, taps);
#pragma unroll
    for (int32 p = 0; p < 9; ++p) w[p * elements + i] = taps[p / 3][p % 3];
  }
}
)cuda";

/// The kernel `name` of a text, with one of the forms.
template <class... Arguments>
Launch launch(CudaStream& stream, const char* name, std::string_view text, const std::string& form,
              std::int64_t elements, Arguments... arguments) {
  const Source source{name, std::string(kForms).append(kPlaces).append(text),
                      "#define FORM " + form + "\n"};
  return kernel_launch(stream, source, name, grid_of(elements), arguments...);
}

Launch to_planes(CudaStream& stream, const std::string& form, const ImageTiles& tiles,
                 const std::byte* image, std::byte* planes) {
  return launch(stream, "image_to_planes", kImageToPlanes, form, tiles.filled_up * tiles.channels,
                planes, image, tiles);
}

}  // namespace

Launch transform_source(CudaStream& stream, const ImageTiles& tiles, const std::byte* image,
                        std::byte* planes) {
  return to_planes(stream, "Source", tiles, image, planes);
}

Launch transform_gradient(CudaStream& stream, const ImageTiles& tiles, const std::byte* image,
                          std::byte* planes) {
  return to_planes(stream, "Gradient", tiles, image, planes);
}

Launch transform_result(CudaStream& stream, const ImageTiles& tiles, const std::byte* planes,
                        std::byte* image) {
  return launch(stream, "planes_to_image", kPlanesToImage, "Result", tiles.count * tiles.channels,
                image, planes, tiles);
}

Launch transform_kernel(CudaStream& stream, std::int64_t elements, bool backward,
                        const std::byte* w, std::byte* planes) {
  return launch(stream, "kernel_to_planes", kKernelToPlanes, "Kernel", elements, planes, w,
                elements, static_cast<std::int32_t>(backward));
}

Launch transform_kernel_gradient(CudaStream& stream, std::int64_t elements, std::int32_t parts,
                                 const std::byte* planes, std::byte* w) {
  return launch(stream, "planes_to_kernel", kPlanesToKernel, "KernelGradient", elements, w, planes,
                elements, parts);
}

}  // namespace meshwork::cuda::windows
