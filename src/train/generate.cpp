#include "train/generate.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/error.h"
#include "base/join.h"
#include "base/names.h"
#include "job/same_job.h"
#include "state/checkpoint_index.h"
#include "train/sequence.h"
#include "train/watchdog.h"

namespace meshwork {
namespace {

constexpr std::int64_t kLongestPart = 128;
constexpr std::size_t kShownTokens = 8;  // of a prompt, in an error

std::int64_t slots_of(const Generation& generation) {
  return std::min(std::max<std::int64_t>(generation.batch, 1), std::ssize(generation.prompts));
}

/// Tokens that are read at a time where more than one are there: of a prompt, or of a context that
/// is full. 1: never.
std::int64_t part_length(const Generation& generation, std::int64_t context) {
  std::int64_t most = 1;
  for (const auto& prompt : generation.prompts) {
    most = std::max(most, std::min(std::ssize(prompt), context));
    if (std::ssize(prompt) + generation.most_tokens > context) {
      most = std::max(most, Sequence::kept_of(context));
    }
  }
  const auto whole = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(most)));
  return std::min({whole, kLongestPart, context});
}

/// One of the programs, with its inputs and its output in host memory.
class Part {
 public:
  Part(const Session& session, const ProgramKey& key)
      : session_(session),
        executable_(session.executable(key)),
        inputs_{Input{names::kTokens, {key.batch, key.tokens}}, Input{names::kStart, {key.batch}},
                Input{names::kLast, {key.batch}}},
        scores_(executable_.output(names::kScores)),
        host_(session.device().allocate_staging(num_bytes(scores_.type))),
        done_(session.device().make_event()) {
    check_inputs(executable_.plan().program, {names::kTokens, names::kStart, names::kLast});
    for (Input& input : inputs_) {
      input.view = executable_.input(input.name);
      input.values.resize(static_cast<std::size_t>(num_elements(input.shape)));
      input.host = session.device().allocate_staging(num_bytes(input.view.type));
    }
  }

  std::int64_t tokens() const { return inputs_[0].shape[1]; }

  /// Reads parts of sequences, one for each sample of the batch; nullptr: nothing there.
  void read(const std::vector<Sequence*>& sequences) {
    std::ranges::fill(inputs_[0].values, 0);
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      inputs_[1].values[i] = inputs_[2].values[i] = 0;
      if (sequences[i] == nullptr) continue;
      const Sequence::Piece piece = sequences[i]->take(tokens());
      std::ranges::copy(piece.tokens,
                        inputs_[0].values.begin() + static_cast<std::int64_t>(i) * tokens());
      inputs_[1].values[i] = static_cast<std::int32_t>(piece.start);
      inputs_[2].values[i] = static_cast<std::int32_t>(piece.tokens.size()) - 1;
    }
    for (Input& input : inputs_) upload(input);
    executable_.run();
    session_.stream().copy_to_host(host_.get(), scores_.data, num_bytes(scores_.type));
    session_.stream().record(*done_);
    done_->wait();
  }

  /// Of a sample, once read() is done.
  std::span<const float> scores(std::size_t sample) const {
    const auto numbers = static_cast<std::size_t>(scores_.type.shape[1]);
    return {reinterpret_cast<const float*>(host_.get()) + sample * numbers, numbers};
  }

 private:
  struct Input {
    const char* name;
    Shape shape;
    TensorView view = {};
    std::vector<std::int32_t> values = {};      ///< of all devices
    std::shared_ptr<std::byte> host = nullptr;  ///< of this one
  };

  void upload(const Input& input) {
    const Region& region = input.view.region;
    const Shape& shape = input.view.type.shape;
    const std::int64_t lines = shape[0], width = num_elements(input.shape) / input.shape[0];
    const std::int64_t held = shape.size() > 1 ? shape[1] : 1;
    const std::int64_t first = shape.size() > 1 ? region.offset[1] : 0;
    auto* to = reinterpret_cast<std::int32_t*>(input.host.get());
    for (std::int64_t i = 0; i < lines; ++i) {
      std::copy_n(input.values.begin() + (region.offset[0] + i) * width + first, held,
                  to + i * held);
    }
    session_.stream().copy_to_device(input.view.data, input.host.get(), num_bytes(input.view.type));
  }

  const Session& session_;
  const Executable& executable_;
  std::vector<Input> inputs_;
  TensorView scores_;
  std::shared_ptr<std::byte> host_;
  std::unique_ptr<Event> done_;
};

/// What the first device says of a token to all.
struct Choice {
  std::int32_t token = 0;
  enum class Then : std::int32_t { kGoOn, kEnd, kNoNumbers } then = Then::kGoOn;
};

class Generator {
 public:
  Generator(const Session& session, const Generation& generation, const TokenListener& listener)
      : session_(session),
        generation_(generation),
        listener_(listener),
        slots_(static_cast<std::size_t>(slots_of(generation)), nullptr) {
    for (const auto& [key, program] : session.job().programs) {
      if (key.kind == ProgramKind::kDecode) parts_.push_back({session, key});
    }
    for (const auto& prompt : generation.prompts)
      sequences_.emplace_back(prompt, generation.model.context);
  }

  void run() {
    while (true) {
      for (Sequence*& slot : slots_) {
        if (slot == nullptr && next_ < sequences_.size()) slot = &sequences_[next_++];
      }
      const bool none =
          std::ranges::all_of(slots_, [](const auto* slot) { return slot == nullptr; });
      if (none) return;
      step();
    }
  }

