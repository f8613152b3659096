#!/bin/bash
# README and the topics of `stackwide help`: links lead to files, options that are named exist, each topic is printed, and
# README is short.
# runs: beside others
. "$(dirname "$0")/lib.sh"

# Links. A topic is installed without the source, so it names others by their names alone.
for document in "${DOCUMENTS[@]}"; do
    while read -r target; do
        [[ -n $target && $target != http* ]] || continue
        [[ -e ${document%/*}/${target%%#*} ]] || fail "$document: there is no $target"
    done < <(grep -o '](\([^)]*\))' "$document" | sed 's/^](//; s/)$//')
done

# Options of a command are those of its help; a help lists "-F, --frequency HZ".
commands=$("$STACKWIDE" generate commands)
for command in $commands; do
    "$STACKWIDE" "$command" --help | grep -oE '^ +(-[a-zA-Z], )?--[a-z-]+' | grep -oE -- '-[a-zA-Z]|--[a-z-]+' \
        >"$TMPDIR/options.$command" || fail "$command has no options"
done
cat "$TMPDIR"/options.* >"$TMPDIR/options"
while IFS=$'\t' read -r place line; do
    line=${line%% \# *}
    line=${line##*|\ }
    line=${line%% -- *}
    read -r command line <<<"${line#*stackwide }"
    [[ $command != help ]] || continue
    [[ " ${commands//$'\n'/ } " = *" $command "* ]] || fail "$place: there is no command '$command'"
    # Not in quotes: what may look like an option there is a filter's.
    line=$(sed "s/'[^']*'//g; s/\"[^\"]*\"//g" <<<"$line")
    for word in $line; do
        [[ $word =~ ^--?[a-zA-Z] ]] || continue
        grep -qxF -e "${word%%=*}" "$TMPDIR/options.$command" || fail "$place: $command has no option $word"
    done
done < <(list_commands)
# An option alone in a span of code is of some command of ours, or of a tool that is named here.
foreign='--cpu-prof|--pid=host|--privileged|--call-graph|--stress'
while IFS=: read -r place span; do
    word=${span%% *}
    [[ ! $word =~ ^($foreign)$ ]] || continue
    grep -qxF -e "$word" "$TMPDIR/options" || fail "$place: no command has the option $word"
done < <(grep -oE '`--[a-z][a-z-]*[^`]*`' "${DOCUMENTS[@]}" | tr -d '`' | grep -v '=host')

# Each topic is printed and listed, and what is listed is one. The list fits a terminal of 80 columns and 24 lines with its prompt.
"$STACKWIDE" help >"$TMPDIR/help"
(($(wc -l <"$TMPDIR/help") <= 23)) || fail "'stackwide help' has $(wc -l <"$TMPDIR/help") lines"
! grep -E '.{81}' "$TMPDIR/help" || fail "'stackwide help' has long lines"
sed -n "/TOPIC' explains/,\$p" "$TMPDIR/help" | sed 1d | tr ' ' '\n' | grep . | sort >"$TMPDIR/listed"
for document in "$REPO"/packaging/docs/*.md; do
    topic=$(basename "$document" .md)
    echo "$topic"
    "$STACKWIDE" help "$topic" >"$TMPDIR/topic" || fail "'stackwide help $topic' failed"
    [[ $topic = formats ]] || grep -qxF -e "$(sed -n '1s/^# //p' "$document")" "$TMPDIR/topic" || fail "'stackwide help $topic' has another title"
done >"$TMPDIR/topics"
diff "$TMPDIR/topics" "$TMPDIR/listed" || fail "'stackwide help' lists other topics than there are"

# The document of formats has the table of the program.
awk -F' *[|] *' '/^\| [a-z]/ && !/^\| format / { print $2, $3, $4, $5 }' "$REPO/packaging/docs/formats.md" | tr -s ' ' >"$TMPDIR/documented"
"$STACKWIDE" help formats | sed '/^Inputs/,$d; /^  /!d' | sed 's/^ *//' | tr -s ' ' >"$TMPDIR/formats"
diff "$TMPDIR/documented" "$TMPDIR/formats" || fail "formats.md has other formats than the program"

# README is one page, of short sentences.
(($(wc -l <"$REPO/README.md") <= 130)) || fail "README has $(wc -l <"$REPO/README.md") lines"
! grep -n untried "$REPO/README.md" || fail "README says that something was not tried"
sed -E '/^(\||    |#|!)/s/.*//; s/^- /\n/; s/\]\([^)]*\)/]/g' "$REPO/README.md" | awk -v RS= '
    {
        gsub(/\n/, " ")
        n = split($0, sentences, /[.:;!?]\**( |$)/)
        for (i = 1; i <= n; i++)
            if (split(sentences[i], words, " ") > 25)
                print sentences[i]
    }' >"$TMPDIR/long"
[[ ! -s $TMPDIR/long ]] || fail "README has a sentence of more than 25 words: $(head -n 1 "$TMPDIR/long")"
