#include "cli/cli.h"
#include "machine/topology.h"

int main(int argc, char** argv) {
  meshwork::use_fair_share_of_cores(argv);
  return meshwork::cli::run(argc, argv);
}
