#include "backend/cuda/elementwise/fused_rows_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "backend/cuda/elementwise/fused_operands.h"
#include "backend/cuda/elementwise/fused_values.h"
#include "backend/cuda/kernel.h"
#include "backend/cuda/team.h"
#include "base/check.h"

namespace meshwork::cuda {
namespace {

constexpr char kHelpers[] = R"cuda(
struct Plus {
  DEVICE float fold(float a, float b) { return a + b; }
};

// Vectors of a row that its lanes take at once, and how often; of so many turns the loads go ahead.
#define VECTORS ((COLUMNS + WIDTH - 1) / WIDTH)
#define TURNS ((VECTORS + LANES - 1) / LANES)
#define BATCHES ((TURNS + 3) / 4)
#define AHEAD ((TURNS + BATCHES - 1) / BATCHES)
#define EACH_BATCH(first) \
  _Pragma("unroll 2") for (int32 first = 0; first < TURNS; first += AHEAD)
// For turn `first` + t the lane is `c` elements behind the beginning of its row.
#define EACH_TURN(first, t, c)                                                   \
  _Pragma("unroll") for (int32 t = 0; t < AHEAD; ++t)                            \
    if (const int32 c = ((first + t) * LANES + team.lane) * WIDTH;               \
        (VECTORS % LANES == 0 && TURNS % AHEAD == 0) || c < COLUMNS)
#define EACH_OF_LANE(c) for (int32 c = team.lane * WIDTH; c < COLUMNS; c += LANES * WIDTH)
#define TEAMS (THREADS / LANES)

// What the teams of a block add up of the columns of their rows.
struct alignas(16) Sums {
  float at[TEAMS * COLUMNS];
};

// When all teams are done: those of half of them are added to the others', and so on.
DEVICE void save(Sums& sums, float* parts) {
  for (int32 some = TEAMS / 2 * COLUMNS; some >= COLUMNS; some /= 2) {
    for (int32 i = threadIdx.x; i < some; i += THREADS) sums.at[i] += sums.at[some + i];
    __syncthreads();
  }
  for (int32 c = threadIdx.x; c < COLUMNS; c += THREADS) {
    parts[(int64)blockIdx.x * COLUMNS + c] = sums.at[c];
  }
}
)cuda";

/// The names of values: inputs lie at x0, x1, .. from the beginning of the row on and are a0, a1,
/// .., vectors of lanes or, where they do not move along a row, one value; results lie at y0, y1,
/// .. and are b0, b1, ..; what member 3 is for a row is r3. What a team adds up of its rows for the
/// sums of columns lies at s0, s1, ..
class RowsText {
 public:
  RowsText(const FusionGroup& group, const FusedRows& rows) : group_(group), rows_(rows) {
    for (std::size_t m = 0; m < group.members.size(); ++m) {
      int sums_before = 0;
      for (const std::size_t operand : group.members[m].operands) {
        if (is_member(operand)) sums_before = std::max(sums_before, turn_[member(operand)]);
      }
      turn_.push_back(sums_before + (sums_rows(group.members[m]) ? 1 : 0));
      last_ = std::max(last_, turn_.back());
    }
  }

  std::string kernel(const std::string& name) const {
    std::string text = fmt::format(
        "KERNEL(__launch_bounds__(THREADS, 512 / THREADS) {}, Places places, int64 count, Dims "
        "dims, Numbers numbers) {{\n",
        name);
    text += R"cuda(
const Team team = neighbours(LANES);
)cuda";
    text += column_sums();
    text += R"cuda(
_Pragma("unroll 1") for (int32 turn = 0; turn < ROWS_OF_TEAM; ++turn) {
const int64 number = ((int64)blockIdx.x * ROWS_OF_TEAM + turn) * TEAMS + team.slot;
const bool is_there = number < count;
const Index row = (Index)(is_there ? number : count - 1);
)cuda";
    text += row_offsets() + pointers();
    for (int turn = 0; turn <= last_; ++turn) text += of_rows(turn) + sums(turn);
    return text + results() + "}\n" + column_results() + "}\n";
  }

 private:
  bool is_member(std::size_t operand) const { return operand >= group_.inputs.size(); }
  std::size_t member(std::size_t operand) const { return operand - group_.inputs.size(); }
  bool is_of_rows(std::size_t m) const { return rows_.is_of_rows(group_.members[m].output); }

  std::string column_sums() const {
    std::string text;
    for (std::size_t k = 0; k < rows_.column_sums.size(); ++k) {
      text += fmt::format(
          "__shared__ Sums sums{0};\nfloat* const s{0} = sums{0}.at + team.slot * COLUMNS;\n", k);
      text += fmt::format("EACH_OF_LANE(c) store(s{} + c, filled(0.0f));\n", k);
    }
    return text;
  }

