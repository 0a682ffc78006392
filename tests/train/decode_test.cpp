// Programs that read parts of sequences: the scores of the whole model, on any mesh.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "model/decoder.h"
#include "support/sent.h"
#include "train/language_models.h"

using namespace meshwork;
using namespace meshwork::testing;
using namespace meshwork::testing::language;

namespace {

/// The same by reading parts of so many tokens, of which the sequences need one more from one to
/// the next.
std::vector<float> part_scores(const std::string& text, const std::string& mesh,
                               std::int64_t part) {
  Job job = job_without_data_of(text, mesh);
  job.target.bucket = 0;  // keys and values of a context that is cut come block by block
  add_program(job, ProgramKind::kInitialize, 0);
  add_decoder(job, kBatch, part);
  const std::vector<std::int32_t> tokens = some_tokens();
  std::vector<float> scores(static_cast<std::size_t>(kBatch * kContext * kNumbers));
  std::mutex mutex;
  run_on_devices(job, [&](const World& world) {
    Session session(job, world);
    session.initialize();
    Program program(session, {ProgramKind::kDecode, kBatch, part});
    // Sequence b gives the first b + 1 tokens, then as many as fit; a step asks for its last one.
    std::vector<std::int32_t> read(kBatch, 0);
    for (bool more = true; more;) {
      std::vector<std::int32_t> now(static_cast<std::size_t>(kBatch * part), 0), last(kBatch, 0);
      more = false;
      std::vector<std::int32_t> start = read;
      for (std::int64_t b = 0; b < kBatch; ++b) {
        std::int32_t& done = read[static_cast<std::size_t>(b)];
        const std::int64_t wanted = done == 0 ? b + 1 : part;
        const std::int64_t count = std::min({wanted, part, kContext - done});
        if (count == 0) start[static_cast<std::size_t>(b)] = static_cast<std::int32_t>(kContext);
        for (std::int64_t i = 0; i < count; ++i) {
          now[static_cast<std::size_t>(b * part + i)] =
              tokens[static_cast<std::size_t>(b * kContext + done + i)];
        }
        last[static_cast<std::size_t>(b)] =
            static_cast<std::int32_t>(std::max<std::int64_t>(count - 1, 0));
        done += static_cast<std::int32_t>(count);
        more = more || done < kContext;
      }
      program.set("tokens", now);
      program.set("start", start);
      program.set("last", last);
      std::vector<float> found;
      program.run("scores", found);
      const std::lock_guard lock(mutex);
      for (std::int64_t b = 0; b < kBatch; ++b) {
        const auto at = static_cast<std::size_t>(b);
        if (start[at] == kContext) continue;
        std::copy_n(found.data() + b * kNumbers, kNumbers,
                    scores.data() + (b * kContext + read[at] - 1) * kNumbers);
      }
    }
  });
  return scores;
}

/// The greatest difference where both say something.
double difference(const std::vector<float>& whole, const std::vector<float>& parts) {
  double worst = 0;
  std::size_t there = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (parts[i] == 0) continue;
    ++there;
    worst = std::max(worst, std::abs(static_cast<double>(whole[i]) - parts[i]));
  }
  CHECK(there >= static_cast<std::size_t>(kBatch * kNumbers));
  return worst;
}

}  // namespace

TEST_CASE("parts of sequences give the scores of the whole, whatever their length") {
  for (const Model& model : models()) {
    CAPTURE(model.name);
    const std::vector<float> whole = whole_scores(text_of(model));
    for (const std::int64_t part : {1, 2, 3, 5, 8}) {
      CAPTURE(part);
      CHECK(difference(whole, part_scores(text_of(model), "1x1", part)) < 1e-5);
    }
  }
}

TEST_CASE("caches lie where the heads and the samples do, or where a layout puts them") {
  for (const Model& model : models()) {
    CAPTURE(model.name);
    const std::vector<float> whole = whole_scores(text_of(model));
    std::vector<std::string> layouts{model.heads};
    if (model.layers.find("Attention") != std::string::npos) {
      layouts.push_back(
          "{'.*key_cache': [data, model], '.*value_cache': [data, null, null, model]}");
      layouts.push_back("{'.*(key|value)_cache': [data, model]}");
    }
    for (const char* mesh : {"2x1", "1x2", "2x2", "1x3", "1x5", "4x2"}) {
      CAPTURE(mesh);
      for (const std::string& layout : layouts) {
        CAPTURE(layout);
        for (const std::int64_t part : {1, 3}) {
          CHECK(difference(whole, part_scores(text_of(model, layout), mesh, part)) < 1e-5);
        }
      }
    }
  }
}

TEST_CASE("a cache takes its share of every device's memory") {
  const Model& llama = models()[1];
  const auto memory = [&](const char* mesh, int device) {
    Job job = job_without_data_of(text_of(llama, llama.heads), mesh);
    add_decoder(job, kBatch, 1);
    return memory_use(plan_device(job, device, {}));
  };
  // Keys and values of 3 heads, 4 wide, at 8 places of 3 sequences, in float32.
  CHECK(memory("1x1", 0).cache == 2 * 3 * 4 * 8 * 3 * 4);
  CHECK(memory("1x3", 0).cache == 2 * 1 * 4 * 8 * 3 * 4);
  CHECK(memory("3x1", 2).cache == 2 * 3 * 4 * 8 * 1 * 4);
  CHECK(memory("3x3", 4).cache == 2 * 1 * 4 * 8 * 1 * 4);
}

TEST_CASE("a token costs two all-reduces in a block whose heads are split, and its scores") {
  const std::string layers = R"(    - Embedding: {name: t, input_dim: 11, output_dim: 6}
    - TransformerDecoder: {name: a, intermediate_dim: 8, num_heads: 2}
    - Dense: {name: logits, units: 12}
)";
  const char* layouts =
      "{'.*(query|key|value)/kernel': [null, model], '.*attention_output/kernel': [model], "
      "'.*intermediate_dense/kernel': [null, model], '.*output_dense/kernel': [model], "
      "logits/kernel: [null, model]}";
  Job job = job_without_data_of(text_of({"block", layers, ""}, layouts), "1x2");
  add_decoder(job, kBatch, 1);
  const std::vector<Sent> sent = sent_by(plan_device(job, 0, {}).plans.begin()->second);
  REQUIRE(sent.size() == 3);
  CHECK((sent[0].op == "all_reduce" && sent[0].elements == kBatch * 6));
  CHECK((sent[1].op == "all_reduce" && sent[1].elements == kBatch * 6));
  CHECK((sent[2].op == "all_gather" && sent[2].elements == kBatch * 6));
}
