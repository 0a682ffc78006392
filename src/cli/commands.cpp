#include "cli/command.h"

namespace meshwork::cli {

extern const Command kCheckpoint;
extern const Command kData;
extern const Command kDevices;
extern const Command kEvaluate;
extern const Command kExplain;
extern const Command kExport;
extern const Command kFit;
extern const Command kGenerate;
extern const Command kImport;
extern const Command kPaths;
extern const Command kPlan;
extern const Command kPredict;
extern const Command kSuggest;
extern const Command kTune;
extern const Command kValidate;
extern const Command kVerify;

const std::vector<const Command*>& commands() {
  static const std::vector<const Command*> list{
      &kFit,      &kEvaluate, &kPredict, &kGenerate,   &kPaths,  &kExplain, &kPlan, &kSuggest,
      &kValidate, &kVerify,   &kData,    &kCheckpoint, &kExport, &kImport,  &kTune, &kDevices,
  };
  return list;
}

}  // namespace meshwork::cli
