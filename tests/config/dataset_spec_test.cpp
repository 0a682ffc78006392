#include <doctest/doctest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "config/config_text.h"
#include "config/data_directories.h"

using namespace meshwork::config;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

namespace {

/// A folder of files that goes away again.
struct Folder {
  fs::path path = fs::temp_directory_path() / fmt::format("meshwork_dataset_test_{}", ::getpid());
  Folder() { fs::remove_all(path); }
  ~Folder() { fs::remove_all(path); }

  std::string write(const std::string& name, const std::string& text) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name) << text;
    return path / name;
  }
};

Value dataset(const std::string& file, const std::vector<std::string>& assignments = {}) {
  return load_config(file, {"", assignments}).dataset;
}

std::string text(const Value& map, const std::string& key) {
  const Value::Entry* entry = map.find(key);
  return entry == nullptr ? "absent" : entry->value.scalar;
}

const std::string kDescription = R"(format: npy
take: 1000
files:
  train: {x: a.npy, y: b.npy}
  test: {x: c.npy, y: d.npy}
)";

}  // namespace

TEST_CASE("a name finds its file beside the configuration, beside its folder") {
  const Folder folder;
  const std::string near = folder.write("configs/datasets/mine.yaml", kDescription);
  const std::string next = folder.write("datasets/mine.yaml", "format: idx\n");
  folder.write("datasets/other.yaml", "format: idx\nname: Other set\n");
  const std::string config = folder.write("configs/c.yaml", kModel + "dataset: mine\n");
  Value found = dataset(config);
  CHECK(found.at.file == near);
  CHECK(found.keys() == Names{"format", "take", "files", "name"});
  CHECK(text(found, "name") == "mine");
  CHECK(text(found, "format") == "npy");
  CHECK(to_string(found.find("take")->at) == near + ":2:1");
  fs::remove(near);
  found = dataset(config);
  CHECK(found.at.file == next);
  CHECK(text(found, "format") == "idx");
  found = dataset(config, {"dataset=other"});
  CHECK(text(found, "name") == "Other set");
}

TEST_CASE("a name that no folder knows") {
  const Folder folder;
  folder.write("datasets/mine.yaml", kDescription);
  const std::string config = folder.write("configs/c.yaml", kModel + "dataset: mein\n");
  const std::string error = error_of([&] { dataset(config); });
  CHECK(error.starts_with(config + ":5:10: dataset 'mein' is not described; nearest: 'mine"));
  CHECK(error.find("looked for mein.yaml in '" + folder.path.string() + "/configs/datasets', '" +
                   folder.path.string() + "/datasets', 'datasets', '") != std::string::npos);
  CHECK(error.find(installed_directories("datasets").back()) != std::string::npos);
  CHECK(error_of([&] {
          dataset(config, {"dataset=xyz"});
        }).starts_with("command line: 'dataset=xyz': dataset 'xyz' is not described; "));
}

TEST_CASE("a path starts beside the configuration, on the command line where the user is") {
  const Folder folder;
  const std::string mine = folder.write("data/mine.yaml", kDescription);
  const std::string config =
      folder.write("configs/c.yaml", kModel + "dataset: ../data/mine.yaml\n");
  CHECK(text(dataset(config), "name") == "mine");
  CHECK(dataset(config).at.file == mine);
  CHECK(dataset(config, {"dataset=" + mine}).at.file == mine);
  CHECK(error_of([&] { dataset(config, {"dataset=no/where.yaml"}); }) ==
        "command line: 'dataset=no/where.yaml': dataset: there is no file 'no/where.yaml' or '" +
            folder.path.string() + "/configs/no/where.yaml'");
}

TEST_CASE("a description in place") {
  const Folder folder;
  folder.write("datasets/mine.yaml", kDescription);
  const std::string config = folder.write("configs/a.yaml", kModel + "dataset: {format: csv}\n");
  CHECK(dataset(config).keys() == Names{"format"});
  CHECK(to_string(dataset(config).at) == config + ":5:10");
  const Value named = dataset(config, {"dataset={name: mine, format: csv}"});
  CHECK(named.keys() == Names{"name", "format"});
  CHECK(to_string(named.at) == config);
  CHECK(to_string(named.find("format")->at) == "command line: 'dataset={name: mine, format: csv}'");
}

TEST_CASE("keys over those of a file") {
  const Folder folder;
  const std::string mine = folder.write("datasets/mine.yaml", kDescription);
  const std::string config = folder.write(
      "configs/o.yaml",
      kModel + "dataset: {name: mine, take: 5, files: {train: {y: e.npy}, test: null}, new: 1}\n");
  const Value merged = dataset(config);
  CHECK(merged.at.file == mine);
  CHECK(merged.keys() == Names{"format", "take", "files", "name", "new"});
  CHECK(text(merged, "take") == "5");
  CHECK(to_string(merged.find("take")->at) == config + ":5:23");
  const Value& files = merged.find("files")->value;
  CHECK(files.keys() == Names{"train"});
  CHECK(text(files.find("train")->value, "x") == "a.npy");
  CHECK(text(files.find("train")->value, "y") == "e.npy");
}

TEST_CASE("an assignment reaches into a dataset that is only named") {
  const Folder folder;
  const std::string mine = folder.write("datasets/mine.yaml", kDescription);
  const std::string config = folder.write("configs/c.yaml", kModel + "dataset: mine\n");
  const Value changed = dataset(config, {"dataset.take=5", "dataset.files.train.x=z.npy"});
  CHECK(changed.at.file == mine);
  CHECK(text(changed, "name") == "mine");
  CHECK(text(changed, "take") == "5");
  const Value& train = changed.find("files")->value.find("train")->value;
  CHECK(text(train, "x") == "z.npy");
  CHECK(text(train, "y") == "b.npy");
}

TEST_CASE("datasets of a wrong kind") {
  const Folder folder;
  const std::string list = folder.write("datasets/list.yaml", "- a\n");
  const std::string config = folder.write("configs/c.yaml", kModel + "dataset: list\n");
  CHECK(error_of([&] { dataset(config); }) ==
        (folder.path / "datasets/list.yaml").string() +
            ": a dataset description must be a map of keys, not a list");
  CHECK(parse_error(kModel + "dataset: [mnist]") ==
        "c.yaml:5:10: dataset must be a name, a path to a .yaml file or a map of keys, not a list");
  CHECK(parse_error(kModel + "dataset: ''") == "c.yaml:5:10: dataset name is empty");
  CHECK(parse_error(kModel + "dataset: {name: [a]}") ==
        "c.yaml:5:17: dataset name must be a word, not a list");
}
