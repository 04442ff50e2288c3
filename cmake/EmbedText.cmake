# Writes a C++ source with the text of files: cmake -DFILES=name=path;… -DOUTPUT=file.cpp -P EmbedText.cmake
#
# Each becomes `const std::string_view tandem::assets::name`, and name_hash the "sha256-…" of it by which a page's
# Content-Security-Policy allows it. A file that has the delimiter of the raw strings in it is refused.
set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")

# 32 bytes, given as hexadecimal digits, in base 64: three digits are two characters.
function(to_base64 digits result)
  set(text "")
  foreach(begin RANGE 0 63 3)
    string(SUBSTRING "${digits}00" ${begin} 3 three)
    math(EXPR high "0x${three} / 64")
    math(EXPR low "0x${three} % 64")
    string(SUBSTRING "${alphabet}" ${high} 1 first)
    string(SUBSTRING "${alphabet}" ${low} 1 second)
    string(APPEND text "${first}${second}")
  endforeach()
  string(SUBSTRING "${text}" 0 43 text)
  set(${result} "${text}=" PARENT_SCOPE)
endfunction()

set(source "// Made by cmake/EmbedText.cmake.\n#include \"page/assets.h\"\n\nnamespace tandem::assets {\n\n")
foreach(file IN LISTS FILES)
  string(REGEX MATCH "^([^=]+)=(.+)$" matched "${file}")
  set(name "${CMAKE_MATCH_1}")
  file(READ "${CMAKE_MATCH_2}" text)
  string(FIND "${text}" ")tandem_text\"" end)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "${CMAKE_MATCH_2} cannot be embedded: it has the end of a raw string in it.")
  endif()
  string(SHA256 digest "${text}")
  to_base64("${digest}" hash)
  string(APPEND source "const std::string_view ${name} = R\"tandem_text(${text})tandem_text\";\n")
  string(APPEND source "[[maybe_unused]] const std::string_view ${name}_hash = \"sha256-${hash}\";\n\n")
endforeach()
string(APPEND source "}  // namespace tandem::assets\n")
file(WRITE "${OUTPUT}" "${source}")
