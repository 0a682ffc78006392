// What no user means to do to the program: streams that are closed or full, and an environment, a
// command line and limits that cannot be.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "cli/job_folder.h"

using namespace meshwork::cli;

namespace {

// These take terabytes of addresses.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHasSanitizer = true;
#else
constexpr bool kHasSanitizer = false;
#endif

/// Runs a line of a shell in which `meshwork` is the program of this build.
Finished shell(const JobFolder& folder, const std::string& line) {
  folder.write("line.sh", "meshwork() { \"$MESHWORK\" \"$@\"; }\n" + line + "\n");
  const auto program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../src/meshwork";
  const std::string command = "cd '" + folder.path.string() + "' && MESHWORK='" + program.string() +
                              "' bash line.sh >out 2>err";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, folder.read("out"), folder.read("err")};
}

}  // namespace

TEST_CASE("nobody reads what fit prints, and it goes on") {
  const JobFolder folder;
  const Finished closed = shell(folder, "meshwork fit c.yaml | true; exit ${PIPESTATUS[0]}");
  CHECK(closed.exit_code == 0);
  CHECK(closed.err.starts_with("meshwork: warning: standard output did not take all"));
  CHECK(folder.has("run/final.safetensors"));
  const Finished full = shell(folder, "meshwork fit c.yaml --new > /dev/full");
  CHECK(full.exit_code == 0);
  CHECK(full.err == closed.err);
  CHECK(shell(folder, "meshwork fit c.yaml --new > /dev/full 2>&1").exit_code == 0);
  CHECK(shell(folder, "meshwork fit c.yaml --new <&- >&- 2>&-").exit_code == 0);
  CHECK(folder.has("run-4/final.safetensors"));
}

TEST_CASE("a log on a full disk costs a warning, once") {
  const JobFolder folder;
  const Finished full = folder.run("fit c.yaml 'fit.callbacks=[CSVLogger: {filename: /dev/full}]'");
  CHECK(full.exit_code == 0);
  const std::string warning =
      "warning: /dev/full: cannot write: No space left on device; training goes on, and rows are "
      "missing until it can be written\n";
  const std::size_t found = full.out.find(warning);
  REQUIRE(found != std::string::npos);
  CHECK(full.out.find(warning, found + 1) == std::string::npos);
}

TEST_CASE("a signal that ends predict leaves no part of its file") {
  const JobFolder folder;
  train(folder);
  for (const char* signal : {"TERM", "INT", "HUP"}) {
    CAPTURE(signal);
    // A shell starts what is in the background with SIGINT ignored, nohup with SIGHUP.
    const Finished ended = shell(
        folder,
        "env --default-signal=INT,HUP,TERM \"$MESHWORK\" predict c.yaml --from run --verbose 0 "
        "dataset.splits.test.x.normal=[4000000,3] dataset.splits.test.y.integers=[4000000] "
        "--output out.npy & P=$!\n"
        "for i in $(seq 600); do ls out.npy.*.partial && break; sleep 0.1; done\n"
        "kill -" +
            std::string(signal) + " $P; wait $P");
    CHECK(ended.exit_code > 128);
    CHECK(ended.out.starts_with("out.npy."));
    CHECK(shell(folder, "ls out.npy*").out == "");
  }
}

TEST_CASE("signals that ask a run to end reach one thread alone, which computes nothing") {
  const JobFolder folder;
  const Finished ended =
      shell(folder,
            "OMP_NUM_THREADS=2 \"$MESHWORK\" fit c.yaml --verbose 0 fit.epochs=1000000 "
            "checkpoint=false & P=$!\n"
            "for i in $(seq 600); do grep -q , run/metrics.csv && break; sleep 0.1; done 2>none\n"
            "ls /proc/$P/task | wc -l >threads\n"
            "for thread in /proc/$P/task/*/status; do\n"
            "  blocked=0x$(sed -n 's/^SigBlk:\\s*//p' $thread)\n"
            "  (( (blocked & 0x4203) == 0x4203 )) || echo hears\n"  // TERM, USR1, INT, HUP
            "done\n"
            "kill -TERM $P; wait $P");
  CHECK(std::stoi(folder.read("threads")) > 4);
  CHECK(ended.out == "hears\n");
  CHECK(ended.exit_code == 1);
}

TEST_CASE("run.json says how a run ended on a disk that was full by then") {
  const JobFolder folder;
  const std::string in_a_small_disk =
      "unshare -rm bash -c 'mkdir -p disk && mount -t tmpfs -o size=200k none disk";
  if (shell(folder, in_a_small_disk + "'").exit_code != 0) {
    MESSAGE("skipped: nobody may mount a file system here");
    return;
  }
  const Finished ended =
      shell(folder,
            in_a_small_disk +
                "\n\"$MESHWORK\" fit c.yaml --verbose 0 fit.epochs=1000000 checkpoint=false "
                "run_directory=disk/run & P=$!\n"
                "for i in $(seq 600); do [ -s disk/run/metrics.csv ] && break; sleep 0.1; done\n"
                "cat /dev/zero >disk/zeros 2>none; kill -TERM $P; wait $P; cat disk/run/run.json'");
  CHECK(ended.out.find("\"status\": \"failed\"") != std::string::npos);
  CHECK(ended.out.find("\"message\": \"stopped by SIGTERM; checkpoints are switched off") !=
        std::string::npos);
  CHECK(ended.out.ends_with("}\n"));
}

