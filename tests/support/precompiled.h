// What most tests include, compiled once, before each of them. No file relies on it.
#include <doctest/doctest.h>

#include "precompiled/graphs.h"
