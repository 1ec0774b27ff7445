# SPDX-License-Identifier: Apache-2.0
#
# Writes the completion of sonda for one shell (-v shell=bash|zsh|fish) from completion_names.sh and the table of
# completion.sh.

# For a text between single quotes.
function quoted(text) {
	gsub(/'/, shell == "fish" ? "\\'" : "'\\''", text)
	return "'" text "'"
}

BEGIN { FS = "\t" }
FILENAME ~ /completion_names.sh$/ {
	if (!/^ *#/)
		names = names $0 "\n"
	next
}
$1 == "verb" { verbs[++n_verbs] = $2; what[$2] = $5; next }
$2 == "words" { words[$1] = $4; next }
$2 == "word" {
	fixed[$1] = fixed[$1] " " $4
	word[$1, ++n_words[$1]] = $4
	word_text[$1, n_words[$1]] = $5
	next
}
{
	n = ++n_options[$1]
	long[$1, n] = $2
	short[$1, n] = $3
	kind[$1, n] = $4
	text[$1, n] = $5
}

# What completes a choice of values: "" for another kind.
function choice(kind) {
	return kind ~ /^=/ ? substr(kind, 3) : ""
}
function print_names() {
	print "_sonda_names() { # KIND [WORD]..."
	print "  sh -c " quoted(names) " sh \"$@\""
	print "}"
}

function bash(    v, i, name, list) {
	print "# Completion of sonda for bash; made from sonda's --help."
	print_names()
	print "_sonda() {"
	print "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]} kind= options= words="
	print "  COMPREPLY=()"
	list = ""
	for (v = 1; v <= n_verbs; v++)
		list = list " " verbs[v]
	print "  if [ \"$COMP_CWORD\" = 1 ] || { [ \"$verb\" = help ] && [ \"$COMP_CWORD\" = 2 ]; }; then"
	print "    mapfile -t COMPREPLY < <(compgen -W '" substr(list, 2) " help version' -- \"$cur\")"
	print "    return"
	print "  fi"
	print "  local i"
	print "  for ((i = 2; i < COMP_CWORD; i++)); do"
	print "    if [ \"${COMP_WORDS[i]}\" = -- ]; then"
	print "      if declare -F _command_offset >/dev/null; then _command_offset $((i + 1)); fi"
	print "      return"
	print "    fi"
	print "  done"
	print "  case $verb in"
	for (v = 1; v <= n_verbs; v++) {
		name = verbs[v]
		print "  " name ")"
		list = ""
		for (i = 1; i <= n_options[name]; i++)
			list = list (long[name, i] == "-" ? "" : " --" long[name, i]) (short[name, i] == "-" ? "" : " -" short[name, i])
		print "    options='" substr(list, 2) "'"
		print "    words='" substr(fixed[name], 2) "' kind=" words[name]
		print "    case $prev in"
		for (i = 1; i <= n_options[name]; i++) {
			if (kind[name, i] == "-")
				continue
			list = (long[name, i] == "-" ? "" : "--" long[name, i]) (short[name, i] == "-" ? "" : (long[name, i] == "-" ? "" : " | ") "-" short[name, i])
			print "    " list ") kind=" (choice(kind[name, i]) == "" ? kind[name, i] : "any") \
				" words='" choice(kind[name, i]) "' options= ;;"
		}
		print "    esac"
		print "    ;;"
	}
	print "  esac"
	print "  case $cur in"
	print "  -*) mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\") ;;"
	print "  *)"
	print "    case $kind in"
	print "    files) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\"; compgen -f -- \"$cur\") && compopt -o filenames 2>/dev/null ;;"
	print "    directories) mapfile -t COMPREPLY < <(compgen -d -- \"$cur\") && compopt -o filenames 2>/dev/null ;;"
	print "    *)"
	print "      case $kind in any | - | '') ;; *) words+=\" $(_sonda_names $kind \"${COMP_WORDS[@]:2}\" | cut -f 1)\" ;; esac"
	print "      if [[ $cur = *,* ]]; then"
	print "        mapfile -t COMPREPLY < <(compgen -P \"${cur%,*},\" -W \"$words\" -- \"${cur##*,}\")"
	print "      else"
	print "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")"
	print "      fi"
	print "      [[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null"
	print "      ;;"
	print "    esac"
	print "    ;;"
	print "  esac"
	print "}"
	print "complete -F _sonda sonda"
}

function zsh(    v, i, name, action) {
	print "#compdef sonda"
	print "# Completion of sonda for zsh; made from sonda's --help."
	print_names()
	print "_sonda_complete_names() { # OPTION_OF_COMPADD... KIND, as _arguments calls it"
	print "  local line ret=1"
	print "  local -a plain described"
	print "  for line in ${(f)\"$(_sonda_names $@[-1] $words)\"}; do"
	print "    if [[ $line = *$'\\t'?* ]]; then"
	print "      described+=(\"${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}\")"
	print "    else"
	print "      plain+=(${line%$'\\t'})"
	print "    fi"
	print "  done"
	print "  compset -P '*,'"
	print "  (( $#described )) && _describe -t $@[-1] $@[-1] described \"$@[1,-2]\" && ret=0"
	print "  (( $#plain )) && compadd \"$@[1,-2]\" -a plain && ret=0"
	print "  return ret"
	print "}"
	for (v = 1; v <= n_verbs; v++)
		if (n_words[verbs[v]])
			zsh_words(verbs[v])
	print "_sonda() {"
	print "  local -a verbs options"
	print "  verbs=("
	for (v = 1; v <= n_verbs; v++)
		print "    " quoted(verbs[v] ":" what[verbs[v]])
	print "    'help:show the options of a verb' 'version:show the version'"
	print "  )"
	print "  if (( CURRENT == 2 )) || [[ $words[2] = help ]]; then"
	print "    _describe verb verbs"
	print "    return"
	print "  fi"
	print "  local verb=$words[2] command=$words[(i)--]"
	print "  if (( command < CURRENT )); then"
	print "    shift $command words; (( CURRENT -= command ))"
	print "    _normal"
	print "    return"
	print "  fi"
	print "  shift words; (( CURRENT-- ))"
	print "  case $verb in"
	for (v = 1; v <= n_verbs; v++) {
		name = verbs[v]
		print "  " name ")"
		print "    _arguments -s -S \\"
		for (i = 1; i <= n_options[name]; i++) {
			action = zsh_action(kind[name, i])
			if (long[name, i] != "-")
				print "      " quoted("*--" long[name, i] (kind[name, i] == "-" ? "" : "=") "[" zsh_text(text[name, i]) "]" action) " \\"
			if (short[name, i] != "-")
				print "      " quoted("*-" short[name, i] "[" zsh_text(text[name, i]) "]" action) " \\"
		}
		action = zsh_action(words[name])
		sub(/^:[^:]*:/, "", action)
		print "      " quoted("*:word:" (n_words[name] ? "_sonda_words_" name : action))
		print "    ;;"
	}
	print "  esac"
	print "}"
	print "_sonda \"$@\""
}
# The words of a verb that its help explains, and what else may stand there.
function zsh_words(name,    i, action) {
	print "_sonda_words_" name "() { # OPTION_OF_COMPADD..."
	print "  local ret=1"
	print "  local -a list"
	print "  list=("
	for (i = 1; i <= n_words[name]; i++)
		print "    " quoted(word[name, i] ":" word_text[name, i])
	print "  )"
	print "  _describe -t words word list \"$@\" && ret=0"
	action = zsh_action(words[name])
	if (sub(/^:[^:]*:/, "", action) && action != " ") {
		sub(/^[^ ]*/, "& \"$@\"", action)
		print "  " action " && ret=0"
	}
	print "  return ret"
	print "}"
}
function zsh_text(t) {
	gsub(/[]\\]/, "\\\\&", t)
	return t
}
function zsh_action(k) {
	if (k == "-")
		return ""
	if (k == "files")
		return ":file:_files"
	if (k == "directories")
		return ":directory:_files -/"
	if (k == "any")
		return ":value: "
	if (choice(k) != "")
		return ":value:(" choice(k) ")"
	return ":" k ":_sonda_complete_names " k
}

