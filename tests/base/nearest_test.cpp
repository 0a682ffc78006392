#include "base/nearest.h"

#include <doctest/doctest.h>

using namespace meshwork;
using Words = std::vector<std::string>;

TEST_CASE("slips of the hand find their word") {
  const Words commands{"fit", "evaluate", "plan", "paths"};
  for (const char* word : {"fti", "ift", "fi", "fitt", "fot"}) {
    CAPTURE(word);
    CHECK(nearest(word, commands) == Words{"fit"});
  }
  CHECK(nearest("evlauate", commands) == Words{"evaluate"});
  CHECK(nearest("pahts", commands).front() == "paths");
  CHECK(nearest("xyz", commands).empty());
  CHECK(nearest("FIT", commands) == Words{"fit"});
  CHECK(nearest("MSE", {"mae", "Mse", "mse"}) == Words{"Mse", "mse"});
  CHECK(nearest("", commands).empty());
  CHECK(nearest("Sum", {"LSTM"}).empty());
  CHECK(nearest("kept", {"keep"}) == Words{"keep"});
}

TEST_CASE("suggestions") {
  CHECK(suggestion("unit", {"units", "name"}) == "; nearest: 'units'");
  CHECK(suggestion("zzzzzz", {"units", "name"}) == "; known: 'units', 'name'");
  CHECK(suggestion("units", {}).empty());
}
