#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace meshwork::cuda {

/// A library of CUDA, opened when the first GPU is asked for: one program runs with it and without.
class Library {
 public:
  /// Opens "libnvrtc.so.13" where the loader finds it, else in `folders`. Throws a configuration
  /// Error that ends in `way_out` where it cannot be opened.
  Library(const std::string& name, const std::vector<std::string>& folders,
          const std::string& way_out);

  /// Sets `function` to the one called `symbol`; an Error where the library has none.
  template <class Function>
  void load(const char* symbol, Function& function) const {
    function = reinterpret_cast<Function>(find(symbol));
  }

 private:
  void* find(const char* symbol) const;

  std::string name_;
  void* handle_;  ///< never closed: libraries of CUDA do not bear it
};

/// Where CUDA 13 usually is.
std::vector<std::string> usual_folders();

/// The functions of a library that a program may do without, as load(library, functions) sets them;
/// nothing where it is not there, or is so old that it lacks one.
template <class Functions, class Load>
std::optional<Functions> open_if_there(const std::string& name, const Load& load) {
  try {
    Functions functions{};
    load(Library(name, usual_folders(), ""), functions);
    return functions;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace meshwork::cuda
