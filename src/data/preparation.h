#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "data/dataset.h"

namespace meshwork::data {

/// Prepares the sources of a split on a thread of its own, field by field. What goes wrong is left
/// for the first read to find again.
class Preparation {
 public:
  explicit Preparation(const Split& split);
  ~Preparation() { wait(); }
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;

  /// Until all is prepared that can be.
  void wait();

 private:
  std::vector<std::shared_ptr<const Source>> sources_;
  std::thread thread_;
};

}  // namespace meshwork::data
