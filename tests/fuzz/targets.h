#pragma once

#include <span>
#include <string_view>

namespace meshwork::fuzz {

/// Reads bytes that may be anything, as one parser does. An Error of it is caught; all else that it
/// throws, and whatever a sanitizer finds, is a finding.
using Target = void (*)(std::string_view bytes);

void yaml(std::string_view bytes);
void config(std::string_view bytes);
void override_key(std::string_view bytes);
void expression(std::string_view bytes);
void pattern(std::string_view bytes);
void idx(std::string_view bytes);
void npy(std::string_view bytes);
void npz(std::string_view bytes);
void hdf5(std::string_view bytes);
void csv(std::string_view bytes);
void text(std::string_view bytes);
void json_lines(std::string_view bytes);
void tokens(std::string_view bytes);
void vocabulary(std::string_view bytes);
void tokenizer(std::string_view bytes);
void image(std::string_view bytes);
void safetensors(std::string_view bytes);
void weights(std::string_view bytes);
void safetensors_index(std::string_view bytes);
void weights_map(std::string_view bytes);
void weights_sizes(std::string_view bytes);
void checkpoint_index(std::string_view bytes);

struct NamedTarget {
  std::string_view name;  ///< and that of its folder in corpus/
  Target run;
};

/// All of them.
std::span<const NamedTarget> targets();

}  // namespace meshwork::fuzz
