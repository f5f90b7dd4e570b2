#include "fmd/model/backbone.h"

#include <fmt/format.h>

#include "fmd/core/error.h"

namespace fmd {

std::unique_ptr<Features> Backbone::flipped(const Inputs* inputs, const Features&,
                                            const Attribute& attribute,
                                            const PairPlan& plan, const Exec& exec) const {
  if (inputs == nullptr) {
    throw Error(ErrorKind::unsupported,
                fmt::format("{} cannot be changed in features alone: this model must be "
                            "run again on the changed rows",
                            attribute.name),
                "give the table that the features were made from");
  }
  return features(flipped_rows(*inputs->table, attribute, plan), {}, exec);
}

std::shared_ptr<const Backbone> Backbone::with_inputs(const std::vector<InputSpec>& specs,
                                                      const InputFiles& files) const {
  if (!specs.empty())
    throw Error(ErrorKind::bad_task,
                "the task has [[inputs]], but this model knows its columns by itself",
                "leave [[inputs]] out");
  if (!files.images.empty())
    throw Error(ErrorKind::bad_option, "--images: this model reads no images",
                "leave --images out");
  return nullptr;
}

}  // namespace fmd
