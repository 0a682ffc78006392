#include "explain/draw/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "explain/draw/devices.h"

namespace meshwork {
namespace {

constexpr std::size_t kMaxRows = 12;    // of boxes
constexpr std::size_t kMaxPanels = 16;  // pictures of one tensor
constexpr std::size_t kGap = 3;         // columns between pictures side by side
constexpr std::size_t kIndent = 2;

/// One row or column of boxes.
struct Stripe {
  std::int64_t part = 0;  ///< number of the part, -1 for parts left out
  Interval interval;
  std::size_t size = 0;  ///< lines or columns inside the box
};

std::vector<Stripe> stripes_of(const TensorPicture& picture, int dim, const Mesh& mesh) {
  if (dim < 0) return {{0, {0, 1}, 0}};
  const auto d = static_cast<std::size_t>(dim);
  const auto parts = blocks_of(picture.shape[d], picture.layout.dims[d], mesh);
  std::vector<Stripe> stripes;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].size() > 0) stripes.push_back({static_cast<std::int64_t>(i), parts[i], 0});
  }
  return stripes;
}

/// Keeps the first ones and the last one of more than `limit`.
void leave_out_middle(std::vector<Stripe>& stripes, std::size_t limit) {
  limit = std::max<std::size_t>(limit, 3);
  if (stripes.size() <= limit) return;
  const Stripe last = stripes.back();
  stripes.resize(limit - 2);
  stripes.push_back({.part = -1, .interval = {}, .size = 1});
  stripes.push_back(last);
}

/// Shares out `target` in proportion to the extents, so that none gets less than `least`, as far as
/// all fit into `limit`.
void share_out(std::vector<Stripe>& stripes, std::size_t target, std::size_t least,
               std::size_t limit) {
  std::int64_t total = 0;
  std::int64_t smallest = 0;
  for (const Stripe& stripe : stripes) {
    if (stripe.part < 0) continue;
    total += stripe.interval.size();
    smallest = smallest == 0 ? stripe.interval.size() : std::min(smallest, stripe.interval.size());
  }
  if (total == 0) return;
  const double wanted =
      static_cast<double>(least) * static_cast<double>(total) / static_cast<double>(smallest);
  const double all =
      std::clamp(wanted, static_cast<double>(target), static_cast<double>(std::max(target, limit)));
  for (Stripe& stripe : stripes) {
    if (stripe.part < 0) continue;
    const double share =
        all * static_cast<double>(stripe.interval.size()) / static_cast<double>(total);
    stripe.size = std::max(least, static_cast<std::size_t>(std::floor(share + 1e-9)));
  }
}

std::size_t widest_label(const std::vector<Stripe>& stripes) {
  std::size_t widest = 1;
  for (const Stripe& stripe : stripes) {
    if (stripe.part >= 0) widest = std::max(widest, width_of(show_range(stripe.interval)));
  }
  return widest;
}

/// Draws the boxes of one tensor; all its pictures have the same form.
class Panels {
 public:
  Panels(const TensorPicture& picture, const Mesh& mesh, const Pen& pen)
      : picture_(picture),
        mesh_(mesh),
        pen_(pen),
        dims_(picture_dims(picture.shape, picture.layout, mesh)),
        rows_(stripes_of(picture, dims_.rows, mesh)),
        columns_(stripes_of(picture, dims_.columns, mesh)) {
    left_ = dims_.rows < 0 ? 0 : std::max(widest_label(rows_), width_of(name(dims_.rows))) + 1;
    choose_sizes();
  }

  std::string draw() {
    if (rows_.empty() || columns_.empty()) return "";
    std::vector<std::vector<std::string>> panels;
    std::vector<std::vector<Stripe>> others;
    std::int64_t count = 1;
    for (const std::size_t d : dims_.others) {
      others.push_back(stripes_of(picture_, static_cast<int>(d), mesh_));
      count *= static_cast<std::int64_t>(others.back().size());
    }
    const std::int64_t shown = std::min(count, static_cast<std::int64_t>(kMaxPanels));
    for (std::int64_t i = 0; i < shown; ++i) panels.push_back(panel(others, i));
    std::string text = side_by_side(panels);
    if (shown < count) {
      text += fmt::format("{}… and {} more pictures of the same form\n", std::string(kIndent, ' '),
                          show_count(count - shown));
    }
    return text;
  }

 private:
  const std::string& name(int dim) const { return picture_.dims[static_cast<std::size_t>(dim)]; }

  const std::vector<int>& axes(int dim) const {
    return picture_.layout.dims[static_cast<std::size_t>(dim)];
  }

  std::int64_t extent(int dim) const {
    return dim < 0 ? 1 : picture_.shape[static_cast<std::size_t>(dim)];
  }

