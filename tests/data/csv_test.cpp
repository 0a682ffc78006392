#include <doctest/doctest.h>

#include "data/files.h"
#include "data/formats/csv_reader.h"

using namespace meshwork;
using namespace meshwork::test;

namespace {

using Records = std::vector<std::vector<std::string>>;

Records records(const std::string& text, char delimiter = ',') {
  data::CsvReader reader("t.csv", text, delimiter);
  Records all;
  std::vector<std::string_view> cells;
  while (reader.next(cells)) all.emplace_back(cells.begin(), cells.end());
  return all;
}

const std::string kIris =
    "sepal,petal,species\n"
    "5.1, 3.5,setosa\r\n"
    "\n"
    "\"+4.9\",-3e-1,virginica\n";

std::string failure(const TempDir& dir, const std::string& description,
                    ExitCode code = ExitCode::kFile) {
  return error_of(
      [&] {
        const data::Dataset opened = dataset(dir, description);
        floats(opened.split("train"), "x");
        opened.split("train").fields.back().source->info();
      },
      code);
}

}  // namespace

TEST_CASE("csv cells, quotes and line ends") {
  CHECK(records("").empty());
  CHECK(records("\n\r\n").empty());
  CHECK(records("a,b\nc,d") == Records{{"a", "b"}, {"c", "d"}});
  CHECK(records("a,b\r\nc,d\r\n\r\n") == Records{{"a", "b"}, {"c", "d"}});
  CHECK(records("a,\n,b\n,") == Records{{"a", ""}, {"", "b"}, {"", ""}});
  CHECK(records("\xEF\xBB\xBF"
                "a;b",
                ';') == Records{{"a", "b"}});
  CHECK(records("\"a,\"\"b\"\"\",\"\"\"\",\"c\nd\"\n\"e\"") ==
        Records{{"a,\"b\"", "\"", "c\nd"}, {"e"}});
  CHECK(records("a\"b,c") == Records{{"a\"b", "c"}});
  CHECK(records("\"\"\r\n\"a\"\r") == Records{{""}, {"a"}});
  CHECK(contains(error_of([] { records("a\n\"b\nc"); }), "t.csv:2: a quote opens that nothing"));
  CHECK(contains(error_of([] { records("\"a\nb\"x,1"); }), "t.csv:2: 'x' after a closing quote"));
  CHECK(contains(error_of([] {
                   records(
                       "\xFF\xFE"
                       "a");
                 }),
                 "t.csv: is UTF-16; write it as UTF-8"));
  CHECK(contains(error_of([] {
                   records(
                       "PK\x03\x04"
                       "a");
                 }),
                 "t.csv: is a zip archive; unpack it"));
}