function fish(    v, i, name, line, all) {
	print "# Completion of sonda for fish; made from sonda's --help."
	print "function __sonda_names"
	print "  sh -c " quoted(names) " sh $argv"
	print "end"
	print "function __sonda_in_command"
	print "  contains -- -- (commandline -opc)"
	print "end"
	print "function __sonda_command"
	print "  set -l words (commandline -opc)"
	print "  set -e words[1..(contains -i -- -- $words)]"
	print "  complete -C (string join ' ' -- (string escape -- $words) (commandline -ct))"
	print "end"
	print "function __sonda_verb"
	print "  not __sonda_in_command; and __fish_seen_subcommand_from $argv[1]"
	print "end"
	print "complete -c sonda -f"
	print "complete -c sonda -n __sonda_in_command -a '(__sonda_command)'"
	for (v = 1; v <= n_verbs; v++) {
		print "complete -c sonda -n __fish_use_subcommand -a " verbs[v] " -d " quoted(what[verbs[v]])
		all = all " " verbs[v]
	}
	print "complete -c sonda -n __fish_use_subcommand -a 'help version'"
	print "complete -c sonda -n '__sonda_verb help' -a " quoted(substr(all, 2))
	for (v = 1; v <= n_verbs; v++) {
		name = verbs[v]
		print ""
		for (i = 1; i <= n_options[name]; i++) {
			line = "complete -c sonda -n '__sonda_verb " name "'"
			if (long[name, i] != "-")
				line = line " -l " long[name, i]
			if (short[name, i] != "-")
				line = line " -s " short[name, i]
			print line fish_values(kind[name, i], 1) " -d " quoted(text[name, i])
		}
		line = "complete -c sonda -n '__sonda_verb " name "'"
		for (i = 1; i <= n_words[name]; i++)
			print line " -a " word[name, i] " -d " quoted(word_text[name, i])
		if (words[name] != "-")
			print line fish_values(words[name], 0)
	}
}
function fish_values(k, is_option) {
	if (k == "-")
		return ""
	if (k == "files" || k == "directories")
		return is_option ? " -r -F" : " -F"
	if (k == "any")
		return " -x"
	if (choice(k) != "")
		return " -x -a " quoted(choice(k))
	if (k == "keys")
		return " -x -a '(__sonda_names keys (commandline -opc)[3..-1])'"
	if (!is_option)
		return " -a '(__sonda_names " k ")'"
	return " -x -a '(__fish_complete_list , \"__sonda_names " k "\")'"
}

END {
	if (shell == "bash")
		bash()
	else if (shell == "zsh")
		zsh()
	else
		fish()
}
