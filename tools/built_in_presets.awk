# SPDX-License-Identifier: Apache-2.0
#
# usage: awk -f tools/built_in_presets.awk share/sonda/presets/*.cfg >presets.c
#
# The shipped presets as text in the program (src/cli/terminal/presets.h).
BEGIN {
  print "#include \"cli/terminal/presets.h\""
  print "const struct built_in_preset built_in_presets[] = {"
}
FNR == 1 {
  if (NR > 1) print "\t},"
  name = FILENAME
  sub(/.*\//, "", name)
  sub(/\.cfg$/, "", name)
  printf "\t{\"%s\",\n", name
}
{
  gsub(/\\/, "\\\\")
  gsub(/"/, "\\\"")
  gsub(/\?/, "\\?")
  printf "\t\"%s\\n\"\n", $0
}
END { print (NR ? "\t},\n" : "") "\t{0},\n};" }
