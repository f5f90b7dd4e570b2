#include "formats/torch/torch_file.h"

#include <gtest/gtest.h>

#include "fmd/core/file.h"
#include "fmd/formats/torchscript.h"
#include "formats/torch/tensor_places.h"
#include "formats/torch/zip.h"
#include "support/close.h"

namespace fmd {
namespace {

// A model of two layers, 3 -> 5 -> 1, by PyTorch 2.13, without the places in its source.
Bytes archive() {
  const FileView file = FileView::open(FMD_TEST_DIR "/files/torch/flat.pt");
  return {file.bytes().begin(), file.bytes().end()};
}

Bytes part(const Bytes& all, const ZipEntry& entry) {
  return {all.begin() + static_cast<std::ptrdiff_t>(entry.begin),
          all.begin() + static_cast<std::ptrdiff_t>(entry.end)};
}

// Either an Error or a result; under the sanitizers anything else is found.
template <typename Work>
bool refused(const Work& work) {
  try {
    work();
    return false;
  } catch (const Error&) {
    return true;
  }
}

TEST(TorchZip, KnowsPlacesAndWritesChecksumsThatAreRight) {
  Bytes all = archive();
  const ZipEntries entries = read_zip(all, "flat.pt");
  ASSERT_TRUE(entries.contains("flat/data.pkl"));
  const ZipEntry& numbers = entries.at("flat/data/0");
  EXPECT_TRUE(numbers.stored);
  EXPECT_EQ(numbers.end - numbers.begin, 5 * 3 * sizeof(float));
  const Bytes before = all;
  update_check(all, numbers);
  EXPECT_EQ(all, before);  // they were right
  all[numbers.begin] ^= 1U;
  update_check(all, numbers);
  EXPECT_NE(all[numbers.directory_check], before[numbers.directory_check]);
  all[numbers.begin] ^= 1U;
  update_check(all, numbers);
  EXPECT_EQ(all, before);
}

TEST(TorchZip, RefusesACutOffArchive) {
  const Bytes all = archive();
  EXPECT_ERROR(read_zip(std::span(all).first(all.size() - 30), "flat.pt"),
               ErrorKind::bad_model, "flat.pt: a damaged or cut off archive");
  for (std::size_t size = 0; size + 1 < all.size(); size += 7)
    EXPECT_TRUE(refused([&] { (void)read_zip(std::span(all).first(size), "cut"); }))
        << size;
}

TEST(TorchTensorPlaces, KnowsEveryTensorByItsName) {
  const Bytes all = archive();
  const Bytes pickle = part(all, read_zip(all, "flat.pt").at("flat/data.pkl"));
  const auto places = tensor_places(pickle, "flat.pt");
  ASSERT_EQ(places.size(), 4U);
  EXPECT_EQ(places.at("one.weight").sizes, (std::vector<Index>{5, 3}));
  EXPECT_EQ(places.at("one.weight").strides, (std::vector<Index>{3, 1}));
  EXPECT_EQ(places.at("one.weight").type, "FloatStorage");
  EXPECT_EQ(places.at("two.bias").storage, "3");
  for (const auto& [name, place] : places) EXPECT_FALSE(place.shared) << name;
}

TEST(TorchTensorPlaces, RefusesWhatTorchScriptDoesNotWrite) {
  const Bytes all = archive();
  const Bytes pickle = part(all, read_zip(all, "flat.pt").at("flat/data.pkl"));
  for (std::size_t size = 0; size < pickle.size(); ++size)
    EXPECT_TRUE(refused([&] { (void)tensor_places(std::span(pickle).first(size), "cut"); }))
        << size;
  for (std::size_t i = 0; i < pickle.size(); ++i)
    for (const unsigned flip : {1U, 8U, 64U, 255U}) {
      Bytes damaged = pickle;
      damaged[i] = static_cast<std::uint8_t>(damaged[i] ^ flip);
      (void)refused([&] { (void)tensor_places(damaged, "damaged"); });
    }
  // A call of a function is read as data: nothing runs, and no tensor comes of it.
  const std::string call =
      std::string("\x80\x02") + "cos\nsystem\n(X\x05" + std::string(3, '\0') + "touchtR.";
  EXPECT_TRUE(tensor_places(Bytes(call.begin(), call.end()), "call").empty());
  const std::string unknown = "\x80\x02(S'text'\n.";
  EXPECT_ERROR(tensor_places(Bytes(unknown.begin(), unknown.end()), "x.pt"),
               ErrorKind::bad_model, "x.pt: data.pkl is not as TorchScript writes it");
}

TEST(TorchArchive, SaysWhatItIsAndHowToOpenIt) {
  const Bytes all = archive();
  EXPECT_EQ(archive_kind(read_zip(all, "flat.pt")), ArchiveKind::torchscript);
  EXPECT_ERROR(open_model_file(FMD_TEST_DIR "/files/torch/flat.pt"), ErrorKind::unsupported,
               "flat.pt: this is a TorchScript model (PyTorch)");
  const BackendFiles nowhere = {{"torch", {"no/such/fmd_torch.so"}}};
  EXPECT_ERROR(open_model_file(FMD_TEST_DIR "/files/torch/flat.pt",
                               formats_with_torchscript(&nowhere)),
               ErrorKind::unsupported,
               "flat.pt: a TorchScript model needs the plug-in fmd_torch.so");
}

}  // namespace
}  // namespace fmd