 private:
  void step() {
    const bool is_short = std::ranges::all_of(
        slots_, [](const Sequence* slot) { return slot == nullptr || slot->waiting() == 1; });
    Part& part = is_short ? parts_.front() : parts_.back();
    part.read(slots_);
    std::vector<Choice> choices(slots_.size());
    if (session_.is_first()) choose(part, choices);
    session_.hosts().broadcast(choices.data(), choices.size() * sizeof(Choice), 0);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i] == nullptr || slots_[i]->waiting() > 0) continue;
      if (choices[i].then == Choice::Then::kNoNumbers) fail_no_numbers(*slots_[i]);
      slots_[i]->append(choices[i].token);
      if (choices[i].then == Choice::Then::kEnd) slots_[i] = nullptr;
    }
  }

  void choose(const Part& part, std::vector<Choice>& choices) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i] == nullptr || slots_[i]->waiting() > 0) continue;
      const std::int64_t sequence = slots_[i] - sequences_.data();
      const std::int64_t index = slots_[i]->generated();
      const auto token = choose_token(generation_.sampler, logits(part.scores(i)),
                                      token_draw(generation_.seed, sequence, index));
      if (!token) {
        choices[i].then = Choice::Then::kNoNumbers;
        continue;
      }
      const bool is_last = index + 1 == generation_.most_tokens;
      const bool ends = listener_(sequence, index, *token) || is_last;
      choices[i] = {*token, ends ? Choice::Then::kEnd : Choice::Then::kGoOn};
    }
  }

  /// Of the tokens to choose from.
  std::span<const float> logits(std::span<const float> scores) {
    scores = scores.first(static_cast<std::size_t>(generation_.numbers));
    if (!generation_.model.are_probabilities) return scores;
    logits_.assign(scores.begin(), scores.end());
    for (float& logit : logits_) logit = std::log(logit);
    return logits_;
  }

  [[noreturn]] void fail_no_numbers(const Sequence& sequence) const {
    fail(ExitCode::kTraining,
         "sequence {}: the model's scores for token {} are no numbers (NaN); the weights are not "
         "those of a training that went well",
         &sequence - sequences_.data(), sequence.generated());
  }

  const Session& session_;
  const Generation& generation_;
  const TokenListener& listener_;
  std::vector<Part> parts_;  ///< by the number of tokens
  std::vector<Sequence> sequences_;
  std::vector<Sequence*> slots_;  ///< of the batch
  std::size_t next_ = 0;          ///< sequence that has no slot yet
  std::vector<float> logits_;
};

void check_tokens(const Generation& generation, const DecoderFacts& facts) {
  if (generation.least > facts.numbers) {
    fail(
        "the model gives scores for {} tokens, but the vocabulary has {}; it was trained on "
        "another one",
        facts.numbers, generation.least);
  }
  if (generation.sampler.k > generation.numbers) {
    fail("--k: {} is more than the {} tokens that there are; give fewer, or --sampler random",
         generation.sampler.k, generation.numbers);
  }
  for (std::size_t i = 0; i < generation.prompts.size(); ++i) {
    for (const std::int32_t token : generation.prompts[i]) {
      if (token >= 0 && token < generation.numbers) continue;
      fail("prompt {}: there is no token {}; they are numbered from 0 to {}", i, token,
           generation.numbers - 1);
    }
  }
}

/// What of it devices must have in common, for check_same_job(): a line for each option and prompt.
std::string describe_options(const Generation& generation) {
  const Sampler& sampler = generation.sampler;
  std::string text = fmt::format(
      "--max-tokens {}\n--batch {}\n--seed {}\nsampler {}\n--temperature {}\n--k {}\n--p {}\n"
      "tokens to choose from: {}\nprompts: {}\n",
      generation.most_tokens, generation.batch, generation.seed,
      sampler.is_greedy ? "greedy" : "draws", sampler.temperature, sampler.k, sampler.p,
      generation.numbers, generation.prompts.size());
  for (std::size_t i = 0; i < generation.prompts.size(); ++i) {
    const auto& tokens = generation.prompts[i];
    text += fmt::format("prompt {}: tokens {}{}, in all {}, digest {:016x}\n", i,
                        join(std::span(tokens).first(std::min(tokens.size(), kShownTokens)), ","),
                        tokens.size() > kShownTokens ? ",.." : "", tokens.size(),
                        hash_bytes(tokens.data(), tokens.size() * sizeof tokens[0]));
  }
  return text;
}

}  // namespace

void prepare_generate(Job& job, Generation& generation) {
  const DecoderFacts& facts = generation.model = check_decodes(job.config);
  if (generation.numbers == 0) generation.numbers = facts.numbers;
  generation.numbers = std::min(generation.numbers, facts.numbers);
  check_tokens(generation, facts);
  const std::int64_t slots = slots_of(generation);
  add_decoder(job, slots, 1);
  const std::int64_t length = part_length(generation, facts.context);
  if (length > 1) add_decoder(job, slots, length);
}

void generate(const Job& job, const World& world, const GivenWeights& weights,
              const Generation& generation, const TokenListener& listener) {
  check_same_job(job, *world.hosts, describe_options(weights) + describe_options(generation));
  Session session = watched_session(job, world);
  const Watchdog watchdog(session);
  load(session, weights);
  session.with_place_of_failure([&] { Generator(session, generation, listener).run(); });
}

}  // namespace meshwork
