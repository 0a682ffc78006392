#include "emulated_gpu/compiler.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "emulated_gpu/real_nvrtc.h"
#include "emulated_gpu/shared_memory.h"

namespace emulated_gpu {
namespace {

namespace fs = std::filesystem;

constexpr std::array kDeviceHeaders = {"device.h",         "device_math.h",   "device_threads.h",
                                       "device_vectors.h", "narrow_floats.h", "runtime.h"};

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// FNV-1a, of 128 bits by two starts.
std::string digest(const std::string& text) {
  std::array<std::uint64_t, 2> states = {0xCBF29CE484222325U, 0x9AE16A3B2F90404FU};
  for (const char c : text) {
    for (std::uint64_t& state : states)
      state = (state ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
    states[1] ^= states[1] >> 29U;
  }
  std::array<char, 40> hex;
  std::snprintf(hex.data(), hex.size(), "%016llx%016llx",
                static_cast<unsigned long long>(states[0]),
                static_cast<unsigned long long>(states[1]));
  return hex.data();
}

/// Runs a program with its output in `log`; its exit status.
int run(const std::vector<std::string>& command, const fs::path& log) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (error != 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::vector<std::string> command_of(const std::vector<std::string>& options) {
  const char* const chosen = std::getenv("CXX_FOR_EMULATED_GPU");
  std::vector<std::string> command = {chosen != nullptr ? chosen : "c++",
                                      "-std=c++17",
                                      "-Og",  // kernels run for less than -O1 would take to compile
                                      "-fPIC",
                                      "-shared",
                                      "-ffp-contract=off",
                                      "-fno-strict-aliasing",
                                      "-fno-math-errno",
                                      "-fno-trapping-math",
                                      "-fno-exceptions",
                                      "-fno-rtti",
                                      "-fno-asynchronous-unwind-tables",
                                      "-fvisibility=hidden",
                                      "-nostdlib",
                                      "-fsanitize=alignment",
                                      "-fsanitize-undefined-trap-on-error",
                                      "-w"};
  if (__builtin_cpu_supports("fma")) command.emplace_back("-mfma");
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string& option = options[i];
    if (option == "-D" || option == "-I") {
      command.push_back(option);
      if (i + 1 < options.size()) command.push_back(options[++i]);
    } else if (option.rfind("-D", 0) == 0 || option.rfind("-I", 0) == 0) {
      command.push_back(option);
    } else if (option.rfind("--define-macro=", 0) == 0) {
      command.push_back("-D" + option.substr(15));
    }
  }
  return command;
}

/// What the compiled code depends on.
std::string key_of(const Program& program, const std::vector<std::string>& command,
                   const std::vector<std::string>& options, const char* real_nvrtc) {
  std::string all;
  const auto add = [&](const std::string& part) {
    all += std::to_string(part.size()) + ":" + part;
  };
  for (const std::string& word : command) add(word);
  for (const std::string& option : options) add(option);
  add(real_nvrtc == nullptr ? "" : real_nvrtc);
  for (const char* const header : kDeviceHeaders) {
    add(read_file(fs::path(EMULATED_GPU_SOURCES) / header));
  }
  for (const auto& [name, text] : program.headers) add(name), add(text);
  add(program.source);
  return digest(all);
}

struct Folder {
  fs::path path;
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "emulated_gpu_XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

/// Others never see a file that is half written.
void keep(const fs::path& path, const std::string& text) {
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  std::string pattern = path.string() + ".XXXXXX";
  const int file = mkstemp(pattern.data());
  if (file < 0) return;
  close(file);
  write_file(pattern, text);
  fs::rename(pattern, path, ignored);
}

/// device.h, beside what the compiler makes of it once for all programs, in the folder that
/// EMULATED_GPU_PRECOMPILED names. Where the compiler cannot use that, it reads the text.
fs::path device_header(std::vector<std::string> command) {
  const fs::path header = fs::path(EMULATED_GPU_SOURCES) / "device.h";
  const char* const kept_in = std::getenv("EMULATED_GPU_PRECOMPILED");
  if (kept_in == nullptr || *kept_in == 0) return header;
  const fs::path copy = fs::path(kept_in) / (key_of({}, command, {}, nullptr) + ".h");
  const fs::path precompiled = copy.string() + ".gch";
  if (fs::exists(precompiled)) return copy;
  const Folder folder;
  if (folder.path.empty()) return header;
  const fs::path made = folder.path / "device.h.gch";
  keep(copy, "#include \"" + header.string() + "\"\n");
  for (const std::string& word : {std::string("-x"), std::string("c++-header"), copy.string(),
                                  std::string("-o"), made.string()}) {
    command.push_back(word);
  }
  if (run(command, folder.path / "log") == 0) keep(precompiled, read_file(made));
  return fs::exists(copy) ? copy : header;
}

Compiled build(const Program& program, std::vector<std::string> command) {
  Compiled result;
  const Folder folder;
  if (folder.path.empty()) {
    result.log = "no folder for temporary files";
    return result;
  }
  for (const auto& [name, text] : program.headers) {
    fs::create_directories((folder.path / "headers" / name).parent_path());
    write_file(folder.path / "headers" / name, text);
  }
  const fs::path source = folder.path / "kernels.cpp";
  const fs::path library = folder.path / "kernels.so";
  const std::string name = program.name.empty() ? "default_program" : program.name;
  write_file(source, "#line 1 \"" + name + "\"\n" + program.source);
  const std::string header = device_header(command).string();
  for (const std::string& word :
       {std::string("-I"), (folder.path / "headers").string(), std::string("-include"), header,
        std::string("-o"), library.string(), source.string(), std::string("-lm")}) {
    command.push_back(word);
  }
  const int status = run(command, folder.path / "log");
  result.log = read_file(folder.path / "log");
  if (status == 0) result.library = read_file(library);
  const std::string excess = result.library.empty() ? "" : excess_of_shared_memory(result.library);
  result.log += excess;
  result.good = status == 0 && !result.library.empty() && excess.empty();
  if (!result.good && result.log.empty()) result.log = command[0] + " could not run";
  return result;
}

}  // namespace

Compiled compile(const Program& program, const std::vector<std::string>& options) {
  const std::vector<std::string> command = command_of(options);
  const char* const cache = std::getenv("EMULATED_GPU_CACHE");
  const char* const asked = std::getenv("EMULATED_GPU_NVRTC");
  const bool keeps = cache != nullptr && *cache != 0;
  const fs::path path =
      keeps ? fs::path(cache) / (key_of(program, command, options, asked) + ".so") : fs::path();
  Compiled result;
  if (keeps) result.library = read_file(path);
  result.good = !result.library.empty();
  if (result.good) return result;
  result = build(program, command);
  if (const std::optional<std::string> errors = real_errors(program, options); errors) {
    result.good = false;
    result.log = *errors + result.log;
  }
  if (result.good && keeps) keep(path, result.library);
  return result;
}

}  // namespace emulated_gpu
