#include "core/beside.h"

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "support/close.h"
#include "support/folder.h"

namespace fs = std::filesystem;

namespace fmd {

using test::Folder;

TEST(Beside, OnlyAPlainNameOfARegularFileIsTaken) {
  const Folder folder;
  test::write_text(folder / "receipt", "r");
  test::write_text(folder / "model", "m");
  fs::create_symlink("/etc/passwd", folder / "link");
  fs::create_directory(folder / "sub");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const auto take = [&](const std::string& name) {
    return beside(folder / "receipt", name, ErrorKind::bad_model, "name it yourself");
  };
  EXPECT_EQ(take("model"), folder / "model");
  EXPECT_EQ(take("absent"), folder / "absent");  // the reader says that it is not there
  for (const std::string name : {"", ".", "..", "../model", "sub/x", "/etc/passwd"})
    EXPECT_ERROR((void)take(name), ErrorKind::bad_model, "not a plain name");
  EXPECT_ERROR((void)take(std::string("a\0b", 3)), ErrorKind::bad_model,
               "not a plain name");
  EXPECT_ERROR((void)take("link"), ErrorKind::bad_model, "a link");
  EXPECT_ERROR((void)take("sub"), ErrorKind::bad_model, "not a regular file");
  EXPECT_ERROR((void)take("pipe"), ErrorKind::bad_model, "not a regular file");
}

}  // namespace fmd
