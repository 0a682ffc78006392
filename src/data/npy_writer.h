#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/dtype.h"
#include "base/file.h"
#include "base/shape.h"
#include "base/unfinished_file.h"

namespace meshwork::data {

/// A .npy file that several devices write together, each its own part:
///
///     if (first) writer = NpyWriter::create(path, DType::kFloat32, {n, 10});
///     broadcast(writer.partial());
///     if (!first) writer = NpyWriter::join(partial, DType::kFloat32, {n, 10});
///     writer.write(region, local_shape, data);   // any number of times
///     writer.close();
///     barrier();
///     if (first) writer.publish();
///
/// Until publish() the file has a name of its own, partial(), and goes where the creator
/// never publishes: a reader of `path` meets a whole file or none. Errors have ExitCode::kFile.
class NpyWriter {
 public:
  /// Makes the file, of its full size, with its header.
  static NpyWriter create(const std::string& path, DType dtype, const Shape& shape);
  /// Opens what another device has created, by its partial().
  static NpyWriter join(const std::string& partial, DType dtype, const Shape& shape);

  NpyWriter(NpyWriter&& other) noexcept;
  NpyWriter& operator=(NpyWriter&&) = delete;
  ~NpyWriter();

  const std::string& partial() const { return partial_; }

  /// Writes the dense row-major part `data` of extents `local` at region.offset. Devices may write
  /// at the same time; parts need not be disjoint where they hold the same values.
  void write(const Region& region, const Shape& local, const void* data);

  /// Ends the writing of this device: all of it is on the disk.
  void close();

  /// Gives the file its name, when all devices have closed it; by the creator.
  void publish();

 private:
  NpyWriter(std::string partial, DType dtype, const Shape& shape);

  std::string partial_;
  std::string path_;  ///< of the creator
  DType dtype_;
  Shape shape_;
  std::string header_;
  std::optional<UnfinishedFile> unfinished_;  ///< of the creator, until publish()
  std::optional<File> file_;                  ///< until close()
};

}  // namespace meshwork::data
