#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "backend/cuda/products/cublaslt.h"
#include "backend/cuda/products/problem.h"

namespace meshwork::cuda::products {

/// The fastest algorithm of a problem, and what was measured.
struct Tuned {
  cublasLtMatmulAlgo_t algorithm{};
  double microseconds = 0;
  double before = 0;  ///< microseconds of the one that heuristics put first
  int tried = 0;      ///< algorithms that were measured
  /// Of a stack of nodes: to compute one after the other takes less time.
  bool in_turn = false;
};

/// What was measured on GPUs of one kind with one version of cuBLASLt, for which alone it is worth
/// anything: plain data, which any process reads and `meshwork tune` writes.
struct Table {
  std::string gpu;            ///< "NVIDIA H100 80GB HBM3"
  std::int64_t cublaslt = 0;  ///< as cublasLtGetVersion() says it
  std::map<Problem, Tuned> products;
};

/// How an Error about a table ends.
inline constexpr const char* kWayOutOfTable =
    "remove the file, or copy it anew from where it is whole, and run 'meshwork tune'";

/// The file of the table for a GPU: "FOLDER/products-nvidia-h100-80gb-hbm3-130101.json" in the
/// folder of compiled kernels; "" where there is no folder.
std::string table_file(const Gpu& gpu);

/// An empty table for a GPU.
Table table_for(const Gpu& gpu);

/// The table of a GPU in that file; an empty one where there is no file. Throws an Error of
/// ExitCode::kFile that names it where it cannot be read, is damaged, or is of something else.
Table read_table(const Gpu& gpu, const std::string& file);

/// Writes it in one step.
void write_table(const Table& table, const std::string& file);

/// One number for all that decides on results: not the times.
std::uint64_t digest(const Table& table);

/// The table that this process computes by, as it was when somebody first asked; nullptr where
/// there is none.
struct TableInUse {
  std::string file;
  Table table;
  std::uint64_t digest = 0;
};
const TableInUse* table_in_use(const Gpu& gpu);

}  // namespace meshwork::cuda::products
