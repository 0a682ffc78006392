#pragma once

#include <filesystem>
#include <string>

namespace meshwork::testing {

/// "" for equal texts, else the lines that differ, about ten of them: those that are gone after
/// '-', the new ones after '+'. Lines that differ in the numbers of values alone are shown only
/// where nothing else differs.
std::string difference(const std::string& golden, const std::string& text);

/// Whether golden texts are to be written, not compared: MESHWORK_UPDATE_GOLDEN is set
/// (scripts/update_golden.py).
bool updates_golden();

/// Compares a text with the golden one, which stands in `file`.
void check_golden(const std::filesystem::path& file, const std::string& golden,
                  const std::string& text);

std::string read_text(const std::filesystem::path& file);

}  // namespace meshwork::testing
