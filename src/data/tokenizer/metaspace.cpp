#include "data/tokenizer/metaspace.h"

namespace meshwork::data {

Metaspace read_metaspace_keys(JsonReader& reader) {
  using Scheme = Metaspace::Scheme;
  Metaspace metaspace;
  metaspace.mark = reader.character("replacement");
  if (reader.text("str_rep", metaspace.mark) != metaspace.mark) {
    reader.fail_at("str_rep", "is not the `replacement`");
  }
  const bool adds_space = reader.flag("add_prefix_space", true);  // before there was a scheme
  metaspace.scheme = reader.choose<Scheme>(
      "prepend_scheme", adds_space ? "always" : "never",
      {{"always", Scheme::kAlways}, {"first", Scheme::kFirst}, {"never", Scheme::kNever}});
  if (!adds_space && metaspace.scheme != Scheme::kNever) {
    reader.fail_at("add_prefix_space", "is false, but the prepend_scheme is not 'never'");
  }
  metaspace.splits = reader.flag("split", true);
  return metaspace;
}

}  // namespace meshwork::data
