#include "tributary/report/figure.h"

#include "tributary/base/error.h"

#ifdef TRIBUTARY_CAIRO
#include <cairo-svg.h>
#include <cairo.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "tributary/base/files.h"
#include "tributary/base/text.h"
#include "tributary/embedding/tsne.h"
#endif

namespace tributary {

#ifdef TRIBUTARY_CAIRO
namespace {

constexpr double kPanel = 420, kGap = 24, kTitle = 34;  // in points
constexpr double kWidth = 2 * kPanel + 3 * kGap, kHeight = 2 * (kPanel + kTitle) + 3 * kGap;

struct Panel {
  std::string title;
  Tensor shown;  // bool [s]
  Tensor label;  // int64 [s]; undefined without labels
};

struct Surface {
  explicit Surface(cairo_surface_t* made)
      : surface(made, cairo_surface_destroy), context(cairo_create(made), cairo_destroy) {}
  std::unique_ptr<cairo_surface_t, decltype(&cairo_surface_destroy)> surface;
  std::unique_ptr<cairo_t, decltype(&cairo_destroy)> context;
};

cairo_status_t append(void* bytes, const unsigned char* data, unsigned int length) {
  auto* const all = static_cast<std::vector<uint8_t>*>(bytes);
  all->insert(all->end(), data, data + length);
  return CAIRO_STATUS_SUCCESS;
}

// Hues a golden angle apart, so that neighbouring classes differ for any number of classes.
std::array<double, 3> colour_of(int64_t label) {
  const double hue = std::fmod(static_cast<double>(label) * 0.618034 + 0.58, 1.0) * 6;
  const double strength = 0.62 + 0.2 * static_cast<double>(label / 10 % 2),
               top = 0.85 - 0.18 * static_cast<double>(label % 2);
  const auto part = [&](double shift) {
    const double k = std::fmod(shift + hue, 6.0);
    return top - top * strength * std::clamp(std::min(k, 4 - k), 0.0, 1.0);
  };
  return {part(5), part(3), part(1)};
}

void write_text(cairo_t* to, double x, double y, const std::string& text) {
  cairo_set_source_rgb(to, 0.13, 0.13, 0.16);
  cairo_select_font_face(to, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(to, 15);
  cairo_move_to(to, x, y);
  cairo_show_text(to, text.c_str());
}

// `xy` [s, 2] within 0 .. 1.
void draw_panel(cairo_t* to, double left, double top, const Panel& panel, const Tensor& xy) {
  write_text(to, left, top + 20, panel.title);
  const double upper = top + kTitle;
  cairo_set_source_rgb(to, 0.75, 0.75, 0.78);
  cairo_set_line_width(to, 1);
  cairo_rectangle(to, left, upper, kPanel, kPanel);
  cairo_stroke(to);
  if (!panel.label.defined()) return write_text(to, left + 20, upper + 34, "no labels");
  const auto at = xy.accessor<float, 2>();
  const double radius = std::clamp(60 / std::sqrt(static_cast<double>(xy.size(0))), 1.2, 3.5);
  for (int64_t i = 0; i < xy.size(0); ++i) {
    if (!panel.shown[i].item<bool>()) continue;
    const auto [red, green, blue] = colour_of(panel.label[i].item<int64_t>());
    cairo_set_source_rgba(to, red, green, blue, 0.85);
    cairo_arc(to, left + 10 + at[i][0] * (kPanel - 20), upper + 10 + at[i][1] * (kPanel - 20), radius, 0, 2 * M_PI);
    cairo_fill(to);
  }
}

void draw(cairo_t* to, const std::array<Panel, 4>& panels, const Tensor& xy) {
  cairo_set_source_rgb(to, 1, 1, 1);
  cairo_paint(to);
  for (size_t i = 0; i < panels.size(); ++i) {
    const size_t row = i / 2, column = i % 2;
    draw_panel(to, kGap + static_cast<double>(column) * (kPanel + kGap),
               kGap + static_cast<double>(row) * (kPanel + kTitle + kGap), panels[i], xy);
  }
}

void check(const Surface& surface, const std::string& path) {
  const cairo_status_t status = cairo_status(surface.context.get());
  if (status != CAIRO_STATUS_SUCCESS) work_error("cannot draw {}: {}", path, cairo_status_to_string(status));
}

void write_svg(const std::string& path, const std::array<Panel, 4>& panels, const Tensor& xy) {
  std::vector<uint8_t> bytes;
  {
    Surface surface(cairo_svg_surface_create_for_stream(append, &bytes, kWidth, kHeight));
    draw(surface.context.get(), panels, xy);
    check(surface, path);
    cairo_surface_finish(surface.surface.get());
  }
  write_file_atomically(path, bytes);
}

void write_png(const std::string& path, const std::array<Panel, 4>& panels, const Tensor& xy) {
  constexpr double kScale = 2;  // resolution for print
  Surface surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(kScale * kWidth),
                                             static_cast<int>(kScale * kHeight)));
  cairo_scale(surface.context.get(), kScale, kScale);
  draw(surface.context.get(), panels, xy);
  check(surface, path);
  std::vector<uint8_t> bytes;
  cairo_surface_write_to_png_stream(surface.surface.get(), append, &bytes);
  write_file_atomically(path, bytes);
}

Tensor within_unit_square(const Tensor& xy) {
  const Tensor low = xy.amin(0), high = xy.amax(0);
  return ((xy - (low + high) / 2) / (high - low).amax().clamp_min(1e-12) + 0.5).contiguous();
}

}  // namespace

void write_tsne_figure(const ReportSubject& subject, const ReportOptions& options, const std::string& stem) {
  const History history = read_history(subject.run);
  if (history.rounds.size() < 2 || !history.rounds[1].confident.defined())
    input_error("{} has no confident set; the figure needs a run with --method selective", subject.run);
  const RoundHistory& start = history.rounds.front();
  const Tensor rows = evenly_spread(start.sample.size(0), options.points);
  const Tensor pictures = start.sample.index_select(0, rows);
  TsneOptions settings;
  settings.threads = options.threads;
  const Tensor xy = within_unit_square(tsne(start.features.index_select(0, rows), settings).embedding);
  const Tensor confident = history.rounds[1].confident.index_select(0, pictures);
  const Tensor pseudo = start.pseudo_label.index_select(0, pictures);
  const Tensor truth = truth_of(subject, history);
  const Tensor known = truth.defined() ? truth.index_select(0, pictures) : Tensor();
  const int64_t inside = confident.sum().item<int64_t>();
  const auto title = [&](const char* letter, const char* set, int64_t count, const char* labels) {
    return fmt::format("({}) {}, {} pictures, {}", letter, set, thousands(count), labels);
  };
  const int64_t outside = pictures.size(0) - inside;
  const std::array<Panel, 4> panels = {
      Panel{title("a", "unconfident", outside, "true classes"), confident.logical_not(), known},
      Panel{title("b", "confident", inside, "true classes"), confident, known},
      Panel{title("c", "unconfident", outside, "pseudo-labels"), confident.logical_not(), pseudo},
      Panel{title("d", "confident", inside, "pseudo-labels"), confident, pseudo}};
  write_svg(stem + ".svg", panels, xy);
  write_png(stem + ".png", panels, xy);
}

#else

void write_tsne_figure(const ReportSubject&, const ReportOptions&, const std::string&) {
  input_error("this program was built without Cairo, which draws figures; install libcairo2-dev and rebuild it");
}

#endif

}  // namespace tributary
