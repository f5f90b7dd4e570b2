# fmd_embed(TARGET INPUT SYMBOL) puts the bytes of a file into a target as
#
#   namespace fmd::internal {
#   extern const unsigned char SYMBOL[];
#   extern const std::size_t SYMBOLSize;
#   }
#
# A string literal is used because compilers read it many times faster than a list of numbers. The
# source includes no header of ours, so it compiles at once. The file runs itself as a script at
# build time.
function(fmd_embed target input symbol)
  cmake_path(ABSOLUTE_PATH input)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded/${symbol}.cpp)
  set(script ${CMAKE_CURRENT_FUNCTION_LIST_FILE})
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -D INPUT=${input} -D OUTPUT=${output} -D SYMBOL=${symbol}
            -P ${script}
    DEPENDS ${input} ${script}
    COMMENT "Embedding ${symbol}"
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
  set_source_files_properties(${output} PROPERTIES
    SKIP_PRECOMPILE_HEADERS ON
    COMPILE_OPTIONS -Wno-overlength-strings)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  file(READ ${INPUT} bytes HEX)
  string(REPEAT "[0-9a-f]" 64 line)
  string(REGEX REPLACE "(${line})" "\\1\"\n\"" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" bytes "${bytes}")
  file(WRITE ${OUTPUT}
"#include <cstddef>

namespace fmd::internal {

extern const unsigned char ${SYMBOL}[];
extern const std::size_t ${SYMBOL}Size;
const unsigned char ${SYMBOL}[] =
\"${bytes}\";
const std::size_t ${SYMBOL}Size = sizeof(${SYMBOL}) - 1;

}  // namespace fmd::internal
")
endif()
