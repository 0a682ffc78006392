#include "train/generate.h"

#include <charconv>
#include <chrono>
#include <iostream>

#include "base/file.h"
#include "base/join.h"
#include "base/terminal.h"
#include "cli/command.h"
#include "cli/generated_output.h"
#include "cli/job_arguments.h"
#include "cli/rank.h"
#include "job/run_vocabulary.h"

namespace meshwork::cli {
namespace {

constexpr const char* kDetails = R"text(Examples:
  meshwork generate configs/nanogpt_char.yaml --from runs/nanogpt_char --prompt 'ROMEO:'
      200 characters behind the prompt, printed as they come
  meshwork generate configs/nanogpt_char.yaml --from runs/nanogpt_char --prompt 'KING' \
      --sampler greedy
  meshwork generate configs/nanogpt_char.yaml --from runs/nanogpt_char --prompt 'O ' --samples 3 \
      --temperature 0.8 --k 20 --max-tokens 500 --stop $'\n\n'
  mpirun -n 4 meshwork generate configs/nanogpt_char.yaml --from runs/nanogpt_char --prompt 'O ' \
      --mesh 2x2
      the same text, with heads and sequences shared among four devices
  meshwork generate configs/tokens.yaml --from runs/tokens --prompt-tokens 17,4,99 --json
  meshwork generate configs/llama.yaml --sizes-of Qwen3-0.6B --from Qwen3-0.6B \
      --prompt 'Once upon a time'
      a model of Hugging Face, whose directory has its sizes, weights and tokenizer

Samplers are those of keras-hub, with its defaults: greedy, random, top_k (k 5), top_p (p 0.1; with
--k, of the k most probable). A token depends on the weights, the text before it, the seed, and the
numbers of its sequence and of itself, and on no mesh.

Each sequence keeps the keys and values of what was there before (key_cache, value_cache), or of
recurrent layers the states (state_cache). Where it has filled the context of the model, the last
half of that is read anew, and it goes on behind it.)text";

struct GenerateArguments {
  std::shared_ptr<JobArguments> job;
  std::string from;
  bool any_model = false;
  std::vector<std::string> prompts, files, tokens, stops;
  std::int64_t samples = 1, max_tokens = 200, batch = 8;
  SamplerWords sampler;
  std::optional<std::uint64_t> seed;
  bool json = false;
};

std::vector<std::int32_t> parse_tokens(const std::string& text) {
  std::vector<std::int32_t> tokens;
  const char *at = text.data(), *const end = at + text.size();
  while (true) {
    std::int32_t token = 0;
    const auto [next, error] = std::from_chars(at, end, token);
    if (error != std::errc() || (next != end && *next != ',')) {
      fail("--prompt-tokens: '{}' is no list of whole numbers; write 17,4,99", text);
    }
    tokens.push_back(token);
    if (next == end) return tokens;
    at = next + 1;
  }
}

/// The prompts in the order --prompt, --prompt-file, --prompt-tokens, each as often as samples are
/// wanted.
std::vector<std::vector<std::int32_t>> read_prompts(const GenerateArguments& arguments,
                                                    const data::TextCodec* codec) {
  if (codec == nullptr && arguments.prompts.size() + arguments.files.size() > 0) {
    fail(
        "{}: no vocabulary.json and no tokenizer.json beside the weights says what their tokens "
        "stand for, nor do the data; give numbers, --prompt-tokens 17,4,99",
        arguments.from);
  }
  std::vector<std::vector<std::int32_t>> prompts;
  const auto add = [&](std::vector<std::int32_t> tokens, const std::string& what) {
    if (tokens.empty()) {
      fail("{}: an empty prompt; give one token or more, a line end (--prompt $'\\n') say", what);
    }
    for (std::int64_t i = 0; i < arguments.samples; ++i) prompts.push_back(tokens);
  };
  for (const std::string& text : arguments.prompts) {
    add(codec->encode(text, "--prompt"), "--prompt");
  }
  for (const std::string& file : arguments.files) {
    add(codec->encode(read_text_file(file), file), file);
  }
  for (const std::string& text : arguments.tokens) add(parse_tokens(text), "--prompt-tokens");
  if (prompts.empty())
    fail(
        "nothing to go on from; give --prompt TEXT, --prompt-file FILE or "
        "--prompt-tokens 17,4,99");
  return prompts;
}

void check_stops(const GenerateArguments& arguments) {
  for (const std::string& stop : arguments.stops) {
    if (stop.empty()) fail("--stop: an empty text stops nothing; give one character or more");
  }
}

Job load_job(const GenerateArguments& arguments) {
  Job job = job_without_data(load(*arguments.job->config), launched_devices());
  check_launch(job, command_line("generate", *arguments.job->config, {"--from", arguments.from}));
  if (arguments.job->time_passes) job.pass_times = std::make_shared<PassTimes>();
  return job;
}

/// "200 tokens in 0.31 s: 645 tokens/s", to stderr.
void say_speed(std::int64_t tokens, std::chrono::steady_clock::duration time) {
  const double seconds = std::chrono::duration<double>(time).count();
  say(fmt::format("{} tokens in {:.2f} s: {:.0f} tokens/s", tokens, seconds,
                  static_cast<double>(tokens) / seconds));
}

ExitCode run(const GenerateArguments& arguments) {
  using Clock = std::chrono::steady_clock;
  check_stops(arguments);
  Generation generation{.most_tokens = arguments.max_tokens,
                        .sampler = make_sampler(arguments.sampler),
                        .batch = arguments.batch};
  Job job = load_job(arguments);
  generation.seed = arguments.seed.value_or(job.config.seed);
  const GivenWeights weights = find_weights(arguments.from, arguments.any_model);
  const bool has_texts = arguments.prompts.size() + arguments.files.size() > 0;
  const auto vocabulary = vocabulary_for(job.config, weights.path, has_texts);
  const auto codec = vocabulary ? data::make_text_codec(*vocabulary) : nullptr;
  if (codec == nullptr && !arguments.stops.empty())
    fail("--stop: tokens without texts have no end");
  if (codec != nullptr) {
    generation.numbers = codec->count();
    generation.least = codec->own_count();
  }
  generation.prompts = read_prompts(arguments, codec.get());
  prepare_generate(job, generation);
  if (!arguments.job->dump.empty()) {
    const ProgramKey key = job.programs.begin()->first;
    print_after_pass(job, key.kind, part_signature(job.config, key.tokens), key.batch,
                     arguments.job->dump);
    return ExitCode::kOk;
  }
  GeneratedOutput output(std::cout, codec.get(),
                         {.json = arguments.json,
                          .is_terminal = terminal_of(1).live,
                          .stops = arguments.stops,
                          .most_tokens = generation.most_tokens},
                         generation.prompts);
  std::optional<Clock::time_point> first;  // the first token is there
  run_on_devices(job, [&](const World& world) {
    generate(job, world, weights, generation, [&](auto sequence, auto index, auto token) {
      if (!first) first = Clock::now();
      return output.add(sequence, index, token);
    });
  });
  if (arguments.job->verbose > 1 && first) say_speed(output.tokens() - 1, Clock::now() - *first);
  print_pass_times(job);
  return ExitCode::kOk;
}

void add_prompts(Options& options, GenerateArguments& arguments) {
  options.add_repeated({"--prompt", "a text to go on from; may be given several times", "TEXT"},
                       arguments.prompts);
  options.add_repeated(
      {"--prompt-file", "a file whose whole text is a prompt, its last line end too", "FILE"},
      arguments.files);
  options.add_repeated({"--prompt-tokens", "a prompt as numbers of tokens: 17,4,99", "NUMBERS"},
                       arguments.tokens);
  options.add({"--samples", "sequences for each prompt (1)", "N"}, arguments.samples);
  options.add({"--max-tokens", "tokens behind each prompt, at most (200)", "N"},
              arguments.max_tokens);
  options.add_repeated({"--stop", "end a text before this one; may be given several times", "TEXT"},
                       arguments.stops);
  options.add({"--batch", "sequences that are generated at a time, at most (8)", "N"},
              arguments.batch);
}

void add_sampler(Options& options, GenerateArguments& arguments) {
  options.add({.name = "--sampler",
               .help = "greedy, random, top_k or top_p; by default top_p with --p, else top_k",
               .value = "NAME",
               .choices = {"greedy", "random", "top_k", "top_p"}},
              arguments.sampler.name);
  options.add({"--temperature", "divides the logits: above 0, small is sure (1)", "T"},
              arguments.sampler.temperature);
  options.add({"--k", "draw from so many of the most probable tokens (top_k: 5)", "N"},
              arguments.sampler.k);
  options.add({"--p", "draw from as few tokens as have this probability together (0.1)", "P"},
              arguments.sampler.p);
  options.add({"--seed", "of the draws (that of the configuration)", "N"}, arguments.seed);
}

Run add(Options& options) {
  auto arguments = std::make_shared<GenerateArguments>();
  arguments->job = add_job_arguments(options);
  options.change_help("--verbose", "2: say on stderr how many tokens a second there were");
  options.add({.name = "--from,--weights",
               .help = "a run directory, a checkpoint, or a file of weights",
               .value = "DIR",
               .is_required = true},
              arguments->from);
  add_any_model(options, arguments->any_model);
  add_prompts(options, *arguments);
  add_sampler(options, *arguments);
  options.add_flag("--json", "a line for each sequence: prompt, text, tokens, and what ended it",
                   arguments->json);
  return [arguments] { return run(*arguments); };
}

}  // namespace

extern const Command kGenerate{
    .name = "generate",
    .usage = "CONFIG [key=value ...] --from DIR --prompt TEXT [options]",
    .summary = "text, or tokens, that a trained language model goes on with",
    .details = kDetails,
    .add = add,
};

}  // namespace meshwork::cli
