#pragma once

#include <string>

#include "explain/draw/pen.h"
#include "explain/explain.h"
#include "explain/model_summary.h"

namespace meshwork {

/// The explanation as people read it: of every value its shapes, a picture of who holds what, why
/// it is laid out so, and what a step sends for it.
std::string explain_text(const Explanation& explanation, const config::Config& config,
                         const Mesh& mesh, const Pen& pen);

/// The same for programs. Of each device which part it holds, if there are no more than 4096.
std::string explain_json(const Explanation& explanation, const Mesh& mesh);

/// Keras's model.summary() with layouts.
std::string summary_text(const ModelSummary& summary, const config::Config& config,
                         const Mesh& mesh, const Pen& pen);
std::string summary_json(const ModelSummary& summary, const Mesh& mesh);

}  // namespace meshwork
