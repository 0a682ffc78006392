#include "emulated_gpu/shared_memory.h"

#include <elf.h>

#include <cstddef>
#include <cstdlib>
#include <map>

namespace emulated_gpu {
namespace {

constexpr std::size_t kMost = std::size_t{48} << 10U;

/// The kernel that declares a variable "_ZZL<length><kernel>...E<variable>"; "" for others.
std::string kernel_of(const std::string& symbol) {
  const std::string start = "_ZZL";
  if (symbol.rfind(start, 0) != 0) return {};
  char* name = nullptr;
  const unsigned long length = std::strtoul(symbol.c_str() + start.size(), &name, 10);
  return std::string(name).substr(0, length);
}

}  // namespace

std::string excess_of_shared_memory(const std::string& library) {
  const auto* const header = reinterpret_cast<const Elf64_Ehdr*>(library.data());
  const auto* const sections =
      reinterpret_cast<const Elf64_Shdr*>(library.data() + header->e_shoff);
  std::map<std::string, std::size_t> bytes;
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const char* const names = library.data() + sections[sections[i].sh_link].sh_offset;
    const auto* const symbols =
        reinterpret_cast<const Elf64_Sym*>(library.data() + sections[i].sh_offset);
    for (std::size_t j = 0; j < sections[i].sh_size / sizeof(Elf64_Sym); ++j) {
      if (ELF64_ST_TYPE(symbols[j].st_info) != STT_TLS) continue;
      bytes[kernel_of(names + symbols[j].st_name)] += symbols[j].st_size;
    }
  }
  std::string result;
  for (const auto& [kernel, size] : bytes) {
    if (kernel.empty() || size <= kMost) continue;
    result += "kernel " + kernel + " uses too much shared data: " + std::to_string(size) + " of " +
              std::to_string(kMost) + " bytes\n";
  }
  return result;
}

}  // namespace emulated_gpu
