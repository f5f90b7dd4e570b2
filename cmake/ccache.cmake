# Compile through ccache where it is installed. With precompiled headers it needs to be
# told that a header's time and the macros of the precompiled part may be ignored.
find_program(FMD_CCACHE ccache)
mark_as_advanced(FMD_CCACHE)
if(FMD_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${FMD_CCACHE})
  set(FMD_USES_CCACHE ON)
endif()
