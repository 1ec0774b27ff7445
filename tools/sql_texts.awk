# SPDX-License-Identifier: Apache-2.0
#
# usage: awk -f tools/sql_texts.awk src/analyze/tables/views.sql src/analyze/modules/*.sql >sql_texts.c
#
# The files of SQL as texts in the program (src/analyze/tables/table_module.h), without their comments.
BEGIN {
  print "#include \"analyze/tables/table_module.h\""
  print "const struct sql_text sql_texts[] = {"
}
FNR == 1 {
  if (NR > 1) print "\t},"
  name = FILENAME
  sub(/.*\//, "", name)
  sub(/\.sql$/, "", name)
  printf "\t{\"%s\", \"\"\n", name
}
NF && !/^--/ {
  gsub(/\\/, "\\\\")
  gsub(/"/, "\\\"")
  printf "\t\"%s\\n\"\n", $0
}
END { print "\t},\n\t{0},\n};" }
