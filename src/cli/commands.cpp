#include "cli/command.h"

namespace meshwork::cli {

extern const Command kDevices;
extern const Command kValidate;

const std::vector<const Command*>& commands() {
  static const std::vector<const Command*> list{
      &kValidate,
      &kDevices,
  };
  return list;
}

}  // namespace meshwork::cli
