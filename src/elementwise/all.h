#pragma once

#include "elementwise/arithmetic.h"
#include "elementwise/comparison.h"
#include "elementwise/exponential.h"
#include "elementwise/trigonometric.h"
