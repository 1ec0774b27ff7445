# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# For tests of sonda import, after lib.sh: the import of $TMP/FILE as $TMP/trace.pf, and questions about the trace.

details() { cat "$TMP/out" "$TMP/err"; }
run_import() { # FILE [OPTION]...
  "$SONDA" import --force -o "$TMP/trace.pf" "${@:2}" "$TMP/$1" >"$TMP/out" 2>"$TMP/err"
}
says() { grep -qF -- "$1" "$TMP/err"; } # TEXT
ask() { "$SONDA" sql --csv "$TMP/trace.pf" "$1" 2>>"$TMP/err" | tail -n +2 | tr -d '\r'; } # STATEMENT
same() { [ "$1" = "$2" ] || { echo "'$1', not '$2'" >>"$TMP/err"; false; }; } # SEEN WANTED
number() { printf '%s' "$1" | sed -E ':a;s/([0-9])([0-9]{3})($|,)/\1,\2\3/;ta'; }
refuses() { # NAME TEXT FILE: exit code 1, the text, no output
  rm -f "$TMP/none.pf"
  "$SONDA" import -o "$TMP/none.pf" "$TMP/$3" >"$TMP/out" 2>"$TMP/err"
  [ $? = 1 ] && says "$2" && [ ! -e "$TMP/none.pf" ]
  verdict "$1" $?
}
