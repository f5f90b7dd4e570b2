#include "fmd/model/head.h"

#include "core/check.h"

namespace fmd {

std::string to_string(Link link) {
  switch (link) {
    case Link::softmax:
      return "softmax";
    case Link::sigmoid:
      return "sigmoid";
    case Link::one_vs_rest:
      return "one_vs_rest";
    case Link::identity:
      return "identity";
  }
  return "";
}

void Head::logits(const FeatureBlock& block, const Vector& theta, Matrix& z,
                  Tape* tape) const {
  forward(block, theta, z, tape);
  if (block.offset != nullptr) add_offset(block, z);
}

void add_offset(const FeatureBlock& block, Eigen::Ref<Matrix> z) {
  require_size("head", "the offset of a row", block.outputs, z.cols());
  z += Eigen::Map<const Matrix>(block.offset, block.rows, block.outputs);
}

void require_loss(const Head& head, const std::string& what) {
  if (head.link() == Link::softmax || head.link() == Link::sigmoid) return;
  throw Error(
      ErrorKind::unsupported,
      fmt::format("{}: the model's answers are {}, and only softmax and sigmoid have the "
                  "loss that this needs",
                  what,
                  head.link() == Link::identity ? "scores as they are"
                                                : "one sigmoid for each class"),
      "audit, predict, pairs and compare work with this model");
}

}  // namespace fmd
