#include <array>

#include "data/formats/source.h"

namespace meshwork::data {
namespace {

constexpr std::array<const Format*, 12> kFormats{
    &kCifar10,    //
    &kCifar100,   //
    &kCsv,        //
    &kHdf5,       //
    &kIdx,        //
    &kImages,     //
    &kNpy,        //
    &kNpz,        //
    &kSynthetic,  //
    &kText,       //
    &kTexts,      //
    &kTokens,     //
};

}  // namespace

const Format* find_format(std::string_view name) {
  for (const Format* format : kFormats) {
    if (format->name == name) return format;
  }
  return nullptr;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format* format : kFormats) names.emplace_back(format->name);
  return names;
}

}  // namespace meshwork::data
