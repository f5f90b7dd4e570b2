# fmd_embed(TARGET INPUT SYMBOL HEADER) puts the bytes of a file into a target as
#
#   extern const unsigned char SYMBOL[];
#   extern const std::size_t SYMBOLSize;
#
# which HEADER, a file in src, declares in a namespace. A string literal is used because compilers
# read it many times faster than a list of numbers. The file runs itself as a script at build time.
function(fmd_embed target input symbol header)
  cmake_path(ABSOLUTE_PATH input)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded/${symbol}.cpp)
  set(script ${CMAKE_CURRENT_FUNCTION_LIST_FILE})
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -D INPUT=${input} -D OUTPUT=${output} -D SYMBOL=${symbol}
            -D HEADER=${header} -P ${script}
    DEPENDS ${input} ${script} ${PROJECT_SOURCE_DIR}/src/${header}
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
  # The namespace that was opened last before the header names the symbol.
  file(READ ${CMAKE_CURRENT_LIST_DIR}/../src/${HEADER} text)
  string(FIND "${text}" "${SYMBOL}[" end)
  string(SUBSTRING "${text}" 0 ${end} text)
  string(REGEX MATCHALL "namespace [a-z:]+" opened "${text}")
  if(end EQUAL -1 OR NOT opened)
    message(FATAL_ERROR "src/${HEADER} declares no ${SYMBOL}[] in a namespace")
  endif()
  list(GET opened -1 namespace)
  file(WRITE ${OUTPUT}
"#include \"${HEADER}\"

${namespace} {

const unsigned char ${SYMBOL}[] =
\"${bytes}\";
const std::size_t ${SYMBOL}Size = sizeof(${SYMBOL}) - 1;

}  // ${namespace}
")
endif()