  /// The devices of a box; `fixed` are those of the picture.
  std::string devices(const Coordinates& fixed, const Stripe& row, const Stripe& column) const {
    Coordinates at = fixed;
    if (dims_.rows >= 0) fix_part(at, axes(dims_.rows), row.part, mesh_);
    if (dims_.columns >= 0) fix_part(at, axes(dims_.columns), column.part, mesh_);
    return to_string(devices_at(at, mesh_));
  }

  /// The longest numbers of devices in a box.
  std::string longest_devices() const {
    std::string longest = devices(anywhere(mesh_), rows_.back(), columns_.back());
    if (mesh_.devices.empty()) return longest;  // those of the last part are the highest
    for (const Stripe& row : rows_) {
      for (const Stripe& column : columns_) {
        const std::string text = devices(anywhere(mesh_), row, column);
        if (width_of(text) > width_of(longest)) longest = text;
      }
    }
    return longest;
  }

  void choose_sizes() {
    if (rows_.empty() || columns_.empty()) return;
    std::size_t word = 1;
    const std::string longest = longest_devices();
    for (const std::string& line : wrap(longest, 12)) word = std::max(word, width_of(line));
    const std::size_t least = std::max(widest_label(columns_), word) + 2;
    const auto width = static_cast<std::size_t>(pen_.width);
    const std::size_t room = width > left_ + kIndent + 12 ? width - left_ - kIndent - 2 : 12;
    leave_out_middle(columns_, (room + 1) / (least + 1));
    leave_out_middle(rows_, kMaxRows);

    // Characters are twice as high as wide.
    const double form = static_cast<double>(extent(dims_.rows)) /
                        static_cast<double>(std::max<std::int64_t>(extent(dims_.columns), 1)) / 2;
    const double wide = dims_.others.empty() ? 40 : 24;
    const double high = std::clamp(wide * form, 3.0, 9.0);
    const double narrow = std::clamp(high / form, 12.0, wide);
    const bool all = std::all_of(columns_.begin(), columns_.end(),
                                 [](const Stripe& column) { return column.part >= 0; });
    const std::size_t lost = columns_.size() - 1 + (all ? 0 : 1);  // between boxes
    const std::size_t inside = room > lost ? room - lost : 1;
    share_out(columns_, std::min(static_cast<std::size_t>(narrow), inside), least, inside);
    std::size_t lines = 1;
    for (const Stripe& column : columns_) {
      if (column.part >= 0) lines = std::max(lines, wrap(longest, column.size - 2).size());
    }
    const bool flat = dims_.rows < 0;
    share_out(rows_, flat ? 1 : static_cast<std::size_t>(high), lines, 3 * kMaxRows);
    if (flat) rows_.front().size = std::max<std::size_t>(lines, 1);
  }

  std::string title(const std::vector<std::vector<Stripe>>& others, std::int64_t number,
                    Coordinates& fixed) const {
    std::string text;
    for (std::size_t i = others.size(); i-- > 0;) {
      const auto count = static_cast<std::int64_t>(others[i].size());
      const Stripe& stripe = others[i][static_cast<std::size_t>(number % count)];
      number /= count;
      const int dim = static_cast<int>(dims_.others[i]);
      fix_part(fixed, axes(dim), stripe.part, mesh_);
      const std::string own = fmt::format("{} {}", name(dim), show_range(stripe.interval));
      text = text.empty() ? own : own + ", " + text;
    }
    return text;
  }

