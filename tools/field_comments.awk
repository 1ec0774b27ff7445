# SPDX-License-Identifier: Apache-2.0
#
# usage: awk -f tools/field_comments.awk FILE.proto... >field_comments.c
#
# The comments of config fields, for `sonda describe` (src/cli/list/field_comments.h), by "Message.field". A comment stands
# before its field, or behind it on the same line.
function full_name(    i, s) {
  s = ""
  for (i = 1; i <= depth; i++) if (names[i] != "") s = s (s == "" ? "" : ".") names[i]
  return s
}
function join(a, b) { return a == "" || b == "" ? a b : a " " b }
function add(name, text) {
  if (text == "") return
  gsub(/\\/, "\\\\", text)
  gsub(/"/, "\\\"", text)
  rows[++n] = sprintf("\t{\"%s\", \"%s\"},", name, text)
}
FNR == 1 { depth = 0; comment = "" }
/^[ \t]*\/\// { line = $0; sub(/^[ \t]*\/\/ ?/, "", line); comment = join(comment, line); next }
/^[ \t]*$/ { comment = ""; next }
{
  behind = ""
  if (match($0, /\/\/ ?/)) { behind = substr($0, RSTART + RLENGTH); $0 = substr($0, 1, RSTART - 1) }
}
/^[ \t]*(message|enum|oneof) / {
  if (/}/) { comment = ""; next }
  names[++depth] = $1 == "message" ? $2 : ""
  if ($1 == "message") add(full_name(), join(comment, behind))
  comment = ""
  next
}
/^[ \t]*}/ { depth--; comment = ""; next }
depth && match($0, /[a-z_0-9]+ *= *[0-9]+/) && /^[ \t]*(optional|repeated|[a-zA-Z.]+) / {
  split(substr($0, RSTART, RLENGTH), part, / *= */)
  add(full_name() "." part[1], join(comment, behind))
  comment = ""
}
END {
  print "#include \"cli/list/field_comments.h\""
  print "const struct field_comment field_comments[] = {"
  for (i = 1; i <= n; i++) print rows[i]
  print "\t{0},\n};"
}
