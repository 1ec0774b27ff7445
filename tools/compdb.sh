#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Reads the commands that make would run (make -Bn V=1) on stdin, and writes those of the compiler as a compilation
# database for clangd and other tools.
set -eu

awk -v dir="$PWD" '
  function quoted(s) { gsub(/\\/, "\\\\", s); gsub(/"/, "\\\"", s); return "\"" s "\"" }
  / -c -o [^ ]+ [^ ]+\.c$/ {
    printf "%s  {\"directory\": %s, \"file\": %s, \"output\": %s, \"command\": %s}", n++ ? ",\n" : "[\n", \
      quoted(dir), quoted($NF), quoted($(NF - 1)), quoted($0)
  }
  END { print n ? "\n]" : "[]" }'
