#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  // Where the user keeps data is in messages that the tests compare.
  unsetenv("MESHWORK_DATA");
  return doctest::Context(argc, argv).run();
}