  std::string edge(std::string_view left, std::string_view cross, std::string_view right) const {
    std::string text = std::string(left_, ' ') + std::string(left);
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (c > 0) text += cross;
      text += repeat("─", columns_[c].size);
    }
    return text + std::string(right);
  }

  std::vector<std::string> heading() const {
    if (dims_.columns < 0) return {};
    std::size_t width = columns_.size() - 1;
    for (const Stripe& column : columns_) width += column.size;
    const std::string title = pad(name(dims_.columns), width, Align::kCentre);
    std::string labels =
        dims_.rows < 0 ? "" : pad(name(dims_.rows), left_ - 1, Align::kRight) + " ";
    for (const Stripe& column : columns_) {
      const std::string label = column.part < 0 ? "…" : show_range(column.interval);
      labels += " " + pad(label, column.size, Align::kCentre);
    }
    return {std::string(left_ + 1, ' ') + title, labels};
  }

  void add_row(const Coordinates& fixed, const Stripe& row, std::vector<std::string>& lines) const {
    std::vector<std::vector<std::string>> words;
    std::vector<std::size_t> colours;
    for (const Stripe& column : columns_) {
      const bool shown = row.part >= 0 && column.part >= 0;
      const std::string text = shown ? devices(fixed, row, column) : row.part < 0 ? "⋮" : "…";
      words.push_back(shown ? wrap(text, column.size - 2) : std::vector<std::string>{text});
      Coordinates at = fixed;
      if (shown && dims_.rows >= 0) fix_part(at, axes(dims_.rows), row.part, mesh_);
      if (shown && dims_.columns >= 0) fix_part(at, axes(dims_.columns), column.part, mesh_);
      colours.push_back(static_cast<std::size_t>(devices_at(at, mesh_).listed.front()));
    }
    const bool labelled = dims_.rows >= 0;
    for (std::size_t i = 0; i < row.size; ++i) {
      const std::string range = row.part < 0 ? "⋮" : show_range(row.interval);
      const bool middle = i == (row.size - 1) / 2;
      std::string line = labelled ? pad(middle ? range : "", left_ - 1, Align::kRight) + " " : "";
      for (std::size_t c = 0; c < columns_.size(); ++c) {
        const std::size_t above = (row.size - std::min(row.size, words[c].size())) / 2;
        const bool text = i >= above && i - above < words[c].size();
        const std::string inside =
            pad(text ? words[c][i - above] : "", columns_[c].size, Align::kCentre);
        const bool shown = row.part >= 0 && columns_[c].part >= 0;
        line += "│" + (shown ? on_colour(inside, colours[c], pen_) : inside);
      }
      lines.push_back(line + "│");
    }
  }

  std::vector<std::string> panel(const std::vector<std::vector<Stripe>>& others,
                                 std::int64_t number) const {
    Coordinates fixed = anywhere(mesh_);
    std::vector<std::string> lines;
    const std::string text = title(others, number, fixed);
    if (!text.empty()) lines.push_back(bold(text, pen_));
    for (std::string& line : heading()) lines.push_back(std::move(line));
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      lines.push_back(r == 0 ? edge("┌", "┬", "┐") : edge("├", "┼", "┤"));
      add_row(fixed, rows_[r], lines);
    }
    lines.push_back(edge("└", "┴", "┘"));
    return lines;
  }

  std::string side_by_side(const std::vector<std::vector<std::string>>& panels) const {
    std::size_t width = 0;
    for (const auto& panel : panels) {
      for (const std::string& line : panel) width = std::max(width, width_of(line));
    }
    const std::size_t room = static_cast<std::size_t>(pen_.width) - kIndent + kGap;
    const std::size_t abreast = std::max<std::size_t>(1, room / (width + kGap));
    std::string text;
    for (std::size_t first = 0; first < panels.size(); first += abreast) {
      if (first > 0) text += "\n";
      const std::size_t last = std::min(first + abreast, panels.size());
      for (std::size_t i = 0; i < panels[first].size(); ++i) {
        std::string line(kIndent, ' ');
        for (std::size_t p = first; p < last; ++p) {
          line += pad(panels[p][i], p + 1 < last ? width + kGap : 0);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
      }
    }
    return text;
  }

  const TensorPicture& picture_;
  const Mesh& mesh_;
  const Pen& pen_;
  PictureDims dims_;
  std::vector<Stripe> rows_;
  std::vector<Stripe> columns_;
  std::size_t left_ = 0;  ///< columns before the boxes
};

/// The dimension beside `dim` with which it makes a picture: the larger one, but not the first, for
/// all samples of a batch are alike.
std::size_t neighbour(const Shape& shape, std::size_t dim) {
  if (dim + 1 == shape.size()) return dim - 1;
  if (dim < 2) return dim + 1;
  return shape[dim - 1] >= shape[dim + 1] ? dim - 1 : dim + 1;
}

}  // namespace

PictureDims picture_dims(const Shape& shape, const Layout& layout, const Mesh& mesh) {
  PictureDims dims;
  if (shape.size() == 1) dims.columns = 0;
  if (shape.size() < 2) return dims;
  const auto parts = [&](std::size_t d) { return mesh.parts(layout.dims[d]); };
  std::vector<std::size_t> order(shape.size());
  std::iota(order.rbegin(), order.rend(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return parts(a) > parts(b); });
  if (parts(order[0]) > 1 && parts(order[1]) == 1) order[1] = neighbour(shape, order[0]);
  dims.rows = static_cast<int>(std::min(order[0], order[1]));
  dims.columns = static_cast<int>(std::max(order[0], order[1]));
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const bool shown = static_cast<int>(d) == dims.rows || static_cast<int>(d) == dims.columns;
    if (!shown && parts(d) > 1) dims.others.push_back(d);
  }
  return dims;
}

std::string draw_tensor(const TensorPicture& picture, const Mesh& mesh, const Pen& pen) {
  return finished(Panels(picture, mesh, pen).draw(), pen);
}

std::string show_range(const Interval& interval) {
  if (interval.size() == 0) return "none";
  if (interval.size() == 1) return std::to_string(interval.begin);
  return fmt::format("{}-{}", interval.begin, interval.end - 1);
}

}  // namespace meshwork
