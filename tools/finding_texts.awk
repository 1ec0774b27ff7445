# SPDX-License-Identifier: Apache-2.0
#
# usage: awk -f tools/finding_texts.awk tables.sql FINDING.sql... >finding_texts.c
#
# What the built-in findings share, and the findings as texts in the program (src/analyze/findings/finding.h).
BEGIN { print "#include \"analyze/findings/finding.h\"\nconst char finding_tables[] =" }
FNR == 1 && NR > 1 {
  print files++ ? "\t}," : ";\nconst struct finding_text finding_texts[] = {"
  name = FILENAME
  sub(/.*\//, "", name)
  printf "\t{\"%s\",\n", name
}
{
  gsub(/\\/, "\\\\")
  gsub(/"/, "\\\"")
  gsub(/\?/, "\\?")
  printf "\t\"%s\\n\"\n", $0
}
END { print "\t},\n\t{0},\n};" }
