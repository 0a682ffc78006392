// ScheduleFreeAdamW keeps a place beside each weight, which begins where the weight does.
#include "whole_runs.h"

using namespace meshwork;
using namespace meshwork::testing;
using namespace meshwork::testing::runs;

TEST_CASE("schedule-free training begins at the weights that it is given") {
  const test::TempDirectory dir;
  const std::string fit = "batch_size: 8, epochs: 2";
  const std::string first = text_of("{ScheduleFreeAdamW: {learning_rate: 0.1}}", fit);
  REQUIRE(fit_on(first, "1x1", dir.file("first")).error == "");
  const std::vector<float> given = weights_in(dir.file("first/final.safetensors"));
  const std::string still = text_of("{ScheduleFreeAdamW: {learning_rate: 1.0e-9}}", fit);
  REQUIRE(fit_on(still, "1x1", dir.file("fresh")).error == "");
  CHECK(difference(given, weights_in(dir.file("fresh/final.safetensors"))) > 0.01);
  for (const std::string& mesh : kMeshes) {
    CAPTURE(mesh);
    const FitOptions options{.from = dir.file("first/final.safetensors"),
                             .weights_only = true,
                             .rerun = Rerun::kOverwrite};
    REQUIRE(fit_on(still, mesh, dir.file("second"), 0, options).error == "");
    CHECK(difference(given, weights_in(dir.file("second/final.safetensors"))) < 1e-6);
  }
}
