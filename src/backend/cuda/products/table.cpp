#include "backend/cuda/products/table.h"

#include <xxhash.h>

#include <cctype>
#include <charconv>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "backend/cuda/products/problem_fields.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/quote.h"
#include "device/cuda/cache.h"

namespace meshwork::cuda::products {
namespace {

using Json = nlohmann::ordered_json;

std::string hex_of(const cublasLtMatmulAlgo_t& algorithm) {
  std::string text;
  for (const std::uint64_t word : algorithm.data) text += fmt::format("{:016x}", word);
  return text;
}

cublasLtMatmulAlgo_t algorithm_from(const std::string& text) {
  constexpr std::size_t kDigits = 16;
  cublasLtMatmulAlgo_t algorithm{};
  if (text.size() != std::size(algorithm.data) * kDigits) fail("an algorithm of another length");
  const char* place = text.data();
  for (std::uint64_t& word : algorithm.data) {
    const auto [end, error] = std::from_chars(place, place + kDigits, word, 16);
    if (error != std::errc() || end != place + kDigits) fail("an algorithm that is no number");
    place = end;
  }
  return algorithm;
}

/// How a field of a problem is written, and read back.
Json json_of(std::int64_t number) { return number; }
Json json_of(bool flag) { return flag; }
Json json_of(DType dtype) { return to_string(dtype); }
void read(const Json& json, std::int64_t& number) { number = json.get<std::int64_t>(); }
void read(const Json& json, bool& flag) { flag = json.get<bool>(); }
void read(const Json& json, DType& dtype) { dtype = dtype_from_string(json.get<std::string>()); }

template <class T>
Json json_of(const T& fields) {
  Json json = Json::object();
  visit_fields(fields, [&](const char* name, const auto& field) { json[name] = json_of(field); });
  return json;
}

template <class T>
void read(const Json& json, T& fields) {
  visit_fields(fields, [&](const char* name, auto& field) { read(json.at(name), field); });
}

Json json_of(const Problem& problem, const Tuned& tuned) {
  return {{"product", text_of(problem)},
          {"microseconds", tuned.microseconds},
          {"microseconds_before", tuned.before},
          {"algorithms_tried", tuned.tried},
          {"in_turn", tuned.in_turn},
          {"algorithm", hex_of(tuned.algorithm)},
          {"problem", json_of(problem)}};
}

std::string hex_of(std::uint64_t digest) { return fmt::format("{:016x}", digest); }

Table parse(const std::string& text) {
  const auto json = parse_json<Json>(text, "the table");
  Table table{.gpu = json.at("gpu"), .cublaslt = json.at("cublaslt"), .products = {}};
  for (const Json& entry : json.at("products")) {
    Problem problem{};
    read(entry.at("problem"), problem);
    table.products[problem] = {.algorithm = algorithm_from(entry.at("algorithm")),
                               .microseconds = entry.at("microseconds"),
                               .before = entry.at("microseconds_before"),
                               .tried = entry.at("algorithms_tried"),
                               .in_turn = entry.at("in_turn")};
  }
  if (json.at("digest") != hex_of(digest(table))) fail("it is not as 'meshwork tune' wrote it");
  return table;
}

Table parse_file(const std::string& file) {
  const std::string text = read_text_file(file);
  try {
    return parse(text);
  } catch (const Json::exception& error) {
    fail(ExitCode::kFile, "{}: damaged: {}; {}", file, excerpt(error.what()), kWayOutOfTable);
  } catch (const Error& error) {
    fail(ExitCode::kFile, "{}: damaged: {}; {}", file, error.what(), kWayOutOfTable);
  }
}

}  // namespace

std::string table_file(const Gpu& gpu) {
  const std::string folder = cache_folder();
  if (folder.empty()) return folder;
  std::string name;
  for (const char c : gpu.name()) {
    const auto letter = static_cast<unsigned char>(c);
    name += std::isalnum(letter) != 0 ? static_cast<char>(std::tolower(letter)) : '-';
  }
  return fmt::format("{}/products-{}-{}.json", folder, name, table_for(gpu).cublaslt);
}

Table table_for(const Gpu& gpu) {
  return {.gpu = gpu.name(),
          .cublaslt = static_cast<std::int64_t>(cublaslt().cublasLtGetVersion()),
          .products = {}};
}

Table read_table(const Gpu& gpu, const std::string& file) {
  const Table wanted = table_for(gpu);
  std::error_code status;
  if (file.empty() || !std::filesystem::exists(file, status)) return wanted;
  Table table = parse_file(file);
  if (table.gpu == wanted.gpu && table.cublaslt == wanted.cublaslt) return table;
  fail(ExitCode::kFile,
       "{}: products of {} with cuBLASLt {}, and here are {} and {}; remove the file, and run "
       "'meshwork tune'",
       file, excerpt(table.gpu), table.cublaslt, wanted.gpu, wanted.cublaslt);
}

void write_table(const Table& table, const std::string& file) {
  Json json{{"gpu", table.gpu},
            {"cublaslt", table.cublaslt},
            {"digest", hex_of(digest(table))},
            {"products", Json::array()}};
  for (const auto& [problem, tuned] : table.products) {
    json["products"].push_back(json_of(problem, tuned));
  }
  replace_file(file, json_dump(json, 1) + "\n");
}

std::uint64_t digest(const Table& table) {
  std::string text = fmt::format("{}\n{}\n", table.gpu, table.cublaslt);
  for (const auto& [problem, tuned] : table.products) {
    text += fmt::format("{} {}{}\n", json_dump(json_of(problem)), hex_of(tuned.algorithm),
                        tuned.in_turn ? " in turn" : "");
  }
  return XXH64(text.data(), text.size(), 0);
}

const TableInUse* table_in_use(const Gpu& gpu) {
  static std::mutex mutex;
  static std::map<int, TableInUse> used;
  const std::lock_guard lock(mutex);
  auto found = used.find(gpu.number());
  if (found == used.end()) {
    const std::string file = table_file(gpu);
    Table table = read_table(gpu, file);
    const std::uint64_t number = digest(table);
    found = used.emplace(gpu.number(), TableInUse{file, std::move(table), number}).first;
  }
  return found->second.table.products.empty() ? nullptr : &found->second;
}

}  // namespace meshwork::cuda::products
