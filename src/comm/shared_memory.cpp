#include "comm/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>

#include "base/huge_pages.h"
#include "comm/mpi_check.h"

namespace meshwork {
namespace {

/// What rank 0 tells the others, so that they find its memory and know it when they see it.
struct Offer {
  std::array<char, 40> boot_id{};  // of the running kernel: the same only on the same node
  std::int64_t pid = 0;
  std::int32_t file = -1;
  std::uint64_t token = 0;
};

std::array<char, 40> read_boot_id() {
  std::array<char, 40> id{};
  std::ifstream("/proc/sys/kernel/random/boot_id").read(id.data(), id.size() - 1);
  return id;
}

/// Large memory begins with a huge page.
std::byte* map(int file, std::size_t bytes) {
  constexpr int kAccess = PROT_READ | PROT_WRITE;
  const std::size_t slack = bytes < kHugePage ? 0 : kHugePage;
  void* range = mmap(nullptr, bytes + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (range == MAP_FAILED) return nullptr;
  const std::size_t skip = slack == 0 ? 0 : bytes_to_huge_page(range);
  auto* begin = static_cast<std::byte*>(range) + skip;
  const void* memory = mmap(begin, bytes, kAccess, MAP_SHARED | MAP_FIXED, file, 0);
  // The mapping ends with its page.
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t used = (bytes + page - 1) / page * page;
  if (skip > 0) munmap(range, skip);
  if (slack > skip) munmap(begin + used, bytes + slack - skip - used);
  if (memory == MAP_FAILED) {
    munmap(begin, used);
    return nullptr;
  }
  return begin;
}

/// Makes the memory and its offer; offers no file where that fails.
std::byte* make(std::size_t bytes, Offer& offer) {
  offer.boot_id = read_boot_id();
  offer.pid = getpid();
  offer.file = memfd_create("meshwork", MFD_CLOEXEC);
  if (offer.file < 0) return nullptr;
  std::byte* memory = nullptr;
  if (ftruncate(offer.file, static_cast<off_t>(bytes)) == 0 &&
      getrandom(&offer.token, sizeof(offer.token), 0) == sizeof(offer.token)) {
    memory = map(offer.file, bytes);
  }
  if (memory != nullptr) std::memcpy(memory, &offer.token, sizeof(offer.token));
  return memory;
}

std::byte* accept(const Offer& offer, std::size_t bytes) {
  if (offer.file < 0 || offer.boot_id[0] == 0 || offer.boot_id != read_boot_id()) return nullptr;
  const std::string path = fmt::format("/proc/{}/fd/{}", offer.pid, offer.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return nullptr;
  // In another container of the same machine the same name may be anything.
  struct stat info {};
  std::byte* memory = nullptr;
  if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) &&
      info.st_size == static_cast<off_t>(bytes)) {
    memory = map(file, bytes);
  }
  close(file);
  if (memory != nullptr && std::memcmp(memory, &offer.token, sizeof(offer.token)) != 0) {
    munmap(memory, bytes);
    memory = nullptr;
  }
  return memory;
}

}  // namespace

std::byte* map_shared_memory(MPI_Comm comm, std::size_t bytes) {
  int rank = 0;
  MW_MPI(MPI_Comm_rank(comm, &rank));
  Offer offer;
  std::byte* memory = rank == 0 ? make(bytes, offer) : nullptr;
  MW_MPI(MPI_Bcast(&offer, sizeof(offer), MPI_BYTE, 0, comm));
  if (rank != 0) memory = accept(offer, bytes);
  int mine = memory != nullptr ? 1 : 0;
  int all = 0;
  MW_MPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm));
  if (rank == 0 && offer.file >= 0) close(offer.file);
  if (all == 0) {
    if (memory != nullptr) munmap(memory, bytes);
    return nullptr;
  }
  if (rank == 0) std::memset(memory, 0, sizeof(offer.token));
  MW_MPI(MPI_Barrier(comm));
  return memory;
}

}  // namespace meshwork
