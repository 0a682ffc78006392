#include "device/cpu_device.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/error.h"

using namespace meshwork;

TEST_CASE("device memory is aligned and zeroed") {
  const auto device = make_cpu_device({});
  for (const std::int64_t bytes : {0, 1, 63, 64, 65, 100000}) {
    for (const auto& memory : {device->allocate(bytes), device->allocate_staging(bytes)}) {
      REQUIRE(memory != nullptr);
      CHECK(reinterpret_cast<std::uintptr_t>(memory.get()) % 64 == 0);
      CHECK(std::all_of(memory.get(), memory.get() + bytes,
                        [](std::byte value) { return value == std::byte{0}; }));
    }
  }
  CHECK_THROWS_AS(device->allocate(-1), CheckFailure);
}

TEST_CASE("what is uploaded is downloaded, whatever its size") {
  const auto device = make_cpu_device({});
  const auto stream = device->make_stream();
  CHECK(stream->is_immediate());
  for (const std::size_t count : {0, 1, 1000, 3'000'000}) {  // the last in several parts
    std::vector<int> from(count), to(count);
    std::iota(from.begin(), from.end(), 7);
    const auto bytes = static_cast<std::int64_t>(count * sizeof(int));
    const auto memory = device->allocate(bytes), copy = device->allocate(bytes);
    upload(*device, *stream, memory.get(), from.data(), bytes);
    stream->copy(copy.get(), memory.get(), bytes);
    download(*device, *stream, to.data(), copy.get(), bytes);
    CHECK(to == from);
  }
}

TEST_CASE("memory that no machine has is refused with both numbers") {
  const auto device = make_cpu_device({});
  try {
    device->allocate(std::int64_t{1} << 60);
    FAIL("an exabyte was given");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kTraining);
    const std::string message = error.what();
    CHECK(message.find("device memory: 1152921504606846976 bytes are needed and about ") == 0);
    CHECK(message.find("use a smaller batch, or shard over more devices") != std::string::npos);
  }
}
