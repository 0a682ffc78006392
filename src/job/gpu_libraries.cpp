#include "job/gpu_libraries.h"

#include "backend/cuda_libraries.h"

namespace meshwork {

std::string gpu_convolutions() { return convolution_library(); }

}  // namespace meshwork
