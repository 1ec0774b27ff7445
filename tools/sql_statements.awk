# SPDX-License-Identifier: Apache-2.0
#
# usage: awk -f tools/sql_statements.awk src/analyze/report/chosen.sql >chosen.h
#
# The statements of a file of SQL, without their comments, as constants of the C file beside it. A statement begins with a
# line "-- @statement NAME".
/^-- @statement / {
  if (name) print "\t;"
  name = $3
  printf "static const char %s[] =\n", name
  next
}
NF && !/^--/ {
  gsub(/\\/, "\\\\")
  gsub(/"/, "\\\"")
  printf "\t\"%s\\n\"\n", $0
}
END { if (name) print "\t;" }
