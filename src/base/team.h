#pragma once

#include <omp.h>

#include <cstddef>
#include <exception>
#include <mutex>

#include "base/parallel.h"

namespace meshwork {

/// body(thread, i) for each i of [begin, end), in any order, by so many threads; the first of them,
/// in order, that throws is the one whose exception comes out.
template <class Body>
void for_each_by(std::size_t threads, std::size_t begin, std::size_t end, const Body& body) {
  if (threads == 1) {
    for (std::size_t i = begin; i < end; ++i) body(0, i);
    return;
  }
  std::mutex mutex;
  std::size_t failed = end;
  std::exception_ptr failure;
  TeamOrder order;
#pragma omp parallel for schedule(dynamic, 1) num_threads(static_cast <int>(threads))
  for (std::size_t i = begin; i < end; ++i) {
    order.begin_task();
    try {
      body(static_cast<std::size_t>(omp_get_thread_num()), i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (i < failed) {
        failed = i;
        failure = std::current_exception();
      }
    }
    order.end_task();
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace meshwork
