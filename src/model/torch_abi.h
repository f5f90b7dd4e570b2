#pragma once

#include "model/onnx_abi.h"

// The interface between the core and the plug-in of PyTorch's C++ library (backends/torch),
// see fmd/core/plugin.h. It never throws: a call that fails writes a message of at most
// `room` bytes.
extern "C" {

// What a network is trained on. The arrays must stay until the training is closed.
struct FmdTorchRows {
  std::int64_t rows, cols;
  const float* X;           // rows x cols
  const std::int32_t* y;    // class of each row
  const std::int32_t* a;    // attribute's value of each row, 0 ..; null: none
  std::int64_t directions;  // for methods that need a fair distance
  const float* direction;   // directions x cols
};

// One tensor of a language model, float32, row by row; a vector has one column. Training
// changes the numbers where they are.
struct FmdTorchWeights {
  const char* name;  // as Hugging Face writes it
  std::int64_t rows, cols;
  float* numbers;
};

// Sequences of tokens, all of one length.
struct FmdTorchTokens {
  std::int64_t rows, cols;
  const std::int32_t* token;  // rows x cols
};

struct FmdTorch {
  // Opens and runs TorchScript models as the ONNX plug-in runs its own. Its version is
  // kFmdTorchVersion; the names of libraries are not used.
  struct FmdOnnx models;

  // The dense layers at the end of an opened model, as JSON; null when it has none. run()
  // then gives what the lowest of them reads. Valid until the model is closed.
  //   {"inputs": [{"name", "type", "dims"}], "layers": [{"weight", "bias", "inputs",
  //    "outputs"}], "activation", "end", "stop", "operations"}
  // weight and bias: the names of attributes from the model down, as a list.
  const char* (*tail)(void* model, char* message, std::size_t room);

  // A training. settings is JSON: method, network with hidden (widths) or image and
  // width, classes, groups, batch, seed, rate, decay and what a method has of its own, see
  // backends/torch/rivals.cpp. Null when it fails.
  void* (*train_open)(const char* settings, const struct FmdTorchRows* rows, char* message,
                      std::size_t room);
  void (*train_close)(void* training);
  // Goes on by some steps and writes the loss before each. Returns 0 when it fails.
  int (*train_run)(void* training, std::int64_t steps, double* losses, char* message,
                   std::size_t room);
  // Gives all that later steps depend on to `take`, and takes it back. A training that was
  // opened with the same settings and rows then goes on to the same bits.
  int (*train_save)(void* training, void (*take)(void* to, const char*, std::uint64_t),
                    void* to, char* message, std::size_t room);
  int (*train_load)(void* training, const char* bytes, std::uint64_t size, char* message,
                    std::size_t room);
  // Dense layer `index` of the trained network, the lowest first: its size, and, where
  // `into` is not null, W row by row and then b. Returns how many layers there are, -1 when
  // it fails.
  int (*train_layer)(void* training, std::int32_t index, std::int64_t* outputs,
                     std::int64_t* inputs, double* into, char* message, std::size_t room);
  // The logits of the trained network for some rows, rows x classes. Returns 0 when it
  // fails. Not for two threads at a time.
  int (*train_answer)(void* training, const float* X, std::int64_t rows, std::int64_t cols,
                      float* logits, char* message, std::size_t room);

  // Trains all weights of a language model of the Llama kind on: the next token of each
  // sequence, AdamW without decay, the rate falling to 0 in a straight line. settings is
  // JSON: layers, heads, key_heads, head_size, epsilon, theta, tied, batch, rate, dropout,
  // seed, threads. `told` is called after each step with its number from 1, how many there
  // are, and the loss before it; it returns 0 to stop. Returns 0 when it fails.
  int (*train_language)(const char* settings, const struct FmdTorchWeights* weights,
                        std::int32_t count, const struct FmdTorchTokens* tokens,
                        int (*told)(void* to, std::int64_t step, std::int64_t steps,
                                    double loss),
                        void* to, char* message, std::size_t room);
};
}

inline constexpr std::uint32_t kFmdTorchVersion = 3;