  /// What the block leaves of the sums of columns, behind the results.
  std::string column_results() const {
    std::string text;
    std::size_t place = rows_.inputs.size() + rows_.results.size();
    for (std::size_t k = 0; k < rows_.column_sums.size(); ++k) {
      text += fmt::format("save(sums{}, (float*)places.at[{}]);\n", k, place++);
    }
    return text.empty() ? "" : "__syncthreads();\n" + text;
  }

  /// o0, o1, ..: which row of an operand belongs to the row, by the pattern of its moves.
  std::string row_offsets() const {
    std::string text = "Index rest = row;\n" + coordinates(rows_.nest.extents.size());
    for (std::size_t p = 0; p < rows_.nest.moves.size(); ++p) {
      const std::string offset = offset_along(rows_.nest.moves[p]);
      text += fmt::format("const int64 o{} = {};\n", p, offset.empty() ? "0" : offset);
    }
    return text;
  }

  std::string pointers() const {
    std::string text;
    std::size_t place = 0;
    for (std::size_t k = 0; k < rows_.inputs.size(); ++k) {
      const RowOperand& input = rows_.inputs[k];
      text += fmt::format("const auto x{} = (const {}*)places.at[{}] + o{}{};\n", k,
                          type_name(input.view.type.dtype), place++, input.pattern,
                          input.moves_along ? " * COLUMNS" : "");
      if (!input.moves_along) text += fmt::format("const auto a{0} = *x{0};\n", k);
    }
    for (std::size_t k = 0; k < rows_.results.size(); ++k) {
      const TensorView& result = rows_.results[k];
      text += fmt::format("const auto y{} = ({}*)places.at[{}] + (int64)row{};\n", k,
                          type_name(result.type.dtype), place++,
                          rows_.is_of_rows(result) ? "" : " * COLUMNS");
    }
    return text;
  }

  /// What is made for the row as soon as the sums of `turn` turns are there.
  std::string of_rows(int turn) const {
    std::string text;
    for (std::size_t m = 0; m < group_.members.size(); ++m) {
      const FusionGroup::Member& node = group_.members[m];
      if (!is_of_rows(m) || is_constant(node) || sums_rows(node) || turn_[m] != turn) continue;
      Writer writer;
      const FusedValue value = computed(writer, node, operands(writer, node, {}));
      text += fmt::format("{} r{};\n{{\n{}r{} = {};\n}}\n", type_name(node.output.type.dtype), m,
                          writer.statements(), m, value.stored);
    }
    return text;
  }

  /// The sums of rows that need those of `turn` turns.
  std::string sums(int turn) const {
    std::vector<std::size_t> added;
    std::set<std::size_t> needed;
    for (std::size_t m = 0; m < group_.members.size(); ++m) {
      if (sums_rows(group_.members[m]) && turn_[m] == turn + 1) {
        added.push_back(m);
        need(group_.members[m].operands[0], needed);
      }
    }
    if (added.empty()) return "";
    std::string text, folds;
    Writer writer;
    const auto values = computed_all(writer, needed);
    std::string adds;
    for (const std::size_t m : added) {
      text += fmt::format("float r{} = 0.0f;\n", m);
      adds +=
          fmt::format("r{} += {};\n", m, operand_of(writer, group_.members[m], 0, values).number);
      folds += fmt::format("r{0} = fold_neighbours<Plus>(team, r{0});\n", m);
    }
    return text + loop(read_by(added, needed), "", writer.statements() + adds, "") + folds;
  }

  std::string results() const {
    std::set<std::size_t> needed;
    std::vector<std::size_t> whole;
    std::string declared, kept, stores, of_row;
    std::size_t result = 0;
    for (std::size_t m = 0; m < group_.members.size(); ++m) {
      if (!group_.members[m].is_read || sums_columns(group_.members[m])) continue;
      if (is_of_rows(m)) {
        of_row += fmt::format("*y{} = r{};\n", result++, m);
        continue;
      }
      need(group_.inputs.size() + m, needed);
      whole.push_back(m);
      const std::string type = type_name(group_.members[m].output.type.dtype);
      declared += fmt::format("Lanes<{}> b{};\n", type, result);
      stores += fmt::format("if (is_there) store(y{0} + c, b{0});\n", result);
      kept += fmt::format("b{}.at[l] = v_{};\n", result++, m);
    }
    for (const std::size_t m : rows_.column_sums) need(group_.members[m].operands[0], needed);
    std::string text;
    if (!whole.empty() || !rows_.column_sums.empty()) {
      Writer writer;
      const auto values = computed_all(writer, needed);
      std::string names;
      for (std::size_t k = 0; k < rows_.column_sums.size(); ++k) {
        const FusionGroup::Member& sum = group_.members[rows_.column_sums[k]];
        declared += fmt::format("Lanes<float> t{0} = vector_at((const float*)s{0} + c);\n", k);
        kept += fmt::format("t{}.at[l] += {};\n", k, operand_of(writer, sum, 0, values).number);
        stores += fmt::format("if (is_there) store(s{0} + c, t{0});\n", k);
      }
      for (const std::size_t m : whole) {
        names += fmt::format("const auto v_{} = {};\n", m, values.at(m).stored);
      }
      text = loop(read_by(rows_.column_sums, needed), declared, writer.statements() + names + kept,
                  stores);
    }
    if (of_row.empty()) return text;
    // A result may stand where all lanes have read an operand.
    return text + "__syncthreads();\nif (is_there && team.lane == 0) {\n" + of_row + "}\n";
  }

