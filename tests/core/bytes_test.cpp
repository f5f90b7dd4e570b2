#include "fmd/core/bytes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/close.h"

namespace fmd {

TEST(Bytes, AreLittleEndian) {
  ByteWriter out;
  out.put(std::uint32_t{0x01020304});
  out.put_text("ab");
  EXPECT_EQ(out.bytes(), (Bytes{4, 3, 2, 1, 2, 0, 0, 0, 0, 0, 0, 0, 'a', 'b'}));
}

RC_GTEST_PROP(Bytes, ComeBackAsTheyWere,
              (std::string text, std::vector<double> values, std::int32_t number)) {
  ByteWriter out;
  out.put(number);
  out.put_text(text);
  out.put_array<double>(values);
  const Bytes bytes = out.take();
  ByteReader in(bytes);
  RC_ASSERT(in.get<std::int32_t>() == number);
  RC_ASSERT(in.get_text() == text);
  RC_ASSERT(in.get_array<double>() == values);
  RC_ASSERT(in.left() == 0u);
}

RC_GTEST_PROP(Bytes, CutOffAnywhereGiveAnError,
              (std::string text, std::vector<double> values)) {
  ByteWriter out;
  out.put_text(text);
  out.put_array<double>(values);
  Bytes bytes = out.take();
  bytes.resize(*rc::gen::inRange<std::size_t>(0, bytes.size()));
  ByteReader in(bytes, "model.bin");
  const auto read = [&] {
    static_cast<void>(in.get_text());
    static_cast<void>(in.get_array<double>());
  };
  RC_ASSERT(test::throws_error(read, ErrorKind::bad_model, "model.bin: "));
}

TEST(Bytes, ALengthThatCannotBeTakesNoMemory) {
  ByteWriter out;
  out.put(std::uint64_t{1} << 62);
  const Bytes bytes = out.take();
  EXPECT_ERROR(ByteReader(bytes).get_text(), ErrorKind::bad_model, "claims");
  EXPECT_ERROR(ByteReader(bytes).get_array<double>(), ErrorKind::bad_model,
               "claims 4611686018427387904 entries at byte 8 but only 0 bytes follow");
  EXPECT_ERROR(ByteReader(Bytes{1, 2}).get<std::uint64_t>(), ErrorKind::bad_model,
               "state: ends after 2 bytes, 6 more are needed at byte 0");
}

}  // namespace fmd
