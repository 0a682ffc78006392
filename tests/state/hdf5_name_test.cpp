// Headers of version 2 are those that HDF5 2 writes by default, and its predecessors on demand.
#include "state/formats/hdf5_name.h"

#include <doctest/doctest.h>

#include "data/formats/hdf5_library.h"
#include "state/formats/format.h"
#include "support/errors.h"
#include "support/temp_directory.h"

namespace meshwork {
namespace {

namespace hdf5 = data::hdf5;

/// layers/dense/vars/0, float32[3], and the name of the layer, behind `attributes` others. `order`:
/// the group keeps the order of its attributes.
void write_newer(const std::string& file, int attributes, bool order) {
  const hdf5::Library library;
  const hdf5::Properties how(H5Pcreate(H5P_FILE_ACCESS)), links(H5Pcreate(H5P_LINK_CREATE)),
      groups(H5Pcreate(H5P_GROUP_CREATE));
  H5Pset_libver_bounds(how, H5F_LIBVER_V18, H5F_LIBVER_LATEST);
  H5Pset_create_intermediate_group(links, 1);
  if (order) H5Pset_attr_creation_order(groups, H5P_CRT_ORDER_TRACKED);
  const hdf5::File out(H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, how));
  const hdf5::Object group(H5Gcreate2(out, "layers/dense/vars", links, groups, H5P_DEFAULT));
  const hdf5::Space one = hdf5::space_of({}), three = hdf5::space_of({3});
  const hdf5::Dataset dataset(
      H5Dcreate2(group, "0", H5T_IEEE_F32LE, three, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  const auto add = [&](const std::string& key, hid_t type, const void* value) {
    const hdf5::Attribute attribute(
        H5Acreate2(group, key.c_str(), type, one, H5P_DEFAULT, H5P_DEFAULT));
    REQUIRE(H5Awrite(attribute, type, value) >= 0);
  };
  for (int i = 0; i < attributes; ++i) add("other" + std::to_string(i), H5T_NATIVE_INT, &i);
  const hdf5::Type text(H5Tcopy(H5T_C_S1));
  H5Tset_size(text, H5T_VARIABLE);
  const char* name = "logits";
  add("name", text, static_cast<const void*>(&name));
}

std::string name_of_layer(const std::string& file) {
  const auto opened = format_of(file).open(file);
  const auto found = opened->names().find("layers/dense");
  return found == opened->names().end() ? "" : found->second;
}

TEST_CASE("names of layers are found in headers of version 2") {
  const test::TempDirectory directory;
  const std::string file = directory.file("w.weights.h5");
  for (const bool order : {false, true}) {
    for (const int attributes : {0, 1, 6}) {  // the last ones do not fit in the first block
      CAPTURE(order);
      CAPTURE(attributes);
      write_newer(file, attributes, order);
      CHECK(test::read_text(file).find("OHDR\x02") != std::string::npos);
      CHECK(name_of_layer(file) == "logits");
    }
  }
  write_newer(file, 20, false);  // they are kept elsewhere
  CHECK(name_of_layer(file) == "");
}

TEST_CASE("damaged headers of version 2 are read as they are or are an error, and nothing else") {
  const test::TempDirectory directory;
  const std::string file = directory.file("w.weights.h5"), bad = directory.file("bad.weights.h5");
  write_newer(file, 6, true);
  const std::string bytes = test::read_text(file);
  const auto check = [&](const std::string& damaged) {
    test::write_text(bad, damaged);
    const std::string error = test::error_of([&] { name_of_layer(bad); });
    CHECK((error.empty() || error.starts_with("3: " + bad + ": ")));
  };
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    CAPTURE(at);
    if (at % 16 == 0) check(bytes.substr(0, at));
    std::string damaged = bytes;
    for (const char value : {'\x00', '\x7f', '\xff'}) {
      damaged[at] = value;
      check(damaged);
      // The library checks sums of headers; this looks into what it refuses, too.
      const File opened = File::open(bad);
      for (std::size_t header = bytes.find("OHDR"); header != std::string::npos;
           header = bytes.find("OHDR", header + 1)) {
        formats::hdf5_name_of(opened, header);
      }
    }
  }
}

}  // namespace
}  // namespace meshwork
