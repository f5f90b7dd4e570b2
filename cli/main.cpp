#include "cli/run.h"

int main(int argc, char** argv) { return fmd::cli::run_process(argc, argv); }
