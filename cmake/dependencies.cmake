# All that the library, the command, the tests and the benchmarks need.
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)

# OpenBLAS where nothing else is asked for by -DBLA_VENDOR=...
if(NOT BLA_VENDOR)
  set(BLA_VENDOR OpenBLAS)
endif()
find_package(BLAS REQUIRED)
find_package(LAPACK REQUIRED)

# Seen by our sources only, never by those who use the library. fmt is linked: as headers
# it costs every source two to three seconds to compile.
find_package(fmt REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(tomlplusplus REQUIRED)
get_target_property(toml_include tomlplusplus::tomlplusplus INTERFACE_INCLUDE_DIRECTORIES)
add_library(fmd_private_headers INTERFACE)
target_link_libraries(fmd_private_headers
  INTERFACE fmt::fmt nlohmann_json::nlohmann_json)
target_include_directories(fmd_private_headers SYSTEM INTERFACE ${toml_include})
target_compile_definitions(fmd_private_headers INTERFACE TOML_HEADER_ONLY=1)

if(FMD_BUILD_COMMAND)
  find_package(CLI11 REQUIRED)
endif()
if(FMD_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()
if(FMD_BUILD_BENCH)
  find_package(benchmark REQUIRED)
endif()
