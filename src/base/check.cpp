#include "base/check.h"

namespace meshwork {

void check_failed(const char* file, int line, const char* condition, const std::string& detail) {
  std::string message = fmt::format("{}:{}: check failed: {}", file, line, condition);
  if (!detail.empty()) message += ": " + detail;
  throw CheckFailure(message);
}

}  // namespace meshwork
