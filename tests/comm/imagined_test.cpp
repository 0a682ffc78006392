#include "comm/imagined.h"

#include <doctest/doctest.h>

#include <array>

#include "base/check.h"
#include "device/cpu_device.h"

using namespace meshwork;

TEST_CASE("imagined: a member knows its place in groups of members that are not there") {
  const auto members = imagined_communicator(5, 8);
  CHECK(members->rank() == 5);
  CHECK(members->size() == 8);
  const std::array<int, 3> row{1, 5, 7};
  const auto group = members->group(row);
  CHECK(group->rank() == 1);
  CHECK(group->size() == 3);
  const std::array<int, 2> others{1, 7};
  CHECK_THROWS_AS(members->group(others), CheckFailure);
}

TEST_CASE("imagined: an exchange is done at once, and leaves buffers as they were") {
  const auto members = imagined_communicator(1, 2);
  const auto device = make_cpu_device({});
  const auto stream = device->make_stream();
  std::array<float, 2> send{1, 2}, recv{3, 4};
  CollectiveCall sum;
  sum.send = send.data();
  sum.recv = recv.data();
  sum.count = 2;
  const auto call = members->prepare(sum, *stream);
  call->start();
  CHECK(call->poll());
  call->wait();
  CHECK(recv == std::array<float, 2>{3, 4});
  CollectiveCall wrong = sum;
  wrong.kind = CollectiveCall::Kind::kAllGather;
  wrong.counts = {1, 1, 1};
  CHECK_THROWS_AS(members->prepare(wrong, *stream), CheckFailure);
}
