#include "fmd/formats/model_source.h"

namespace fmd {

std::unique_ptr<ModelSource> ModelInMemory::with_theta(const Vector& theta) const {
  return std::make_unique<ModelInMemory>(fmd::with_theta(model_, theta));
}

}  // namespace fmd
