# fmd_unity(TARGET SOURCES...) compiles the sources of one folder together, two dozen at a
# time: a header is then read once for all of them. Folders stay apart, so that a helper's name is
# free in every part. -DFMD_UNITY=OFF compiles each source alone, as clang-tidy wants it.
option(FMD_UNITY "Compile sources of one folder together" ON)
set(FMD_UNITY_SOURCES 24 CACHE STRING "How many sources are compiled together")
mark_as_advanced(FMD_UNITY_SOURCES)

function(fmd_unity target)
  if(NOT FMD_UNITY)
    return()
  endif()
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    file(RELATIVE_PATH place ${CMAKE_CURRENT_SOURCE_DIR} ${source})
    string(REGEX MATCH "^[^/]+/" folder "${place}")
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    math(EXPR count_${folder} "0${count_${folder}} + 1")
    math(EXPR group "(${count_${folder}} - 1) / ${FMD_UNITY_SOURCES}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
