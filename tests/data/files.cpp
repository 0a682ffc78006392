#include "data/files.h"

#include <doctest/doctest.h>
#include <stdlib.h>
#include <zip.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "config/yaml.h"
#include "data/check_values.h"
#include "job/job.h"
#include "model/field_value.h"
#include "support/interpreter.h"
#include "support/temp_directory.h"

namespace meshwork::test {
namespace {

/// What a program makes of a field of all samples of the split in step 0: as the loader gives it,
/// on the naive kernels.
HostTensor field_of(const data::Split& split, const std::string& name) {
  const data::Field* field = split.find(name);
  REQUIRE(field != nullptr);
  data::Split only = split;
  only.fields = {*field};
  only.fields[0].name = "x";  // whatever it is called
  const Signature signature = signature_of(only, ProgramKind::kEvaluate);
  Graph graph;
  GraphBuilder b(graph);
  const ValueId value = field_value(b, signature.inputs.at(0), split.samples);
  const auto backend = make_reference_backend();
  Interpreter interpreter(graph, *backend);
  data::Loader loader(only, {.batch_size = split.samples}, whole_parts(only));
  const auto feed = [&](ValueId id, const std::byte* bytes) {
    HostTensor tensor = host_tensor(graph.type(id));
    std::copy_n(bytes, tensor.bytes.size(), tensor.bytes.begin());
    interpreter.feed(id, tensor);
  };
  for (const ValueId id : graph.ids()) {
    const std::string_view op = graph.node(id).op->name;
    if (op == "samples") feed(id, data::resident_samples(only, only.fields[0]));
    if (op == "input" && graph.node(id).attrs.text("name") == "x") {
      feed(id, loader.next().fields[0].data);
    }
  }
  interpreter.run();
  return interpreter.read(value);
}

template <class T>
std::vector<T> read_all(const data::Split& split, const std::string& name) {
  HostTensor tensor = field_of(split, name);
  return {tensor.as<T>().begin(), tensor.as<T>().end()};
}

}  // namespace

TempDir::TempDir() {
  std::string name = (std::filesystem::temp_directory_path() / "meshwork-XXXXXX").string();
  REQUIRE(mkdtemp(name.data()) != nullptr);
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TempDir::write(const std::string& name, const std::string& bytes) const {
  std::filesystem::create_directories(std::filesystem::path(file(name)).parent_path());
  write_text(file(name), bytes);
  return file(name);
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string gzip(const std::string& bytes) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string idx(int type, const std::vector<std::int32_t>& shape, const std::string& payload) {
  std::string bytes{'\0', '\0', static_cast<char>(type), static_cast<char>(shape.size())};
  return bytes + bytes_of(shape, true) + payload;
}

std::string npy(const std::string& dict, const std::string& payload, int version) {
  std::string bytes = std::string("\x93NUMPY") + static_cast<char>(version) + '\0';
  const std::string text = dict + '\n';
  bytes += static_cast<char>(text.size() & 0xFFU);
  bytes += static_cast<char>(text.size() >> 8U);
  if (version > 1) bytes += std::string(2, '\0');
  return bytes + text + payload;
}

std::string npy_dict(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
}

void write_zip(const std::string& path,
               const std::vector<std::pair<std::string, std::string>>& entries, bool deflate) {
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  REQUIRE(archive != nullptr);
  for (const auto& [name, bytes] : entries) {
    zip_source_t* source = zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
    const zip_int64_t index = zip_file_add(archive, name.c_str(), source, 0);
    REQUIRE(index >= 0);
    zip_set_file_compression(archive, static_cast<zip_uint64_t>(index),
                             deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
  }
  REQUIRE(zip_close(archive) == 0);
}

data::Dataset dataset(const TempDir& directory, const std::string& text, std::uint64_t seed) {
  return {config::parse_yaml(text, directory.file("d.yaml")), seed};
}

std::vector<float> floats(const data::Split& split, const std::string& field) {
  REQUIRE(split.find(field)->dtype == DType::kFloat32);
  return read_all<float>(split, field);
}

std::vector<std::int32_t> ints(const data::Split& split, const std::string& field) {
  REQUIRE(split.find(field)->dtype == DType::kInt32);
  return read_all<std::int32_t>(split, field);
}

std::string error_of(const std::function<void()>& f, ExitCode code) {
  try {
    f();
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.what();
  }
  return {};
}

std::string reading_error(const TempDir& directory, const std::string& description,
                          const std::function<void(const data::Split&)>& read, ExitCode code) {
  return error_of(
      [&] {
        const data::Dataset opened = dataset(directory, description);
        opened.describe();
        read(opened.split("train"));
      },
      code);
}

bool contains(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("'" << part << "' is not in '" << text << "'");
  return found;
}

data::PartOf whole_parts(const data::Split& split, bool augment) {
  return [fields = split.fields, augment](std::size_t field, std::int64_t batch) {
    const Shape shape = data::batch_shape(fields.at(field), augment, batch);
    return data::LocalPart{whole_region(shape), shape};
  };
}

}  // namespace meshwork::test
