#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: no fabric is started
# Completion scripts for bash, zsh and fish: what they offer for the beginning of a command line.
. "$(dirname "$0")/../../lib/lib.sh"

for shell in bash zsh fish; do
	limit "$RDMAEMU" completion $shell >"$TEST_DIR/$shell" 2>"$TEST_DIR/err"
	is "completion $shell: exit status" $? 0
	is "completion $shell: nothing on stderr" "$(cat "$TEST_DIR/err")" ""
done
is "printing one does not make a state directory" "$([ -e "$RDMAEMU_DIR" ] && echo made)" ""
rdmaemu_refuses completion "no shell" 2 "expected bash, zsh or fish"
rdmaemu_refuses completion "another shell" 2 "expected bash, zsh or fish" ksh
rdmaemu_refuses completion "two shells" 2 "expected bash, zsh or fish" bash zsh

mkdir "$TEST_DIR/dir" "$TEST_DIR/dir/sub"
: >"$TEST_DIR/dir/file.conf"
: >"$TEST_DIR/dir/two words"

# --- bash -----------------------------------------------------------------------------------------------

check "bash: syntax" bash -n "$TEST_DIR/bash"
# bash_offers WORD... - what bash offers for the last word, sorted
bash_offers() {
	(
		cd "$TEST_DIR/dir" || exit
		. "$TEST_DIR/bash"
		COMP_WORDS=(rdmaemu "$@")
		COMP_CWORD=$#
		_rdmaemu
		printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort | tr '\n' ' ' | sed 's/ $//'
	)
}
is "bash: verbs" "$(bash_offers st)" "status"
is "bash: groups are one word" "$(bash_offers f)" "fabric fault"
is "bash: second words" "$(bash_offers port l)" "lid link"
is "bash: all second words" "$(bash_offers trace '')" "--help diff export ladder show stat"
is "bash: options" "$(bash_offers run --ti)" "--time-scale"
is "bash: options of two words' verb" "$(bash_offers fabric stop --)" "--config --dir --fabric --help"
is "bash: options of a verb that is a group, too" "$(bash_offers clock --j)" "--json"
is "bash: both verbs called replay" "$(bash_offers replay --i)" "--ignore --inject --isolated"
is "bash: words that are values" "$(bash_offers replay --mode n)" "new_episodes none"
is "bash: behind an equals sign" "$(bash_offers run --clock = m)" "manual"
is "bash: behind an equals sign, nothing yet" "$(bash_offers run --clock =)" "manual run"
is "bash: profiles" "$(bash_offers fabric start --profile in)" "infiniband"
is "bash: files" "$(bash_offers run --scenario f)" "file.conf"
is "bash: a file with a space" "$(bash_offers run --scenario t)" "two words"
is "bash: directories only" "$(bash_offers record -o '')" "sub"
is "bash: a value that may be left out is not asked for" "$(bash_offers run --chaos --expl)" "--explain"
is "bash: unless in its own word" "$(bash_offers run --real =)" "auto"
is "bash: a switch that shares its name with an option" "$(bash_offers record --capture --expl)" "--explain"
is "bash: the option with that name" "$(bash_offers run --capture f)" "file.conf"
is "bash: words of arguments" "$(bash_offers port link --node a de)" "delay"
is "bash: actions of fault rules" "$(bash_offers fault add du)" "duplicate"
is "bash: programs" "$(bash_offers run --explain -- ibv_devi | grep -ow 'ibv_devinfo' | head -n 1)" "ibv_devinfo"
is "bash: not options of rdmaemu after the program" "$(bash_offers run cat --ex)" ""
is "bash: but files" "$(bash_offers run cat f)" "file.conf"
is "bash: an unknown verb" "$(bash_offers frobnicate x)" ""
registered() {
	(
		. "$TEST_DIR/bash"
		complete -p rdmaemu
	)
}
is "bash: it is registered" "$(registered)" "complete -F _rdmaemu rdmaemu"

# --- zsh ------------------------------------------------------------------------------------------------

# Completes in a zsh of its own, on a terminal of its own, and prints what is offered.
zsh_offers() {
	python3 - "$TEST_DIR" "$1" <<'EOF'
import os, pty, re, select, sys, time
folder, line = sys.argv[1:]
os.makedirs(folder + '/zfunc', exist_ok=True)
open(folder + '/zfunc/_rdmaemu', 'w').write(open(folder + '/zsh').read())
pid, fd = pty.fork()
if not pid:
    os.environ.update(TERM='dumb', PS1='', HOME=folder)
    os.chdir(folder + '/dir')
    os.execvp('zsh', ['zsh', '-f', '-i'])
seen = b''
def read_until(mark, seconds):
    global seen
    end = time.time() + seconds
    while mark not in seen and time.time() < end:
        if select.select([fd], [], [], 0.2)[0]:
            try:
                seen += os.read(fd, 65536)
            except OSError:
                break
def send(text):
    os.write(fd, text.encode())
send("unsetopt zle_bracketed_paste 2>/dev/null; fpath=(%s/zfunc $fpath); autoload -Uz compinit; compinit -D -u; "
     "zstyle ':completion:*' list-prompt ''; LISTMAX=1000; bindkey '^T' list-choices; echo read''y\n" % folder)
read_until(b'ready', 60)
seen = b''
send(line + '\x14')
time.sleep(1)
read_until(b'\0', 3)
send('\x03exit\n')
os.write(1, re.sub(rb'\x1b\[[0-9;?]*[a-zA-Z]', b'', seen))
EOF
}
if command -v zsh >/dev/null; then
	check "zsh: syntax" zsh -n "$TEST_DIR/zsh"
	offers() {
		zsh_offers "$1" >"$TEST_DIR/out" && grep -qE -- "$2" "$TEST_DIR/out" || {
			cat "$TEST_DIR/out"
			return 1
		}
	}
	check "zsh: verbs" offers 'rdmaemu st' 'status +-- Show'
	check "zsh: second words" offers 'rdmaemu trace ' 'diff +-- Compare'
	check "zsh: options" offers 'rdmaemu fabric start --ti' 'time-scale'
	check "zsh: words that are values" offers 'rdmaemu replay --mode ' 'new_episodes'
else
	skip "zsh" "zsh is not installed"
fi

# --- fish -----------------------------------------------------------------------------------------------

if command -v fish >/dev/null; then
	fish_offers() {
		(cd "$TEST_DIR/dir" && HOME=$TEST_DIR limit fish --no-config -c \
			"source $TEST_DIR/fish; complete -C '$1'" | cut -f1 | LC_ALL=C sort | tr '\n' ' ' | sed 's/ $//')
	}
	check "fish: syntax" fish -n "$TEST_DIR/fish"
	is "fish: verbs" "$(fish_offers 'rdmaemu st')" "status"
	is "fish: second words" "$(fish_offers 'rdmaemu trace ')" "diff show stat"
	is "fish: options" "$(fish_offers 'rdmaemu fabric start --ti')" "--time-scale"
	is "fish: words that are values" "$(fish_offers 'rdmaemu replay --mode ')" "all new_episodes none once"
	is "fish: actions of fault rules" "$(fish_offers 'rdmaemu fault add du')" "duplicate"
else
	skip "fish" "fish is not installed"
fi
done_testing
