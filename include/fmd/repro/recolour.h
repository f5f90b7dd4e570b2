#pragma once

#include <memory>

#include "fmd/core/exec.h"
#include "fmd/model/mlp_head.h"
#include "fmd/repro/colours.h"
#include "fmd/repro/digits.h"

namespace fmd {

// The outputs of a network's lower layers for digits in any colours. Painting is linear in
// the colour, so the products of the first layer with the grey image are kept, one for each
// channel. A new colour then costs three multiply-adds for each unit of that layer, instead
// of three for each weight.
class Recolouring {
 public:
  // The network's first layer has 3 x pixels inputs. Cost: one product of the grey images
  // with the first layer's weights. Throws Error(bad_shape).
  Recolouring(const MlpHead& network, const Vector& theta, const Digits& digits,
              const Exec& exec);

  [[nodiscard]] Index rows() const { return rows_; }
  // The outputs of the layers below the top `layers` of the network, for these digits in
  // these colours, as float32. They are the features of the head that consists of the top
  // layers. layers = 1 .. number of hidden layers. Throws Error(bad_option, bad_shape).
  [[nodiscard]] std::unique_ptr<Features> features(const Colours& colours, Index layers,
                                                   const Exec& exec) const;

 private:
  Index rows_ = 0, width_ = 0;  // of the first hidden layer
  MlpHead network_;
  Vector theta_;
  std::vector<float> products_;  // rows x 3 x width
};

// The top `layers` layers of a network as a separate head, and its parameters.
struct TopLayers {
  std::shared_ptr<const Head> head;
  Vector theta;
};
[[nodiscard]] TopLayers top_layers(const MlpHead& network, const Vector& theta,
                                   Index layers);

}  // namespace fmd
