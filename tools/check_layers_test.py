"""Tests of check_layers.py, run by ./dev lint."""

import io
import sys
import tempfile
import unittest
from pathlib import Path

import check_layers


class CheckLayers(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "include/fmd").mkdir(parents=True)
        (self.root / "src").mkdir()

    def write(self, name: str, text: str = "") -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def expect(self, found: list[str], *wanted: str) -> None:
        """Each finding contains the wanted text of the same place in the list."""
        self.assertEqual(len(found), len(wanted), found)
        for one, text in zip(found, wanted):
            self.assertIn(text, one)

    def test_a_part_sees_lower_levels_alone(self) -> None:
        self.write("src/core/a.h", '#include "data/b.h"\n')
        self.write("src/data/b.h", '#include "core/a.h"\n#include <fmd/core/x.h>\n')
        self.write("src/repair/c.h", '#include "report/d.h"\n')
        self.write("src/report/d.h", '#include "language/e.h"\n')
        self.write("include/fmd/core/x.h", '#include "core/a.h"\n#include <fmt/core.h>\n')
        self.expect(check_layers.check_levels(self.root),
                    "a public header may include only public ones", "<fmt/core.h> in a public header",
                    "src/core/a.h:1: core (level 0) may not see data (level 1)", "with quotes",
                    "repair (level 6) may not see report (level 6)", '"language/e.h" is not in src')

    def test_a_source_has_a_header_of_its_name(self) -> None:
        for name in ("src/core/a.cpp", "src/core/a.h", "src/core/b.cpp", "include/fmd/core/b.h",
                     "src/data/csv/c.cpp", "include/fmd/data/c.h", "src/data/csv/d.cpp",
                     "include/fmd/data/csv/d.h", "src/core/version.cpp",
                     "include/fmd/version.h", "src/data/csv/e.cpp", "src/data/e.h", "src/model/b.cpp"):
            self.write(name)
        self.expect(check_layers.check_pairs(self.root), "src/data/csv/e.cpp: no e.h", "src/model/b.cpp")

    def test_private_headers_declare_in_internal(self) -> None:
        self.write("include/fmd/core/public.h", "namespace fmd {\nclass Hidden;\nstruct Open { int x; };\n}\n")
        self.write("src/core/good.h", """#pragma once
            #define FMD_TWICE(x) { x; x; }
            namespace fmd {
            class Hidden { struct Inner; };  // left to us by a public header
            struct Open;
            }
            namespace fmd::internal { struct Mine {}; inline const char* open = "namespace fmd {"; }
            namespace fmt { template <> struct formatter<int> {}; }
            extern "C" { void dgemm_(const char* a, int n); }
            """)
        self.write("src/core/kernel.h", "namespace fmd::internal::kernels::FMD_ISA { namespace { int f(); } }")
        self.write("src/repro/r.h", "namespace fmd::repro { int g(); }")
        self.write("src/core/bad.h", "#pragma once\nnamespace fmd {\n\nint f();\nint g();\n}\n")
        self.write("src/core/bad_sub.h", "namespace fmd::text { struct Line {}; }")
        self.write("src/core/global.h", "struct Global { int x; };")
        self.expect(check_layers.check_private(self.root), "src/core/bad.h:4: 'int f()'",
                    "in namespace 'fmd::text'", "'struct Global' is in namespace ''")

    def test_types_have_names_of_their_own(self) -> None:
        self.write("include/fmd/core/a.h", """
            namespace fmd {
            struct Cell { int a; struct Inside { int b; }; };
            enum class Kind : int { one, two };
            template <typename T> class Box final : public Base<T> {};
            class Later;
            }""")
        self.write("src/core/b.cpp", r"""
            namespace fmd::internal {
            namespace { struct Cell {}; }
            struct Inside {};
            struct Cell::More { int x = 1'000; };
            template <> struct Box<int> {};
            // struct Kind {};
            const char* text = R"x(struct Kind { )x";
            char brace = '{', quote = '\'';
            void f() { struct Kind {}; }
            class Later {};
            }""")
        self.expect(check_layers.check_names(self.root))
        self.write("src/data/c.h", "namespace fmd::internal {\nstruct [[nodiscard]] Cell {};\nenum Kind { x };\n}")
        self.write("src/model/d.h", "namespace fmd { template <class T>\nclass Box {}; }")
        self.expect(check_layers.check_names(self.root),
                    "src/model/d.h:1: type Box has the name of another one: include/fmd/core/a.h:5",
                    "src/data/c.h:2: type Cell", "src/data/c.h:3: type Kind")

    def test_one_file_changes_the_disk(self) -> None:
        self.write("src/core/disk.cpp", "::unlink(path);")
        self.write("src/core/other.cpp", "disk::unlink(path);  // ::unlink(path)\n::rename(a, b);\n")
        self.expect(check_layers.check_disk(self.root), "src/core/other.cpp:2: ::rename(")

    def test_a_full_folder_is_told(self) -> None:
        for number in range(26):
            self.write(f"src/data/f{number}.h")
        self.expect(check_layers.check_folders(self.root), "src/data: 26 files")


if __name__ == "__main__":
    # Silent when all is well.
    result = unittest.TextTestRunner(io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromTestCase(CheckLayers))
    for _, text in result.failures + result.errors:
        print(text, file=sys.stderr)
    sys.exit(0 if result.wasSuccessful() else 1)
