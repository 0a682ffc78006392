#pragma once

#include <thread>

#include "data/dataset.h"

namespace meshwork::data {

/// Has the samples of a split that lie in memory brought there on a thread of its own, field by
/// field. What goes wrong is left for those who need them to find again.
class Preparation {
 public:
  explicit Preparation(const Split& split);
  ~Preparation() { wait(); }
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;

  /// Until all is prepared that can be.
  void wait();

 private:
  std::thread thread_;
};

}  // namespace meshwork::data