TEST_CASE("a result that cannot be printed is an error") {
  const JobFolder folder;
  const Finished full = shell(folder, "meshwork paths c.yaml > /dev/full");
  CHECK(full.exit_code == 3);
  const std::string complaint =
      "meshwork: cannot write to standard output; is the disk full, or its reader gone?\n";
  CHECK(full.err == complaint);
  CHECK(shell(folder, "meshwork paths no.yaml 2> /dev/full").exit_code == 2);
  const Finished json = shell(folder, "meshwork fit c.yaml --json > /dev/full");
  CHECK(json.exit_code == 3);
  CHECK(json.err == complaint);
  const Finished dump = shell(folder, "meshwork fit c.yaml --dump forward > /dev/full");
  CHECK(dump.exit_code == 3);
  CHECK(dump.err == complaint);
  const Finished large = shell(folder, "meshwork fit c.yaml --dump plan > /dev/full");
  CHECK(large.exit_code == 3);
  // Releases of fmt before 11 tell at once, and why.
  CHECK(large.err == (FMT_VERSION < 110000
                          ? "meshwork: cannot write to standard output: No space left on device\n"
                          : complaint));
}

TEST_CASE("a run whose output nobody reads for long waits for its reader") {
  const JobFolder folder;
  const Finished slow = shell(folder,
                              "meshwork fit c.yaml fit.epochs=3000 'stall_timeout=2 s' "
                              "checkpoint=false fit.validation=false 2> late | (sleep 6; cat)\n"
                              "exit ${PIPESTATUS[0]}");
  CHECK(slow.exit_code == 0);
  CHECK(folder.read("late") == "");
  CHECK(slow.out.find("\nfinal loss=") != std::string::npos);
}

TEST_CASE("names of files may be any bytes") {
  const JobFolder folder;
  const std::string name = "b\xff";
  std::filesystem::create_directory(folder.path / name);
  folder.write(name + "/c.yaml", kTinyConfig);
  const std::string config = " 'b\xff/c.yaml' ";
  for (const std::string mesh : {"2x2", "1x1"}) {
    CHECK(shell(folder, "meshwork fit" + config + "--overwrite --mesh " + mesh +
                            " && cp -r run 'b\xff/run'")
              .exit_code == 0);
  }
  CHECK(shell(folder, "meshwork fit --json" + config + "run_directory=r --from 'b\xff/run'")
            .exit_code == 0);
  CHECK(shell(folder, "meshwork explain" + config + "d1/kernel --json").exit_code == 0);
}

TEST_CASE("an environment that cannot be is an error") {
  const JobFolder folder;
  const Finished rank = shell(folder, "OMPI_COMM_WORLD_SIZE=2 meshwork validate c.yaml");
  CHECK(rank.exit_code == 4);
  CHECK(rank.err.starts_with("meshwork: environment: OMPI_COMM_WORLD_SIZE is set, as if "));
  const Finished threads = shell(folder, "OMP_NUM_THREADS=20000 meshwork fit c.yaml");
  CHECK(threads.exit_code == 2);
  CHECK(threads.err.starts_with("meshwork: environment: OMP_NUM_THREADS is '20000'; give at most"));
}

TEST_CASE("as little memory as there is, the program says so" * doctest::skip(kHasSanitizer)) {
  const JobFolder folder;
  for (const int kilobytes : {200'000, 300'000, 600'000}) {
    CAPTURE(kilobytes);
    const Finished run =
        shell(folder, "ulimit -v " + std::to_string(kilobytes) + "; meshwork fit c.yaml --new");
    CAPTURE(run.err);
    CHECK((run.exit_code >= 0 && run.exit_code <= 4));
    CHECK(run.err.find("bug") == std::string::npos);
    CHECK((run.exit_code == 0 || run.err.starts_with("meshwork: ")));
  }
  const Finished least = shell(folder, "ulimit -v 100000; meshwork fit c.yaml --new");
  CHECK(least.exit_code == 2);
  CHECK(least.err.find("but the process and its libraries may take up to ") != std::string::npos);
}

TEST_CASE("more devices than a process has threads") {
  const JobFolder folder;
  const Finished run = folder.run("fit c.yaml --mesh 32768x1");
  CHECK(run.exit_code == 2);
  CHECK(run.err.find("has 32768 devices, but as threads of one process there are at most 1024; run "
                     "'mpirun -n 32768 meshwork fit c.yaml --mesh 32768x1'") != std::string::npos);
}

TEST_CASE("messages hold nothing that a terminal acts on, and are not long") {
  const JobFolder folder;
  const Finished escape = shell(folder, "meshwork validate c.yaml $'seed=\\e[31mred'");
  CHECK(escape.exit_code == 2);
  CHECK(escape.err.find("\\x1B[31mred") != std::string::npos);
  CHECK(escape.err.find('\x1B') == std::string::npos);
  folder.write("long.yaml", "seed: " + std::string(750'000, 'x') + "\n" + kTinyConfig);
  const Finished words = folder.run("validate long.yaml");
  CHECK(words.exit_code == 2);
  CHECK(words.err.find("x... (750000 bytes)'") != std::string::npos);
  CHECK(words.err.size() < 400);
  folder.write("name.yaml", std::string(750'000, 'x') + ": 1\n" + kTinyConfig);
  CHECK(folder.run("validate name.yaml").err.size() < 10'000);
}

TEST_CASE("extents beyond 32 bits are an error before any device starts") {
  const JobFolder folder;
  const Finished units = folder.run("explain c.yaml model.layers.d1.units=4294967296");
  CHECK(units.exit_code == 2);
  CHECK(units.err.find("a variable of shape [3, 4294967296] is too large") != std::string::npos);
}