  /// Goes over the row: `each` for each element of what these inputs have there.
  static std::string loop(const std::set<std::size_t>& inputs, const std::string& before,
                          const std::string& each, const std::string& after) {
    std::string held, loads, taken;
    for (const std::size_t k : inputs) {
      held += fmt::format("decltype(vector_at(x{0})) ahead{0}[AHEAD];\n", k);
      loads += fmt::format("ahead{0}[t] = vector_at(x{0} + c);\n", k);
      taken += fmt::format("const auto& a{0} = ahead{0}[t];\n", k);
    }
    return "EACH_BATCH(first) {\n" + held + "EACH_TURN(first, t, c) {\n" + loads +
           "}\nEACH_TURN(first, t, c) {\n" + taken + before + "EACH_LANE(l) {\n" + each + "}\n" +
           after + "}\n}\n";
  }

  /// Adds the members for each element that one is made of, and itself.
  void need(std::size_t operand, std::set<std::size_t>& needed) const {
    if (!is_member(operand) || is_constant(group_.members[member(operand)])) return;
    if (is_of_rows(member(operand))) return;
    if (!needed.insert(member(operand)).second) return;
    for (const std::size_t other : group_.members[member(operand)].operands) need(other, needed);
  }

  /// The inputs that move along the row, of those that these sums and members read.
  std::set<std::size_t> read_by(const std::vector<std::size_t>& added,
                                const std::set<std::size_t>& needed) const {
    std::set<std::size_t> read;
    const auto add = [&](std::size_t m) {
      const FusionGroup::Member& node = group_.members[m];
      for (std::size_t o = 0; o < node.operands.size(); ++o) {
        if (is_member(node.operands[o])) continue;
        const std::size_t k = find_operand(rows_.inputs, node, o);
        if (rows_.inputs[k].moves_along) read.insert(k);
      }
    };
    for (const std::size_t m : added) add(m);
    for (const std::size_t m : needed) add(m);
    return read;
  }

  using Values = std::map<std::size_t, FusedValue>;  ///< of members for each element

  Values computed_all(Writer& writer, const std::set<std::size_t>& needed) const {
    Values values;
    for (const std::size_t m : needed) {
      const FusionGroup::Member& node = group_.members[m];
      values[m] = computed(writer, node, operands(writer, node, values));
    }
    return values;
  }

  std::vector<FusedValue> operands(Writer& writer, const FusionGroup::Member& node,
                                   const Values& values) const {
    std::vector<FusedValue> found;
    for (std::size_t o = 0; o < node.operands.size(); ++o) {
      found.push_back(operand_of(writer, node, o, values));
    }
    return found;
  }

  FusedValue operand_of(Writer& writer, const FusionGroup::Member& node, std::size_t o,
                        const Values& values) const {
    const std::size_t from = node.operands[o];
    if (!is_member(from)) {
      const std::size_t k = find_operand(rows_.inputs, node, o);
      const RowOperand& input = rows_.inputs[k];
      return named(writer, input.view.type.dtype,
                   fmt::format("a{}{}", k, input.moves_along ? ".at[l]" : ""));
    }
    if (is_constant(group_.members[member(from)])) return number_in(writer, group_, member(from));
    if (!is_of_rows(member(from))) return values.at(member(from));
    return named(writer, group_.members[member(from)].output.type.dtype,
                 fmt::format("r{}", member(from)));
  }

  const FusionGroup& group_;
  const FusedRows& rows_;
  std::vector<int> turn_;  ///< of each member: how many turns of sums it needs, or is the last of
  int last_ = 0;
};

}  // namespace

std::string fused_rows_text(const FusionGroup& group, const FusedRows& rows,
                            const std::string& name) {
  std::string text(kFusedHelpers);
  text.append(kTeamText).append(kHelpers);
  return text + RowsText(group, rows).kernel(name);
}

}  // namespace meshwork::cuda
