#include "data/tokenizer/unknown_token.h"

#include "base/quote.h"

namespace meshwork::data {

void UnknownToken::fail(std::string_view text) const {
  meshwork::fail(ExitCode::kFile,
                 "{}: '{}' is no token, and so stands for no '{}', which is none either; give it a "
                 "number in the vocab",
                 place_, excerpt(token_), excerpt(text));
}

}  // namespace meshwork::data
