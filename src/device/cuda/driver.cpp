#include "device/cuda/driver.h"

#include <exception>
#include <string>

#include "base/error.h"
#include "device/cuda/library.h"
#include "device/cuda/lost.h"

namespace meshwork::cuda {
namespace {

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Driver open_driver() {
  const Library library("libcuda.so.1", {}, "install the driver of NVIDIA, or say device: cpu");
  Driver driver{};
#define MW_SYMBOL(name) #name
#define MW_LOAD(name) library.load(MW_SYMBOL(name), driver.name);
  MW_DRIVER_FUNCTIONS(MW_LOAD)
#undef MW_LOAD
#undef MW_SYMBOL
  return driver;
}

std::string words(const Driver& driver, CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  driver.cuGetErrorName(result, &name);
  driver.cuGetErrorString(result, &text);
  return fmt::format("{} ({})", text == nullptr ? "unknown" : text,
                     name == nullptr ? std::to_string(result) : name);
}

Driver start_driver() {
  const Driver driver = open_driver();
  const CUresult result = driver.cuInit(0);
  if (result == CUDA_ERROR_NO_DEVICE) {
    fail(
        "device cuda: the driver finds no GPU; see that nvidia-smi lists one and that "
        "CUDA_VISIBLE_DEVICES does not hide it, or say device: cpu");
  }
  if (result != CUDA_SUCCESS) {
    fail("device cuda: the driver does not start: {}; see what nvidia-smi says",
         words(driver, result));
  }
  int version = 0;
  driver.cuDriverGetVersion(&version);
  if (version < CUDA_VERSION / 1000 * 1000) {
    fail("device cuda: the driver is of CUDA {}, {} is needed; update the driver",
         version_text(version), version_text(CUDA_VERSION / 1000 * 1000));
  }
  return driver;
}

}  // namespace

const Driver& driver() {
  static const Driver kDriver = start_driver();
  return kDriver;
}

void check(CUresult result, std::string_view what) {
  if (result == CUDA_SUCCESS) return;
  const bool is_short = result == CUDA_ERROR_OUT_OF_MEMORY;
  const Error error(
      is_short ? ExitCode::kTraining : ExitCode::kCommunication,
      fmt::format("device cuda: {}: {}{}", what, words(driver(), result),
                  is_short ? "; use a smaller batch, or shard over more devices" : ""));
  if (is_fatal(result)) note_lost(std::make_exception_ptr(error));
  throw error;
}

}  // namespace meshwork::cuda
