#!/usr/bin/perl
# Completion in bash and, where it is installed, in zsh: the shells themselves,
# with the scripts that are installed, and a browsertaskctl that says which
# words it was given.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my ($top, $build) = map { abs_path($_) } @ENV{qw(srcdir builddir)};
my $dir = tempdir('ctlcompXXXXXX', TMPDIR => 1, CLEANUP => 1);

sub spew {
	my ($name, $text) = @_;
	open my $f, '>', "$dir/$name" or die "$name: $!";
	print $f $text;
	close $f or die;
}

mkdir "$dir/bin";
mkdir "$dir/files";
mkdir "$dir/files/below";
spew("files/$_", '') for qw(urls.txt other.lua);
spew('bin/browsertaskctl', <<'EOF');
#!/bin/sh
case "$1 $2" in
"completion words-RUN") printf 'last\nrun_AAA\nrun_BBB\n' ;;
"completion words-TEMPLATE") printf 'batch_extract_pages\nlogin\n' ;;
"completion words-SESSION") printf 'sess_AAA\n' ;;
*) echo "GOT<$*>" ;;
esac
EOF
chmod 0755, "$dir/bin/browsertaskctl";
$ENV{PATH} = "$dir/bin:$ENV{PATH}";
$ENV{HOME} = $dir;
delete $ENV{BROWSERTASK_SOCKET};
chdir "$dir/files" or die;

my @commands = map { /^COMMAND\("(\S+?)"/ } do {
	open my $f, '<', "$top/ctl/commands.def" or die "commands.def: $!";
	<$f>;
};
cmp_ok scalar @commands, '>', 10, 'the table has commands';

# bash: the words that are offered behind a command line.
sub bash {
	my (@words) = @_;
	my $script = <<'EOF';
source "$1" || exit 3
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_browsertaskctl
printf '%s\n' "${COMPREPLY[@]}"
EOF
	open my $p, '-|', 'bash', '--norc', '-c', $script, 'bash',
	    "$build/ctl/complete/browsertaskctl", 'browsertaskctl', @words
	    or die;
	my @got = <$p>;
	close $p;
	chomp @got;
	return join ' ', sort grep { length } @got;
}

SKIP: {
	skip 'no bash', 26 if system('bash -c : 2>/dev/null') != 0;
	is bash(''), join(' ', sort @commands), 'bash: all commands';
	is bash('ca'), 'cancel', 'one';
	is bash('art'), 'artifact artifacts', 'two';
	is bash('--json', 'dr'), 'drain', 'behind an option';
	is bash('-s', 'x', 'dr'), 'drain', 'behind one with a value';
	is bash('show', ''), 'last run_AAA run_BBB', 'runs';
	is bash('show', 'run_B'), 'run_BBB', 'a run';
	is bash('show', 'last', ''), '', 'nothing behind it';
	is bash('submit', 'b'), 'batch_extract_pages', 'a template';
	is bash('templates', 'l'), 'login', 'another';
	is bash('template', ''), 'check show', 'words below a command';
	is bash('template', 'check', 'o'), 'other.lua', 'a file';
	is bash('template', 'show', 'l'), 'login', 'what follows a word';
	is bash('artifact', ''), 'get list', 'words';
	is bash('sessions', 'close', ''), 'sess_AAA', 'a session';
	is bash('submit', '--session', ''), 'sess_AAA', '... of an option';
	is bash('artifact', 'list', 'run_A'), 'run_AAA', '... and a run';
	is bash('runs', '--status', 'q'), 'queued', 'values of an option';
	is bash('runs', '--status', '=', 'q'), 'queued', '... behind =';
	is bash('runs', '-T', 'b'), 'batch_extract_pages', '... a template';
	is bash('runs', '--u'), '--uid --until', 'options of a command';
	is bash('drain', '--u'), '', '... not of another';
	is bash('ru', '--st'), '--status', '... of one that is shortened';
	is bash('re', '--st'), '', '... if it is one';
	is bash('backup', ''), 'below', 'directories';
	is bash('fsck', '--state-dir', ''), 'below', '... of an option';
	is bash('result', '--output', 'u'), 'urls.txt', 'a file of an option';
	like bash('submit', '-'), qr/--help.*--json.*--key/, 'all options';
}

# zsh: what a line becomes when tab is pressed.
sub zsh {
	my ($line) = @_;
	my $script = <<'EOF';
zmodload zsh/zpty || exit 3
zpty z "zsh -f -i"
zpty -w z "PS1= RPS1= PROMPT_SP=; unsetopt zle_bracketed_paste beep; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D; echo RE''ADY"
zpty -r z text '*READY*'
zpty -n -w z "$2"$'\t\n'
zpty -r z text '*GOT<*>*'
print -r -- $text
zpty -d z
EOF
	my $pid = open my $p, '-|', 'zsh', '-f', '-c', $script, 'zsh',
	    "$build/ctl/complete", $line or die;
	# It waits for what it wants to see: a minute is for a failure only.
	local $SIG{ALRM} = sub { kill KILL => $pid };
	alarm 60;
	my $text = do { local $/; <$p> } // '';
	close $p;
	alarm 0;
	return $text =~ /GOT<([^>]*)>/ ? $1 =~ s/\s+$//r : $text;
}

SKIP: {
	skip 'no zsh', 9 if system('zsh -f -c : 2>/dev/null') != 0;
	is zsh('browsertaskctl dra'), 'drain', 'zsh: a command';
	is zsh('browsertaskctl show run_B'), 'show run_BBB', 'a run';
	is zsh('browsertaskctl runs --sta'), 'runs --status', 'an option';
	is zsh('browsertaskctl runs --status parti'),
	    'runs --status partial_success', '... its value';
	is zsh('browsertaskctl template che'), 'template check', 'a word';
	is zsh('browsertaskctl template check oth'),
	    'template check other.lua', '... and a file';
	is zsh('browsertaskctl ru --sta'), 'ru --status',
	    'an option of a command that is shortened';
	is zsh('browsertaskctl backup '), 'backup below', 'a directory';
	is qx(zsh -fc 'autoload -Uz compinit; compinit -u -D; . "$build/ctl/complete/_browsertaskctl"; print \$_comps[browsertaskctl]' 2>&1),
	    "_browsertaskctl\n", 'the script may be sourced';
}

# Installed where the shells look.
open my $make, '<', "$build/Makefile" or die "Makefile: $!";
my $text = do { local $/; <$make> };
like $text, qr{^bashcompdir = \S+/bash-completion/completions$}m,
    'the place of bash';
like $text, qr{^zshcompdir = \S+/zsh/site-functions$}m, 'the place of zsh';
chdir '/';
done_testing;
