// What most files that know graphs include, compiled once, before each of them. No file relies on
// it.
#include "precompiled/standard.h"

#include "config/config.h"
#include "graph/builder.h"
#include "graph/op_def.h"
