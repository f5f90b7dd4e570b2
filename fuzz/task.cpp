#include "fmd/data/task.h"

#include "support/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fmd;
  const std::string_view text = fuzz::as_text({data, size});
  const auto overrides = fuzz::accepted([&] { return parse_task(text, "task.toml"); });
  if (!overrides) return 0;
  const auto task = fuzz::accepted([&] { return merge({}, *overrides); });
  if (!task) return 0;
  fuzz::require(task_from_json(to_json(*task), "again") == *task, "a task is kept as JSON");
  return 0;
}
