#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "data/loader.h"
#include "job/session.h"
#include "train/bound_program.h"

namespace meshwork {

/// Reads batches while others are in use, by threads that are idle: one in the arena, one in memory
/// beside it, in turn. For the programs of training over full batches, of which those in memory
/// beside it are bound a second time.
class ReadAhead {
 public:
  using Bind = std::function<BoundProgram(const ProgramKey& key, const Executable& executable)>;

  /// Fields that all of `programs` can have read ahead, if any.
  ReadAhead(const Session& session, std::span<const data::Field> fields,
            const std::map<ProgramKey, const BoundProgram*>& programs, const Bind& bind);

  bool is_used() const { return !elsewhere_.empty(); }

  /// Goes on to the next batch of the loader; of what has been begun of it other programs over the
  /// arena, such as an evaluation, have taken the place.
  std::int64_t advance(data::Loader& loader) const;

  /// The program over the memory in which its batch is, if this is not that of the arena; it is
  /// about to run. nullptr: the one over the arena is.
  const BoundProgram* take_turn(const ProgramKey& key);

  /// Begins the batch after the one whose turn it is, for the program `key`: whether the loader
  /// has some to read.
  bool begin_next(data::Loader& loader, const ProgramKey& key);

  /// The program has run.
  void end_turn() { runs_ = session_.runs(); }

 private:
  bool can_read(const BoundProgram& program, std::size_t field, const std::byte* data) const;

  const Session& session_;
  std::vector<data::Field> fields_;
  std::vector<std::shared_ptr<std::byte>> memory_;
  std::array<std::vector<std::byte*>, 2> places_;  ///< of the fields; null: not read ahead
  std::vector<std::unique_ptr<Executable>> executables_;
  std::map<ProgramKey, BoundProgram> elsewhere_;
  bool next_elsewhere_ = false;  ///< where the next batch is read
  std::int64_t runs_ = 0;        ///< of the session when it was begun
};

}  // namespace meshwork
