# Runs PROGRAM, keeps what it prints in ACTUAL and compares that with EXPECTED.
execute_process(COMMAND ${PROGRAM} OUTPUT_FILE ${ACTUAL} RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM}: exit ${status}")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files --ignore-eol ${EXPECTED} ${ACTUAL}
                RESULT_VARIABLE differs OUTPUT_QUIET ERROR_QUIET)
if(differs)
  execute_process(COMMAND diff -u ${EXPECTED} ${ACTUAL})
  message(FATAL_ERROR "the output is another one; if it is right, copy it:\n"
                      "  cp ${ACTUAL} ${EXPECTED}")
endif()
