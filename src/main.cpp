#include "cli/cli.h"
#include "machine/topology.h"

int main(int argc, char** argv) {
  meshwork::prepare_process(argv);
  return meshwork::cli::run(argc, argv);
}
