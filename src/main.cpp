#include "cli/cli.h"

int main(int argc, char** argv) { return meshwork::cli::run_process(argc, argv); }