TEST_CASE("csv fields by name, by index, and the rest") {
  const TempDir dir;
  dir.write("iris.csv", kIris);
  const data::Dataset named = dataset(dir,
                                      "format: csv\n"
                                      "splits: {train: iris.csv}\n"
                                      "y: {columns: species, classes: [setosa, virginica]}\n");
  CHECK(named.describe() == "train: 2 samples, x float32 [2], y int32 []\n");
  CHECK(floats(named.split("train"), "x") == std::vector{5.1F, 3.5F, 4.9F, -0.3F});
  CHECK(ints(named.split("train"), "y") == std::vector<std::int32_t>{0, 1});

  dir.write("blanks.csv", "a, y\n1, <=50K\n2,>50K \n");
  const data::Dataset blanks = dataset(dir,
                                       "format: csv\nsplits: {train: blanks.csv}\n"
                                       "y: {columns: ' y', classes: [' <=50K', '>50K']}\n");
  CHECK(ints(blanks.split("train"), "y") == std::vector<std::int32_t>{0, 1});

  dir.write("n.csv", "1;2;3\n4;5;6\n");
  const data::Dataset indexed = dataset(dir,
                                        "{format: csv, header: false, delimiter: ';',"
                                        " splits: {train: {x: n.csv, y: {file: n.csv}}},"
                                        " x: {columns: [1, 0]}, y: {columns: -1, dtype: int32}}");
  CHECK(floats(indexed.split("train"), "x") == std::vector<float>{2, 1, 5, 4});
  CHECK(ints(indexed.split("train"), "y") == std::vector<std::int32_t>{3, 6});
  dir.write("p.csv", gzip("1;2;3\n4;5;6\n"));
  const data::Dataset packed = dataset(dir,
                                       "{format: csv, header: false, delimiter: ';',"
                                       " splits: {train: {x: p.csv}}}");
  CHECK(floats(packed.split("train"), "x") == std::vector<float>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("texts that are none of the classes may stand for a number of their own") {
  const TempDir dir;
  dir.write("t.csv", "city,y\nRome,1\nOslo,2\n,3\n[UNK],4\n");
  const auto cities = [&](const std::string& keys) {
    return ints(
        dataset(dir, "{format: csv, splits: {train: t.csv}, x: {columns: city, dtype: int32, " +
                         keys + "}, y: {columns: y}}")
            .split("train"),
        "x");
  };
  CHECK(cities("classes: [Oslo, Rome], oov: true") == std::vector<std::int32_t>{1, 0, 2, 2});
  // Where it stands in the list, as Keras has it.
  CHECK(cities("classes: ['[UNK]', Oslo], oov: true") == std::vector<std::int32_t>{0, 1, 0, 0});
  CHECK(contains(error_of([&] { cities("classes: ['[UNK]', Oslo]"); }),
                 "t.csv:2: column 'city': 'Rome' is none of the classes; known: '[UNK]', 'Oslo'; "
                 "with `oov: true` others are one"));
  CHECK(contains(error_of([&] { cities("oov: true"); }, ExitCode::kConfiguration),
                 "oov is about `classes`, which are not there"));
}

TEST_CASE("csv columns that no field names stand in the order of the first file") {
  const TempDir dir;
  dir.write("a.csv", "p,q,y\n1,2,0\n");
  dir.write("b.csv", "q,y,p\n4,1,3\n");
  dir.write("other.csv", "q,y,z\n4,1,3\n");
  dir.write("more.csv", "q,p,y,z\n4,1,3,5\n");
  dir.write("twice.csv", "q,p,y,p\n4,1,3,5\n");
  const auto opened = [&](const std::string& splits) {
    return dataset(dir, "{format: csv, splits: {" + splits + "}, y: {columns: y}}");
  };
  const data::Dataset both = opened("train: a.csv, test: b.csv");
  CHECK(floats(both.split("test"), "x") == std::vector<float>{3, 4});
  CHECK(floats(both.split("test"), "y") == std::vector<float>{1});
  CHECK(floats(both.split("train"), "x") == std::vector<float>{1, 2});
  CHECK(floats(opened("train: [b.csv, a.csv]").split("train"), "x") ==
        std::vector<float>{4, 3, 2, 1});
  CHECK(floats(opened("train: gone.csv, test: b.csv").split("test"), "x") ==
        std::vector<float>{4, 3});
  const auto why = [&](const std::string& file) {
    return error_of([&] { opened("train: a.csv, test: " + file).split("test"); }, ExitCode::kFile);
  };
  CHECK(contains(why("other.csv"), "other.csv: no column 'p', which " + dir.file("a.csv") +
                                       " has; name the field's columns"));
  CHECK(contains(why("more.csv"), "more.csv: column 'z', which " + dir.file("a.csv") +
                                      " has not; name the field's columns"));
  CHECK(contains(why("twice.csv"), "twice.csv: more than one column 'p'"));
  CHECK(contains(error_of(
                     [&] {
                       dataset(dir,
                               "{format: csv, splits: {train: twice.csv}, x: "
                               "{columns: [p]}, y: {columns: y}}")
                           .split("train");
                     },
                     ExitCode::kFile),
                 "has several columns 'p'; give the index of one, from 0"));
}

TEST_CASE("csv files of new data without a header have all columns, or those of no label") {
  const TempDir dir;
  dir.write("first.csv", "0,1,2\n1,3,4\n");
  dir.write("last.csv", "1,2,0\n3,4,1\n");
  dir.write("new.csv", "5,6\n");
  dir.write("wide.csv", "5,6,7,8\n");
  const auto new_data = [&](const std::string& train, const std::string& column,
                            const std::string& test) {
    data::Dataset opened = dataset(dir, "{format: csv, header: false, y: {columns: " + column +
                                            "}, splits: {test: " + test + ", train: {x: " + train +
                                            ", y: " + train + "}}}");
    opened.keep_fields({"x"});
    return floats(opened.split("test"), "x");
  };
  for (const auto& labelled :
       {std::pair("first.csv", "0"), {"last.csv", "2"}, {"last.csv", "-1"}, {"first.csv", "[0]"}}) {
    const std::string train = labelled.first, column = labelled.second;
    CAPTURE(train);
    CHECK(new_data(train, column, "{x: new.csv}") == std::vector<float>{5, 6});
    CHECK(new_data(train, column, "{x: " + train + "}") == std::vector<float>{1, 2, 3, 4});
  }
  // What is no label is not taken for one.
  const data::Dataset labelled = dataset(dir,
                                         "{format: csv, header: false, y: {columns: 0}, splits: "
                                         "{train: first.csv, test: new.csv}}");
  CHECK(contains(error_of([&] { labelled.split("test"); }, ExitCode::kFile),
                 "new.csv: 2 columns, but " + dir.file("first.csv") +
                     " has 3; without a header 'y' is found in as many alone"));
  CHECK(error_of([&] { new_data("first.csv", "0", "{x: wide.csv}"); }, ExitCode::kFile) ==
        dir.file("wide.csv") + ": 4 columns, but " + dir.file("first.csv") +
            " has 3, of which 2 are of 'x'; without a header a file has all of them, or, without "
            "labels, these alone");
}

TEST_CASE("csv files whose first line is no header, or whose first column is no data") {
  const TempDir dir;
  const auto why = [&](const std::string& text, const std::string& keys) {
    dir.write("t.csv", text);
    return failure(dir, "{format: csv, splits: {train: {x: t.csv}}" + keys + "}");
  };
  const std::string numbers = "5.1,3.5\n4.9,3.0\n";
  CHECK(contains(why(numbers, ""),
                 "t.csv: the first line has '5.1' where a column's name is to "
                 "stand; if it is a sample, say `header: false`"));
  CHECK(contains(why(numbers, ", x: {columns: -1}"), "the first line has '3.5'"));
  CHECK(why(numbers, ", x: {columns: ['5.1']}").empty());
  CHECK(why(numbers, ", header: false").empty());
  CHECK(why("5.1,b\n4.9,3.0\n", "").empty());
  CHECK(contains(why(",a,b\n0,1,2\n", ""),
                 "t.csv: the first column has no name, as the row "
                 "numbers that pandas writes; leave it out"));
  CHECK(why(",a,b\n0,1,2\n", ", x: {columns: [a, b]}").empty());
}

TEST_CASE("a csv file of all fields has weights where the description says which they are") {
  const TempDir dir;
  dir.write("t.csv", "a,b,w,y\n1,2,0.5,0\n3,4,2,1\n");
  const data::Dataset opened =
      dataset(dir,
              "{format: csv, splits: {train: t.csv}, y: {columns: y}, sample_weight: "
              "{columns: w}}");
  CHECK(opened.describe() ==
        "train: 2 samples, x float32 [2], y float32 [], sample_weight float32 []\n");
  CHECK(floats(opened.split("train"), "sample_weight") == std::vector<float>{0.5F, 2});
}

TEST_CASE("csv errors name file, line, column and value") {
  const TempDir dir;
  const std::string description = "{format: csv, splits: {train: {x: t.csv}}}";
  const auto with = [&](const std::string& text) {
    dir.write("t.csv", text);
    return failure(dir, description);
  };
  const std::string path = dir.file("t.csv");
  CHECK(with("a,b\n1,2\n").empty());
  CHECK(
      contains(with("a,b\n1,2\n3,four\n"), path + ":3: column 'b': 'four' is not a finite number"));
  CHECK(contains(with("a,b\n1,\n"), path + ":2: column 'b': '' is not a finite number; a missing"));
  CHECK(contains(with("a,b\n1,nan\n"), "'nan' is not a finite number"));
  CHECK(contains(with("a,b\n1,1e999\n"), "'1e999' is not a representable number"));
  CHECK(contains(with("a,b\n1,2 3\n"), "'2 3' is not a finite number"));
  CHECK(contains(with("a,b\n1,2\n3\n"), path + ":3: 1 cells, but the first line has 2"));
  CHECK(contains(with(""), path + ": no records"));
  CHECK(contains(with("a,b\n"), "holds no numbers"));
  dir.write("t.csv", kIris);
  CHECK(contains(failure(dir, "{format: csv, splits: {train: t.csv}, y: {columns: specis}}"),
                 "d.yaml:1:52: no column 'specis' in " + path + "; nearest: 'species'"));
  CHECK(contains(failure(dir, "{format: csv, splits: {train: t.csv}, y: {columns: 3}}"),
                 "column 3 of 3 does not exist in " + path));
  CHECK(contains(failure(dir,
                         "{format: csv, splits: {train: t.csv}, x: {columns: [sepal]},"
                         " y: {columns: [sepal, petal, species]}, header: false}",
                         ExitCode::kConfiguration),
                 "column 'sepal' has a name, but the file has no header"));
  CHECK(contains(failure(dir, "{format: csv, splits: {train: t.csv}}", ExitCode::kConfiguration),
                 "fields 'x' and 'y' both take all columns that no other names"));
  CHECK(
      contains(failure(dir,
                       "{format: csv, files: t.csv, splits: {train: 1}, num: {columns: sepal}, y: "
                       "{columns: species}}",
                       ExitCode::kConfiguration),
               "d.yaml:1:49: dataset: no file is named for the field 'num', and one file for all "
               "fields holds x and y; name the file for each field: files: {num: t.csv, ..}"));
  CHECK(contains(failure(dir, "{format: csv, splits: {train: t.csv}, num: {columns: sepal}}",
                         ExitCode::kConfiguration),
                 "name the file for each field: splits: {train: {num: t.csv, ..}}"));
  CHECK(contains(failure(dir, "{format: csv, delimiter: '::', splits: {train: {x: t.csv}}}",
                         ExitCode::kConfiguration),
                 "delimiter must be one character"));
  const data::Dataset wrong = dataset(
      dir, "{format: csv, splits: {train: t.csv}, y: {columns: species, classes: [setosa]}}");
  CHECK(contains(error_of([&] { ints(wrong.split("train"), "y"); }),
                 path + ":4: column 'species': 'virginica' is none of the classes"));
}
