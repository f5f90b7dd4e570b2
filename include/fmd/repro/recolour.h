#pragma once

#include <memory>

#include "fmd/core/exec.h"
#include "fmd/model/mlp_head.h"
#include "fmd/repro/colours.h"
#include "fmd/repro/digits.h"

namespace fmd {

// What the lower layers of a network make of digits in any colours. Painting is linear in
// the colour, so the first layer's products with the grey image are kept, one for each
// channel: a new colour costs three multiply-adds for each unit of that layer in place of
// three for each weight.
class Recolouring {
 public:
  // The network's first layer has 3 x pixels inputs. Cost: one product of the grey images
  // with the first layer's weights. Throws Error(bad_shape).
  Recolouring(const MlpHead& network, const Vector& theta, const Digits& digits,
              const Exec& exec);

  [[nodiscard]] Index rows() const { return rows_; }
  // Outputs of the layers below the top `layers` of the network for these digits in these
  // colours, as float32: the features of the head that these layers are. layers = 1 ..
  // hidden layers. Throws Error(bad_option, bad_shape).
  [[nodiscard]] std::unique_ptr<Features> features(const Colours& colours, Index layers,
                                                   const Exec& exec) const;

 private:
  Index rows_ = 0, width_ = 0;  // of the first hidden layer
  MlpHead network_;
  Vector theta_;
  std::vector<float> products_;  // rows x 3 x width
};

// The top `layers` layers of a network as a head of their own, and its parameters.
struct TopLayers {
  std::shared_ptr<const Head> head;
  Vector theta;
};
[[nodiscard]] TopLayers top_layers(const MlpHead& network, const Vector& theta,
                                   Index layers);

}  // namespace fmd
