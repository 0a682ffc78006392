#include "cli/meshes.h"

#include <algorithm>

#include "base/split.h"
#include "cli/rank.h"
#include "job/job.h"

namespace meshwork::cli {
namespace {

/// All sizes of `axes` axes whose product is `devices`.
void add_sizes(std::size_t axes, int devices, const std::string& before,
               std::vector<std::string>& meshes) {
  if (axes == 1) {
    meshes.push_back(before + std::to_string(devices));
    return;
  }
  for (int size = devices; size >= 1; --size) {
    if (devices % size != 0) continue;
    add_sizes(axes - 1, devices / size, before + std::to_string(size) + "x", meshes);
  }
}

std::vector<std::string> listed(const std::string& text) {
  const std::vector<std::string_view> meshes = split(text, ',');
  if (std::ranges::count(meshes, "") > 0) {
    fail("--meshes: '{}' names a mesh without sizes; separate meshes by one comma: 8x1,4x2", text);
  }
  return {meshes.begin(), meshes.end()};
}

}  // namespace

void add_meshes(Options& options, std::string& meshes) {
  options.add(
      {"--meshes", "several meshes, a line for each: 8x1,4x2,2x4; or all that the devices make",
       "LIST"},
      meshes);
}

std::vector<ConfigArguments> with_meshes(const ConfigArguments& arguments,
                                         const std::string& meshes) {
  std::vector<std::string> list;
  if (meshes == "all") {
    const Mesh mesh = make_mesh(load(arguments).mesh, launched_devices());
    add_sizes(stated_axes(mesh).size(), mesh.num_devices(), "", list);
  } else {
    list = listed(meshes);
  }
  std::vector<ConfigArguments> all;
  for (const std::string& mesh : list) {
    all.push_back(arguments);
    all.back().overrides.mesh = mesh;
  }
  return all;
}

}  // namespace meshwork::cli
